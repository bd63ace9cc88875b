package main

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/find"
	"github.com/prdiff/prdiff/render/gitops"
	"github.com/prdiff/prdiff/render/tanka"
)

// gitOps are the renderers of units that objects declare. They take no part in
// finding: their units come from what other units render to.
var gitOps = []string{gitops.ArgoCD, gitops.Flux}

// walk finds the units of a side, those included that objects of Argo CD and Flux
// declare. Renders is how a unit is rendered on the way, same says which units are
// as on the other side.
func (s *side) walk(ctx context.Context, jobs int, uses func(string) bool, other *gitops.Walked,
	renders func(context.Context, side, render.Unit) (*render.Output, error), same func(render.Unit, *gitops.Definition, render.Inputs) bool, sameFile func(string) bool) error {
	g := gitops.Side{
		Tree: s.tree,
		Find: func(claimed ...string) find.Result { return find.Units(s.tree, s.renderers, claimed...) },
		Inputs: func(u render.Unit, d *gitops.Definition) (render.Inputs, error) {
			return s.defining(u, d).inputs(u)
		},
		Render: func(ctx context.Context, u render.Unit, d *gitops.Definition) (*render.Output, error) {
			return renders(ctx, s.defining(u, d), u)
		},
		Same:     same,
		SameFile: sameFile,
		Read:     s.read,
		Jobs:     jobs,
	}
	if s.config != nil {
		g.Addresses = s.config.GitOpsAddresses
	}
	for _, name := range gitOps {
		if !uses(name) {
			g.Off = append(g.Off, name)
		}
	}
	walked, err := gitops.Walk(ctx, g, other)
	if err != nil {
		return err
	}
	s.found, s.definitions, s.rendered = walked, walked.Definitions, walked.Outputs
	return nil
}

// defining gives the side with one more definition, without what was rendered.
func (s side) defining(u render.Unit, d *gitops.Definition) side {
	s.definitions, s.rendered = nil, nil
	if d != nil {
		s.definitions = map[render.Unit]gitops.Definition{u: *d}
	}
	return s
}

// carried gives the renderer of a unit, nil when it is switched off, and the unit
// as that renderer takes it.
func (s side) carried(u render.Unit) (render.Renderer, render.Unit, error) {
	d, ok := s.definitions[u]
	if !ok {
		return s.renderer(u.Renderer), u, nil
	}
	c, err := d.Carry(u)
	return s.renderer(gitops.CarrierName), c, err
}

// inputs gives what a unit reads.
func (s side) inputs(u render.Unit) (render.Inputs, error) {
	r, c, err := s.carried(u)
	if err != nil {
		return render.Inputs{}, err
	}
	if r == nil {
		return render.Inputs{Unknown: "its renderer is switched off"}, nil
	}
	if _, declared := s.definitions[u]; declared || u.Renderer == "plain" {
		return r.Inputs(s.tree, c) // they depend on what else was found
	}
	if known, ok := s.known.Load(u); ok {
		return known.(render.Inputs), nil
	}
	in, err := r.Inputs(s.tree, c)
	if err == nil {
		s.known.Store(u, in)
	}
	return in, err
}

// read reads a file, one of jsonnet from what was read of it already.
func (s *side) read(name string) ([]byte, error) {
	if t, ok := s.renderer("tanka").(*tanka.Renderer); ok && strings.HasSuffix(name, "sonnet") {
		contents, err := t.Engine.On(s.tree).Read(name)
		return contents.Data(), err
	}
	return s.tree.View(name)
}

// walk finds the units of both sides. What one side renders on the way and is the
// same on the other is rendered once, and what a parent declares counts also where
// it does not render.
func (c *comparison) walk(ctx context.Context, base, head *side) error {
	changed, err := c.src.Changed(ctx)
	if err != nil {
		return err
	}
	set := newPathSet(changed)
	sameFile := func(name string) bool {
		for _, s := range []*side{base, head} {
			names, err := s.links.behind(s.tree, []string{name})
			if err != nil || slices.ContainsFunc(names, func(n string) bool { return len(set.below(n)) > 0 }) {
				return false
			}
		}
		return true
	}
	same := func(u render.Unit, d *gitops.Definition, _ render.Inputs) bool {
		ok, _ := sameInputs(base.defining(u, d), head.defining(u, d), u, set)
		return ok
	}
	if err := base.walk(ctx, c.jobs, c.scope.Uses, nil, c.renderSide, same, sameFile); err != nil {
		return err
	}
	if err := head.walk(ctx, c.jobs, c.scope.Uses, base.found, c.renderSide, same, sameFile); err != nil {
		return err
	}
	if base.found.Incomplete() {
		return base.walk(ctx, c.jobs, c.scope.Uses, head.found, c.renderSide, same, sameFile)
	}
	return nil
}

// pair matches the units of both sides: those that objects declare by the objects,
// the others by renderer, path and variant; and what is left by its folder, because
// a folder that gets a kustomization, or that Flux takes over, is still the same.
func pair(base, head *gitops.Walked) []pairing {
	placed := func(w *gitops.Walked) []placedUnit {
		out := make([]placedUnit, len(w.Units))
		for i, u := range w.Units {
			out[i] = placedAt(u, u.Path)
			if key, ok := w.Keys[u]; ok {
				out[i].id = "object\x00" + key
			}
		}
		return out
	}
	return pairPlaced(placed(base), placed(head), false)
}

// A placedUnit is a unit with what it is known by on the other side.
type placedUnit struct {
	unit render.Unit
	id   string
	dir  string // where it lies, as far as that is the same on both sides
}

func placedAt(u render.Unit, dir string) placedUnit {
	return placedUnit{u, u.Renderer + "\x00" + dir + "\x00" + u.Variant, dir}
}

// pairPlaced matches units by what they are known by, and what is left by its
// folder: where each side has one of another renderer there, or a chart and its only
// release, and with alone the only one of each side that is left.
func pairPlaced(base, head []placedUnit, alone bool) []pairing {
	byID := map[string]*pairing{}
	var all []*pairing
	dirs := map[*pairing]string{}
	add := func(p *pairing, dir string) *pairing {
		all = append(all, p)
		dirs[p] = dir
		return p
	}
	for _, u := range base {
		byID[u.id] = add(&pairing{unit: u.unit, was: u.unit, before: true}, u.dir)
	}
	for _, u := range head {
		if p := byID[u.id]; p != nil {
			p.unit, p.after = u.unit, true
			continue
		}
		add(&pairing{unit: u.unit, was: u.unit, after: true}, u.dir)
	}
	gone, come := map[string][]*pairing{}, map[string][]*pairing{}
	left := 0
	for _, p := range all {
		switch {
		case p.before && !p.after:
			gone[dirs[p]] = append(gone[dirs[p]], p)
			left++
		case p.after && !p.before:
			come[dirs[p]] = append(come[dirs[p]], p)
			left++
		}
	}
	for dir, before := range gone {
		after := come[dir]
		if len(before) == 1 && len(after) == 1 && (before[0].unit.Renderer != after[0].unit.Renderer || alone && left == 2 || nowNamed(before[0].unit, after[0].unit)) {
			after[0].was, after[0].before = before[0].unit, true
			before[0].before = false
		}
	}
	var out []pairing
	for _, p := range all {
		if p.before || p.after {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b pairing) int { return compareUnits(a.unit, b.unit) })
	return out
}

// nowNamed says whether a chart that no configuration named on one side is the release that
// one names on the other.
func nowNamed(a, b render.Unit) bool {
	return a.Renderer == "helm" && b.Renderer == "helm" && (a.Variant == "") != (b.Variant == "")
}

// samePair says whether a unit renders to the same on both sides, and which files
// it reads are not the same.
func samePair(base, head side, p pairing, changed pathSet) (same bool, sources []string) {
	if p.unit != p.was {
		sources, _ = touched(head, p.unit, changed)
		return false, sources
	}
	same, sources = sameInputs(base, head, p.unit, changed)
	before, after := base.definitions[p.was], head.definitions[p.unit]
	return same && reflect.DeepEqual(before, after), sources
}

// adopt gives an output of a unit that has another name now.
func adopt(out *render.Output, was, is string) *render.Output {
	if out == nil || was == is {
		return out
	}
	renamed := *out
	renamed.Parts = slices.Clone(out.Parts)
	for i, part := range renamed.Parts {
		if rest, ok := strings.CutPrefix(part.Name, was); ok {
			renamed.Parts[i].Name = is + rest
		}
	}
	renamed.Problems = slices.Clone(out.Problems)
	for i, problem := range renamed.Problems {
		if rest, ok := strings.CutPrefix(problem.Part, was); ok {
			renamed.Problems[i].Part = is + rest
		}
	}
	return &renamed
}

// failures gives the finders that failed as units of a report.
func failures(w *gitops.Walked) []report.Unit {
	var out []report.Unit
	for _, f := range w.Failed {
		out = append(out, report.Unit{Name: ".", Renderer: f.Renderer, Status: report.Failed, Error: "looking for units: " + f.Err.Error()})
	}
	return out
}
