package rule_test

import (
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

func TestWeigh(t *testing.T) {
	s := rule.Settings{
		CriticalNamespaces: []string{"kube-system", "pay-*"},
		Production:         func(unit string) bool { return strings.HasPrefix(unit, "prod") },
	}
	for _, tt := range []struct {
		name      string
		unit      string
		namespace string
		severity  rule.Severity
		want      rule.Severity
	}{
		{"a warning in a critical namespace is an error", "prod/a", "pay-eu", rule.Warning, rule.Error},
		{"a note stays one", "prod/a", "pay-eu", rule.Note, rule.Note},
		{"a warning elsewhere stays one", "prod/a", "web", rule.Warning, rule.Warning},
		{"an error outside of production is a warning", "dev/a", "web", rule.Error, rule.Warning},
		{"a critical namespace outside of production is not", "dev/a", "kube-system", rule.Warning, rule.Warning},
	} {
		f := rule.Finding{Unit: tt.unit, Units: []string{tt.unit}, Severity: tt.severity, Ref: object.Ref{Namespace: tt.namespace}}
		if got := s.Weigh(f); got != tt.want {
			t.Errorf("%s: Weigh() = %s, want %s", tt.name, got, tt.want)
		}
		if got := (rule.Settings{}).Weigh(f); got != tt.severity {
			t.Errorf("%s: without settings Weigh() = %s, want %s", tt.name, got, tt.severity)
		}
	}
	both := rule.Finding{Unit: "dev/a", Units: []string{"dev/a", "prod/a"}, Severity: rule.Error}
	if got := s.Weigh(both); got != rule.Error {
		t.Errorf("found in production too: Weigh() = %s, want error", got)
	}
}

func TestParametersReachRules(t *testing.T) {
	most := rule.Parameter{Name: "most", Default: 3, Doc: "changes"}
	one := &rule.Rule{ID: "one", Severity: rule.Note, Parameters: []rule.Parameter{most},
		Check: func(p *rule.Pass, c diff.Change) { p.Reportf(c, "", "most %d, on %s", p.Int(most), p.Kubernetes) }}
	all := &rule.Rule{ID: "all", Severity: rule.Note, Parameters: []rule.Parameter{most},
		CheckAll: func(l *rule.Fleet) {
			l.Report(l.Units[0], l.Units[0].Changes[0], rule.Finding{Message: strings.Repeat("x", int(l.Int(most)))})
		}}
	u := unit(t, "prod", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: x}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: y}}")
	s := rule.Settings{Kubernetes: rule.Version{Major: 1, Minor: 33}, Parameters: map[string]map[string]int64{"one": {"most": 7}}}
	got := rule.RunWith([]*rule.Rule{one, all}, []*rule.Unit{u}, s)
	if len(got) != 2 || got[0].Message != "xxx" || got[1].Message != "most 7, on 1.33" {
		t.Errorf("RunWith() = %+v, want the default for one rule and the team's value for the other", got)
	}
}

func TestParseVersion(t *testing.T) {
	for in, want := range map[string]string{"1.33": "1.33", "v1.33.4": "1.33", "1.9": "1.9", "1.33.0-eks": "1.33"} {
		if got, err := rule.ParseVersion(in); err != nil || got.String() != want {
			t.Errorf("ParseVersion(%q) = %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "1", "latest", "1.x", "-1.3", "1.33333"} {
		if got, err := rule.ParseVersion(in); err == nil {
			t.Errorf("ParseVersion(%q) = %s, want an error", in, got)
		}
	}
	if !(rule.Version{Major: 1, Minor: 9}).Before(rule.Version{Major: 1, Minor: 10}) {
		t.Error("1.9 is not before 1.10")
	}
}
