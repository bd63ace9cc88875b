package main

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/source"
)

// A linkMap is where the links of a tree lead to. It is read when it is first
// asked for, and most trees have none. Safe for concurrent use.
type linkMap struct {
	once  sync.Once
	names []string          // of the links, in byte order
	leads map[string]string // by the name of the link, the name one step on
	err   error
}

func (l *linkMap) read(t *source.Tree) {
	if l.names, l.err = t.Links(); l.err != nil {
		return
	}
	l.leads = map[string]string{}
	for _, name := range l.names {
		target, err := t.ReadLink(name)
		if err != nil {
			l.err = err
			return
		}
		// What leads out of the tree is not read.
		if to := path.Join(path.Dir(name), target); !path.IsAbs(target) && to != ".." && !strings.HasPrefix(to, "../") {
			l.leads[name] = to
		}
	}
}

// behind gives the names, and all that is read through links for them: a link
// leads to another one, stands in the middle of a name, or somewhere in a folder
// that is read whole. A change anywhere on the way is one of what is read.
func (l *linkMap) behind(t *source.Tree, names []string) ([]string, error) {
	l.once.Do(func() { l.read(t) })
	if l.err != nil || len(l.names) == 0 {
		return names, l.err
	}
	var out []string
	seen := map[string]bool{}
	rest := slices.Clone(names)
	for len(rest) > 0 {
		name := path.Clean(rest[len(rest)-1])
		rest = rest[:len(rest)-1]
		// Links that lead into each other make names without end.
		if seen[name] || len(name) > maxLinkedName {
			continue
		}
		seen[name] = true
		out = append(out, name)
		if real, err := t.Resolve(name); err == nil {
			rest = append(rest, real)
		}
		for above := name; above != "."; above = path.Dir(above) {
			if to, ok := l.leads[above]; ok {
				rest = append(rest, path.Join(to, strings.TrimPrefix(name, above)))
			}
		}
		for _, link := range l.below(name) {
			if to, ok := l.leads[link]; ok {
				rest = append(rest, to)
			}
		}
	}
	return out, nil
}

// maxLinkedName is the longest name in bytes that is followed through links:
// PATH_MAX of Linux.
const maxLinkedName = 4096

// below gives the links below a folder.
func (l *linkMap) below(dir string) []string {
	if dir == "." {
		return l.names
	}
	from, _ := slices.BinarySearch(l.names, dir+"/")
	to := from
	for to < len(l.names) && strings.HasPrefix(l.names[to], dir+"/") {
		to++
	}
	return l.names[from:to]
}
