// Package rule runs rules over changes: what a rule is, what it sees, and what
// it says. It knows no rule by name; the catalogue is in package rules.
package rule

import (
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// A Severity is how bad a finding is; the three levels are those of SARIF.
type Severity int

// The severities, in rising order.
const (
	Note Severity = iota + 1
	Warning
	Error
)

// String gives "note", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return "none"
}

// A Rule looks at changes and says which are risky. It is data with one
// function: Check is called once for each change of its kinds and actions, or
// CheckAll once a run with all units together. Exactly one of the two is set.
type Rule struct {
	ID        string        // kebab-case, never reused: people write it in ignore files
	Title     string        // one line, no full stop
	Subject   string        // the heading it stands under in the catalogue, one of Subjects
	Severity  Severity      // of its findings, unless a finding says otherwise
	Doc       string        // why it hurts and by what mechanism; Markdown
	Advice    string        // what to do instead, in steps; Markdown, one paragraph
	Incidents []string      // IDs in internal/incident
	Kinds     []string      // as object.Ref.GroupKind spells them; empty means all
	Actions   []diff.Action // empty means all
	// Parameters are the thresholds that a team may set, in the order in which
	// they are told.
	Parameters []Parameter

	Check    func(*Pass, diff.Change)
	CheckAll func(*Fleet)
}

// Subjects are the headings of the catalogue, in its order: what reaches pods,
// the pods themselves, how many of them there may be and how they find each
// other, what they keep, what they read, and what they all stand on.
var Subjects = []string{"traffic", "workloads", "capacity and names", "state", "config", "cluster"}

// A Finding is one risk that a change brings.
type Finding struct {
	Rule     string // the rule's ID
	Severity Severity
	Unit     string
	Units    []string // every unit with the same finding, Unit among them
	Ref      object.Ref
	Origin   object.Origin
	Path     object.Path // the field, "" for the object as a whole
	Before   object.Value
	After    object.Value
	// Message states the measured fact, with numbers, names, values before and
	// after; lower case, no full stop.
	Message string
	// Consequence says what happens then, one or two sentences; may be "".
	Consequence string
	Advice      string // the rule's, unless the finding knows better
	Related     []object.Ref
	Incidents   []string
	Fingerprint string // stable over reruns and over other changes in the pull request
	// Elsewhere is what there is to say of units that have the same finding with other
	// numbers; Message and Consequence are those of the other units.
	Elsewhere []Elsewhere
	// Rollout is what Consequence tells in words, for a picture; nil when there is
	// none to draw.
	Rollout *Rollout
}

// An Elsewhere is what a finding says of some of its units, where that is not the same as of
// the first.
type Elsewhere struct {
	Units       []string
	Message     string // "" where it is the same
	Consequence string // "" where it is the same
}

// A Rollout tells which pods are ready while a workload replaces them, and which
// of them answer for the object that a finding is about.
type Rollout struct {
	Workload   object.Ref
	Before     int    // pods that answer before the merge
	FirstWave  int    // new pods that are made before any of them is ready
	ReachesOld bool   // after the merge, pods made before it answer
	ReachesNew bool   // after the merge, pods made after it answer
	Steps      []Step // in order, from the merge to the end of the rollout
}

// A Step is one moment of a Rollout: the pods that are ready then.
type Step struct{ Old, New int }

// Answering gives how many pods answer at a step.
func (r *Rollout) Answering(s Step) int {
	n := 0
	if r.ReachesOld {
		n += s.Old
	}
	if r.ReachesNew {
		n += s.New
	}
	return n
}

// A Unit is one rendered unit on both sides, as rules see it.
type Unit struct {
	Name          string
	Before, After *object.Set // nil where the side does not have the unit
	Changes       []diff.Change
}

// A Pass is one rule at work on one unit, which it can see whole.
type Pass struct {
	*Unit
	Settings
	all      []*Unit
	rule     *Rule
	findings *[]Finding
}

// A Fleet is one rule at work on all units together. Units that are the same
// on both sides are among them by their names alone, without sets and changes.
type Fleet struct {
	Units []*Unit
	Settings
	rule     *Rule
	findings *[]Finding
}
