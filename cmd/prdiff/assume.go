package main

import (
	"path"
	"slices"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
)

// assumeReleases has a chart that an object or the configuration releases on one side only compared as if it
// did on the other, and a kustomization that an object deploys there. On the side without, nobody knows a release: the
// chart's own name and the namespace default, or none, would make all of it look moved.
func assumeReleases(base, head side, units []pairing) {
	for _, p := range units {
		if !p.before || !p.after || p.unit == p.was {
			continue
		}
		if d, ok := base.definitions[p.was]; ok {
			head.assume(p.unit, d, true)
		} else if d, ok := head.definitions[p.unit]; ok {
			base.assume(p.was, d, false)
		} else if d, ok := base.configured(p.was); ok {
			head.assume(p.unit, d, true)
		} else if d, ok := head.configured(p.unit); ok {
			base.assume(p.was, d, false)
		}
	}
}

// configured gives the release that the configuration of the side names as a definition.
func (s side) configured(u render.Unit) (gitops.Definition, bool) {
	if s.config == nil || u.Renderer != "helm" {
		return gitops.Definition{}, false
	}
	for _, in := range helmOptions(s.config).Installations {
		if path.Clean(in.Chart) == u.Path && in.Name == u.Variant {
			return gitops.Released("helm.releases", in.Name, u.Path, in.Release), true
		}
	}
	return gitops.Definition{}, false
}

func (s side) assume(u render.Unit, d gitops.Definition, all bool) {
	if _, declared := s.definitions[u]; declared {
		return
	}
	if d, ok := d.Assume(s.tree, u, all); ok {
		s.definitions[u] = d
		delete(s.rendered, u)
	}
	if namespace, all, note, ok := d.Lands(u); ok {
		s.landings[u] = landing{namespace, all, note}
	}
}

// A landing is where a folder of plain files is taken to go, and why.
type landing struct {
	namespace string
	all       bool // what names another namespace goes there, too
	note      string
}

// land gives what a unit renders to with what names no namespace where it is taken to go.
func (s side) land(u render.Unit, out *render.Output) *render.Output {
	to, ok := s.landings[u]
	if !ok {
		return out
	}
	landed := *out
	landed.Parts = slices.Clone(out.Parts)
	for i, p := range landed.Parts {
		objects := slices.Clone(p.Objects)
		for n, o := range objects {
			if to.all && o.Ref.Namespace != "" && !object.ClusterScoped(o.Ref) {
				objects[n] = o.InNamespace(to.namespace)
			}
		}
		landed.Parts[i].Objects = render.InNamespace(objects, to.namespace)
	}
	landed.Notes = append(slices.Clip(out.Notes), to.note)
	return &landed
}
