// Package config reads .prdiff.yaml: which paths prdiff looks at, which
// renderers it uses, what a repository's jsonnet needs to be evaluated, which
// rules there are beside the built-in ones, and what does not count. It is strict:
// a key that nothing reads is an error that says where it stands.
//
// In a diff, a pull request cannot silence its own review: see Scope.
package config

import (
	"slices"

	"github.com/prdiff/prdiff/internal/rule"
)

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

	Releases        []Release // how charts are installed
	HelmKubeVersion string    // what charts see, "" when not said
	HelmAPIVersions []string
	HelmFetch       bool     // charts from elsewhere are fetched
	FreeOverlays    bool     // overlays may read above their own folder
	GitOpsAddresses []string // of this repository, as Argo CD and Flux write them

	Kubernetes         rule.Version // of the clusters, zero when not said
	Production         []string     // patterns of units; empty means all
	CriticalNamespaces []string

	RulePaths     []string // files and folders with users' own rules
	Severities    []RuleSeverity
	Parameters    []RuleParameter
	Suppressions  []Suppression
	FiltersOff    []string // noise filters that are switched off
	Hidings       []Hiding
	IncidentPaths []string // files and folders with a team's own postmortems
	Online        bool     // whether incidentlib may be asked; see Scope.Online
}

// A RuleSeverity sets the severity of what one rule finds; 0 switches it off.
type RuleSeverity struct {
	Rule     string
	Severity rule.Severity
	Line     int
}

// A RuleParameter sets one threshold of a rule.
type RuleParameter struct {
	Rule, Name string
	Value      int64
	Line       int
}

// An Entry is a plain jsonnet file, or all that match a pattern, that render to
// objects on their own.
type Entry struct {
	Path      string   // a pattern
	Libraries []string // folders searched for imports, relative to the root, first one first
	Line      int
}

// A Release is one installation of a chart of the repository.
type Release struct {
	Chart       string // folder
	Name        string
	Namespace   string   // "" for the default
	Values      []string // files, relative to the root
	Set         []string
	KubeVersion string // "" for that of all charts
	APIVersions []string
	Line        int
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
