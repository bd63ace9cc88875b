package main

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
)

// A pathSet is a sorted list of paths that can be asked about folders.
type pathSet []string

func newPathSet(paths []string) pathSet {
	s := slices.Clone(paths)
	slices.Sort(s)
	return slices.Compact(s)
}

// below gives what the set holds of p: itself, what is below it, and names above
// it, which are then links or files that became folders.
func (s pathSet) below(p string) []string {
	p = path.Clean(p)
	if p == "." {
		return s
	}
	var out []string
	for dir := p; dir != "."; dir = path.Dir(dir) {
		if i, ok := slices.BinarySearch(s, dir); ok {
			out = append(out, s[i])
		}
	}
	i, _ := slices.BinarySearch(s, p+"/")
	for ; i < len(s) && strings.HasPrefix(s[i], p+"/"); i++ {
		out = append(out, s[i])
	}
	return out
}

// sameInputs says that a unit renders to the same on both sides, because nothing
// that it looks at on either side differs. Where something does, sources are the
// files, in byte order; nil when they are not known.
func sameInputs(base, head side, u render.Unit, changed pathSet) (same bool, sources []string) {
	settings := sameSettings(base.config, head.config, u)
	if settings && len(changed) == 0 {
		return true, nil
	}
	sources, known := touched(head, u, changed)
	if known && len(sources) == 0 {
		var knownBefore bool
		sources, knownBefore = touched(base, u, changed)
		known = known && knownBefore
	}
	return settings && known && len(sources) == 0, sources
}

// touched gives the changed files that a unit looks at on one side, in byte order;
// known is false when that cannot be told without rendering it.
func touched(s side, u render.Unit, changed pathSet) (files []string, known bool) {
	in, err := s.inputs(u)
	if err != nil || in.Unknown != "" {
		return nil, false // rendering tells what is wrong
	}
	names := slices.Concat(in.Files, in.Dirs, in.Missing)
	if names, err = s.links.behind(s.tree, names); err != nil {
		return nil, false
	}
	for _, p := range names {
		files = append(files, changed.below(p)...)
	}
	slices.Sort(files)
	return slices.Compact(files), true
}

// mostSources is how many changed files are kept of a unit.
const mostSources = 50

// shownSources gives the changed inputs of a unit as the report has them. A library
// of thousands of files may be an input of hundreds of units, so only the nearest
// are kept; of plain manifests each is the source of its own objects.
func shownSources(p pairing) []string {
	if p.unit.Renderer == "plain" {
		return p.sources
	}
	list := report.Nearest(p.sources, p.unit.Path+"/.")
	list = list[:min(len(list), mostSources)]
	slices.Sort(list)
	return list
}

// sameSettings says whether the configurations of both sides tell a unit the same.
func sameSettings(base, head *config.Config, u render.Unit) bool {
	if base == head {
		return true
	}
	b, h := base.Vars(u.Path), head.Vars(u.Path)
	return maps.Equal(b.ExtStr, h.ExtStr) && maps.Equal(b.ExtCode, h.ExtCode) &&
		maps.Equal(b.TLAStr, h.TLAStr) && maps.Equal(b.TLACode, h.TLACode) &&
		slices.Equal(librariesOf(base, u), librariesOf(head, u)) && sameEngines(base, head, u)
}

// sameEngines says whether what is said of charts and overlays is the same.
func sameEngines(base, head *config.Config, u render.Unit) bool {
	switch u.Renderer {
	case "helm", gitops.ArgoCD, gitops.Flux:
		return reflect.DeepEqual(helmOptions(base), helmOptions(head))
	case "kustomize":
		return (base != nil && base.FreeOverlays) == (head != nil && head.FreeOverlays)
	}
	return true
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
