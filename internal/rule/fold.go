package rule

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// Fold tells once what several units have in common: findings that differ in
// nothing but the unit become the first of them, with every unit in Units. The
// order of findings stays; Units is sorted. What differs besides in numbers, such
// as pod counts, or in the namespace of a unit, is the same risk too: what is to
// be said of those units stands in Elsewhere. A finding with another severity, or
// about another edit, stays apart.
//
// The fingerprint is that of the first unit, so that it does not change when a
// later push touches one more unit behind it.
func Fold(findings []Finding) []Finding {
	return foldBy(foldBy(findings, sameKey), likeKey)
}

// foldBy joins findings of one key into the first of them.
func foldBy(findings []Finding, key func(Finding) string) []Finding {
	var out []Finding
	first := make(map[string]int, len(findings))
	for _, f := range findings {
		k := key(f)
		i, ok := first[k]
		if !ok {
			first[k] = len(out)
			f.Units = slices.Clone(f.Units)
			f.Elsewhere = slices.Clone(f.Elsewhere)
			out = append(out, f)
			continue
		}
		out[i].join(f)
	}
	for i := range out {
		slices.Sort(out[i].Units)
		out[i].Units = slices.Compact(out[i].Units)
	}
	return out
}

// join adds the units of another finding about the same risk.
func (f *Finding) join(o Finding) {
	others := map[string]bool{}
	for _, e := range o.Elsewhere {
		for _, u := range e.Units {
			others[u] = true
		}
	}
	own := Elsewhere{Message: o.Message, Consequence: o.Consequence}
	for _, u := range o.Units {
		if !others[u] {
			own.Units = append(own.Units, u)
		}
	}
	f.Units = append(f.Units, o.Units...)
	base := f.Ref.Namespace
	for _, e := range append([]Elsewhere{own}, o.Elsewhere...) {
		if e.Message == "" {
			e.Message = o.Message
		}
		if e.Consequence == "" {
			e.Consequence = o.Consequence
		}
		if anywhere(e.Message, o.Ref.Namespace) == anywhere(f.Message, base) {
			e.Message = ""
		}
		if anywhere(e.Consequence, o.Ref.Namespace) == anywhere(f.Consequence, base) {
			e.Consequence = ""
		}
		if e.Message == "" && e.Consequence == "" || len(e.Units) == 0 {
			continue
		}
		i := slices.IndexFunc(f.Elsewhere, func(x Elsewhere) bool { return x.Message == e.Message && x.Consequence == e.Consequence })
		if i < 0 {
			f.Elsewhere = append(f.Elsewhere, Elsewhere{Units: slices.Clone(e.Units), Message: e.Message, Consequence: e.Consequence})
			continue
		}
		units := slices.Concat(f.Elsewhere[i].Units, e.Units)
		slices.Sort(units)
		f.Elsewhere[i].Units = slices.Compact(units)
	}
}

// anywhere writes a text without the namespace that it speaks of.
func anywhere(text, namespace string) string {
	if namespace == "" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, namespace+"/", "*/"), "."+namespace+".", ".*.")
}

// likeKey is equal for findings about the same edit of the same object, with other
// numbers or in another namespace.
func likeKey(f Finding) string {
	plain := func(s string) string {
		return strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' || c == '.' || c == ',' {
				return -1
			}
			return c
		}, anywhere(s, f.Ref.Namespace))
	}
	return strings.Join([]string{f.Rule, f.Severity.String(), f.Ref.Group, f.Ref.Kind, f.Ref.Name, string(f.Path), f.Before.String(), f.After.String(), plain(f.Message), f.Advice}, "\x00")
}

// sameKey is equal for findings that read the same but for their unit.
func sameKey(f Finding) string {
	var b strings.Builder
	part := func(s string) {
		b.WriteString(s)
		b.WriteByte(0)
	}
	ref := func(r object.Ref) {
		part(r.Group)
		part(r.Kind)
		part(r.Namespace)
		part(r.Name)
	}
	part(f.Rule)
	part(f.Severity.String())
	ref(f.Ref)
	part(string(f.Path))
	part(f.Before.String())
	part(f.After.String())
	part(f.Message)
	part(f.Consequence)
	part(f.Advice)
	part(strings.Join(f.Incidents, " "))
	for _, r := range f.Related {
		ref(r)
	}
	return b.String()
}
