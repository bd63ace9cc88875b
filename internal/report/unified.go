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
// diff. Lists are in the order of the side that stays, so that reordering a
// keyed list is no difference; what noise filters hide is left out unless
// hidden is set; a secret that changes is shown as changed, without its value.
func Unified(c diff.Change, hidden bool) string {
	switch {
	case c.Before == nil && c.After == nil:
		return ""
	case c.Before == nil:
		return hunks(nil, yamlLines(plain(c.After.Root()), 0))
	case c.After == nil:
		return hunks(yamlLines(plain(c.Before.Root()), 0), nil)
	}
	after := plain(c.After.Root())
	r := reverter{change: c, before: plain(c.After.Root()), after: after, whole: map[object.Path]bool{}}
	for _, f := range c.Fields {
		if f.Hidden == "" || hidden {
			r.revert(f)
		}
	}
	if c.Action == diff.Rename {
		for _, path := range []object.Path{"metadata.name", "metadata.namespace"} {
			r.copyWhole(path.Segments(), 2)
		}
	}
	return hunks(yamlLines(r.before, 0), yamlLines(r.after, 0))
}

// A reverter makes the side before out of the side after by undoing one field
// at a time, so that only what is undone shows as a difference.
type reverter struct {
	change        diff.Change
	before, after any
	whole         map[object.Path]bool // values already taken over as they were
}

// revert undoes one field. Where the path goes through a list without keys or
// into a text, the list or text is taken over whole: the line diff that follows
// shows what differs inside.
func (r *reverter) revert(f diff.Field) {
	segs := f.Path.Segments()
	for i, seg := range segs {
		if seg.Index >= 0 {
			r.copyWhole(segs, i)
			return
		}
		if i > 0 && isScalar(get(r.before, segs[:i])) && get(r.before, segs[:i]) != nil {
			r.copyWhole(segs, i)
			return
		}
	}
	r.copyWhole(segs, len(segs))
	if b, a := f.Before.Masked(), f.After.Masked(); b != nil && a != nil && b.Shown == a.Shown {
		r.after, _ = put(r.after, segs, a.Shown+" (another value)", 0)
	}
}

// copyWhole gives the first n steps of a path the value that they had before.
func (r *reverter) copyWhole(segs []object.Segment, n int) {
	path := pathOf(segs[:n])
	if r.whole[path] {
		return
	}
	r.whole[path] = true
	v := r.change.Before.At(string(path))
	if !v.Exists() {
		r.before = remove(r.before, segs[:n])
		// A map or list that only the side after has goes with its last entry.
		for n--; n > 0; n-- {
			if parent := get(r.before, segs[:n]); !isEmpty(parent) || r.change.Before.At(string(pathOf(segs[:n]))).Exists() {
				break
			}
			r.before = remove(r.before, segs[:n])
		}
		return
	}
	at := 0
	if last := segs[n-1]; last.Select != nil {
		at = indexIn(r.change.Before.At(string(pathOf(segs[:n-1]))), last)
	}
	next, ok := put(r.before, segs[:n], plain(v), at)
	if !ok && n > 1 {
		r.copyWhole(segs, n-1) // the way there is missing: take over what leads to it
		return
	}
	r.before = next
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func isEmpty(v any) bool {
	switch x := v.(type) {
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	}
	return false
}

// pathOf writes segments as a path.
func pathOf(segs []object.Segment) object.Path {
	var p object.Path
	for _, s := range segs {
		switch {
		case s.Select != nil:
			var pairs []string
			for _, kv := range s.Select {
				pairs = append(pairs, kv[0], kv[1])
			}
			p = p.Select(pairs...)
		case s.Index >= 0:
			p = p.Index(s.Index)
		default:
			p = p.Key(s.Key)
		}
	}
	return p
}

// indexIn gives the place of a keyed item in its list, the end when it is not there.
func indexIn(list object.Value, seg object.Segment) int {
	for i, item := range list.Items() {
		if matches(plain(item), seg.Select) {
			return i
		}
	}
	return list.Len()
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

// get follows segments, nil when they lead nowhere.
func get(v any, segs []object.Segment) any {
	for _, s := range segs {
		switch x := v.(type) {
		case map[string]any:
			v = x[s.Key]
		case []any:
			i := find(x, s)
			if i < 0 {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
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

// put sets the value at segs; a keyed item that is not there is inserted at
// index at. It reports false when the way there does not exist.
func put(v any, segs []object.Segment, value any, at int) (any, bool) {
	if len(segs) == 0 {
		return value, true
	}
	s := segs[0]
	switch x := v.(type) {
	case map[string]any:
		if s.Select != nil || s.Index >= 0 {
			return v, false
		}
		child, ok := x[s.Key]
		if !ok && len(segs) > 1 {
			return v, false
		}
		next, ok := put(child, segs[1:], value, at)
		if ok {
			x[s.Key] = next
		}
		return x, ok
	case []any:
		i := find(x, s)
		if i < 0 {
			if len(segs) > 1 {
				return v, false
			}
			return slices.Insert(x, min(at, len(x)), value), true
		}
		next, ok := put(x[i], segs[1:], value, at)
		if ok {
			x[i] = next
		}
		return x, ok
	}
	return v, false
}

// remove takes out what segs lead to, if it is there.
func remove(v any, segs []object.Segment) any {
	if len(segs) == 0 {
		return v
	}
	s := segs[0]
	switch x := v.(type) {
	case map[string]any:
		if len(segs) == 1 {
			delete(x, s.Key)
		} else if child, ok := x[s.Key]; ok {
			x[s.Key] = remove(child, segs[1:])
		}
		return x
	case []any:
		i := find(x, s)
		if i < 0 {
			return x
		}
		if len(segs) == 1 {
			return slices.Delete(x, i, i+1)
		}
		x[i] = remove(x[i], segs[1:])
		return x
	}
	return v
}

// maxMatch bounds the work of matching lines: the product of the line counts
// that are left once the equal start and end are cut off. Above it everything
// between counts as replaced.
const maxMatch = 4 << 20

// hunks gives the unified diff of two lists of lines, without file headers, ""
// when they are equal.
func hunks(a, b []string) string {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	midA, midB := a[start:len(a)-end], b[start:len(b)-end]
	if len(midA) == 0 && len(midB) == 0 {
		return ""
	}
	ops := []difflib.OpCode{{Tag: 'e', I1: 0, I2: start, J1: 0, J2: start}}
	if len(midA)*len(midB) > maxMatch {
		ops = append(ops, difflib.OpCode{Tag: 'r', I1: start, I2: len(a) - end, J1: start, J2: len(b) - end})
	} else {
		for _, op := range difflib.NewMatcher(midA, midB).GetOpCodes() {
			op.I1, op.I2, op.J1, op.J2 = op.I1+start, op.I2+start, op.J1+start, op.J2+start
			ops = append(ops, op)
		}
	}
	ops = append(ops, difflib.OpCode{Tag: 'e', I1: len(a) - end, I2: len(a), J1: len(b) - end, J2: len(b)})
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
