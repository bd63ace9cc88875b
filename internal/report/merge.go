package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/incident"
)

// Merge makes one report of the parts that several shards of one run wrote. The
// order of parts does not matter. Parts of different runs, and a unit that is in
// two parts, are errors: their sum would tell of nothing that exists. A skipped
// unit may be in all of them, as every shard finds it.
func Merge(parts []*Report) (*Report, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("no parts to merge")
	}
	out := &Report{Version: parts[0].Version, Base: parts[0].Base, Head: parts[0].Head}
	hidden := map[string]Hidden{}
	seen := map[string]Unit{}
	for _, p := range parts {
		if p.Base != out.Base || p.Head != out.Head {
			return nil, fmt.Errorf("the parts are of different runs: %s and %s", sides(out, inert), sides(p, inert))
		}
		if p.Version != out.Version {
			return nil, fmt.Errorf("the parts were written by prdiff %s and %s", inert(out.Version), inert(p.Version))
		}
		for _, u := range p.Units {
			key := u.Renderer + "\x00" + u.Name
			earlier, ok := seen[key]
			if ok && u.Renderer == "" && u.Status == earlier.Status {
				// No unit, but something that every part speaks of, such as a file of rules.
				i := slices.IndexFunc(out.Units, func(have Unit) bool { return have.Name == u.Name && have.Renderer == "" })
				if !strings.Contains(out.Units[i].Error, u.Error) {
					out.Units[i].Error += "\n" + u.Error
				}
				continue
			}
			if ok && (u.Status != Skipped || earlier.Status != Skipped) {
				return nil, fmt.Errorf("unit %s is in two parts", inert(u.Name))
			}
			if !ok {
				seen[key] = u
				out.Units = append(out.Units, u)
			}
		}
		out.Changes = append(out.Changes, p.Changes...)
		out.Findings = append(out.Findings, p.Findings...)
		out.Numbers.Restarts = append(out.Numbers.Restarts, p.Numbers.Restarts...)
		out.Numbers.Loads = append(out.Numbers.Loads, p.Numbers.Loads...)
		for _, x := range p.Rules {
			if !slices.ContainsFunc(out.Rules, func(have Rule) bool { return have.ID == x.ID }) {
				out.Rules = append(out.Rules, x)
			}
		}
		for _, h := range p.Hidden {
			sum := hidden[h.Filter]
			hidden[h.Filter] = Hidden{h.Filter, sum.Fields + h.Fields, sum.Objects + h.Objects, h.Reason}
		}
		out.Silencers = mergeSilencers(out.Silencers, p.Silencers)
		out.Off = append(out.Off, p.Off...)
		out.Cases = mergeCases(out.Cases, p.Cases)
		for _, i := range p.Incidents {
			if !slices.ContainsFunc(out.Incidents, func(have incident.Incident) bool { return have.ID == i.ID }) {
				out.Incidents = append(out.Incidents, i)
			}
		}
	}
	slices.SortFunc(out.Units, func(a, b Unit) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Renderer, b.Renderer))
	})
	slices.SortStableFunc(out.Changes, func(a, b Change) int { return a.Ref.Compare(b.Ref) })
	out.Findings = FoldFindings(out.Findings)
	slices.SortFunc(out.Incidents, func(a, b incident.Incident) int { return strings.Compare(a.ID, b.ID) })
	for _, h := range hidden {
		out.Hidden = append(out.Hidden, h)
	}
	slices.SortFunc(out.Hidden, func(a, b Hidden) int { return strings.Compare(a.Filter, b.Filter) })
	out.Changes = joinMoves(out.Changes)
	linkMoves(out.Changes)
	out.FoldMoves()
	Group(out.Changes)
	out.Numbers.sort()
	slices.Sort(out.Off)
	out.Off = slices.Compact(out.Off)
	slices.SortFunc(out.Rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// linkMoves links objects that change hands between units of two parts. Those of
// one part were linked when it was written.
func linkMoves(changes []Change) {
	plain := make([]diff.Change, len(changes))
	for i, c := range changes {
		plain[i] = c.Change
	}
	for i, c := range diff.LinkMoves(plain, diff.Options{}) { // joins none: a part holds no objects
		for _, e := range c.Effects[len(changes[i].Effects):] {
			if !slices.ContainsFunc(changes[i].Effects, func(have diff.Effect) bool { return have.Kind == e.Kind && have.Text == e.Text }) {
				changes[i].Effects = append(slices.Clone(changes[i].Effects), e)
			}
		}
	}
}
