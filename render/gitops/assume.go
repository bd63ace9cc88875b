package gitops

import (
	"fmt"
	"path"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/kustomize"
	"github.com/prdiff/prdiff/render/plain"
)

// Assume gives a definition for a chart or kustomization of the tree that nothing deploys
// there, and that d deploys on the other side: under its name and in its namespace, so
// that neither looks changed. With all of it, as for one whose object goes, also with its
// values and patches, as far as their files are there. Ok is false when d deploys more
// than that.
func (d Definition) Assume(t *source.Tree, u render.Unit, all bool) (assumed Definition, ok bool) {
	if u.Renderer == byKustomize {
		return d.assumeOverlay(t, u, all)
	}
	if u.Renderer != "helm" || u.Variant != "" || len(d.Sources) != 1 || d.Sources[0].Engine != byHelm || d.Sources[0].Path != u.Path {
		return Definition{}, false
	}
	s := d.Sources[0]
	if !all || !s.filesIn(t) {
		s = Source{Engine: byHelm, Chart: true, Path: s.Path, Into: s.Into, Release: helm.Release{
			Name: s.Release.Name, Namespace: s.Release.Namespace, Into: s.Release.Into, IncludeCRDs: true,
			KubeVersion: s.Release.KubeVersion, APIVersions: s.Release.APIVersions,
		}}
		all = false
	}
	with := "the name and namespace"
	if all {
		with = "the release"
	}
	assumed = Definition{
		Renderer: d.Renderer, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Root: d.Root, Path: d.Path, Sources: []Source{s}, Secrets: d.Secrets,
		Notes: []string{fmt.Sprintf("nothing releases the chart here: it is taken to have %s that %s %s gives it on the other side", with, d.Kind, d.Name)},
	}
	return assumed, true
}

func (d Definition) assumeOverlay(t *source.Tree, u render.Unit, all bool) (assumed Definition, ok bool) {
	if u.Variant != "" || len(d.Sources) != 1 || d.Sources[0].Engine != byKustomize || d.Sources[0].Path != u.Path {
		return Definition{}, false
	}
	s := d.Sources[0]
	for _, c := range s.Edit.Components {
		all = all && t.Exists(path.Join(s.Path, c))
	}
	with := "all"
	assumed = d
	if !all {
		with = "the namespace and name prefixes"
		s = Source{Engine: byKustomize, Path: s.Path, Into: s.Into, Edit: kustomize.Edit{
			Namespace: s.Edit.Namespace, NamePrefix: s.Edit.NamePrefix, NameSuffix: s.Edit.NameSuffix,
		}}
		assumed = Definition{Renderer: d.Renderer, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Root: d.Root, Path: d.Path}
	}
	assumed.Sources = []Source{s}
	assumed.Notes = []string{fmt.Sprintf("nothing deploys it here: it is taken to get %s that %s %s gives it on the other side", with, d.Kind, d.Name)}
	return assumed, true
}

// Lands says into which namespace d puts what names none in a folder of plain files that
// is also the unit u of the other side, where nothing deploys it, and with all also what
// names another one; note tells of that.
func (d Definition) Lands(u render.Unit) (namespace string, all bool, note string, ok bool) {
	if u.Renderer != (&plain.Renderer{}).Name() || len(d.Sources) != 1 || d.Sources[0].Path != u.Path {
		return "", false, "", false
	}
	switch s := d.Sources[0]; s.Engine {
	case byDirectory:
		namespace = s.Into
	case byKustomize: // a folder without kustomization, as Flux takes it
		namespace, all = s.Edit.Namespace, true
	}
	note = fmt.Sprintf("nothing deploys it here: it is taken to go into the namespace %s that %s %s gives it on the other side", namespace, d.Kind, d.Name)
	return namespace, all, note, namespace != ""
}

// Released gives a definition of a release that something else than an object names.
func Released(kind, name, chart string, r helm.Release) Definition {
	return Definition{Renderer: "helm", Kind: kind, Name: name, Path: chart, Sources: []Source{{Engine: byHelm, Chart: true, Path: chart, Release: r}}}
}

func (s Source) filesIn(t *source.Tree) bool {
	for _, f := range s.Release.ValuesFiles {
		if !t.Exists(f) {
			return false
		}
	}
	for _, set := range s.Release.SetFile {
		if _, f, _ := strings.Cut(set, "="); !t.Exists(f) {
			return false
		}
	}
	return true
}
