package gitops

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render"
)

// maxDepth bounds how far objects declare each other.
const maxDepth = 16

// walk follows the objects of the candidates, which were rendered. A candidate that
// what another one declares reads is a part of that, where its objects may be
// patched: it is not followed by itself.
func (w *side) walk(candidates []render.Unit) {
	w.known, w.names = map[string]*child{}, map[render.Unit]bool{}
	raw := map[render.Unit][]*child{}
	readBy := map[render.Unit][]render.Unit{} // candidate to the candidates whose children read it
	for _, u := range candidates {
		for _, c := range w.declared(u, u.Name()) {
			raw[u] = append(raw[u], c)
			for _, v := range candidates {
				if w.consumes(c, v) {
					readBy[v] = append(readBy[v], u)
				}
			}
		}
	}
	order := slices.Clone(candidates)
	slices.SortStableFunc(order, func(a, b render.Unit) int {
		return cmp.Compare(rank(a, readBy[a]), rank(b, readBy[b]))
	})
	for _, u := range order {
		if w.consumed(u) {
			continue
		}
		level := raw[u]
		if slices.Contains(readBy[u], u) {
			// It declares what reads it, as Flux's own folder does: the rest comes
			// from there, patched.
			level = slices.DeleteFunc(slices.Clone(level), func(c *child) bool { return !w.consumes(c, u) })
		}
		w.follow(level, u)
	}
}

// rank puts units first that nobody reads, then those that only their own
// children read.
func rank(u render.Unit, by []render.Unit) int {
	switch {
	case len(by) == 0:
		return 0
	case !slices.ContainsFunc(by, func(v render.Unit) bool { return v != u }):
		return 1
	}
	return 2
}

// follow takes children in, renders those that may declare more, and goes on with
// what they declare.
func (w *side) follow(level []*child, root render.Unit) {
	for depth := 0; depth < maxDepth; depth++ {
		var added []*child
		for _, c := range level {
			if w.add(c) {
				added = append(added, c)
			}
		}
		added = append(added, w.retry(false)...)
		if len(added) == 0 {
			if added = w.retry(true); len(added) == 0 {
				return
			}
		}
		var parents []render.Unit
		for _, c := range added {
			if w.mayDeclare(c.unit, &c.Definition) || len(w.waiting) > 0 {
				parents = append(parents, c.unit)
			}
		}
		w.render(parents)
		level = nil
		for _, u := range parents {
			level = append(level, w.declared(u, root.Name())...)
		}
		if len(level) == 0 && len(w.waiting) == 0 {
			return
		}
	}
}

// add takes a child in, unless it is known: then it closes a circle, or is there twice.
// One that waits for values from a ConfigMap is put aside.
func (w *side) add(c *child) bool {
	if w.known[c.key] != nil {
		return false
	}
	if w.missing(c.object) != "" {
		w.known[c.key] = c
		w.waiting = append(w.waiting, c)
		return false
	}
	w.accept(c)
	return true
}

func (w *side) accept(c *child) {
	w.known[c.key] = c
	u := c.Definition.unit()
	for n := 1; w.names[u]; n++ {
		u.Variant = c.Name + "@" + c.Root
		if n > 1 {
			u.Variant = fmt.Sprintf("%s@%s#%d", c.Name, c.Root, n)
		}
	}
	w.names[u] = true
	c.unit = u
	w.children = append(w.children, c)
	c.Unseen = w.unseen(c.object)
	w.out.Definitions[u], w.out.Keys[u], w.out.Parents[u] = c.Definition, c.key, c.parent
	// The Applications that a set made go with it, whatever becomes of the rest.
	if all, why := c.object.Cascades(); !all && c.Kind != "ApplicationSet" {
		w.out.Stays[u] = fmt.Sprintf("%s %s", c.object.Ref, why)
	}
}

// retry looks again for the ConfigMaps that children wait for. With force it goes
// on without them, one child at a time, because another may still bring them.
func (w *side) retry(force bool) []*child {
	var out, rest []*child
	for _, c := range w.waiting {
		if w.missing(c.object) != "" && !(force && len(out) == 0) {
			rest = append(rest, c)
			continue
		}
		again := w.define(c.object, c.parent, c.Root)
		if again == nil {
			continue
		}
		w.accept(again)
		out = append(out, again)
	}
	w.waiting = rest
	return out
}

// missing gives the ConfigMap that an object takes values from and that was not
// rendered yet.
func (w *side) missing(o *object.Object) (wait string) {
	switch {
	case o.Ref.Group == fluxKustomize && o.Ref.Kind == "Kustomization":
		_, wait = w.kustomization(o)
	case o.Ref.Group == fluxHelm && o.Ref.Kind == "HelmRelease":
		_, wait = w.helmRelease(o)
	}
	return wait
}

// declared gives what the objects of a unit declare.
func (w *side) declared(u render.Unit, root string) []*child {
	var out []*child
	for _, o := range w.objects(u) {
		if c := w.define(o, u, root); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// define makes a child of an object, nil when it declares nothing.
func (w *side) define(o *object.Object, parent render.Unit, root string) *child {
	var d Definition
	ok := true
	switch {
	case o.Ref.Group == fluxKustomize && o.Ref.Kind == "Kustomization" && !w.off(Flux):
		d, _ = w.kustomization(o)
	case o.Ref.Group == fluxHelm && o.Ref.Kind == "HelmRelease" && !w.off(Flux):
		d, _ = w.helmRelease(o)
	case o.Ref.Group == argo && o.Ref.Kind == "Application" && !w.off(ArgoCD):
		d, ok = w.application(o)
	case o.Ref.Group == argo && o.Ref.Kind == "ApplicationSet" && !w.off(ArgoCD):
		d = w.applicationSet(o)
	default:
		return nil
	}
	if !ok {
		return nil
	}
	d.Root = root
	if d.Path == "." && !slices.ContainsFunc(d.Sources, func(s Source) bool { return s.Engine != byNothing && s.Path == "." }) {
		d.Path = parent.Path // what is nowhere here is named after its parent
	}
	c := &child{Definition: d, object: o, parent: parent}
	c.key = strings.Join([]string{d.Renderer, d.Kind, d.Namespace, d.Name, root}, "\x00")
	c.files, c.charts = w.reads(d)
	return c
}

// applicationSet makes a unit of a set: it expands to Applications, which are
// followed in turn.
func (w *side) applicationSet(o *object.Object) Definition {
	manifest := plainMap(o.Root())
	set := Set{Manifest: map[string]any{"metadata": manifest["metadata"], "spec": manifest["spec"]}, Origin: o.Origin}
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if url := text(v["repoURL"]); url != "" && w.addresses.here(url) {
				set.Here = append(set.Here, normal(url))
			}
			for _, item := range v {
				collect(item)
			}
		case []any:
			for _, item := range v {
				collect(item)
			}
		}
	}
	collect(sub(set.Manifest, "spec")["generators"])
	slices.Sort(set.Here)
	set.Here = slices.Compact(set.Here)
	return Definition{
		Renderer: ArgoCD, Kind: o.Ref.Kind, Namespace: o.Ref.Namespace, Name: o.Ref.Name, Path: ".",
		Sources: []Source{{Engine: bySet, Set: &set}},
	}
}

// reads gives the files and charts that a unit takes for its own.
func (w *side) reads(d Definition) (files, charts map[string]bool) {
	files, charts = map[string]bool{}, map[string]bool{}
	for _, s := range d.Sources {
		switch s.Engine {
		case byKustomize:
			in := (Definition{Sources: []Source{s}}).inputs(w.tree)
			for _, f := range in.Files {
				files[f] = true
			}
			for _, dir := range in.Dirs {
				if w.has(dir, "Chart.yaml") {
					charts[dir] = true
				}
			}
			if len(in.Files) == 0 {
				// A folder that Flux refuses is no unit of anything else.
				for _, f := range w.files {
					if s.Path == "." || strings.HasPrefix(f, s.Path+"/") {
						files[f] = true
					}
				}
			}
		case byHelm:
			charts[s.Path] = true
		case byDirectory:
			manifests, jsonnet, err := s.Directory.files(w.tree, s.Path)
			if err != nil {
				continue // rendering says so
			}
			for _, f := range slices.Concat(manifests, jsonnet) {
				files[f] = true
			}
		}
		for _, f := range s.Release.ValuesFiles {
			files[f] = true
		}
	}
	return files, charts
}

// consumes says whether a child reads what makes a unit of the finders.
func (w *side) consumes(c *child, u render.Unit) bool {
	switch u.Renderer {
	case "kustomize":
		for _, base := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			if c.files[path.Join(u.Path, base)] {
				return true
			}
		}
	case "helm":
		return c.charts[u.Path] || u.Variant != "" && (c.files[u.Variant] || c.files[path.Join(u.Path, u.Variant)])
	case "plain":
		in, err := w.Inputs(u, nil)
		return err == nil && slices.ContainsFunc(in.Files, func(f string) bool { return c.files[f] })
	case "jsonnet":
		return c.files[u.Path]
	}
	return false
}

func (w *side) consumed(u render.Unit) bool {
	return slices.ContainsFunc(w.children, func(c *child) bool { return w.consumes(c, u) })
}

// settle gives the units that are left of what the finders gave, and those that
// objects declare.
func (w *side) settle() {
	var claimed []string
	taken := map[string]bool{}
	given := map[render.Unit]bool{}
	for _, c := range w.children {
		for f := range c.files {
			taken[f] = true
		}
		for dir := range c.charts {
			taken[dir] = true
		}
	}
	for name := range taken {
		claimed = append(claimed, name)
	}
	slices.Sort(claimed)
	for _, u := range w.out.Units {
		if w.consumed(u) {
			given[u] = true
		}
	}
	found := w.out.Result
	if len(claimed) > 0 {
		found = w.Find(claimed...)
	}
	found.Units = slices.DeleteFunc(found.Units, func(u render.Unit) bool { return u.Renderer != "plain" && given[u] })
	found.Skipped = slices.DeleteFunc(found.Skipped, func(sk render.Skipped) bool {
		for _, base := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			if taken[path.Join(sk.Path, base)] {
				return true
			}
		}
		return taken[sk.Path]
	})
	for u, r := range w.out.all {
		if !given[u] {
			w.out.Outputs[u] = r
		}
	}
	for _, c := range w.children {
		found.Units = append(found.Units, c.unit)
	}
	slices.SortFunc(found.Units, func(a, b render.Unit) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Renderer, b.Renderer))
	})
	w.out.Result = found
}
