// Package find asks every renderer for its units, and settles what belongs to
// whom: each file is read by units, or left out with one reason.
package find

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// Result is what the finders make of a tree.
type Result struct {
	Units   []render.Unit    // by name, then renderer
	Skipped []render.Skipped // by path; what looked like a unit or a manifest, and is none
	Failed  []Failure        // finders that did not get to their end
	Claims  []string         // files and folders that are no plain manifests
}

// A Failure is a renderer that could not look for its units.
type Failure struct {
	Renderer string
	Err      error
}

// A leaver is a renderer that looks only at what others leave: those that come
// before it tell it what is theirs.
type leaver interface{ Leave(claims []string) }

// order is the order in which renderers look. A name that is not here comes first.
var order = []string{"tanka", "helm", "kustomize", "jsonnet", "plain"}

// Units asks the renderers, each of which has a name of its own. Claimed are
// files and folders that belong to none of them.
func Units(t *source.Tree, renderers []render.Renderer, claimed ...string) Result {
	rs := slices.Clone(renderers)
	slices.SortStableFunc(rs, func(a, b render.Renderer) int {
		return cmp.Compare(slices.Index(order, a.Name()), slices.Index(order, b.Name()))
	})
	s := settling{t: t, claims: slices.Clone(claimed), takes: map[string]string{}}
	s.tools()
	for _, r := range rs {
		if l, ok := r.(leaver); ok {
			l.Leave(s.claims)
		}
		found, err := r.Find(t)
		if err != nil {
			s.out.Failed = append(s.out.Failed, Failure{r.Name(), err})
			continue
		}
		s.out.Units = append(s.out.Units, found.Units...)
		s.out.Skipped = append(s.out.Skipped, found.Skipped...)
		s.claims = append(s.claims, found.Claims...)
		for _, dir := range found.Takes {
			s.takes[dir] = r.Name()
		}
	}
	s.charts()
	s.examples()
	s.reasons()
	slices.SortFunc(s.out.Units, Compare)
	slices.Sort(s.claims)
	s.out.Claims = slices.Compact(s.claims)
	return s.out
}

// Compare orders units by name, then renderer.
func Compare(a, b render.Unit) int {
	return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Renderer, b.Renderer))
}

type settling struct {
	t      *source.Tree
	claims []string
	takes  map[string]string // folders of units that another renderer's units render
	out    Result
}

// drop takes out the units for which reason is not "-", and notes the reasons.
func (s *settling) drop(reason func(render.Unit) string) {
	s.out.Units = slices.DeleteFunc(s.out.Units, func(u render.Unit) bool {
		why := reason(u)
		if why != "" && why != "-" {
			at := u.Path
			for _, name := range kustomizationNames {
				if u.Renderer == "kustomize" && s.t.Exists(path.Join(u.Path, name)) {
					at = path.Join(u.Path, name)
				}
			}
			s.out.Skipped = append(s.out.Skipped, render.Skipped{Path: at, Reason: why})
		}
		return why != ""
	})
}

// charts leaves out charts that an overlay inflates, overlays inside of charts,
// and value sets that another unit reads.
func (s *settling) charts() {
	s.drop(func(u render.Unit) string {
		if by := s.takes[u.Path]; by != "" && by != u.Renderer {
			return "-" // rendered there
		}
		return ""
	})
	charts := map[string]bool{}
	for _, u := range s.out.Units {
		if u.Renderer == "helm" {
			charts[u.Path] = true
		}
	}
	s.drop(func(u render.Unit) string {
		if u.Renderer != "kustomize" {
			return ""
		}
		if charts[u.Path] {
			return "the chart beside its kustomization is rendered, as Argo CD does"
		}
		for up := path.Dir(u.Path); up != "."; up = path.Dir(up) {
			if charts[up] {
				return "part of the chart " + up
			}
		}
		return ""
	})
	claimed := map[string]bool{}
	for _, c := range s.claims {
		claimed[c] = true
	}
	s.drop(func(u render.Unit) string {
		if u.Renderer == "helm" && claimed[u.Variant] && !s.t.Exists(path.Join(u.Path, u.Variant)) {
			return "-" // a values file that a kustomization names
		}
		return ""
	})
	s.out.Skipped = slices.DeleteFunc(s.out.Skipped, func(sk render.Skipped) bool {
		return strings.HasPrefix(sk.Reason, "values file") && claimed[sk.Path]
	})
}

// examples leaves out what lies in folders of examples, as soon as there is a unit
// elsewhere. Each renderer knows of its own units only.
func (s *settling) examples() {
	example := func(u render.Unit) bool {
		dir := u.Path
		if info, err := s.t.Stat(dir); err == nil && !info.IsDir() {
			dir = path.Dir(dir)
		}
		return render.NotDeployedAmong(dir, s.isDir) == render.Example
	}
	if !slices.ContainsFunc(s.out.Units, func(u render.Unit) bool { return !example(u) }) {
		return
	}
	s.drop(func(u render.Unit) string {
		if example(u) {
			return render.Example
		}
		return ""
	})
}

func (s *settling) isDir(dir string) bool {
	info, err := s.t.Stat(dir)
	return err == nil && info.IsDir()
}

// reasons keeps one reason a path: that of the folder above it, or the first
// renderer's. What is a unit after all was not left out.
func (s *settling) reasons() {
	units := map[string]bool{}
	for _, u := range s.out.Units {
		units[u.Path] = true
	}
	first := map[string]bool{}
	for _, sk := range s.out.Skipped {
		first[sk.Path] = true
	}
	seen := map[string]bool{}
	s.out.Skipped = slices.DeleteFunc(s.out.Skipped, func(sk render.Skipped) bool {
		if units[sk.Path] || seen[sk.Path] {
			return true
		}
		seen[sk.Path] = true
		for up := path.Dir(sk.Path); up != "."; up = path.Dir(up) {
			if first[up] && !units[up] {
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(s.out.Skipped, func(a, b render.Skipped) int { return strings.Compare(a.Path, b.Path) })
}
