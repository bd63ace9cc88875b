package gitops

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/helm"
)

// Assume gives a definition for a chart of the tree that nothing releases there, and that
// d releases on the other side: under its name and in its namespace, so that neither
// looks changed. With all of it, as for a chart whose object goes, also with its values
// and patches, as far as their files are there. Ok is false when d is no release of
// the chart alone.
func (d Definition) Assume(t *source.Tree, u render.Unit, all bool) (assumed Definition, ok bool) {
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
