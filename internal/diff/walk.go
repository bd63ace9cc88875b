package diff

import (
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// A step leads from a value to one inside it, on both sides.
type step struct {
	key    string   // map key, when list is false
	list   bool     // the step goes to a list item
	sel    []string // names and values of its keys, where it is known by keys
	before int      // index of the item before, -1 when it is not there
	after  int      // index of the item after, -1 when it is not there
	anchor int      // for an added item: the index before of the kept item that it follows, -1 for none
	gone   bool     // the map at the step is not there after
}

// pathOf spells steps.
func pathOf(steps []step) object.Path {
	var p object.Path
	for _, s := range steps {
		switch {
		case !s.list:
			p = p.Key(s.key)
		case s.sel != nil:
			p = p.Select(s.sel...)
		case s.after >= 0:
			p = p.Index(s.after)
		default:
			p = p.Index(s.before)
		}
	}
	return p
}

// A walker compares two objects and gathers the fields that differ.
type walker struct {
	steps    []step
	fields   []Field
	renaming renaming
	// unsettled says that values which differ on every rendering are looked for,
	// which are the same on both sides.
	unsettled bool
	text      *text // the text whose structure is being compared, nil outside of texts
}

// compare looks at one place on both sides: nb and na are what the schemas of
// both sides, which may be of different API versions, know about it.
func (w *walker) compare(before, after object.Value, nb, na *node) {
	switch {
	case !before.Exists() && !after.Exists():
	case before.Type() == object.Map && after.Type() == object.Map:
		if !w.same(before, after) {
			w.compareMaps(before, after, nb, na)
		}
	case before.Type() == object.List && after.Type() == object.List:
		if !w.same(before, after) {
			w.compareLists(before, after, nb, na)
		}
	case before.Equal(after):
		if w.unsettled && after.Unsettled() {
			w.emit(Field{Op: Set, Before: before, After: after, Hidden: filterUnsettled})
		}
	case sameMeaning(before, after, scalarOf(nb, na)):
		w.emit(Field{Op: Set, Before: before, After: after, Hidden: filterSameValue})
	case w.renaming.explains(before, after):
		w.emit(Field{Op: Set, Before: before, After: after, Hidden: filterHashed})
	default:
		found := len(w.fields)
		w.compareLeaves(before, after)
		if last := len(w.steps) - 1; last >= 0 && len(w.fields) == found+1 {
			w.fields[found].refused = refusedNumber(w.steps[last].key, after, firstNode(na, nb))
		}
	}
}

// same says whether there is nothing to tell of two values.
func (w *walker) same(before, after object.Value) bool {
	return before.Equal(after) && !(w.unsettled && after.HoldsUnsettled())
}

func (w *walker) compareLeaves(before, after object.Value) {
	switch {
	case !before.Exists():
		w.emit(Field{Op: Add, After: after})
	case !after.Exists():
		w.emit(Field{Op: Remove, Before: before})
	case before.Type() == object.String && after.Type() == object.String && w.compareTexts(before, after):
	default:
		w.emit(Field{Op: Set, Before: before, After: after})
	}
}

func (w *walker) compareMaps(before, after object.Value, nb, na *node) {
	for _, key := range unionKeys(before, after) {
		w.push(step{key: key})
		w.compareKey(key, before, after, nb, na)
		w.pop()
	}
}

// compareKey compares one key of two maps, where what is missing or zero may
// stand for a default.
func (w *walker) compareKey(key string, before, after object.Value, nb, na *node) {
	b, a := before.Field(key), after.Field(key)
	cb, ca := bothChildren(nb, na, key, b, a)
	if b.Exists() && a.Exists() && b.Type() != object.Number && b.Type() != object.String {
		w.compare(b, a, cb, ca)
		return
	}
	if w.same(b, a) {
		return
	}
	db := effective(nb, na, key, b, before)
	da := effective(na, nb, key, a, after)
	if db.Exists() != b.Exists() || da.Exists() != a.Exists() || !db.Equal(b) || !da.Equal(a) {
		// A default stands in on one side at least.
		if w.sameAsDefault(db, da, cb, ca) {
			w.emit(Field{Op: opOf(b, a), Before: b, After: a, Hidden: filterDefaults})
			return
		}
		if emptyMap(db, b) && da.Type() == object.Map || emptyMap(da, a) && db.Type() == object.Map {
			w.steps[len(w.steps)-1].gone = !a.Exists()
			w.compareMaps(b, a, cb, ca)
			return
		}
	}
	if b.Exists() != a.Exists() {
		present, n := b, firstNode(cb, ca)
		if a.Exists() {
			present, n = a, firstNode(ca, cb)
		}
		if n != nil && n.optional && present.Len() == 0 && (present.Type() == object.Map || present.Type() == object.List) {
			w.emit(Field{Op: opOf(b, a), Before: b, After: a, Hidden: filterDefaults})
			return
		}
		if n != nil && n.shape == mapOf && present.Type() == object.Map && present.Len() > 0 {
			w.steps[len(w.steps)-1].gone = !a.Exists()
			w.compareMaps(b, a, cb, ca) // label by label, key by key
			return
		}
	}
	w.compare(b, a, cb, ca)
}

// emptyMap says whether an empty map stands in for a value that is not there.
func emptyMap(filled, v object.Value) bool {
	return !v.Exists() && filled.Type() == object.Map && filled.Len() == 0
}

// sameAsDefault says whether two values are the same once defaults inside them
// are filled in.
func (w *walker) sameAsDefault(before, after object.Value, nb, na *node) bool {
	inner := walker{renaming: w.renaming}
	inner.compare(before, after, nb, na)
	return !slices.ContainsFunc(inner.fields, func(f Field) bool { return f.Hidden == "" })
}

func (w *walker) push(s step) { w.steps = append(w.steps, s) }
func (w *walker) pop()        { w.steps = w.steps[:len(w.steps)-1] }

// emit records a difference at the current place.
func (w *walker) emit(f Field) {
	f.steps = slices.Clone(w.steps)
	if f.text = w.text; f.text != nil && f.Hidden != filterLayout {
		f.Before, f.After = object.Unquoted(f.Before, f.After)
		f.Before, f.After = f.Before.Unmarked(), f.After.Unmarked()
		plain := func(s string) string { return object.Unmark(object.UnquotedKey(s)) }
		for i := f.text.depth; i < len(f.steps); i++ {
			s := &f.steps[i]
			s.key, s.sel = plain(s.key), slices.Clone(s.sel)
			for j := range s.sel {
				s.sel[j] = plain(s.sel[j])
			}
		}
	}
	f.Path = pathOf(f.steps)
	w.fields = append(w.fields, f)
}

func opOf(before, after object.Value) Op {
	switch {
	case !before.Exists():
		return Add
	case !after.Exists():
		return Remove
	}
	return Set
}

// bothChildren gives the schema of a key on both sides, each standing in for the
// other where one knows nothing.
func bothChildren(nb, na *node, key string, before, after object.Value) (cb, ca *node) {
	cb, ca = nb.child(key), na.child(key)
	if n := firstNode(ca, cb); n == nil && firstNode(na, nb).isCustom() || n.isCustom() {
		if common := habit(key, before, after); common != nil {
			return common, common
		}
	}
	if cb == nil {
		cb = ca
	}
	if ca == nil {
		ca = cb
	}
	return cb, ca
}

func firstNode(a, b *node) *node {
	if a != nil {
		return a
	}
	return b
}

func scalarOf(nb, na *node) scalar {
	if na.scalarKind() != plain {
		return na.scalarKind()
	}
	return nb.scalarKind()
}

// unionKeys gives the keys of both maps in byte order.
func unionKeys(before, after object.Value) []string {
	kb, ka := before.Keys(), after.Keys()
	out := make([]string, 0, len(ka)+4)
	for len(kb) > 0 || len(ka) > 0 {
		switch {
		case len(kb) == 0 || len(ka) > 0 && ka[0] < kb[0]:
			out, ka = append(out, ka[0]), ka[1:]
		case len(ka) == 0 || kb[0] < ka[0]:
			out, kb = append(out, kb[0]), kb[1:]
		default:
			out, kb, ka = append(out, kb[0]), kb[1:], ka[1:]
		}
	}
	return out
}
