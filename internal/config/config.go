// Package config reads .prdiff.yaml: which paths prdiff looks at, which
// renderers it uses, and what a repository's jsonnet needs to be evaluated. It
// is strict: a key that nothing reads is an error that says where it stands.
//
// In a diff, a pull request cannot silence its own review: see Scope.
package config

import "slices"

// File is the name of the configuration file, at the root of the tree.
const File = ".prdiff.yaml"

// A Config is one .prdiff.yaml. A nil Config is that of a repository without
// one: everything is looked at, by every renderer.
type Config struct {
	Path      string          // the file, as errors and reports name it
	Include   []string        // patterns; empty means everything
	Exclude   []string        // patterns
	Renderers map[string]bool // those that the file names; the others are on
	Jsonnet   []Entry         // jsonnet files that render to objects
	Units     []Unit          // in the order of the file
}

// An Entry is a plain jsonnet file, or all that match a pattern, that render to
// objects on their own.
type Entry struct {
	Path      string   // a pattern
	Libraries []string // folders searched for imports, relative to the root, first one first
	Line      int
}

// A Unit is what units need to be evaluated.
type Unit struct {
	Path string // a pattern
	Vars Vars
	Line int
}

// Vars are external variables and top-level arguments, as text and as code.
type Vars struct {
	ExtStr, ExtCode, TLAStr, TLACode map[string]string
}

// Empty says whether there are none.
func (v Vars) Empty() bool {
	return len(v.ExtStr) == 0 && len(v.ExtCode) == 0 && len(v.TLAStr) == 0 && len(v.TLACode) == 0
}

// Looks says whether a path is among those to look at.
func (c *Config) Looks(path string) bool {
	if c == nil {
		return true
	}
	if slices.ContainsFunc(c.Exclude, func(p string) bool { return Match(p, path) }) {
		return false
	}
	return len(c.Include) == 0 || slices.ContainsFunc(c.Include, func(p string) bool { return Match(p, path) })
}

// Uses says whether a renderer is on.
func (c *Config) Uses(renderer string) bool {
	if c == nil {
		return true
	}
	on, named := c.Renderers[renderer]
	return on || !named
}

// Vars gives the variables of a unit: those of every pattern that it matches, of
// which later ones count where a name is there twice.
func (c *Config) Vars(unit string) Vars {
	var out Vars
	if c == nil {
		return out
	}
	for _, u := range c.Units {
		if !Match(u.Path, unit) {
			continue
		}
		out.ExtStr = merged(out.ExtStr, u.Vars.ExtStr)
		out.ExtCode = merged(out.ExtCode, u.Vars.ExtCode)
		out.TLAStr = merged(out.TLAStr, u.Vars.TLAStr)
		out.TLACode = merged(out.TLACode, u.Vars.TLACode)
	}
	return out
}

func merged(to, from map[string]string) map[string]string {
	if to == nil && len(from) > 0 {
		to = make(map[string]string, len(from))
	}
	for k, v := range from {
		to[k] = v
	}
	return to
}

// A Scope says what a diff looks at. What silences is taken from the base side:
// a path is looked at, and a renderer used, when either side wants it, so that
// a pull request that excludes a path is still reviewed in it, and the exclusion
// counts from the next one on. A side without a file wants everything. What only
// says how to render (entry points, variables) each side has of its own.
type Scope struct {
	Base, Head *Config
	// Forced is the configuration that the user gave by hand; it counts alone.
	Forced *Config
}

// Looks says whether a path is among those to look at.
func (s Scope) Looks(path string) bool {
	if s.Forced != nil {
		return s.Forced.Looks(path)
	}
	return s.Base.Looks(path) || s.Head.Looks(path)
}

// Uses says whether a renderer is on.
func (s Scope) Uses(renderer string) bool {
	if s.Forced != nil {
		return s.Forced.Uses(renderer)
	}
	return s.Base.Uses(renderer) || s.Head.Uses(renderer)
}

// Before and After give the configuration that says how to render each side.
func (s Scope) Before() *Config { return s.side(s.Base) }
func (s Scope) After() *Config  { return s.side(s.Head) }

func (s Scope) side(c *Config) *Config {
	if s.Forced != nil {
		return s.Forced
	}
	return c
}

// Pending says whether the head side would look at less than this run does: its
// exclusions count once they are merged.
func (s Scope) Pending() bool {
	if s.Forced != nil || s.Head == nil {
		return false
	}
	if s.Base == nil {
		return len(s.Head.Include)+len(s.Head.Exclude) > 0 || slices.ContainsFunc(keys(s.Head.Renderers), func(r string) bool { return !s.Head.Renderers[r] })
	}
	for _, p := range s.Head.Exclude {
		if !slices.Contains(s.Base.Exclude, p) {
			return true
		}
	}
	for r, on := range s.Head.Renderers {
		if !on && s.Base.Uses(r) {
			return true
		}
	}
	return len(s.Head.Include) > 0 && !slices.Equal(s.Head.Include, s.Base.Include)
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
