package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// checkMoved shows to the rules what a change does to objects that go from one unit to
// another and do not stay the same on the way. Each unit has a deletion and a creation of them,
// of which neither tells what an update would do; where both units go to one cluster, it
// is an update. As that is not known, nothing of it is worse than a warning.
func checkMoved(byKind map[string][]*Rule, anyKind []*Rule, units []*Unit, s Settings, findings *[]Finding) {
	type about struct {
		rule string
		ref  object.Ref
		path object.Path
	}
	told := map[about]bool{}
	var moved []Finding
	for _, m := range movesOf(units) {
		for _, c := range m.Changes {
			for _, r := range slices.Concat(byKind[kindOf(c.Ref)], anyKind) {
				r.check(units, m.Unit, c, s, &moved)
			}
		}
		for _, f := range moved {
			f.Severity = min(f.Severity, Warning) // the clusters are not known
			f.Consequence = strings.TrimPrefix(fmt.Sprintf("%s; so it is if %s, from which it moves, goes to the same cluster", f.Consequence, m.from), "; ")
			if len(told) == 0 {
				for _, x := range *findings {
					told[about{x.Rule, x.Ref, x.Path}] = true
				}
			}
			if key := (about{f.Rule, f.Ref, f.Path}); !told[key] {
				told[key] = true
				*findings = append(*findings, f)
			}
		}
		moved = moved[:0]
	}
}

// A joined is two units taken for one, with what goes from one to the other.
type joined struct {
	*Unit
	from string
}

// movesOf finds the objects that just one unit loses and just one other gains, by pairs of
// units, in the order of the units that gain them.
func movesOf(units []*Unit) []joined {
	type ends struct {
		from, to      *Unit
		gone, come    diff.Change
		losses, gains int
	}
	byName := map[object.Ref]*ends{}
	each := func(action diff.Action, f func(*Unit, diff.Change, object.Ref)) {
		for _, u := range units {
			for _, c := range u.Changes {
				if c.Action == action {
					ref := c.Ref
					ref.Unit = ""
					f(u, c, ref)
				}
			}
		}
	}
	each(diff.Delete, func(u *Unit, c diff.Change, ref object.Ref) {
		e := byName[ref]
		if e == nil {
			e = &ends{}
			byName[ref] = e
		}
		e.from, e.gone = u, c
		e.losses++
	})
	if len(byName) == 0 {
		return nil
	}
	var order []*ends
	each(diff.Create, func(u *Unit, c diff.Change, ref object.Ref) {
		e := byName[ref]
		if e == nil {
			return
		}
		if e.gains == 0 {
			order = append(order, e)
		}
		e.to, e.come = u, c
		e.gains++
	})
	type pair struct{ from, to *Unit }
	type sides struct{ before, after []*object.Object }
	byPair := map[pair]*sides{}
	var pairs []pair
	for _, e := range order {
		if e.losses != 1 || e.gains != 1 || e.from == e.to || e.gone.Before == nil || e.come.After == nil {
			continue
		}
		k := pair{e.from, e.to}
		if byPair[k] == nil {
			byPair[k] = &sides{}
			pairs = append(pairs, k)
		}
		byPair[k].before = append(byPair[k].before, e.gone.Before.WithUnit(e.to.Name))
		byPair[k].after = append(byPair[k].after, e.come.After)
	}
	var out []joined
	for _, k := range pairs {
		var changes []diff.Change
		for _, c := range diff.Compare(object.NewSet(byPair[k].before), object.NewSet(byPair[k].after), diff.Options{}) {
			if c.Before != nil && c.After != nil {
				changes = append(changes, c)
			}
		}
		if len(changes) > 0 {
			out = append(out, joined{&Unit{Name: k.to.Name, Before: together(k.from.Before, k.to.Before, k.to.Name), After: together(k.from.After, k.to.After, k.to.Name), Changes: changes}, k.from.Name})
		}
	}
	return out
}

// together gives one set of what two units have on one side, all under one unit's name.
func together(a, b *object.Set, unit string) *object.Set {
	var all []*object.Object
	for _, set := range []*object.Set{a, b} {
		if set == nil {
			continue
		}
		for _, o := range set.All() {
			all = append(all, o.WithUnit(unit))
		}
	}
	return object.NewSet(all)
}
