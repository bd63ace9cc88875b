package assist

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
)

// How much of a report's parts is told.
const (
	mostUnits  = 50
	maxReason  = 600 // characters of why something was not looked at
	mostFields = 40
	maxValue   = 2 << 10 // bytes of one value
	maxDiff    = 6 << 10 // bytes of one object's diff
)

// leftovers counts what there was no room for.
type leftovers struct {
	units, notes, findings, details, related, changes, fields, values, diffs int
}

// value gives a value of a manifest, and how large it is in the place of one that
// is too large.
func (l *leftovers) value(v object.Value) object.Value {
	if !v.Exists() {
		return v
	}
	data, err := v.MarshalJSON()
	if err == nil && len(data) <= maxValue {
		return v
	}
	l.values++
	return object.Of(fmt.Sprintf("(a value of %d bytes, left out)", len(data)))
}

// shorten gives a change as far as it is told.
func (l *leftovers) shorten(c report.Change) report.Change {
	if len(c.Fields) > mostFields {
		l.fields += len(c.Fields) - mostFields
		c.Fields = c.Fields[:mostFields]
	}
	c.Fields = slices.Clone(c.Fields) // the report is another's
	for i := range c.Fields {
		f := &c.Fields[i]
		f.Before, f.After = l.value(f.Before), l.value(f.After)
	}
	if len(c.Diff) > maxDiff {
		l.diffs++
		c.Diff = clip(c.Diff, maxDiff)
	}
	return c
}

// words tells what was left out, the gravest first.
func (l *leftovers) words() []string {
	var out []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{l.units, "more unit"}, {l.findings, "more finding"}, {l.details, "finding"}, {l.notes, "more note"}, {l.related, "related object"},
		{l.changes, "more changed object"}, {l.fields, "changed field"}, {l.values, "large value"}, {l.diffs, "long diff"},
	} {
		if p.n == 0 {
			continue
		}
		text := plural(p.n, p.what)
		switch p.what {
		case "more unit":
			text += " not looked at"
		case "finding":
			text += " told in brief"
		case "long diff":
			text += " cut"
		}
		out = append(out, text)
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
