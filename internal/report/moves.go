package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// movesAlone says whether c takes its object from one unit to another and does
// nothing else to it.
func movesAlone(c Change) bool {
	return c.MovedFrom != "" && !slices.ContainsFunc(c.Fields, func(f diff.Field) bool { return f.Hidden == "" }) &&
		!slices.ContainsFunc(c.Effects, func(e diff.Effect) bool { return e.Kind == diff.Rolling || e.Kind == diff.Restart })
}

// changesNamespace says whether c takes its object to another namespace under its name
// and does nothing else to it.
func changesNamespace(c Change) bool {
	return c.Action == diff.Rename && c.MovedFrom == "" && c.RenamedFrom.Name == c.Ref.Name && c.RenamedFrom.Namespace != c.Ref.Namespace &&
		!slices.ContainsFunc(c.Fields, func(f diff.Field) bool { return f.Hidden == "" && f.Path != "metadata.namespace" })
}

// foldMoves makes one entry of all that goes from one unit to another unchanged,
// in the place of the first, and one of all that just goes from one namespace to another.
func foldMoves(all []same) []same {
	at := map[string]int{}
	out := all[:0:0]
	for _, s := range all {
		var key string
		switch {
		case movesAlone(s.Change):
			key = strings.Join([]string{s.MovedFrom, s.Ref.Unit}, "\x00")
		case changesNamespace(s.Change):
			key = strings.Join(append([]string{"", s.RenamedFrom.Namespace, s.Ref.Namespace}, s.units...), "\x00")
		default:
			out = append(out, s)
			continue
		}
		if i, ok := at[key]; ok {
			out[i].members = append(out[i].members, s.members...)
			continue
		}
		at[key] = len(out)
		out = append(out, s)
	}
	for _, i := range at {
		switch s := &out[i]; {
		case len(s.members) == len(s.units): // one object, in each of them
		case s.MovedFrom != "":
			s.Change = together(s.members)
		default:
			ofOne := slices.DeleteFunc(slices.Clone(s.members), func(c Change) bool { return c.Ref.Unit != s.Ref.Unit })
			fields := s.Fields
			s.Change = together(ofOne)
			s.Fields = fields
			s.members = s.members[:0:0]
			for _, unit := range s.units {
				c := s.Change
				c.Ref.Unit = unit
				s.members = append(s.members, c)
			}
		}
	}
	return out
}

// together gives a change that stands for many which move alone.
func together(members []Change) Change {
	counts := map[string]int{}
	var kinds []string
	var effects []diff.Effect
	for _, c := range members {
		if counts[c.Ref.Kind]++; counts[c.Ref.Kind] == 1 {
			kinds = append(kinds, c.Ref.Kind)
		}
		for _, e := range c.Effects {
			if !slices.ContainsFunc(effects, func(have diff.Effect) bool { return have.Kind == e.Kind && have.Text == e.Text }) {
				effects = append(effects, e)
			}
		}
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	const most = 4
	var words []string
	for i, kind := range kinds {
		if i == most && len(kinds) > most+1 {
			words = append(words, plural(len(kinds)-most, "kind")+" more")
			break
		}
		words = append(words, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	first := members[0]
	return Change{Change: diff.Change{
		Action: diff.Rename, MovedFrom: first.MovedFrom, Effects: effects,
		Ref: object.Ref{Unit: first.Ref.Unit, Kind: plural(len(members), "object"), Name: "(" + strings.Join(words, ", ") + ")"},
	}}
}

// FoldMoves folds what a report says of objects that go from one unit to another.
// Pods that start and end for that alone are not counted: in one cluster they stay.
func (r *Report) FoldMoves() {
	r.Findings = foldMoved(r.Findings, r.Changes)
	r.Numbers.withoutMoves(r.Changes)
}

// foldMoved folds findings. Of what rules say where an object left, one finding is
// kept for all objects of which they say the same, the others among its Related.
// Notes of what comes unchanged are left out: that was so before, in the other unit.
// Silenced findings stay as they are. The order is kept.
func foldMoved(findings []Finding, changes []Change) []Finding {
	left, come := map[object.Ref]string{}, map[object.Ref]bool{}
	for _, c := range changes {
		if c.MovedFrom != "" {
			from := c.RenamedFrom
			from.Unit = c.MovedFrom
			left[from] = c.Ref.Unit
			if movesAlone(c) {
				come[c.Ref] = true
			}
		}
	}
	if len(left) == 0 {
		return findings
	}
	type key struct {
		rule, from, to, path, message string
		severity                      rule.Severity
	}
	at := map[key]int{}
	var out []Finding
	for _, f := range findings {
		ref := f.Ref
		ref.Unit = f.Unit
		to, moves := left[ref]
		switch {
		case f.Suppressed != nil || len(f.Units) > 1:
		case come[ref] && f.Severity == rule.Note:
			continue
		case moves:
			k := key{f.Rule, f.Unit, to, string(f.Path), f.Message, f.Severity}
			if i, ok := at[k]; ok {
				out[i].Related = append(slices.Clone(out[i].Related), f.Ref)
				out[i].RelatedVersions = append(slices.Clone(out[i].RelatedVersions), f.APIVersion)
				continue
			}
			at[k] = len(out)
		}
		out = append(out, f)
	}
	for k, i := range at {
		n := 0
		for _, ref := range out[i].Related {
			if _, moves := left[object.Ref{Unit: k.from, Group: ref.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}]; moves {
				n++
			}
		}
		if n > 0 {
			out[i].Message += fmt.Sprintf("; so do %d more", n)
		}
	}
	return out
}

// joinMoves joins what one part of a run deletes and another creates: the same
// object, by all that the report holds of it.
func joinMoves(changes []Change) []Change {
	byName := map[object.Ref][]int{}
	for i, c := range changes {
		if (c.Action == diff.Create || c.Action == diff.Delete) && c.Before == nil && c.After == nil {
			ref := c.Ref
			ref.Unit = ""
			byName[ref] = append(byName[ref], i)
		}
	}
	gone := map[int]bool{}
	out := slices.Clone(changes)
	for _, pair := range byName {
		if len(pair) != 2 || changes[pair[0]].Action == changes[pair[1]].Action {
			continue
		}
		from, to := pair[0], pair[1]
		if changes[from].Action == diff.Create {
			from, to = to, from
		}
		was, is := changes[from], changes[to]
		if was.Ref.Unit == is.Ref.Unit || was.APIVersion != is.APIVersion || content(was.Diff) == "" || content(was.Diff) != content(is.Diff) {
			continue
		}
		c := is
		c.Action, c.RenamedFrom, c.MovedFrom, c.Diff = diff.Rename, was.Ref, was.Ref.Unit, ""
		c.Effects = []diff.Effect{{Kind: diff.Removed, Text: "if both units go to one cluster, pruning " + was.Ref.Unit + " after that deletes it"}}
		for _, e := range was.Effects {
			if e.Kind == diff.DataLoss {
				c.Effects = slices.Insert(c.Effects, 0, diff.Effect{Kind: diff.DataLoss, Text: "if both units go to one cluster and " + was.Ref.Unit + " is pruned after that: " + e.Text})
			}
		}
		out[to] = c
		gone[from] = true
	}
	kept := out[:0]
	for i, c := range out {
		if !gone[i] {
			kept = append(kept, c)
		}
	}
	return kept
}

// content gives the lines of the diff of a whole object without their signs.
func content(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "@@") {
			b.WriteString(line[1:])
		}
	}
	return b.String()
}

// withoutMoves leaves out of n the pods that start and end only because their
// workload goes from one unit to another.
func (n *Numbers) withoutMoves(changes []Change) {
	moves := map[object.Ref]bool{}
	for _, c := range changes {
		if c.MovedFrom == "" {
			continue
		}
		from := c.RenamedFrom
		from.Unit = c.MovedFrom
		moves[from] = true
		if movesAlone(c) {
			moves[c.Ref] = true
		}
	}
	n.Restarts = slices.DeleteFunc(n.Restarts, func(x Restart) bool { return moves[x.Ref] })
}
