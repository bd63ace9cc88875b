package clientparam

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// A Change is one parameter that an object sets differently before and after.
type Change struct {
	Place Place
	Path  object.Path // after, or before where it is gone
	Scope string
	Name  string // as it is written
	// Parameter is the documented parameter, nil when only the name tells what
	// it is about; then Default is not known.
	Parameter *Parameter
	Category  Category
	Before    Value // of kind Unknown when it was not set or its value is elsewhere
	After     Value
	Set       [2]bool // whether it was set before and is set after
	// Hidden says that a value stands in another object, so that nothing can be
	// said of it.
	Hidden bool

	danger []Danger
}

// Default gives the documented default, of kind Unknown where there is none.
func (c Change) Default() Value {
	if c.Parameter == nil {
		return Value{}
	}
	return c.Parameter.DefaultValue()
}

// Has says whether d is a danger of the parameter.
func (c Change) Has(d Danger) bool { return slices.Contains(c.danger, d) }

// Changes gives the client parameters that differ between two states of one
// object, in the order of their paths and names. Values that mean the same,
// settings that moved, reordered lists and names that only look like parameters
// are left out.
func Changes(before, after *object.Object) []Change {
	if before == nil || after == nil || before.Ref.Kind == "Secret" && before.Ref.Group == "" {
		return nil
	}
	t := load()
	gone, come := differing(read(before, after), read(after, before))
	var out []Change
	pairs := pair(gone, come)
	for _, p := range pairs {
		if c, ok := t.change(p[0], p[1]); ok {
			out = append(out, c)
		}
	}
	out = dropMoved(out)
	slices.SortStableFunc(out, func(a, b Change) int {
		if c := strings.Compare(string(a.Path), string(b.Path)); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// key tells which settings stand for the same thing on both sides: the index of
// a list item is not part of it.
func (s *Setting) key() string {
	return strings.Join([]string{string(s.Place), s.Scope, s.Name}, "\x00")
}

// differing takes away what both sides have, as often as they have it.
func differing(before, after []Setting) (gone, come []Setting) {
	count := map[string]int{}
	full := func(s *Setting) string {
		if !s.Known {
			return s.key() + "\x00?"
		}
		return s.key() + "\x00=" + s.Value
	}
	for i := range before {
		count[full(&before[i])]++
	}
	for i := range after {
		if k := full(&after[i]); count[k] > 0 {
			count[k]--
		} else {
			come = append(come, after[i])
		}
	}
	// What is left in count stands for the last ones of before.
	for i := len(before) - 1; i >= 0; i-- {
		if k := full(&before[i]); count[k] > 0 {
			count[k]--
			gone = append(gone, before[i])
		}
	}
	slices.Reverse(gone)
	return gone, come
}

// pair joins settings of one key in order; what has no partner stands alone.
func pair(gone, come []Setting) [][2]*Setting {
	waiting := map[string][]int{}
	for i := range come {
		waiting[come[i].key()] = append(waiting[come[i].key()], i)
	}
	var out [][2]*Setting
	used := make([]bool, len(come))
	for i := range gone {
		k := gone[i].key()
		if w := waiting[k]; len(w) > 0 {
			out = append(out, [2]*Setting{&gone[i], &come[w[0]]})
			used[w[0]] = true
			waiting[k] = w[1:]
			continue
		}
		out = append(out, [2]*Setting{&gone[i], nil})
	}
	for i := range come {
		if !used[i] {
			out = append(out, [2]*Setting{nil, &come[i]})
		}
	}
	return out
}

// change recognises what a pair of settings is; ok is false when it is no client
// parameter, or means the same.
func (t *table) change(before, after *Setting) (c Change, ok bool) {
	set := after
	if set == nil {
		set = before
	}
	p := t.lookup(set)
	if p == nil && after != nil && before != nil {
		p = t.lookup(before)
	}
	c = Change{Place: set.Place, Path: set.Path, Scope: set.Scope, Name: set.Name, Parameter: p, Set: [2]bool{before != nil, after != nil}}
	unit := ""
	if p != nil {
		c.Category, c.danger, unit = p.Category, p.Danger, p.Unit
		if u := unitOf(set.words); u != "" && unit == "duration" {
			unit = u
		}
	} else {
		probe := set
		if set.Value == "" && set.Known && before != nil {
			probe = before // an empty value says nothing of what it is
		}
		pat := byPattern(probe)
		if pat == nil {
			return c, false
		}
		c.Category, c.danger, unit = pat.category, pat.danger, unitOf(set.words)
	}
	value := func(s *Setting) Value {
		switch {
		case s == nil:
			return Value{}
		case !s.Known || strings.Contains(s.Value, "{{") || strings.HasPrefix(s.Value, "$"):
			c.Hidden = true // filled in from elsewhere when the program starts
			return Value{}
		}
		return ParseValue(s.Value, unit)
	}
	c.Before, c.After = value(before), value(after)
	if p != nil && !p.takes(c.Before, c.After) {
		return c, false
	}
	// An empty value is as good as none.
	c.Set[0] = c.Set[0] && (c.Hidden || c.Before.Kind != Unknown)
	c.Set[1] = c.Set[1] && (c.Hidden || c.After.Kind != Unknown)
	if !c.Set[0] && !c.Set[1] || !c.Hidden && c.Set[0] && c.Set[1] && c.Before.Same(c.After) {
		return c, false
	}
	return c, true
}

// dropMoved takes out a parameter that is gone from one place and set to the
// same in another: a flag that became an env variable, a renamed container.
func dropMoved(changes []Change) []Change {
	drop := make([]bool, len(changes))
	for i, gone := range changes {
		if !gone.Set[0] || gone.Set[1] || gone.Hidden {
			continue
		}
		for j, come := range changes {
			same := gone.Parameter != nil && gone.Parameter == come.Parameter || strings.EqualFold(strings.Join(words(gone.Name), "_"), strings.Join(words(come.Name), "_"))
			if !drop[j] && come.Set[1] && !come.Set[0] && same && gone.Before.Same(come.After) {
				drop[i], drop[j] = true, true
				break
			}
		}
	}
	var out []Change
	for i, c := range changes {
		if !drop[i] {
			out = append(out, c)
		}
	}
	return out
}
