package assist

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/report"
)

// How much of a report's parts is told.
const (
	mostUnits  = 100
	mostFields = 40
	maxValue   = 2 << 10 // bytes of one value
	maxDiff    = 6 << 10 // bytes of one object's diff
)

// leftovers counts what there was no room for.
type leftovers struct {
	units, notes, findings, details, related, changes, fields, values, diffs int
}

// value gives a value of a manifest, unless it is too large.
func (l *leftovers) value(v any) any {
	if v == nil {
		return nil
	}
	if n := size(v); n > maxValue {
		l.values++
		return fmt.Sprintf("(a value of %d bytes, left out)", n)
	}
	return v
}

// shorten gives a change as far as it is told.
func (l *leftovers) shorten(c report.Change) report.Change {
	if len(c.Fields) > mostFields {
		l.fields += len(c.Fields) - mostFields
		c.Fields = c.Fields[:mostFields]
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
