package report

import (
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
)

// A same is a set of changes that are the same in several units, shown once.
type same struct {
	Change             // the first of them
	units     []string // that have it, in order
	members   []Change // all of them
	others    []variant
	elsewhere []string // units beside these that have no such change, where they are few
}

// A variant is a change that differs in a few values from what most units have.
type variant struct {
	Change
	units   []string
	members []Change
	how     []string // what it differs in, from the side of the variant
}

// folded gives the changes of which something is to see, or all of them, each set
// of identical ones once, in the order of their first.
func folded(r *Report, all bool) []same {
	var out []same
	at := map[string]int{}
	for _, c := range r.Changes {
		if !all && !c.Visible() {
			continue
		}
		if c.Group != "" {
			if i, ok := at[c.Group]; ok {
				out[i].units = append(out[i].units, c.Ref.Unit)
				out[i].members = append(out[i].members, c)
				continue
			}
			at[c.Group] = len(out)
		}
		out = append(out, same{Change: c, units: []string{c.Ref.Unit}, members: []Change{c}})
	}
	out = foldVariants(foldMoves(out))
	families := familiesOf(r)
	for i := range out {
		out[i].elsewhere = families.without(out[i])
	}
	return out
}

// foldVariants joins what changes in nearly the same way: an object of one kind
// and name that most units change alike, and some with another value or two. Those
// become a line of the others, as long as the line can say all that differs.
func foldVariants(all []same) []same {
	byName := map[string][]int{}
	for i, s := range all {
		key := s.Ref.GroupKind() + "\x00" + s.Ref.Name
		byName[key] = append(byName[key], i)
	}
	gone := map[int]bool{}
	for _, s := range all {
		list := byName[s.Ref.GroupKind()+"\x00"+s.Ref.Name]
		if len(list) < 2 {
			continue
		}
		most, total := list[0], 0
		for _, i := range list {
			total += len(all[i].units)
			if len(all[i].units) > len(all[most].units) {
				most = i
			}
		}
		main := &all[most]
		if len(main.units) < 3 || 2*len(main.units) <= total || main.others != nil {
			continue
		}
		for _, i := range list {
			if how, ok := differences(main.Change, all[i].Change); ok && i != most && !gone[i] {
				main.others = append(main.others, variant{all[i].Change, all[i].units, all[i].members, how})
				gone[i] = true
			}
		}
	}
	out := all[:0:0]
	for i, s := range all {
		if !gone[i] {
			out = append(out, s)
		}
	}
	return out
}

// differences says what a change does otherwise than the one of most units; ok is
// false when that is more than a line can say.
func differences(most, other Change) (how []string, ok bool) {
	const limit, short = 3, 100 // fields, and bytes of a value
	if most.Action != other.Action || len(most.Fields) == 0 || len(other.Fields) == 0 || most.Action == diff.Rename {
		return nil, false
	}
	shown := func(c Change) map[string]diff.Field {
		out := map[string]diff.Field{}
		for _, f := range c.Fields {
			if f.Hidden == "" {
				out[string(f.Path)] = f
			}
		}
		return out
	}
	say := func(prefix string, f diff.Field) bool {
		if !small(f.Before, short) || !small(f.After, short) || f.Reordered || f.Before.Masked() != nil || f.After.Masked() != nil {
			return false
		}
		how = append(how, prefix+fieldWords(f, short, inert))
		return true
	}
	usual := shown(most)
	for _, f := range other.Fields {
		if f.Hidden != "" {
			continue
		}
		u, there := usual[string(f.Path)]
		if there && u.Op == f.Op && u.Reordered == f.Reordered && u.Before.Equal(f.Before) && u.After.Equal(f.After) {
			continue
		}
		if !say("", f) || len(how) > limit {
			return nil, false
		}
	}
	mine := shown(other)
	for _, f := range most.Fields {
		if _, there := mine[string(f.Path)]; f.Hidden == "" && !there {
			how = append(how, "not "+string(f.Path))
		}
	}
	return how, len(how) > 0 && len(how) <= limit
}

// families are units that stand beside each other, by renderer and folder.
type families struct {
	of      map[string]string   // unit: family
	members map[string][]string // family: units that were looked at
}

func familiesOf(r *Report) families {
	f := families{map[string]string{}, map[string][]string{}}
	for _, u := range r.Units {
		if u.Status != Rendered && u.Status != Unchanged {
			continue
		}
		key := u.Renderer + "\x00" + path.Dir(u.Name)
		f.of[u.Name] = key
		f.members[key] = append(f.members[key], u.Name)
	}
	return f
}

// without names the units that have no such change though most units beside them
// have it: one that was forgotten, or one that is meant to wait.
func (f families) without(s same) []string {
	has := slices.Clone(s.units)
	for _, o := range s.others {
		has = append(has, o.units...)
	}
	if len(has) < 3 {
		return nil
	}
	family := f.of[s.units[0]]
	for _, u := range has {
		if f.of[u] != family {
			return nil
		}
	}
	members := f.members[family]
	if len(members)-len(has) > len(has)/2 {
		return nil
	}
	slices.Sort(has)
	var out []string
	for _, m := range members {
		if _, ok := slices.BinarySearch(has, m); !ok {
			out = append(out, m)
		}
	}
	return out
}

// spread says in which units a set of changes is, which of them differ, and which
// beside them have no such change.
func (s same) spread(show func(string) string) string {
	in := inUnits(s.units, show)
	if len(s.units) > 2 {
		in = "the same in " + plural(len(s.units), "unit") + ": " + in
	}
	n := 0
	for _, o := range s.others {
		n += len(o.units)
	}
	switch n {
	case 0:
	case 1:
		in += "; 1 differs"
	default:
		in += "; " + plural(n, "unit") + " differ"
	}
	if len(s.elsewhere) > 0 {
		in += "; not in " + inUnits(s.elsewhere, show)
	}
	return strings.TrimSpace(in)
}
