package render

import (
	"slices"
	"strings"
)

// Touched gives the first of the changed files (in byte order, relative to the
// tree's root) that a unit with these inputs looks at, "" when there is none. A
// change at or below a missing path counts: Missing may name the folder that is
// not there instead of each file that was looked for in it. Inputs that are
// Unknown are not asked here: their unit is always rendered.
func (in Inputs) Touched(changed []string) string {
	files, missing, dirs := sorted(in.Files), sorted(in.Missing), sorted(in.Dirs)
	for _, name := range changed {
		if has(files, name) || aboveOf(missing, name) || aboveOf(dirs, name) {
			return name
		}
	}
	return ""
}

// sorted gives the list in byte order; renderers give it so.
func sorted(list []string) []string {
	if slices.IsSorted(list) {
		return list
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func has(sorted []string, name string) bool {
	_, ok := slices.BinarySearch(sorted, name)
	return ok
}

// aboveOf says whether the list has name or a folder above it.
func aboveOf(sorted []string, name string) bool {
	if has(sorted, ".") || has(sorted, name) {
		return true
	}
	for i := strings.LastIndexByte(name, '/'); i >= 0; i = strings.LastIndexByte(name[:i], '/') {
		if has(sorted, name[:i]) {
			return true
		}
	}
	return false
}
