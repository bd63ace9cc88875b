package diff

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// LinkMoves gives the changes of several units with those joined to one by which
// an object goes from one unit to another: deleted there, created here, and alike.
// Such a change is a Rename with MovedFrom; its fields are what differs between
// both objects. In one cluster, it is one object which changes hands: whether it
// survives depends on the order in which the tool applies and prunes.
//
// Where both are not alike, or their content is not known any more, the two stay
// apart and have an effect more that names the other unit. The order is that of
// changes, a joined one in the place of its creation.
func LinkMoves(changes []Change, opts Options) []Change {
	var joined map[int]Change // by the place of the creation
	gone := map[int]bool{}
	out := slices.Clone(changes)
	moves := movesIn(changes, opts)
	for _, m := range moves {
		joinMoves(changes, m, opts, func(deleted, created int, c Change) {
			if joined == nil {
				joined = map[int]Change{}
			}
			joined[created] = c
			gone[deleted] = true
		})
	}
	for _, m := range moves {
		for i, deleted := range m.deleted {
			if gone[deleted] {
				continue
			}
			from, to := &out[deleted], &out[m.created[i]]
			link := func(c *Change, kind EffectKind, format string, unit string) {
				c.Effects = append(slices.Clone(c.Effects), Effect{Kind: kind, Text: fmt.Sprintf(format, unit)})
			}
			link(from, Removed, "unit %s creates the same object: if both go to one cluster, pruning after that deletes it", to.Ref.Unit)
			link(to, NoEffect, "unit %s had the same object: if both go to one cluster, it changes hands", from.Ref.Unit)
		}
	}
	kept := out[:0]
	for i, c := range out {
		if gone[i] {
			continue
		}
		if j, ok := joined[i]; ok {
			c = j
		}
		kept = append(kept, c)
	}
	return kept
}

// A unitMove is what goes from one unit to another: places in the list of changes.
type unitMove struct {
	from, to         string
	deleted, created []int // in the same order
}

// movesIn finds what one unit deletes and just one other creates, by pairs of
// units in the order of their first object.
func movesIn(changes []Change, opts Options) []*unitMove {
	kinds := &engine{schemas: newCustomSchemas(nil, nil, opts.Schemas)}
	type ends struct{ gone, come []int }
	byName := map[object.Ref]*ends{}
	var order []*ends
	for i, c := range changes {
		if c.Action != Create && c.Action != Delete {
			continue
		}
		ref := kinds.identityOf(c.Ref)
		e := byName[ref]
		if e == nil {
			e = &ends{}
			byName[ref] = e
			order = append(order, e)
		}
		if c.Action == Create {
			e.come = append(e.come, i)
		} else {
			e.gone = append(e.gone, i)
		}
	}
	byUnits := map[[2]string]*unitMove{}
	var out []*unitMove
	for _, e := range order {
		if len(e.gone) != 1 || len(e.come) != 1 || changes[e.gone[0]].Ref.Unit == changes[e.come[0]].Ref.Unit {
			continue
		}
		units := [2]string{changes[e.gone[0]].Ref.Unit, changes[e.come[0]].Ref.Unit}
		m := byUnits[units]
		if m == nil {
			m = &unitMove{from: units[0], to: units[1]}
			byUnits[units] = m
			out = append(out, m)
		}
		m.deleted, m.created = append(m.deleted, e.gone[0]), append(m.created, e.come[0])
	}
	return out
}

// joinMoves compares what goes from one unit to another, and calls join for each
// pair that is alike.
func joinMoves(changes []Change, m *unitMove, opts Options, join func(deleted, created int, c Change)) {
	var before, after []*object.Object
	for i, deleted := range m.deleted {
		b, a := changes[deleted].Before, changes[m.created[i]].After
		if b == nil || a == nil {
			return // from JSON
		}
		before, after = append(before, b.WithUnit(m.to)), append(after, a)
	}
	differs := map[object.Ref]Change{}
	for _, c := range Compare(object.NewSet(before), object.NewSet(after), opts) {
		differs[c.Ref] = c
	}
	for i, deleted := range m.deleted {
		b, a := before[i], after[i]
		c, changed := differs[a.Ref]
		if changed && (c.Before == nil || c.Before.Ref.Name != a.Ref.Name || similarity(leavesOf(b), leavesOf(a)) < alike) {
			continue
		}
		if !changed {
			c = Change{Ref: a.Ref, Before: b, After: a}
		}
		c.Action, c.RenamedFrom, c.MovedFrom = Rename, changes[deleted].Ref, m.from
		effects := effects{list: slices.Clone(c.Effects)}
		for _, e := range changes[deleted].Effects {
			if e.Kind == DataLoss {
				effects.add(DataLoss, "", "if both units go to one cluster and %s is pruned after that: %s", m.from, e.Text)
			}
		}
		effects.add(Removed, "", "if both units go to one cluster, pruning %s after that deletes it", m.from)
		c.Effects = effects.sorted()
		join(deleted, m.created[i], c)
	}
}
