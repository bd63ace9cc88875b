// Package diff says what a merge would change in the cluster: it pairs the
// objects of both sides and compares each pair as Kubernetes would.
//
// It is pure and deterministic: the same two sets give the same changes in the
// same order.
package diff

import (
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// An Action is what a merge would do to one object.
type Action string

// The actions, in the words of the report.
const (
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace" // the API server refuses the update: it must be deleted first
	Delete  Action = "delete"
	Rename  Action = "rename" // deleted under one name, created under another
)

// An Op is what happens to one field.
type Op string

// The ops, in the words of the report.
const (
	Add    Op = "add"
	Remove Op = "remove"
	Set    Op = "change"
)

// A Field is one difference of an object that is on both sides: a leaf, or a list
// item or a struct that is on one side only, as a whole.
type Field struct {
	// Path leads to the field; it goes on inside texts that hold a structure, where
	// object.Value.At does not follow. An index is the one after the change where
	// the item is there, else the one before; an item whose key changed bears the
	// key after.
	Path   object.Path
	Op     Op
	Before object.Value // absent for Add
	After  object.Value // absent for Remove
	// Hidden is the id of the filter that takes this difference for noise,
	// "" when it is shown.
	Hidden string
	// Immutable says why the API server refuses this change, "" when it accepts it.
	Immutable string
	// Reordered says that items of the list at Path changed places. Before and
	// After then name the items that are on both sides, in their order.
	Reordered bool

	steps []step // what Path spells, with the places on both sides
	order []int  // of Reordered: the place after of each item before, -1 for none
	text  *text  // of a field inside a text: all of it
	// refused says why the API server takes the value after in no way, be it in
	// place or anew.
	refused string
}

// A Change is what a merge would do to one object. Before is nil for Create,
// After is nil for Delete; otherwise both are there.
type Change struct {
	Action        Action
	Ref           object.Ref // the name after the merge; before it for Delete
	RenamedFrom   object.Ref // for Rename only
	MovedFrom     string     // the unit that had the object before; "" unless it is a Rename that LinkMoves made
	Before, After *object.Object
	Fields        []Field  // in path order; empty for Create and Delete
	Effects       []Effect // what it does to what runs, the gravest first; may be empty

	hashed bool // a Rename of which the names differ in a content hash only
}

// Visible says whether anything of c is left to see once noise is hidden. That
// noise makes pods restart is left to see.
func (c Change) Visible() bool {
	if len(c.Fields) == 0 || c.MovedFrom != "" || slices.ContainsFunc(c.Effects, Effect.ends) {
		return true
	}
	for _, f := range c.Fields {
		if f.Hidden == "" {
			return true
		}
	}
	return false
}

// Object gives the side of c that there is, After where there are both.
func (c Change) Object() *object.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}
