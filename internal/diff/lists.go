package diff

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// habitKeys identify the items of a list that no schema speaks about, in the
// order in which they are tried.
var habitKeys = []string{"name", "key", "id", "type", "port", "host", "path", "topologyKey", "secretName"}

// A pair is one item of a list on both sides, -1 on a side that lacks it.
type pair struct {
	before, after int
	sel           []string
}

func (w *walker) compareLists(before, after object.Value, nb, na *node) {
	n := firstNode(na, nb)
	ordering := meaningful
	if n != nil {
		ordering = n.order
	}
	ib, ia := nb.item(), na.item()
	if ib == nil {
		ib = ia
	}
	if ia == nil {
		ia = ib
	}
	pairs, ok := pairByKeys(before, after, n, ib, ia, w.renaming)
	switch {
	case ok:
	case n != nil && (n.shape == setOf || n.order == free):
		pairs = pairFreely(before, after, w.renaming)
	default:
		pairs = pairInOrder(before, after, w.renaming)
	}
	w.comparePairs(before, after, pairs, ib, ia)
	if !inSameOrder(pairs) {
		hidden := ""
		if ordering.freely(before, after) {
			hidden = filterReordered
		}
		w.emitOrder(before, after, pairs, hidden)
	}
}

// comparePairs compares items that are on both sides and reports the others as
// a whole. pairs come in the order of after, removed ones first.
func (w *walker) comparePairs(before, after object.Value, pairs []pair, ib, ia *node) {
	anchor := -1
	for _, p := range pairs {
		if p.before >= 0 && p.after >= 0 {
			anchor = p.before
		}
		w.push(step{list: true, sel: p.sel, before: p.before, after: p.after, anchor: anchor})
		b, a := before.Item(p.before), after.Item(p.after)
		switch {
		case p.before < 0:
			w.emit(Field{Op: Add, After: a})
		case p.after < 0:
			w.emit(Field{Op: Remove, Before: b})
		default:
			w.compare(b, a, ib, ia)
		}
		w.pop()
	}
}

// emitOrder reports that the items which are on both sides changed places.
func (w *walker) emitOrder(before, after object.Value, pairs []pair, hidden string) {
	f := Field{Op: Set, Reordered: true, Hidden: hidden, order: make([]int, before.Len())}
	for i := range f.order {
		f.order[i] = -1
	}
	type place struct {
		at   int
		name object.Value
	}
	var was, is []place
	for _, p := range pairs {
		if p.before < 0 || p.after < 0 {
			continue
		}
		f.order[p.before] = p.after
		was = append(was, place{p.before, itemName(p, before.Item(p.before))})
		is = append(is, place{p.after, itemName(p, after.Item(p.after))})
	}
	names := func(places []place) object.Value {
		slices.SortFunc(places, func(x, y place) int { return x.at - y.at })
		out := make([]object.Value, len(places))
		for i, p := range places {
			out[i] = p.name
		}
		return object.ListOf(out)
	}
	f.Before, f.After = names(was), names(is)
	w.emit(f)
}

// itemName names an item by its key values, or by all of it where it has none.
func itemName(p pair, item object.Value) object.Value {
	if p.sel == nil {
		return item
	}
	var values []string
	for i := 1; i < len(p.sel); i += 2 {
		values = append(values, p.sel[i])
	}
	return object.TextOf(strings.Join(values, ","))
}

// inSameOrder says whether the items that are on both sides keep their order.
func inSameOrder(pairs []pair) bool {
	last := -1
	for _, p := range pairs {
		if p.before < 0 || p.after < 0 {
			continue
		}
		if p.before < last {
			return false
		}
		last = p.before
	}
	return true
}

// pairByKeys pairs items by the keys of the schema, else by habit. It fails where
// an item lacks a key or two of one side share one: such lists are compared by
// index.
func pairByKeys(before, after object.Value, n, ib, ia *node, r renaming) ([]pair, bool) {
	if n != nil && n.shape == keyedBy {
		kb, okb := keysOf(before, n.keys, ib, r)
		ka, oka := keysOf(after, n.keys, ia, renaming{})
		if !okb || !oka {
			return nil, false
		}
		return pairSameName(before, after, pairKeys(n.keys, kb, ka), n.keys), true
	}
	if n != nil && n.shape == setOf {
		return nil, false
	}
	for _, key := range habitKeys {
		keys := []string{key}
		kb, okb := keysOf(before, keys, nil, r)
		if !okb {
			continue
		}
		if ka, oka := keysOf(after, keys, nil, renaming{}); oka {
			return pairKeys(keys, kb, ka), true
		}
	}
	return nil, false
}

// keysOf gives the key values of each item, with defaults filled in and names
// followed by r. It fails
// when an item lacks one or a value stands twice.
func keysOf(items object.Value, keys []string, n *node, r renaming) ([][]string, bool) {
	out := make([][]string, 0, items.Len())
	seen := make(map[string]bool, items.Len())
	for _, item := range items.Items() {
		values := make([]string, len(keys))
		for i, key := range keys {
			v := item.Field(key)
			if !v.Exists() {
				if d, ok := n.defaultRule(key); ok {
					v = d.value(item)
				}
			}
			switch v.Type() {
			case object.String, object.Number, object.Bool:
				values[i] = r.apply(v.String())
			default:
				return nil, false
			}
		}
		id := strings.Join(values, "\x00")
		if seen[id] {
			return nil, false
		}
		seen[id] = true
		out = append(out, values)
	}
	return out, true
}

func pairKeys(keys []string, before, after [][]string) []pair {
	at := make(map[string]int, len(before))
	for i, values := range before {
		at[strings.Join(values, "\x00")] = i
	}
	kept := make([]bool, len(before))
	var pairs []pair
	for j, values := range after {
		p := pair{before: -1, after: j, sel: selection(keys, values)}
		if i, ok := at[strings.Join(values, "\x00")]; ok {
			p.before, kept[i] = i, true
		}
		pairs = append(pairs, p)
	}
	var gone []pair
	for i, values := range before {
		if !kept[i] {
			gone = append(gone, pair{before: i, after: -1, sel: selection(keys, values)})
		}
	}
	return append(gone, pairs...)
}

// pairSameName joins an item that goes and one that comes under the same name,
// where the name is not the key: a Service port of another number is that port
// changed, not another port.
func pairSameName(before, after object.Value, pairs []pair, keys []string) []pair {
	if slices.Contains(keys, "name") {
		return pairs
	}
	gone, come := map[string]int{}, map[string]int{} // name -> index in pairs, -1 when doubled
	note := func(m map[string]int, items object.Value, item, i int) {
		name := items.Item(item).Field("name").Text()
		if _, doubled := m[name]; doubled {
			i = -1
		}
		m[name] = i
	}
	for i, p := range pairs {
		switch {
		case p.after < 0:
			note(gone, before, p.before, i)
		case p.before < 0:
			note(come, after, p.after, i)
		}
	}
	out := slices.Clone(pairs)
	for name, i := range gone {
		j, ok := come[name]
		if name == "" || !ok || i < 0 || j < 0 {
			continue
		}
		out[j].before, out[j].sel = pairs[i].before, []string{"name", name}
		out[i] = pair{-1, -1, nil}
	}
	return slices.DeleteFunc(out, func(p pair) bool { return p.before < 0 && p.after < 0 })
}

func selection(keys, values []string) []string {
	sel := make([]string, 0, 2*len(keys))
	for i := range keys {
		sel = append(sel, keys[i], values[i])
	}
	return sel
}
