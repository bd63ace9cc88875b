package celrule

import (
	"crypto/sha256"
	"fmt"
	"regexp"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// secrets number what is masked, in the order in which it comes up, so that a text
// with a secret equals another one exactly where the secrets are equal, and the same
// run gives the same answers.
type secrets struct{ numbers map[[sha256.Size]byte]int }

func (s *secrets) spell(key [sha256.Size]byte) string {
	n, ok := s.numbers[key]
	if !ok {
		if s.numbers == nil {
			s.numbers = map[[sha256.Size]byte]int{}
		}
		n = len(s.numbers) + 1
		s.numbers[key] = n
	}
	return fmt.Sprintf("%s#%d", object.Mask, n)
}

var numbered = regexp.MustCompile(`\*\*\*#[0-9]+`)

// unnumber gives a text as it is shown.
func unnumber(text string) string { return numbered.ReplaceAllLiteralString(text, object.Mask) }

// native gives a value as CEL takes it.
func (s *secrets) native(v object.Value) any {
	switch v.Type() {
	case object.Map:
		m := make(map[string]any, v.Len())
		for key, item := range v.Fields() {
			m[key] = s.native(item)
		}
		return m
	case object.List:
		l := make([]any, 0, v.Len())
		for _, item := range v.Items() {
			l = append(l, s.native(item))
		}
		return l
	case object.String:
		if m := v.Masked(); m != nil {
			return m.Spell(s.spell)
		}
		return v.Text()
	case object.Bool:
		b, _ := v.Bool()
		return b
	case object.Number:
		if f, ok := v.Float(); ok {
			if i, whole := v.Int(); whole && v.String() == fmt.Sprint(i) {
				return i
			}
			return f
		}
	}
	return nil
}

// A view is one unit as expressions see it. Manifests are converted when they are
// first looked at, and once.
type view struct {
	unit     *rule.Unit
	complete [2]func(*object.Object) object.Value // before, after
	native   map[*object.Object]any
	all      [2][]any // every manifest of a side, nil until it is asked for
}

// The sides of a view.
const (
	before = 0
	after  = 1
)

// look makes the view that of a unit.
func (s *Set) look(u *rule.Unit) {
	if s.view.unit == u {
		return
	}
	s.view = view{unit: u, native: map[*object.Object]any{}}
	s.view.complete[before], s.view.complete[after] = diff.Completer(u.Before), diff.Completer(u.After)
}

func (s *Set) set(side int) *object.Set {
	if side == before {
		return s.view.unit.Before
	}
	return s.view.unit.After
}

// object gives a manifest of one side, nil for none.
func (s *Set) object(o *object.Object, side int) any {
	if o == nil {
		return nil
	}
	n, ok := s.view.native[o]
	if !ok {
		n = s.secrets.native(s.view.complete[side](o))
		s.view.native[o] = n
	}
	return n
}

// everything gives the manifests of one side.
func (s *Set) everything(side int) []any {
	if s.view.all[side] == nil {
		s.view.all[side] = s.objects(s.set(side).All(), side)
	}
	return s.view.all[side]
}

func (s *Set) objects(list []*object.Object, side int) []any {
	out := make([]any, 0, len(list))
	for _, o := range list {
		out = append(out, s.object(o, side))
	}
	return out
}

// change gives what an expression sees of a change.
func (s *Set) change(p *rule.Pass, c diff.Change) map[string]any {
	fields := make([]any, 0, len(c.Fields))
	for _, f := range c.Fields {
		fields = append(fields, map[string]any{
			"path": string(f.Path), "op": string(f.Op), "hidden": f.Hidden != "",
			"before": s.secrets.native(f.Before), "after": s.secrets.native(f.After),
		})
	}
	effects := make([]any, 0, len(c.Effects))
	for _, e := range c.Effects {
		effects = append(effects, string(e.Kind))
	}
	renamedFrom, file := "", ""
	if c.Action == diff.Rename {
		renamedFrom = c.RenamedFrom.Name
	}
	if o := c.Object(); o != nil {
		file = o.Origin.Path
	}
	return map[string]any{
		"action": string(c.Action), "kind": c.Ref.Kind, "group": c.Ref.Group, "namespace": c.Ref.Namespace, "name": c.Ref.Name,
		"unit": p.Name, "renamedFrom": renamedFrom, "file": file, "fields": fields, "effects": effects,
	}
}

// workload gives what a function tells of a workload. How many pods it has is left
// out where the manifests do not tell.
func (s *Set) workload(w object.Workload, side int) any {
	labels := make(map[string]any, len(w.PodLabels))
	for k, v := range w.PodLabels {
		labels[k] = v
	}
	out := map[string]any{
		"kind": w.Ref.Kind, "name": w.Ref.Name, "namespace": w.Ref.Namespace, "labels": labels,
		"spec": s.secrets.native(w.PodSpec), "object": s.object(w.Object, side),
	}
	if w.Replicas.Known {
		out["replicas"] = int64(w.Replicas.Count)
	}
	return out
}
