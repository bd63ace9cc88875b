package rule

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// Fold tells once what several units have in common: findings that differ in
// nothing but the unit become the first of them, with every unit in Units. The
// order of findings stays; Units is sorted. What is told of different numbers,
// such as other pod counts, stays apart.
//
// The fingerprint is that of the first unit, so that it does not change when a
// later push touches one more unit behind it.
func Fold(findings []Finding) []Finding {
	var out []Finding
	first := make(map[string]int, len(findings))
	for _, f := range findings {
		k := sameKey(f)
		i, ok := first[k]
		if !ok {
			first[k] = len(out)
			f.Units = slices.Clone(f.Units)
			out = append(out, f)
			continue
		}
		out[i].Units = append(out[i].Units, f.Units...)
	}
	for i := range out {
		slices.Sort(out[i].Units)
		out[i].Units = slices.Compact(out[i].Units)
	}
	return out
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
