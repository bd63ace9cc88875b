package celrule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// A frame is one state that expressions are asked about.
type frame struct {
	side   int // that functions look at
	pass   *rule.Pass
	change diff.Change
	values map[string]any
	cached map[string]any // of variables
	rule   *compiled
}

// check asks the rule about one change.
func (c *compiled) check(p *rule.Pass, ch diff.Change) {
	if c.match != nil && !c.match(p, ch) {
		return
	}
	s := c.set
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(p.Unit)
	now := s.newFrame(c, p, ch, after)
	if met, err := s.meets(now, c.conditions); err != nil || !met {
		if err != nil {
			c.fails(p, ch, c.conditions[0], err)
		}
		return
	}
	for _, v := range c.validations {
		c.ask(p, ch, now, v)
	}
}

func (c *compiled) ask(p *rule.Pass, ch diff.Change, now *frame, v check) {
	s := c.set
	got, err := s.run(now, v.holds)
	if err != nil {
		c.fails(p, ch, v.holds, err)
		return
	}
	if (got == types.True) != v.fires {
		return
	}
	if !c.standing && !v.holds.transition && ch.Before != nil && ch.After != nil && c.stood(p, ch, v) {
		return
	}
	f := rule.Finding{Path: v.path, Message: v.validation.message}
	if v.message != nil {
		if text := s.message(now, *v.message); text != "" {
			f.Message = text
		}
	}
	if f.Path == "" {
		var fields []object.Path
		for _, x := range ch.Fields {
			fields = append(fields, x.Path)
		}
		f.Path = v.holds.firstChanged(fields)
	}
	if c.policy != nil && c.severity == rule.Error {
		f.Consequence = "the API server refuses it, by the admission policy " + c.id
	}
	p.Report(ch, f)
}

// stood says whether the state before the change was the same finding.
func (c *compiled) stood(p *rule.Pass, ch diff.Change, v check) bool {
	s := c.set
	was := s.newFrame(c, p, ch, before)
	var state []program
	for _, x := range c.conditions {
		if !x.transition {
			state = append(state, x)
		}
	}
	if met, err := s.meets(was, state); err != nil || !met {
		return false
	}
	got, err := s.run(was, v.holds)
	return err == nil && (got == types.True) == v.fires
}

// newFrame makes the state of one side: that before has the manifest before as its
// object, as if it were applied anew.
func (s *Set) newFrame(c *compiled, p *rule.Pass, ch diff.Change, side int) *frame {
	f := &frame{side: side, pass: p, change: ch, cached: map[string]any{}, rule: c}
	now, old := s.object(ch.After, after), s.object(ch.Before, before)
	if side == before {
		now = old
	}
	if c.policy != nil && ch.Action == diff.Rename {
		old = nil // the API server sees a new object
	}
	f.values = map[string]any{"object": now, "oldObject": old}
	return f
}

// ResolveName gives what an expression names; it is for CEL.
func (f *frame) ResolveName(name string) (any, bool) {
	if v, ok := f.values[name]; ok {
		if v == nil {
			return types.NullValue, true
		}
		return v, true
	}
	if v, ok := f.cached[name]; ok {
		return v, true
	}
	s := f.rule.set
	var v any
	switch p, isVariable := f.rule.variables[name]; {
	case isVariable:
		got, err := s.run(f, p)
		if err != nil {
			v = types.NewErr("%s: %v", name, err)
		} else {
			v = got
		}
	case name == "change":
		v = s.change(f.pass, f.change)
	case name == "unit":
		v = map[string]any{
			"name": f.pass.Name, "production": f.pass.InProduction(f.pass.Name),
			"before": s.everything(before), "after": s.everything(after),
		}
	case name == "request":
		v = request(f.change)
	default:
		return nil, false
	}
	f.cached[name] = v
	return v, true
}

type activation = interpreter.Activation

// Parent is nil: there is nothing around a frame.
func (f *frame) Parent() activation { return nil }

func request(c diff.Change) map[string]any {
	_, version, grouped := strings.Cut(c.Object().APIVersion(), "/")
	if !grouped {
		version = c.Object().APIVersion()
	}
	return map[string]any{
		"operation": operation(c.Action), "name": c.Ref.Name, "namespace": c.Ref.Namespace, "subResource": "", "dryRun": false,
		"kind": map[string]any{"group": c.Ref.Group, "version": version, "kind": c.Ref.Kind},
	}
}

// meets says whether all conditions are true. One that is false decides, whatever
// another one cannot tell, as in the API server.
func (s *Set) meets(f *frame, conditions []program) (bool, error) {
	var failed error
	for _, c := range conditions {
		got, err := s.run(f, c)
		if err != nil {
			failed = err
			continue
		}
		if got != types.True {
			return false, nil
		}
	}
	return failed == nil, failed
}

// errSpent is the error of an evaluation that is not made any more.
var errSpent = fmt.Errorf("the rules of this run have cost too much together: this one is not asked any more")

// run evaluates a program in a state, within what is left of the run.
func (s *Set) run(f *frame, p program) (ref.Val, error) {
	if s.left == 0 {
		return nil, errSpent
	}
	outer := s.frame
	s.frame = f
	got, details, err := p.Eval(activation(f))
	s.frame = outer
	if details != nil {
		if cost := details.ActualCost(); cost != nil {
			s.left -= min(s.left, *cost)
		}
	}
	if err != nil {
		return nil, err
	}
	if e, failed := got.(*types.Err); failed {
		return nil, e
	}
	return got, nil
}

// message evaluates a messageExpression, "" when it gives nothing that can be
// shown: then the message counts, as in the API server.
func (s *Set) message(f *frame, p program) string {
	got, err := s.run(f, p)
	if err != nil {
		return ""
	}
	const most = 5 << 10 // bytes, as in the API server
	message := unnumber(strings.TrimSpace(text(got)))
	if len(message) > most || strings.Contains(message, "\n") {
		return ""
	}
	return message
}

// fails deals with an expression that cannot be evaluated. What the manifests do
// not tell, and an expression about a side that is not there, is no finding and no
// problem. A policy that fails closed refuses the object.
func (c *compiled) fails(p *rule.Pass, ch diff.Change, e program, err error) {
	text := plain(err)
	switch {
	case strings.Contains(text, unknown), c.lenient && err != errSpent:
		return
	case ch.After == nil && slices.Contains(e.needs, "object") || ch.Before == nil && slices.Contains(e.needs, "oldObject"):
		return
	case c.policy != nil && err != errSpent && !strings.Contains(text, "cost limit"):
		if c.policy.ignores || ch.Before != nil && ch.After != nil && c.failedBefore(p, ch) {
			return
		}
		f := rule.Finding{Message: "the policy cannot be evaluated: " + text}
		if c.severity == rule.Error {
			f.Consequence = "its failurePolicy is Fail, so the API server refuses the object"
		}
		p.Report(ch, f)
	default:
		c.set.problems = append(c.set.problems, Problem{c.file, c.id, ch.Ref, text})
	}
}

// failedBefore says whether a policy could not be evaluated on the state before
// either.
func (c *compiled) failedBefore(p *rule.Pass, ch diff.Change) bool {
	was := c.set.newFrame(c, p, ch, before)
	for _, v := range c.validations {
		if _, err := c.set.run(was, v.holds); err != nil {
			return true
		}
	}
	return false
}

var evalPlace = regexp.MustCompile(`^ERROR: .*?: |\s*\|[\s\S]*$`)

// plain gives an error of CEL as one line, secrets masked.
func plain(err error) string {
	return unnumber(strings.TrimSpace(evalPlace.ReplaceAllString(err.Error(), "")))
}
