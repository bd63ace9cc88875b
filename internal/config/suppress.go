package config

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// A Suppression keeps findings of one rule from counting.
type Suppression struct {
	Rule    string
	Object  ObjectPattern // the zero value matches every object
	Path    string        // a pattern of fields; "" matches every one
	Unit    string        // a pattern of units; "" matches every one
	Reason  string        // never ""
	Expires string        // the last day on which it counts, YYYY-MM-DD; "" for no end
	File    string
	Line    int
}

// Place says where the suppression stands, such as ".prdiff.yaml:12".
func (s Suppression) Place() string { return place(s.File, s.Line) }

// About says what it is for, in words: rule, object, field and unit.
func (s Suppression) About() string {
	out := s.Rule
	if s.Object != (ObjectPattern{}) {
		out += " of " + s.Object.String()
	}
	if s.Path != "" {
		out += ": " + s.Path
	}
	if s.Unit != "" {
		out += " in " + s.Unit
	}
	return out
}

// Expired says whether its last day, which ends at midnight UTC, has passed.
func (s Suppression) Expired(now time.Time) bool {
	return s.Expires != "" && now.UTC().Format(time.DateOnly) > s.Expires
}

// Concerns says whether an object of a unit is one that it is for.
func (s Suppression) Concerns(ref object.Ref) bool {
	return (s.Unit == "" || Match(s.Unit, ref.Unit)) && s.Object.Match(ref)
}

// Matches says whether a finding is one that it silences.
func (s Suppression) Matches(f rule.Finding) bool {
	ref := f.Ref
	ref.Unit = f.Unit
	return s.Rule == f.Rule && s.Concerns(ref) && fieldMatcher(s.Path)(f.Path)
}

// A Hiding is a filter of the users' own: a difference that is noise.
type Hiding struct {
	Object ObjectPattern
	Path   string // a pattern of fields, never ""
	Unit   string
	Reason string // never ""
	File   string
	Line   int
}

// ID names the filter in reports.
func (h Hiding) ID() string { return place(h.File, h.Line) }

func (h Hiding) concerns(ref object.Ref) bool {
	return (h.Unit == "" || Match(h.Unit, ref.Unit)) && h.Object.Match(ref)
}

func place(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// An ObjectPattern names objects: "Service prod/web", "ClusterRole admin",
// "Deployment.apps */web-*", "ConfigMap *". A star stands for any text without a
// slash. A kind without a group matches in every group, and a name without a
// namespace in every one. The zero ObjectPattern matches everything.
type ObjectPattern struct{ kind, namespace, name string }

func parseObjectPattern(s string) (p ObjectPattern, wrong string) {
	words := strings.Fields(s)
	if len(words) == 1 && words[0] == "*" {
		return p, ""
	}
	if len(words) != 2 {
		return p, "an object is written as its kind and its name, such as Service prod/web"
	}
	p.kind, p.name = words[0], words[1]
	if namespace, name, ok := strings.Cut(p.name, "/"); ok {
		p.namespace, p.name = namespace, name
	}
	for _, part := range []string{p.kind, p.namespace, p.name} {
		if _, err := path.Match(part, "x"); err != nil || strings.Contains(part, "/") {
			return p, "it is not a pattern: write Kind namespace/name, with * for any text"
		}
	}
	return p, ""
}

// String gives the pattern as it is written.
func (p ObjectPattern) String() string {
	switch {
	case p == ObjectPattern{}:
		return "*"
	case p.namespace == "":
		return p.kind + " " + p.name
	}
	return p.kind + " " + p.namespace + "/" + p.name
}

// Match says whether the pattern names an object.
func (p ObjectPattern) Match(ref object.Ref) bool {
	if p == (ObjectPattern{}) {
		return true
	}
	kind := ref.Kind
	if strings.Contains(p.kind, ".") {
		kind = ref.GroupKind()
	}
	return matchWord(p.kind, kind) && (p.namespace == "" || matchWord(p.namespace, ref.Namespace)) && matchWord(p.name, ref.Name)
}

func matchWord(pattern, word string) bool {
	ok, err := path.Match(pattern, word)
	return ok && err == nil
}

// fieldMatcher makes of a pattern of fields a function that says whether it names
// a field or one above it. A star stands for any text.
func fieldMatcher(pattern string) func(object.Path) bool {
	if pattern == "" {
		return func(object.Path) bool { return true }
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
	re := regexp.MustCompile(`(?s)^(?:` + expr + `)(?:$|[.\[])`) // of quoted text: always sound
	return func(field object.Path) bool { return re.MatchString(string(field)) }
}
