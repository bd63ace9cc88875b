package main

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
)

// withUnchanged adds to the units that change, by their names alone, those that are
// the same on both sides: a rule may ask who is left out.
func withUnchanged(parts []*rule.Unit, units []report.Unit) []*rule.Unit {
	known := map[string]bool{}
	for _, p := range parts {
		known[p.Name] = true
	}
	all := slices.Clone(parts)
	for _, u := range units {
		if !known[u.Name] && (u.Status == report.Unchanged || u.Status == report.Rendered) {
			known[u.Name] = true
			all = append(all, &rule.Unit{Name: u.Name})
		}
	}
	slices.SortFunc(all, func(a, b *rule.Unit) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// moveOptions is how objects that change units are compared: where custom resources go
// and come, with the definitions of all the tree, which say whether a kind lives in no
// namespace. A chart puts what it knows no scope of into that of its release.
func moveOptions(changes []diff.Change, p *policy) diff.Options {
	o := p.options
	gone := map[string]bool{}
	for _, c := range changes {
		if c.Action == diff.Delete && custom(c.Ref.Group) {
			gone[c.Ref.GroupKind()] = true
		}
	}
	if p.definitions != nil && slices.ContainsFunc(changes, func(c diff.Change) bool { return c.Action == diff.Create && gone[c.Ref.GroupKind()] }) {
		o.Schemas = p.definitions()
	}
	return o
}

// conclude asks the rules and fills the report in.
func conclude(rep *report.Report, results []result, p *policy) {
	var parts []*rule.Unit
	for _, r := range results {
		rep.Units = append(rep.Units, r.units...)
		parts = append(parts, r.parts...)
	}
	slices.SortFunc(parts, func(a, b *rule.Unit) int { return strings.Compare(a.Name, b.Name) })
	byName := map[string]*rule.Unit{}
	var changes []diff.Change
	for _, p := range parts {
		byName[p.Name] = p
		changes = append(changes, p.Changes...)
	}
	for _, ch := range diff.LinkMoves(changes, moveOptions(changes, p)) {
		rep.Changes = append(rep.Changes, report.NewChange(ch))
	}
	slices.SortStableFunc(rep.Changes, func(a, b report.Change) int { return a.Ref.Compare(b.Ref) })
	report.Group(rep.Changes)
	rep.Hidden = hidden(rep.Changes)
	var counting sync.WaitGroup
	counting.Go(func() { rep.Numbers = report.Count(parts) })

	cited, told := map[string]bool{}, map[string]bool{}
	for _, f := range p.ask(rep, withUnchanged(parts, rep.Units)) {
		rank(p.library, &f, byName[f.Unit])
		rep.Findings = append(rep.Findings, shownFinding(f, byName[f.Unit]))
	}
	counting.Wait()
	rep.FoldMoves()
	for _, f := range rep.Findings {
		for _, id := range f.Incidents {
			cited[id] = true
		}
		told[f.Rule] = true
	}
	for _, i := range p.library.All() {
		if cited[i.ID] {
			rep.Incidents = append(rep.Incidents, i)
		}
	}
	for _, r := range p.rules {
		if told[r.ID] {
			rep.Rules = append(rep.Rules, report.Rule{ID: r.ID, Title: r.Title, Severity: r.Severity, Doc: r.Doc})
		}
	}
	slices.SortStableFunc(rep.Units, func(a, b report.Unit) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Renderer, b.Renderer))
	})
	slices.SortFunc(rep.Rules, func(a, b report.Rule) int { return strings.Compare(a.ID, b.ID) })
}

// shownFinding adds to a finding the API versions of the objects that it names.
func shownFinding(f report.Finding, u *rule.Unit) report.Finding {
	versionOf := func(ref object.Ref) string {
		if u == nil {
			return ""
		}
		for _, set := range []*object.Set{u.After, u.Before} {
			if o := set.Get(ref); o != nil {
				return o.APIVersion()
			}
		}
		return ""
	}
	f.APIVersion = versionOf(f.Ref)
	for _, ref := range f.Related {
		f.RelatedVersions = append(f.RelatedVersions, versionOf(ref))
	}
	return f
}

// hidden counts what each noise filter takes out.
func hidden(changes []report.Change) []report.Hidden {
	counts := map[string]*report.Hidden{}
	for _, c := range changes {
		here := map[string]bool{}
		for _, f := range c.Fields {
			if f.Hidden == "" {
				continue
			}
			if counts[f.Hidden] == nil {
				counts[f.Hidden] = &report.Hidden{Filter: f.Hidden}
			}
			counts[f.Hidden].Fields++
			if !here[f.Hidden] {
				here[f.Hidden] = true
				counts[f.Hidden].Objects++
			}
		}
	}
	var out []report.Hidden
	for _, h := range counts {
		out = append(out, *h)
	}
	slices.SortFunc(out, func(a, b report.Hidden) int { return strings.Compare(a.Filter, b.Filter) })
	return out
}
