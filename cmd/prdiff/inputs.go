package main

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// A pathSet is a sorted list of paths that can be asked about folders.
type pathSet []string

func newPathSet(paths []string) pathSet {
	s := slices.Clone(paths)
	slices.Sort(s)
	return slices.Compact(s)
}

// has says whether the set holds p, something below it, or a name above it,
// which is then a link or a file that became a folder.
func (s pathSet) has(p string) bool {
	p = path.Clean(p)
	if p == "." {
		return len(s) > 0
	}
	for dir := p; dir != "."; dir = path.Dir(dir) {
		if _, ok := slices.BinarySearch(s, dir); ok {
			return true
		}
	}
	i, _ := slices.BinarySearch(s, p+"/")
	return i < len(s) && strings.HasPrefix(s[i], p+"/")
}

// sameInputs says that a unit renders to the same on both sides, because nothing
// that it looks at on either side differs.
func sameInputs(base, head side, u render.Unit, changed pathSet) bool {
	if !sameSettings(base.config, head.config, u) {
		return false
	}
	return len(changed) == 0 || untouched(head, u, changed) && untouched(base, u, changed)
}

func untouched(s side, u render.Unit, changed pathSet) bool {
	r := s.renderer(u.Renderer)
	if r == nil {
		return false
	}
	in, err := r.Inputs(s.tree, u)
	if err != nil || in.Unknown != "" {
		return false // rendering tells what is wrong
	}
	for _, list := range [][]string{in.Files, in.Dirs, in.Missing} {
		for _, p := range list {
			if changed.has(p) || changed.has(resolved(s.tree, p)) {
				return false
			}
		}
	}
	return true
}

// resolved gives the real name of a path that may lead through links.
func resolved(t *source.Tree, p string) string {
	if real, err := t.Resolve(p); err == nil {
		return real
	}
	return p
}

// sameSettings says whether the configurations of both sides tell a unit the same.
func sameSettings(base, head *config.Config, u render.Unit) bool {
	if base == head {
		return true
	}
	b, h := base.Vars(u.Path), head.Vars(u.Path)
	return maps.Equal(b.ExtStr, h.ExtStr) && maps.Equal(b.ExtCode, h.ExtCode) &&
		maps.Equal(b.TLAStr, h.TLAStr) && maps.Equal(b.TLACode, h.TLACode) &&
		slices.Equal(librariesOf(base, u), librariesOf(head, u))
}

func librariesOf(c *config.Config, u render.Unit) []string {
	if c == nil || u.Renderer != "jsonnet" {
		return nil
	}
	for _, e := range c.Jsonnet {
		if config.Match(e.Path, u.Path) {
			return e.Libraries
		}
	}
	return nil
}
