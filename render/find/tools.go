package find

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/render"
)

// tools leaves out what cannot be rendered here: submodules, and the files of
// helmfile (https://helmfile.readthedocs.io), once a folder.
func (s *settling) tools() {
	for _, name := range s.t.Submodules() {
		s.out.Skipped = append(s.out.Skipped, render.Skipped{Path: name, Reason: "submodule: not available"})
	}
	names, err := s.t.Files(".")
	if err != nil {
		return // the renderers say so
	}
	folders := map[string]bool{}
	for _, name := range names {
		dir, base := path.Dir(name), path.Base(name)
		if folders[dir] || render.Vendored(dir) || render.NotDeployedAmong(dir, s.isDir) != "" || !s.isHelmfile(dir, name, base) {
			continue
		}
		folders[dir] = true
		s.out.Skipped = append(s.out.Skipped, render.Skipped{Path: name, Reason: "helmfile"})
	}
	for _, name := range names {
		if folders[path.Dir(name)] && isYAML(name) && !slices.Contains(kustomizationNames, path.Base(name)) && !s.hasObjects(name) {
			s.claims = append(s.claims, name) // values, which nothing else may take for its own
		}
	}
}

var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func isYAML(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// isHelmfile goes by name, and in folders that are called so by the keys.
func (s *settling) isHelmfile(dir, name, base string) bool {
	base = strings.TrimSuffix(base, ".gotmpl")
	if !isYAML(base) {
		return false
	}
	switch {
	case base == "helmfile.yaml" || base == "helmfile.yml":
		return true
	case path.Base(dir) == "helmfile.d" || path.Base(dir) == "helmfile":
		data, err := s.t.ReadFile(name)
		return err == nil && (bytes.HasPrefix(data, []byte("releases:")) || bytes.Contains(data, []byte("\nreleases:")) || bytes.Contains(data, []byte("\nhelmfiles:")))
	}
	return false
}

func (s *settling) hasObjects(name string) bool {
	data, err := s.t.ReadFile(name)
	return err != nil || bytes.Contains(data, []byte("apiVersion:"))
}
