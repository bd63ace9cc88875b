package source

import (
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
)

// A listing is the files, links and submodules of a tree in byte order. Folders are
// what the names say. It never changes once it is made.
type listing []node

// newListing sorts nodes, and keeps one of each name.
func newListing(nodes []node) listing {
	byName := func(a, b node) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(nodes, byName) {
		slices.SortStableFunc(nodes, byName)
	}
	return slices.CompactFunc(nodes, func(a, b node) bool { return a.name == b.name })
}

// walk lists what is in dir and all folders below it.
func walk(readDir func(string) ([]node, error), dir string) (listing, error) {
	var out []node
	for dirs := []string{dir}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		in, err := readDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		for _, n := range in {
			if n.mode.IsDir() {
				dirs = append(dirs, n.name)
			} else {
				out = append(out, n)
			}
		}
	}
	return newListing(out), nil
}

// from is the index of the first name that is not before s.
func (l listing) from(s string) int {
	return sort.Search(len(l), func(i int) bool { return l[i].name >= s })
}

func (l listing) lstat(name string) (node, error) {
	if name == "." {
		return dirNode("."), nil
	}
	if i := l.from(name); i < len(l) && l[i].name == name {
		return l[i], nil
	}
	if i := l.from(name + "/"); i < len(l) && strings.HasPrefix(l[i].name, name+"/") {
		return dirNode(name), nil
	}
	return node{}, fs.ErrNotExist
}

func dirNode(name string) node { return node{name: name, mode: fs.ModeDir | 0o755} }

// below is the part of the listing that is in dir.
func (l listing) below(dir string) listing {
	if dir == "." {
		return l
	}
	// '0' is the byte after '/'.
	return l[l.from(dir+"/"):l.from(dir+"0")]
}

func (l listing) readDir(dir string) ([]node, error) {
	var out []node
	for in := l.below(dir); len(in) > 0; {
		rest := relative(dir, in[0].name)
		elem, _, deeper := strings.Cut(rest, "/")
		if !deeper {
			out, in = append(out, in[0]), in[1:]
			continue
		}
		name := in[0].name[:len(in[0].name)-len(rest)+len(elem)]
		out = append(out, dirNode(name))
		in = in[in.from(name+"0"):]
	}
	// "a-b" is before "a/c", but "a" is before "a-b".
	return newListing(out), nil
}

func (l listing) files(dir string) ([]string, error) {
	in := l.below(dir)
	out := make([]string, 0, len(in))
	for _, n := range in {
		if n.mode.IsRegular() || n.isLink() {
			out = append(out, n.name)
		}
	}
	return out, nil
}

func (l listing) nodes() ([]node, error) { return l, nil }
func (l listing) exact() bool            { return true }

func (l listing) submodules() []string {
	var out []string
	for _, n := range l {
		if n.isSubmodule() {
			out = append(out, n.name)
		}
	}
	return out
}

func (l listing) explain(_ string, err error) error { return err }
