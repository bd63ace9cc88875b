package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// context is how many equal lines surround a difference.
const context = 3

// Unified shows what c does to the YAML of its object, as the hunks of a unified
// diff. Keyed lists stand in one order on both sides, so that reordering them is
// no difference; what noise filters hide is left out unless hidden is set; a
// secret that changes is shown as changed, without its value, and so is what
// differs on every rendering.
func Unified(c diff.Change, hidden bool) string {
	if c.Before == nil && c.After == nil {
		return ""
	}
	before, after := c.Normalized()
	if hidden && c.Before != nil && c.After != nil {
		before, after = c.Before.Root(), diff.Apply(c.Before.Root(), c.Fields)
	}
	root := plain(after)
	for _, f := range c.Fields {
		secret := f.Before.Masked() != nil && f.After.Masked() != nil
		if (secret || f.After.Unsettled()) && f.Before.Text() == f.After.Text() && (f.Hidden == "" || hidden) {
			segs := f.Path.Segments()
			if whole, ok := put(root, segs, markLine(f.After.Text(), nil)); ok {
				root = whole
			} else {
				root = markText(root, segs)
			}
		}
	}
	return hunks(lines(before, plain(before)), lines(after, root))
}

// anotherValue is said of what is shown alike on both sides and is not.
const anotherValue = " (another value)"

// markText marks what is shown alike inside of a text, to which the first of segs lead:
// in its line where just one can be meant, else below the text.
func markText(v any, segs []object.Segment) any {
	if len(segs) == 0 {
		return v
	}
	switch x := v.(type) {
	case map[string]any:
		if child, ok := x[segs[0].Key]; ok && segs[0].Select == nil && segs[0].Index < 0 {
			x[segs[0].Key] = markText(child, segs[1:])
		}
	case []any:
		if i := find(x, segs[0]); i >= 0 {
			x[i] = markText(x[i], segs[1:])
		}
	case string:
		return markLine(x, segs)
	}
	return v
}

func markLine(text string, segs []object.Segment) string {
	text, ends := strings.CutSuffix(text, "\n")
	end := ""
	if ends {
		end = "\n"
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return strings.TrimSuffix(text, anotherValue) + anotherValue + end
	}
	key := ""
	if len(segs) > 0 {
		key = segs[len(segs)-1].Key
	}
	at, found := 0, 0
	for i, l := range lines {
		if strings.Contains(l, object.Mask) && strings.Contains(l, key) && !strings.HasSuffix(l, anotherValue) {
			at = i
			found++
		}
	}
	if found == 1 {
		lines[at] += anotherValue
		return strings.Join(lines, "\n") + end
	}
	var path object.Path
	for _, s := range segs {
		switch {
		case s.Index >= 0:
			path = path.Index(s.Index)
		case s.Select != nil:
			path = path.Select(s.Select[0][0], s.Select[0][1])
		default:
			path = path.Key(s.Key)
		}
	}
	if path == "" {
		return text + "\n(another value)" + end
	}
	return text + "\n(another value: " + string(path) + ")" + end
}

// lines prints one side, nothing for a side that is not there.
func lines(v object.Value, root any) []string {
	if !v.Exists() {
		return nil
	}
	return yamlLines(root, 0)
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// matches says whether a list item has all the keys. A port without protocol is TCP.
func matches(item any, pairs [][2]string) bool {
	m, ok := item.(map[string]any)
	if !ok {
		// A set of plain values stands by the value itself.
		return len(pairs) == 1 && isScalar(item) && scalarValue(item) == pairs[0][1]
	}
	for _, kv := range pairs {
		v, ok := m[kv[0]]
		if !ok && kv == [2]string{"protocol", "TCP"} {
			continue
		}
		if !ok || scalarValue(v) != kv[1] {
			return false
		}
	}
	return true
}

func scalarValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return scalar(v)
}

func find(l []any, s object.Segment) int {
	if s.Select != nil {
		return slices.IndexFunc(l, func(item any) bool { return matches(item, s.Select) })
	}
	if s.Index >= 0 && s.Index < len(l) {
		return s.Index
	}
	return -1
}

// put sets a value that is there. It reports false when segs lead nowhere.
func put(v any, segs []object.Segment, value any) (any, bool) {
	if len(segs) == 0 {
		return value, true
	}
	s := segs[0]
	switch x := v.(type) {
	case map[string]any:
		child, ok := x[s.Key]
		if !ok || s.Select != nil || s.Index >= 0 {
			return v, false
		}
		next, ok := put(child, segs[1:], value)
		if ok {
			x[s.Key] = next
		}
		return x, ok
	case []any:
		i := find(x, s)
		if i < 0 {
			return v, false
		}
		next, ok := put(x[i], segs[1:], value)
		if ok {
			x[i] = next
		}
		return x, ok
	}
	return v, false
}

// hunks gives the unified diff of two lists of lines, without file headers, ""
// when they are equal.
func hunks(a, b []string) string {
	found := matchLines(a, b)
	if len(found) == 0 {
		return ""
	}
	// printOps wants the equal ranges between them as well.
	var ops []difflib.OpCode
	at := difflib.OpCode{}
	for _, op := range found {
		ops = append(ops, difflib.OpCode{Tag: 'e', I1: at.I2, I2: op.I1, J1: at.J2, J2: op.J1}, op)
		at = op
	}
	ops = append(ops, difflib.OpCode{Tag: 'e', I1: at.I2, I2: len(a), J1: at.J2, J2: len(b)})
	return printOps(a, b, ops)
}

// printOps prints operations that cover both lists, the first and the last of
// them equal (perhaps empty), with a few equal lines around each difference.
func printOps(a, b []string, ops []difflib.OpCode) string {
	var out, hunk strings.Builder
	var first difflib.OpCode // where the open hunk begins
	open := func(op difflib.OpCode, lines int) {
		first = difflib.OpCode{I1: op.I2 - lines, J1: op.J2 - lines}
	}
	write := func(sign byte, lines []string) {
		for _, l := range lines {
			hunk.WriteByte(sign)
			hunk.WriteString(l)
			hunk.WriteByte('\n')
		}
	}
	flush := func(op difflib.OpCode, lines int) {
		fmt.Fprintf(&out, "@@ -%s +%s @@\n%s", span(first.I1, op.I1+lines-first.I1), span(first.J1, op.J1+lines-first.J1), hunk.String())
		hunk.Reset()
	}
	for i, op := range ops {
		n := op.I2 - op.I1
		switch {
		case op.Tag != 'e':
			write('-', a[op.I1:op.I2])
			write('+', b[op.J1:op.J2])
		case i == 0:
			lead := min(n, context)
			open(op, lead)
			write(' ', a[op.I2-lead:op.I2])
		case i == len(ops)-1:
			tail := min(n, context)
			write(' ', a[op.I1:op.I1+tail])
			flush(op, tail)
		case n <= 2*context:
			write(' ', a[op.I1:op.I2])
		default:
			write(' ', a[op.I1:op.I1+context])
			flush(op, context)
			open(op, context)
			write(' ', a[op.I2-context:op.I2])
		}
	}
	return out.String()
}

// span prints a range of lines as diff -u does.
func span(start, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprintf("%d", start+1)
	}
	return fmt.Sprintf("%d,%d", start+1, n)
}
