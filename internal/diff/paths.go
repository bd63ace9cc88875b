package diff

import (
	"cmp"
	"slices"
	"strings"
)

// comparePaths orders fields by path: keys in byte order, list items by place,
// the order of a list before its items.
func comparePaths(a, b Field) int {
	for i := range min(len(a.steps), len(b.steps)) {
		x, y := a.steps[i], b.steps[i]
		switch {
		case x.list != y.list:
			if x.list {
				return -1
			}
			return 1
		case !x.list:
			if c := strings.Compare(x.key, y.key); c != 0 {
				return c
			}
		default:
			if c := cmp.Or(cmp.Compare(x.place(), y.place()), slices.Compare(x.sel, y.sel)); c != 0 {
				return c
			}
		}
	}
	return cmp.Or(cmp.Compare(len(a.steps), len(b.steps)), strings.Compare(string(a.Op), string(b.Op)))
}

// place is where an item stands, after where it is there, else before.
func (s step) place() int {
	if s.after >= 0 {
		return s.after
	}
	return s.before
}
