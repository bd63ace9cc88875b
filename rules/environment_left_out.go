package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// EnvironmentLeftOut reports an environment that does not get what all others like
// it get.
var EnvironmentLeftOut = &rule.Rule{
	ID:       "environment-left-out",
	Title:    "One environment does not get what all others like it get",
	Subject:  "cluster",
	Severity: rule.Note,
	Doc: `
An edit that is made by hand in many overlays misses one easily. That cluster then lacks a fix, or a label that others select by, and it is found when it is
the last one that works in another way.

Units are taken for the same thing in several places when their names differ in one part that names an environment, such as
apps/web/prod-eu and apps/web/prod-us. Only three and more of them count, of which all but one get the same change. Often it is on purpose: a first
environment that has had the change for a week, or one that is to wait. So it is a question, not a warning.`,
	Advice:   "See whether the one has the change already, or is to get it later; if neither, it was forgotten. A shared base spares the question.",
	CheckAll: checkEnvironmentLeftOut,
}

func checkEnvironmentLeftOut(l *rule.Fleet) {
	if len(l.Units) < 3 {
		return
	}
	units := map[string]*rule.Unit{}
	var names []string
	for _, u := range l.Units {
		units[u.Name] = u
		names = append(names, u.Name)
	}
	for _, f := range familiesOf(names) {
		reportLeftOut(l, f, units)
	}
}

// A shared change is one that several members of a family get.
type shared struct {
	first   diff.Change
	unit    *rule.Unit
	members []string
}

func reportLeftOut(l *rule.Fleet, f family, units map[string]*rule.Unit) {
	found := map[string]*shared{}
	var order []string
	for _, name := range f.members {
		for _, c := range units[name].Changes {
			key := sameChange(c)
			if key == "" {
				continue
			}
			if found[key] == nil {
				found[key] = &shared{first: c, unit: units[name]}
				order = append(order, key)
			}
			if s := found[key]; !slices.Contains(s.members, name) {
				s.members = append(s.members, name)
			}
		}
	}
	// The changes that all but the same one get are told of together.
	missing := map[string][]*shared{}
	var lone []string
	for _, key := range order {
		s := found[key]
		if len(s.members) != len(f.members)-1 {
			continue
		}
		i := slices.IndexFunc(f.members, func(name string) bool { return !slices.Contains(s.members, name) })
		left := f.members[i]
		if !couldHave(units[left], s.first) {
			continue
		}
		if missing[left] == nil {
			lone = append(lone, left)
		}
		missing[left] = append(missing[left], s)
	}
	for _, left := range lone {
		all := missing[left]
		s := all[0]
		text := "this change"
		if len(all) > 1 {
			text = fmt.Sprintf("this and %s", plural(len(all)-1, "other change"))
		}
		x := rule.Finding{Message: fmt.Sprintf("%d of %d units like it get %s (%s); %s does not", len(s.members), len(f.members), text, listed(s.members), left)}
		if len(s.first.Fields) > 0 {
			x.Path = s.first.Fields[0].Path
		}
		for _, o := range all[1:min(len(all), 6)] {
			x.Related = append(x.Related, o.first.Ref)
		}
		x.Consequence = "it has it already, is to get it later, or was forgotten"
		l.Report(s.unit, s.first, x)
	}
}

// sameChange is equal for changes of different units that do the same to the same
// object, wherever that stands; "" for a change with nothing to see.
func sameChange(c diff.Change) string {
	if !c.Visible() || c.Action == diff.Rename {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", c.Action, c.Ref.GroupKind(), c.Ref.Name)
	if len(c.Fields) == 0 {
		return b.String()
	}
	for _, f := range c.Fields {
		if f.Hidden == "" {
			fmt.Fprintf(&b, "\x00%s %s\x00%s\x00%s", f.Op, f.Path, f.Before, f.After)
		}
	}
	return b.String()
}

// couldHave says whether a unit may be meant by a change: it is not known, or it has
// the object and does not look as after the change.
func couldHave(u *rule.Unit, c diff.Change) bool {
	if u.Before.Len()+u.After.Len() == 0 {
		return true // the same on both sides, and not rendered
	}
	i := slices.IndexFunc(u.After.Kind(c.Ref.GroupKind()), func(o *object.Object) bool { return o.Ref.Name == c.Ref.Name })
	switch {
	case c.Action == diff.Create:
		return i < 0
	case i < 0:
		return false
	case c.Action == diff.Delete:
		return true
	}
	o := u.After.Kind(c.Ref.GroupKind())[i]
	for _, f := range c.Fields {
		if f.Hidden == "" && !o.At(string(f.Path)).Equal(f.After) && o.At(string(f.Path)).Equal(f.Before) {
			return true
		}
	}
	return false
}
