package diff

import (
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// Apply gives what becomes of an object's content when fields, as Compare found
// them for it, are applied to the state before. Items of keyed lists keep their
// order, new ones follow their neighbours; with all fields applied, the result is
// the state after.
func Apply(before object.Value, fields []Field) object.Value {
	root := &edit{}
	for i := range fields {
		root.add(&fields[i])
	}
	return root.apply(before)
}

// Normalized gives the content of both sides without noise, for printing: where
// c hides a difference, after has the value before, and items of keyed lists
// stand in the order before. The side of a Create or Delete that is not there is
// the zero Value.
func (c Change) Normalized() (before, after object.Value) {
	if c.Before != nil {
		before = c.Before.Root()
	}
	switch {
	case c.After == nil:
		return before, after
	case c.Before == nil:
		return before, c.After.Root()
	}
	if slices.ContainsFunc(c.Fields, func(f Field) bool { return f.steps == nil }) {
		return before, c.After.Root() // not from Compare
	}
	visible := slices.Clone(c.Fields)
	visible = slices.DeleteFunc(visible, func(f Field) bool { return f.Hidden != "" })
	return before, Apply(before, visible)
}

// An edit is what happens at one place and below it.
type edit struct {
	step   step
	field  *Field // ends here
	order  []int  // of a list, see Field.order
	inner  []*edit
	byKey  map[string]*edit // inner, of map keys
	byItem map[[2]int]*edit // inner, of list items
	whole  *object.Value    // the text after, of a text that was compared inside
}

// add files a field under the steps that lead to it.
func (e *edit) add(f *Field) {
	for i, s := range f.steps {
		if f.text != nil && i == f.text.depth {
			break
		}
		e = e.child(s)
	}
	if f.text != nil {
		e.whole = &f.text.after
		return
	}
	if f.Reordered {
		e.order = f.order
		return
	}
	e.field = f
}

func (e *edit) child(s step) *edit {
	item := [2]int{s.before, s.after}
	c := e.byKey[s.key]
	if s.list {
		c = e.byItem[item]
	}
	if c != nil {
		return c
	}
	if e.byKey == nil {
		e.byKey, e.byItem = map[string]*edit{}, map[[2]int]*edit{}
	}
	c = &edit{step: s}
	if s.list {
		e.byItem[item] = c
	} else {
		e.byKey[s.key] = c
	}
	e.inner = append(e.inner, c)
	return c
}

func (e *edit) apply(v object.Value) object.Value {
	switch {
	case e.field != nil:
		return e.field.After
	case e.whole != nil:
		return *e.whole
	case len(e.inner) == 0 && e.order == nil:
		return v
	case v.Type() == object.List:
		return e.applyList(v)
	}
	fields := make(map[string]object.Value, v.Len()+len(e.inner))
	for key, value := range v.Fields() {
		fields[key] = value
	}
	for _, c := range e.inner {
		fields[c.step.key] = c.apply(fields[c.step.key])
	}
	out := object.MapOf(fields)
	if e.step.gone && out.Len() == 0 {
		return object.Value{}
	}
	return out
}

// applyList edits, drops and adds items. An added item comes after the kept one
// that it follows in the list after.
func (e *edit) applyList(v object.Value) object.Value {
	type entry struct {
		value object.Value
		after int // its place after, where it is known
	}
	kept := make([]entry, 0, v.Len())
	for i, item := range v.Items() {
		place := -1
		if i < len(e.order) {
			place = e.order[i]
		}
		kept = append(kept, entry{item, place})
	}
	added := map[int][]entry{} // by the place before of the kept item that they follow
	for _, c := range e.inner {
		if c.step.before < 0 {
			added[c.step.anchor] = append(added[c.step.anchor], entry{c.apply(object.Value{}), c.step.after})
			continue
		}
		if c.step.before < len(kept) {
			kept[c.step.before].value = c.apply(kept[c.step.before].value)
		}
	}
	var out []entry
	for i := -1; i < len(kept); i++ {
		if i >= 0 {
			out = append(out, kept[i])
		}
		news := added[i]
		slices.SortStableFunc(news, func(x, y entry) int { return x.after - y.after })
		out = append(out, news...)
	}
	if e.order != nil {
		// What was removed but stays in sight, for its removal is hidden, has no
		// place after: it keeps its distance to what stands before it.
		last := -1
		for i := range out {
			if out[i].after < 0 {
				out[i].after = last
			}
			last = out[i].after
		}
		slices.SortStableFunc(out, func(x, y entry) int { return x.after - y.after })
	}
	values := make([]object.Value, len(out))
	for i, x := range out {
		values[i] = x.value
	}
	return object.ListOf(values) // leaves out what was removed
}
