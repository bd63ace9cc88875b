package diff

import (
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// Options tunes Compare; the zero value is the default.
type Options struct {
	// Unfiltered lists ids of noise filters that are switched off.
	Unfiltered []string
	// Schemas holds CustomResourceDefinitions from outside of the two sets; those
	// inside are always used.
	Schemas []*object.Object
	// Hide gives the id of a user's filter for a field that it hides, "" for all
	// others; nil hides nothing. Fields that the API server refuses to change are
	// not hidden.
	Hide func(object.Ref, object.Path) string
}

// Compare gives the changes that lead from before to after, ordered by Ref.
// Nil sets are empty. Objects that are the same on both sides, or differ in
// nothing but the order of keys, are not among them.
func Compare(before, after *object.Set, opts Options) []Change {
	e := newEngine(before, after, opts)
	var changes []Change
	matches := e.match()
	e.renaming = newRenaming(matches)
	for _, m := range matches {
		if c, changed := e.change(m); changed {
			c.Effects = e.effectsOf(&c)
			changes = append(changes, c)
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return a.Ref.Compare(b.Ref) })
	return changes
}

// An engine is one comparison of two sets.
type engine struct {
	before, after *object.Set
	schemas       *customSchemas
	filters       filters
	renaming      renaming
}

func newEngine(before, after *object.Set, opts Options) *engine {
	e := &engine{
		before: before,
		after:  after,
	}
	e.filters = newFilters(e, opts)
	e.schemas = newCustomSchemas(before, after, opts.Schemas)
	return e
}

// change compares one matched pair. It is false when nothing differs.
func (e *engine) change(m match) (Change, bool) {
	switch {
	case m.before == nil:
		return Change{Action: Create, Ref: m.after.Ref, After: m.after}, true
	case m.after == nil:
		return Change{Action: Delete, Ref: m.before.Ref, Before: m.before}, true
	}
	c := Change{Action: Update, Ref: m.after.Ref, Before: m.before, After: m.after}
	if m.renamed {
		c.Action, c.RenamedFrom = Rename, m.before.Ref
		c.hashed = m.hashed
	}
	if m.before.Shares(m.after) || m.before.Root().Settled(m.after.Root()) {
		return c, m.renamed
	}
	unsettled := m.after.Root().HoldsUnsettled()
	nb := e.schemas.root(m.before)
	na := e.schemas.root(m.after)
	w := walker{renaming: e.renaming, unsettled: unsettled}
	w.compare(m.before.Root(), m.after.Root(), nb, na)
	c.Fields = w.fields
	if len(c.Fields) == 0 && !m.renamed {
		return c, false
	}
	defaultRequests(&c)
	markImmutable(&c, na)
	e.filters.hide(&c)
	if c.Action == Update && slices.ContainsFunc(c.Fields, func(f Field) bool { return f.Immutable != "" }) {
		c.Action = Replace
	}
	slices.SortStableFunc(c.Fields, func(a, b Field) int { return comparePaths(a, b) })
	return c, true
}
