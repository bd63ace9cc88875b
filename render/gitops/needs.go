package gitops

import (
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/kustomize"
)

// Needs gives the charts that the sources of a unit take from outside of the repository,
// but for sources that are such a chart themselves: see Source.Remote.
func (d Definition) Needs(t *source.Tree) []helm.Need {
	var out []helm.Need
	for _, s := range d.Sources {
		switch s.Engine {
		case byHelm:
			out = append(out, helm.Needs(t, s.Path)...)
		case byKustomize:
			out = append(out, kustomize.Needs(t, s.Path, s.Edit)...)
		}
	}
	return out
}

// RemoteOf gives where a needed chart comes from.
func RemoteOf(n helm.Need) Remote {
	return *remoteOf(n.Name, n.Version, strings.TrimSpace(n.Repository))
}
