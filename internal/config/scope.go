package config

import (
	"slices"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// A Scope says what a diff looks at and what counts there. What silences is taken
// from the base side, so that a change cannot silence its own review, and counts
// from the next one on: suppressions and filters are those of the base; a path is
// looked at, and a renderer used, when either side wants it; of two severities,
// thresholds, lists of what is production or critical, that one counts by which
// more is told. A side without a file wants everything. What only says how to
// render (entry points, variables) each side has of its own.
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

// silencing is the configuration of which suppressions and filters count.
func (s Scope) silencing() *Config {
	if s.Forced != nil {
		return s.Forced
	}
	return s.Base
}

// sides are the configurations that say what is told; nil ones among them have no
// file.
func (s Scope) sides() []*Config {
	if s.Forced != nil {
		return []*Config{s.Forced}
	}
	return []*Config{s.Base, s.Head}
}

// Online says whether incidentlib may be asked. A pull request cannot make its own
// run talk to a network: what the base side says counts.
func (s Scope) Online() bool {
	c := s.silencing()
	return c != nil && c.Online
}

// FetchesCharts says whether charts from elsewhere may be fetched; see Online.
func (s Scope) FetchesCharts() bool {
	c := s.silencing()
	return c != nil && c.HelmFetch
}

// Suppressions gives those that count, in the order of the file.
func (s Scope) Suppressions() []Suppression {
	if c := s.silencing(); c != nil {
		return c.Suppressions
	}
	return nil
}

// Hidings gives the users' own filters that count, in the order of the file.
func (s Scope) Hidings() []Hiding {
	if c := s.silencing(); c != nil {
		return c.Hidings
	}
	return nil
}

// Hide gives the function that diff.Options wants, nil when there are no filters.
func (s Scope) Hide() func(object.Ref, object.Path) string {
	hidings := s.Hidings()
	if len(hidings) == 0 {
		return nil
	}
	matchers := make([]func(object.Path) bool, len(hidings))
	for i, h := range hidings {
		matchers[i] = fieldMatcher(h.Path)
	}
	return func(ref object.Ref, field object.Path) string {
		for i, h := range hidings {
			if h.concerns(ref) && matchers[i](field) {
				return h.ID()
			}
		}
		return ""
	}
}

// FiltersOff gives the noise filters that one of the sides switches off, sorted.
func (s Scope) FiltersOff() []string {
	var out []string
	for _, c := range s.sides() {
		if c != nil {
			out = append(out, c.FiltersOff...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// severity gives what a configuration says of a rule.
func (c *Config) severity(id string) (severity rule.Severity, said bool) {
	if c == nil {
		return 0, false
	}
	for _, s := range c.Severities {
		if s.Rule == id {
			return s.Severity, true
		}
	}
	return 0, false
}

// Severity gives the severity with which a finding is shown, 0 when its rule is
// off: the one that the configuration says, else that of the finding, weighed by
// where it was found.
func (s Scope) Severity(f rule.Finding, settings rule.Settings) rule.Severity {
	var out rule.Severity
	for _, c := range s.sides() {
		severity, said := c.severity(f.Rule)
		if !said {
			severity = settings.Weigh(f)
		}
		out = max(out, severity)
	}
	return out
}

// Off gives the rules that are switched off, sorted.
func (s Scope) Off() []string {
	var out []string
	if c := s.silencing(); c != nil {
		for _, r := range c.Severities {
			if s.Severity(rule.Finding{Rule: r.Rule, Severity: rule.Note}, rule.Settings{}) == 0 {
				out = append(out, r.Rule)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Settings gives what the rules are told.
func (s Scope) Settings(rules []*rule.Rule) rule.Settings {
	out := rule.Settings{Production: s.production()}
	for _, c := range s.sides() {
		if c == nil {
			continue
		}
		if out.Kubernetes.Before(c.Kubernetes) {
			out.Kubernetes = c.Kubernetes
		}
		out.CriticalNamespaces = append(out.CriticalNamespaces, c.CriticalNamespaces...)
	}
	slices.Sort(out.CriticalNamespaces)
	out.CriticalNamespaces = slices.Compact(out.CriticalNamespaces)
	for _, r := range rules {
		for _, p := range r.Parameters {
			sides := s.sides()
			value := sides[0].parameter(r.ID, p)
			for _, c := range sides[1:] {
				value = min(value, c.parameter(r.ID, p))
			}
			if value == p.Default {
				continue
			}
			if out.Parameters == nil {
				out.Parameters = map[string]map[string]int64{}
			}
			if out.Parameters[r.ID] == nil {
				out.Parameters[r.ID] = map[string]int64{}
			}
			out.Parameters[r.ID][p.Name] = value
		}
	}
	return out
}

func (c *Config) parameter(id string, p rule.Parameter) int64 {
	if c != nil {
		for _, x := range c.Parameters {
			if x.Rule == id && x.Name == p.Name {
				return x.Value
			}
		}
	}
	return p.Default
}

// production is nil when a side does not say which units run in production: then
// all do.
func (s Scope) production() func(string) bool {
	var lists [][]string
	for _, c := range s.sides() {
		if c == nil || len(c.Production) == 0 {
			return nil
		}
		lists = append(lists, c.Production)
	}
	return func(unit string) bool {
		return slices.ContainsFunc(lists, func(list []string) bool {
			return slices.ContainsFunc(list, func(p string) bool { return Match(p, unit) })
		})
	}
}

// PendingSilence says whether the head side would silence more than this run does.
func (s Scope) PendingSilence() bool {
	if s.Forced != nil || s.Head == nil {
		return false
	}
	base := s.Base
	if base == nil {
		base = &Config{}
	}
	for _, x := range s.Head.Suppressions {
		if !slices.ContainsFunc(base.Suppressions, func(y Suppression) bool {
			y.Line, y.File = x.Line, x.File
			return x == y
		}) {
			return true
		}
	}
	for _, x := range s.Head.Hidings {
		if !slices.ContainsFunc(base.Hidings, func(y Hiding) bool {
			y.Line, y.File = x.Line, x.File
			return x == y
		}) {
			return true
		}
	}
	for _, x := range s.Head.Severities {
		if severity, said := base.severity(x.Rule); !said && x.Severity < rule.Error || said && x.Severity < severity {
			return true
		}
	}
	for _, x := range s.Head.Parameters {
		if x.Value > base.parameter(x.Rule, rule.Parameter{Name: x.Name, Default: 0}) {
			return true
		}
	}
	return len(s.Head.Production) > 0 && !slices.Equal(s.Head.Production, base.Production)
}
