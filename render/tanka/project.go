package tanka

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/render/jsonnet"
)

// The names that Tanka looks for.
const (
	mainFile    = "main.jsonnet"
	specFile    = "spec.json"
	rcFile      = "tkrc.yaml"
	packageFile = "jsonnetfile.json"
)

// environmentVar is the external variable that holds a static environment.
const environmentVar = "tanka.dev/environment"

// A project is where an environment lies. All names are relative to the tree.
type project struct {
	root   string // the folder whose lib and vendor are searched
	base   string // the environment's folder
	entry  string // the file that is evaluated
	static bool   // the base has a spec.json

	files, missing []string // what was looked at, and looked for in vain
}

// locate finds the project and environment of a folder or file.
func locate(side *jsonnet.Side, name string) (project, error) {
	found, err := side.Find(name)
	if err != nil {
		return project{}, err
	}
	if found.Missing != "" {
		return project{}, fmt.Errorf("%s: no such file or folder", name)
	}
	var p project
	p.look(found)
	dir, file := name, mainFile
	if !found.Dir {
		dir, file = path.Dir(name), path.Base(name)
	}
	if err := p.findRoot(side, dir); err != nil {
		return project{}, err
	}
	if p.root == "" {
		return project{}, fmt.Errorf("%s: unable to identify the project root: no %s or %s in it or above", name, rcFile, packageFile)
	}
	for p.base = dir; ; p.base = path.Dir(p.base) {
		there, err := p.exists(side, path.Join(p.base, file))
		if err != nil {
			return project{}, err
		}
		if there {
			break
		}
		if p.base == p.root {
			return project{}, fmt.Errorf("%s: unable to identify the environment's base directory: no %s in it or above, up to the project root %s", name, file, p.root)
		}
	}
	p.entry = path.Join(p.base, file)
	p.static, err = p.exists(side, path.Join(p.base, specFile))
	return p, err
}

// findRoot sets root to the nearest folder upwards with a tkrc.yaml, or, when
// there is none at all, with a jsonnetfile.json; "" when there is neither.
func (p *project) findRoot(side *jsonnet.Side, dir string) error {
	for _, marker := range []string{rcFile, packageFile} {
		for d := dir; ; d = path.Dir(d) {
			there, err := p.exists(side, path.Join(d, marker))
			if err != nil {
				return err
			}
			if there {
				p.root = d
				return nil
			}
			if d == "." {
				break
			}
		}
	}
	return nil
}

// exists says whether a name is there, and takes note of having looked.
func (p *project) exists(side *jsonnet.Side, name string) (bool, error) {
	found, err := side.Find(name)
	if err != nil {
		return false, err
	}
	p.look(found)
	if found.Missing != "" {
		p.missing = append(p.missing, found.Missing)
		return false, nil
	}
	p.files = append(p.files, name, found.Real)
	return true, nil
}

func (p *project) look(found jsonnet.Found) { p.files = append(p.files, found.Links...) }

// search is Tanka's import path, after the importing file's own folder.
func (p project) search() []string {
	return []string{p.base, path.Join(p.root, "lib"), path.Join(p.base, "vendor"), path.Join(p.root, "vendor")}
}

// library is what `import 'tk'` gives, built into Tanka.
const library = "{ env: std.extVar('" + environmentVar + "') }"

func (p project) program(vars jsonnet.Vars) jsonnet.Program {
	return jsonnet.Program{
		Entry:   p.entry,
		Search:  p.search(),
		Vars:    vars,
		Builtin: map[string]string{"tk": library},
	}
}

// notVendored gives the dependency of the project's jsonnetfile.json that an
// import belongs to and that vendor/ lacks, "" when there is none.
func notVendored(side *jsonnet.Side, root, imported string) string {
	contents, err := side.Read(path.Join(root, packageFile))
	if err != nil {
		return ""
	}
	var file struct {
		Dependencies []struct {
			Source struct {
				Git struct{ Remote, Subdir string }
			}
			Name string
		}
	}
	if json.Unmarshal(contents.Data(), &file) != nil {
		return ""
	}
	for _, d := range file.Dependencies {
		remote := strings.TrimSuffix(d.Source.Git.Remote, ".git")
		remote = remote[strings.Index(remote, "://")+1:]
		remote = strings.Replace(strings.TrimPrefix(strings.TrimPrefix(remote, "//"), "/"), "git@", "", 1)
		full := path.Join(strings.Replace(remote, ":", "/", 1), d.Source.Git.Subdir)
		// With legacyImports jb also links the last part of the path.
		for _, name := range []string{full, path.Base(full), d.Name} {
			if name == "" || name == "." || imported != name && !strings.HasPrefix(imported, name+"/") {
				continue
			}
			if found, err := side.Find(path.Join(root, "vendor", name)); err == nil && found.Missing != "" {
				return full
			}
		}
	}
	return ""
}

// speaksOfTanka says whether one of the files has the group of Tanka's kinds in
// its text.
func speaksOfTanka(side *jsonnet.Side, files []string) bool {
	for _, name := range files {
		contents, err := side.Read(name)
		if err == nil && bytes.Contains(contents.Data(), []byte("tanka.dev/")) {
			return true
		}
	}
	return false
}

// merge gives the union of two lists in byte order.
func merge(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
