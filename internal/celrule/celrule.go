// Package celrule makes rules of what users write: rule files with expressions in
// CEL, in the terms of Kubernetes' admission policies, existing
// ValidatingAdmissionPolicies, and the triggers of postmortems. It is the one place
// that knows CEL.
//
// # What an expression sees
//
//	object      the manifest after the change, null when it is deleted
//	oldObject   the manifest before the change, null when it is created
//	change      action, kind, group, namespace, name, unit, renamedFrom, file,
//	            fields (path, op, before, after, hidden), effects
//	unit        name, production, before and after (lists of all its manifests)
//	variables   those of the rule, by name
//
// Manifests are as admission in the API server sees them: with the defaults of
// their kind filled in. What is secret is masked, and equal where the secrets are.
//
// Functions ask about what hangs together, on the side after the change; each has a
// twin for the side before, such as podsBefore:
//
//	pods(selector, namespace)    workloads whose pods a selector reaches
//	services(workload), budgets(workload), policies(workload), autoscalers(workload)
//	references(object), referencesTo(object)   what it names, and what names it
//	mentions(namespace, service) texts that name a Service by its DNS name
//	lookup(kind, namespace, name), objects(kind)
//
// All functions of Kubernetes 1.37's CEL are there too.
//
// # What counts
//
// An expression must hold, as in an admission policy; where it does not, that is a
// finding. What was so before is the standing state and no finding: an expression
// that does not hold for the manifest before the change either is quiet, unless the
// rule says standing: true. One that looks at the transition itself, by oldObject,
// change.action, change.fields and the like, or a function for the side before,
// always counts.
package celrule

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// Limits bound what expressions may cost. The unit is that of Kubernetes: ten
// million are about a second.
type Limits struct {
	Evaluation uint64 // of one expression on one object; 0 is one million, as in the API server
	Run        uint64 // of all together; 0 is fifty million
}

// A File is one file with rules.
type File struct {
	Name string // as errors and reports name it
	Data []byte
}

// A Set is the compiled rules of some files. Its rules may be run from several
// goroutines, but only one of them is at work at a time.
type Set struct {
	rules   []*rule.Rule
	files   map[string]string // by the rule's ID
	skipped []Skipped
	unread  bool // a file could not be read, and what it declares is not known

	mu       sync.Mutex
	env      *cel.Env
	limits   Limits
	left     uint64
	frame    *frame // what functions look at
	view     view   // of the unit that was looked at last
	secrets  secrets
	problems []Problem
}

// A Skipped policy is one that cannot be asked here, and why.
type Skipped struct{ File, Reason string }

// A Problem is an expression that could not be evaluated on an object.
type Problem struct {
	File string
	Rule string
	Ref  object.Ref
	Text string
}

// Compile reads, type-checks and compiles all rules of some files, and triggers
// beside them. Its error names every mistake, a line each, as file:line:column:
// what is wrong. Taken are IDs of rules that exist already. Beside an error the set holds
// those that are sound.
func Compile(files []File, triggers []Trigger, taken []string, limits Limits) (*Set, error) {
	s := &Set{files: map[string]string{}, limits: limits}
	if s.limits.Evaluation == 0 {
		s.limits.Evaluation = 1_000_000
	}
	if s.limits.Run == 0 {
		s.limits.Run = 50_000_000
	}
	s.left = s.limits.Run
	var definitions []*definition
	var errs []error
	for _, f := range files {
		found, err := parse(f)
		if err != nil {
			errs = append(errs, err)
			s.unread = true
		}
		definitions = append(definitions, found...)
	}
	for _, t := range triggers {
		definitions = append(definitions, t.definition())
	}
	if len(definitions) > 0 && s.env == nil {
		var err error
		if s.env, err = s.newEnv(); err != nil {
			return nil, fmt.Errorf("CEL: %w", err)
		}
	}
	bind(definitions)
	for _, d := range definitions {
		if d.policy != nil && d.policy.binding {
			continue
		}
		if first, twice := s.files[d.id]; twice {
			errs = append(errs, fmt.Errorf("%s:%d: the rule %q is there twice, also in %s", d.file, d.line, d.id, first))
			continue
		}
		if slices.Contains(taken, d.id) {
			errs = append(errs, fmt.Errorf("%s:%d: the id %q is that of another rule: choose one of your own", d.file, d.line, d.id))
			continue
		}
		s.files[d.id] = d.file
		compiled, err := s.compile(d)
		switch {
		case err != nil:
			errs = append(errs, err)
		case d.skip != "":
			s.skipped = append(s.skipped, Skipped{d.file, d.skip})
		default:
			s.rules = append(s.rules, compiled.rule())
		}
	}
	if len(errs) > 0 {
		return s, errors.Join(errs...)
	}
	return s, nil
}

// Declares gives the IDs of the rules that the files hold, sound or not, in order; all is
// false when some file could not be read.
func (s *Set) Declares() (ids []string, all bool) {
	if s == nil {
		return nil, true
	}
	return slices.Sorted(maps.Keys(s.files)), !s.unread
}

// Rules gives the rules in the order of the files. They have the subject "your own".
func (s *Set) Rules() []*rule.Rule {
	if s == nil {
		return nil
	}
	return s.rules
}

// FileOf gives the file of one of its rules, "" for any other.
func (s *Set) FileOf(id string) string {
	if s == nil {
		return ""
	}
	return s.files[id]
}

// Skipped gives the policies that cannot be asked here.
func (s *Set) Skipped() []Skipped {
	if s == nil {
		return nil
	}
	return s.skipped
}

// Problems gives what could not be evaluated since it was last asked, in the order
// in which it came up, and starts the account of the next run.
func (s *Set) Problems() []Problem {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.problems
	s.problems, s.left = nil, s.limits.Run
	return out
}

// Subject is the heading under which users' rules are listed.
const Subject = "your own"
