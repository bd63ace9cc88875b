package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/render"
)

// comparePieces compares what a unit rendered to before and after, part by part,
// custom resources by the definitions of the whole tree. Mirrored are the problems
// under the names that files have on the other side.
func comparePieces(u render.Unit, before, after *render.Output, definitions schemas, o diff.Options, mirrored ...render.Problem) result {
	before, after = standing(before, after)
	problems := slices.Concat(after.Problems, before.Problems, mirrored)
	partial := differing(after.Partial, before.Partial)
	if before.Partial != "" != (after.Partial != "") && len(before.Parts) > 0 && len(after.Parts) > 0 {
		// One side holds less than the other: what is not there is not gone. A
		// change that takes from a unit what it needs has broken it.
		if before.Partial == "" {
			return result{units: []report.Unit{{Name: u.Name(), Renderer: u.Renderer, Status: report.Failed, Error: partial, Notes: notes(after.Notes, before.Notes)}}}
		}
		return result{units: []report.Unit{{Name: u.Name(), Renderer: u.Renderer, Status: report.Skipped, Error: partial, Notes: notes(after.Notes, before.Notes)}}}
	}
	var r result
	for i, p := range pairParts(u.Name(), before.Parts, after.Parts, problems) {
		// What a broken file or environment holds is not known, so what it held on
		// the other side is not compared: it would look deleted.
		broken, lost := map[string]bool{}, false
		for _, problem := range problems {
			switch {
			case problem.Refused != "":
				p.before = withoutLost(p.before, p.after, problem.Path)
			case problem.Part == "":
				broken[problem.Path] = true
			case problem.Part == p.name:
				lost = true
			}
		}
		if lost {
			p = part{name: p.name}
		}
		b, a := newSets(p, broken)
		shown := report.Unit{
			Name: p.name, Renderer: u.Renderer, Status: report.Rendered,
			Before: b.Len(), After: a.Len(),
			Notes: duplicates(a),
		}
		if i == 0 { // what is said of the unit is said once
			shown.Notes = append(notes(after.Notes, before.Notes), shown.Notes...)
		}
		if partial != "" {
			shown.Status, shown.Error = report.Skipped, partial
		}
		if text := problemText(p.name, before.Problems, after.Problems); text != "" {
			shown.Status, shown.Error = report.Failed, text
		}
		r.units = append(r.units, shown)
		if moved(p) {
			p.before, p.after = append(slices.Clone(p.before), p.targetBefore), append(slices.Clone(p.after), p.targetAfter)
			b, a = newSets(p, broken)
		}
		if changes := compareSets(b, a, definitions, o); len(changes) > 0 {
			r.parts = append(r.parts, &rule.Unit{Name: p.name, Before: b, After: a, Changes: changes})
		}
	}
	return r
}

// standing turns what kubectl refuses on both sides, or no longer, into notes.
func standing(before, after *render.Output) (b, a *render.Output) {
	known := map[string]bool{}
	for _, p := range before.Problems {
		known[p.Refused] = true
	}
	settle := func(o *render.Output, done func(render.Problem) bool) *render.Output {
		settled := *o
		settled.Problems = nil
		for _, p := range o.Problems {
			if p.Refused == "" || !done(p) {
				settled.Problems = append(settled.Problems, p)
				continue
			}
			settled.Notes = append(slices.Clip(settled.Notes), fmt.Sprintf("%s: left out: %v", object.Origin{Path: p.Path, Line: p.Line}, p.Err))
		}
		return &settled
	}
	return settle(before, func(render.Problem) bool { return true }),
		settle(after, func(p render.Problem) bool { return known[p.Refused] })
}

// withoutLost leaves out of the objects before those of one file that are not there
// after: the document of which nobody knows what it is may be any of them.
func withoutLost(before, after []*object.Object, file string) []*object.Object {
	there := map[object.Ref]bool{}
	for _, o := range after {
		there[unitless(o.Ref)] = true
	}
	return slices.DeleteFunc(slices.Clone(before), func(o *object.Object) bool {
		return o.Origin.Path == file && !there[unitless(o.Ref)]
	})
}

// moved says whether a part goes elsewhere, or is applied in another way, than before.
func moved(p part) bool {
	return p.targetBefore != nil && p.targetAfter != nil && !p.targetBefore.Root().Equal(p.targetAfter.Root())
}

// newSets makes the sets of both sides of a part.
func newSets(p part, broken map[string]bool) (before, after *object.Set) {
	var group sync.WaitGroup
	group.Go(func() { before = newSet(p.name, p.before, broken) })
	after = newSet(p.name, p.after, broken)
	group.Wait()
	return before, after
}

func newSet(unit string, objects []*object.Object, broken map[string]bool) *object.Set {
	kept := make([]*object.Object, 0, len(objects))
	for _, o := range objects {
		if broken[o.Origin.Path] {
			continue
		}
		if o.Ref.Unit != unit {
			o = o.WithUnit(unit)
		}
		kept = append(kept, o)
	}
	set := object.NewSet(kept)
	if len(kept) >= manyObjects {
		set.Workloads()
	}
	return set
}

// manyObjects is the number of objects from which on it pays to find out how those
// of both sides hang together at the same time.
const manyObjects = 1000

// differing gives what is to be said of both sides: once when it is the same.
func differing(after, before string) string {
	switch {
	case before == "" || before == after:
		return after
	case after == "":
		return "before the change: " + before
	}
	// The same up to a colon, such as "chart not rendered: it is remote", is said once.
	same := 0
	for i := 0; i < len(after) && i < len(before) && after[i] == before[i]; i++ {
		if strings.HasSuffix(after[:i+1], ": ") {
			same = i + 1
		}
	}
	return after + "\nbefore the change: " + before[same:]
}

// problemText joins the problems that concern a part: those of the side after
// first, and those of the side before only where they are others.
func problemText(part string, before, after []render.Problem) string {
	var lines []string
	said := map[string]bool{}
	for _, p := range after {
		if p.Part == "" || p.Part == part {
			lines = append(lines, p.Error())
		}
		said[p.Error()] = true
	}
	for _, p := range before {
		if (p.Part == "" || p.Part == part) && !said[p.Error()] {
			lines = append(lines, "before the change: "+p.Error())
		}
	}
	return strings.Join(lines, "\n")
}

// notes joins what renderers say beside a unit.
func notes(after, before []string) []string {
	out := slices.Clone(after)
	for _, n := range before {
		if !slices.Contains(out, n) {
			out = append(out, "before the change: "+n)
		}
	}
	return out
}

// duplicates names the objects that are in a set more than once.
func duplicates(s *object.Set) []string {
	var out []string
	for _, o := range s.Duplicates() {
		out = append(out, fmt.Sprintf("%s is there more than once: the last one counts, not that of %s", o.Ref, o.Origin))
	}
	return slices.Compact(out)
}

// A part is a share of a unit on both sides.
type part struct {
	name                      string
	before, after             []*object.Object
	targetBefore, targetAfter *object.Object
}

// pairParts matches the parts of both sides by name. Where one side has a single
// part, which bears the unit's name, and the other has several, the single one
// goes with the one that it shares most objects with: a second inline environment
// in a file must not make the first look deleted and created.
//
// Parts that problems name are there too, though they may have no objects.
func pairParts(unit string, before, after []render.Part, problems []render.Problem) []part {
	var out []part
	at := map[string]int{}
	add := func(name string) *part {
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, part{name: name})
		}
		return &out[i]
	}
	renamed := func(one, many []render.Part) string {
		if len(one) != 1 || len(many) < 2 {
			return ""
		}
		refs := map[object.Ref]bool{}
		for _, o := range one[0].Objects {
			refs[unitless(o.Ref)] = true
		}
		best, most := one[0].Name, 0
		for _, m := range many {
			if m.Name == one[0].Name {
				return ""
			}
			n := 0
			for _, o := range m.Objects {
				if refs[unitless(o.Ref)] {
					n++
				}
			}
			if n > most {
				best, most = m.Name, n
			}
		}
		return best
	}
	nameBefore, nameAfter := renamed(before, after), renamed(after, before)
	for _, p := range before {
		name := p.Name
		if nameBefore != "" {
			name = nameBefore
		}
		to := add(name)
		to.before, to.targetBefore = p.Objects, p.Target
	}
	for _, p := range after {
		name := p.Name
		if nameAfter != "" {
			name = nameAfter
		}
		to := add(name)
		to.after, to.targetAfter = p.Objects, p.Target
	}
	for _, p := range problems {
		if p.Part != "" {
			add(p.Part)
		}
	}
	if len(out) == 0 {
		out = append(out, part{name: unit})
	}
	slices.SortFunc(out, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return out
}

func unitless(r object.Ref) object.Ref {
	r.Unit = ""
	return r
}
