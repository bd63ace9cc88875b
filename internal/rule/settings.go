package rule

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Settings are what a team tells the rules about its clusters. The zero value
// says nothing: every unit counts as production, no namespace is more critical
// than another, and each Parameter has its default.
type Settings struct {
	Kubernetes Version // of the clusters; zero when not said
	// CriticalNamespaces are names and patterns (* stands for any text) of
	// namespaces in which a warning weighs as much as an error elsewhere.
	CriticalNamespaces []string
	// Production says whether a unit runs in production; nil when nobody said.
	Production func(unit string) bool
	// Parameters are values that replace the default of a Parameter, by the ID of
	// the rule and the name.
	Parameters map[string]map[string]int64
}

// A Parameter is a threshold of a rule that a team may set. It is a whole
// number, and a lower one makes the rule say more: so the lower one of two sides
// of a change counts.
type Parameter struct {
	Name    string // camelCase, unique within the rule
	Default int64
	Doc     string // what it counts and its unit, no full stop
}

// Critical says whether a namespace is one of the critical ones.
func (s Settings) Critical(namespace string) bool {
	return namespace != "" && slices.ContainsFunc(s.CriticalNamespaces, func(pattern string) bool {
		ok, err := path.Match(pattern, namespace)
		return ok && err == nil
	})
}

// InProduction says whether a unit runs in production, as far as anybody said.
func (s Settings) InProduction(unit string) bool {
	return s.Production == nil || s.Production(unit)
}

// Weigh gives the severity of a finding where it was found: a warning in a
// critical namespace is an error, and an error in units that are all outside of
// production is a warning.
func (s Settings) Weigh(f Finding) Severity {
	if !slices.ContainsFunc(append([]string{f.Unit}, f.Units...), s.InProduction) {
		return min(f.Severity, Warning)
	}
	if f.Severity == Warning && s.Critical(f.Ref.Namespace) {
		return Error
	}
	return f.Severity
}

// of gives the value of a parameter of rule r.
func (s Settings) of(r *Rule, p Parameter) int64 {
	if v, ok := s.Parameters[r.ID][p.Name]; ok {
		return v
	}
	return p.Default
}

// Int gives the value of one of the rule's parameters.
func (p *Pass) Int(x Parameter) int64 { return p.Settings.of(p.rule, x) }

// Int gives the value of one of the rule's parameters.
func (l *Fleet) Int(x Parameter) int64 { return l.Settings.of(l.rule, x) }

// A Version is a minor version of Kubernetes, such as 1.33. The zero Version is
// none.
type Version struct{ Major, Minor int }

// ParseVersion reads "1.33", with or without a leading v and a patch version.
func ParseVersion(s string) (Version, error) {
	parts := strings.SplitN(strings.TrimPrefix(s, "v"), ".", 3)
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && major > 0 && minor >= 0 && major < 100 && minor < 1000 {
			return Version{major, minor}, nil
		}
	}
	return Version{}, fmt.Errorf("%q is no version of Kubernetes: it is written as 1.33, in quotes", s)
}

// String gives "1.33", "" for the zero Version.
func (v Version) String() string {
	if v == (Version{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// Before says whether v is an earlier version than o.
func (v Version) Before(o Version) bool {
	return v.Major < o.Major || v.Major == o.Major && v.Minor < o.Minor
}
