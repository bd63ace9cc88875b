package diff

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// LinkMoves gives the changes of several units with an effect more on each pair
// of which one deletes and the other creates the same object in another unit. In
// one cluster, that is one object which changes hands: whether it survives
// depends on the order in which the tool applies and prunes.
func LinkMoves(changes []Change) []Change {
	type ends struct{ gone, come []int }
	byName := map[object.Ref]*ends{}
	for i, c := range changes {
		if c.Action != Create && c.Action != Delete {
			continue
		}
		ref := currentGroup(c.Ref)
		ref.Unit = ""
		e := byName[ref]
		if e == nil {
			e = &ends{}
			byName[ref] = e
		}
		if c.Action == Create {
			e.come = append(e.come, i)
		} else {
			e.gone = append(e.gone, i)
		}
	}
	out := slices.Clone(changes)
	for _, e := range byName {
		if len(e.gone) != 1 || len(e.come) != 1 || changes[e.gone[0]].Ref.Unit == changes[e.come[0]].Ref.Unit {
			continue
		}
		gone, come := &out[e.gone[0]], &out[e.come[0]]
		link := func(c *Change, kind EffectKind, format string, unit string) {
			c.Effects = append(slices.Clone(c.Effects), Effect{Kind: kind, Text: fmt.Sprintf(format, unit)})
		}
		link(gone, Removed, "unit %s creates the same object: if both go to one cluster, pruning after that deletes it", come.Ref.Unit)
		link(come, NoEffect, "unit %s had the same object: if both go to one cluster, it changes hands", gone.Ref.Unit)
	}
	return out
}
