package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse(File, []byte(text), known)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestObjectPattern(t *testing.T) {
	web := object.Ref{Group: "apps", Kind: "Deployment", Namespace: "prod", Name: "web-1"}
	for pattern, want := range map[string]bool{
		"Deployment prod/web-1": true, "Deployment web-1": true, "Deployment.apps prod/web-*": true, "* */web-1": true, "*": true,
		"Deployment dev/web-1": false, "Deployment.extensions web-1": false, "Service prod/web-1": false, "Deployment web": false,
	} {
		p, wrong := parseObjectPattern(pattern)
		if wrong != "" {
			t.Fatalf("parseObjectPattern(%q): %s", pattern, wrong)
		}
		if got := p.Match(web); got != want {
			t.Errorf("%q matches %s = %v, want %v", pattern, web, got, want)
		}
		if p.String() != pattern {
			t.Errorf("String() = %q, want %q", p, pattern)
		}
	}
	for _, bad := range []string{"Service", "Service a b", "a/b c", "Service a/b/c", "Service [a"} {
		if p, wrong := parseObjectPattern(bad); wrong == "" {
			t.Errorf("parseObjectPattern(%q) = %v, want a mistake", bad, p)
		}
	}
}

func TestFieldMatcher(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		field   object.Path
		want    bool
	}{
		{"spec.replicas", "spec.replicas", true},
		{"spec", "spec.replicas", true},
		{"spec.rep", "spec.replicas", false},
		{"spec.template.spec.containers", "spec.template.spec.containers[name=app].image", true},
		{"spec.template.spec.containers[name=*].image", "spec.template.spec.containers[name=app].image", true},
		{"*.image", "spec.template.spec.containers[name=app].image", true},
		{`metadata.annotations["a/b"]`, `metadata.annotations["a/b"]`, true},
		{"spec.a|b", "spec.a", false},
		{"", "", true},
		{"spec", "", false},
	} {
		if got := fieldMatcher(tt.pattern)(tt.field); got != tt.want {
			t.Errorf("%q names %q = %v, want %v", tt.pattern, tt.field, got, tt.want)
		}
	}
}

func TestSuppressionMatchesAndExpires(t *testing.T) {
	c := parse(t, `
suppress:
- rule: service-recreated
  object: Service prod/web
  path: spec.clusterIP
  unit: environments/prod/**
  reason: planned for the night of the 3rd
  expires: 2026-03-03
`)
	s := c.Suppressions[0]
	f := rule.Finding{Rule: "service-recreated", Unit: "environments/prod/eu", Ref: object.Ref{Kind: "Service", Namespace: "prod", Name: "web"}, Path: "spec.clusterIP"}
	if !s.Matches(f) {
		t.Errorf("%+v does not match %+v", s, f)
	}
	for name, other := range map[string]func(*rule.Finding){
		"another rule":   func(f *rule.Finding) { f.Rule = "other" },
		"another object": func(f *rule.Finding) { f.Ref.Name = "api" },
		"another field":  func(f *rule.Finding) { f.Path = "spec.ports" },
		"another unit":   func(f *rule.Finding) { f.Unit = "environments/dev" },
	} {
		g := f
		other(&g)
		if s.Matches(g) {
			t.Errorf("%s: matches", name)
		}
	}
	if want := "service-recreated of Service prod/web: spec.clusterIP in environments/prod/**"; s.About() != want || s.Place() != ".prdiff.yaml:3" {
		t.Errorf("About() = %q, Place() = %q, want %q at .prdiff.yaml:3", s.About(), s.Place(), want)
	}
	for day, want := range map[string]bool{"2026-03-03T23:59:59Z": false, "2026-03-04T00:00:00Z": true, "2026-03-04T01:00:00+02:00": false} {
		now, err := time.Parse(time.RFC3339, day)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Expired(now); got != want {
			t.Errorf("Expired(%s) = %v, want %v", day, got, want)
		}
	}
}

func TestIgnores(t *testing.T) {
	known := func(id string) bool { return id == "one" || id == "two" }
	for _, tt := range []struct {
		name, text string
		want       []Ignore
		wrong      string // in what is wrong, "" for nothing
	}{
		{"one rule", "one it is planned", []Ignore{{"one", "it is planned"}}, ""},
		{"a comma in a reason", "one planned, and announced", []Ignore{{"one", "planned, and announced"}}, ""},
		{"two rules with a comma", "one planned, two: accepted", []Ignore{{"one", "planned"}, {"two", "accepted"}}, ""},
		{"two rules on lines", "one planned\ntwo accepted\n", []Ignore{{"one", "planned"}, {"two", "accepted"}}, ""},
		{"no reason", "one", nil, "gives no reason for one"},
		{"no such rule", "three because", nil, `names no rule with "three"`},
		{"a good one beside a bad one", "three because\none planned", []Ignore{{"one", "planned"}}, "three"},
	} {
		o, err := object.New("unit", object.Origin{Path: "a.yaml"}, map[string]any{
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "web", "annotations": map[string]any{IgnoreAnnotation: tt.text}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, wrong := Ignores(o, known)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: Ignores() = %v, want %v", tt.name, got, tt.want)
		}
		if all := strings.Join(wrong, "\n"); tt.wrong == "" && all != "" || !strings.Contains(all, tt.wrong) {
			t.Errorf("%s: Ignores() tells %q, want %q", tt.name, all, tt.wrong)
		}
	}
}

var twoRules = []*rule.Rule{
	{ID: "service-recreated", Severity: rule.Error},
	{ID: "many", Severity: rule.Warning, Parameters: []rule.Parameter{{Name: "most", Default: 10, Doc: "pods"}}},
}

func TestCheckRules(t *testing.T) {
	c := parse(t, `
rules:
  severity: {service-recreate: off}
  parameters:
    many: {mots: 3}
    service-recreated: {most: 3}
suppress:
- {rule: menny, reason: because}
`)
	const want = `.prdiff.yaml:3: there is no rule "service-recreate": did you mean "service-recreated"?
.prdiff.yaml:5: the rule many has no parameter "mots": did you mean "most"?
.prdiff.yaml:6: the rule service-recreated has no parameters
.prdiff.yaml:8: there is no rule "menny": did you mean "many"?`
	if err := c.CheckRules(twoRules); err == nil || err.Error() != want {
		t.Errorf("CheckRules() =\n%v\nwant\n%s", err, want)
	}
	if err := (*Config)(nil).CheckRules(twoRules); err != nil {
		t.Errorf("CheckRules() of no file = %v", err)
	}
}

func TestScopeSilencesByTheBaseSideOnly(t *testing.T) {
	quiet := parse(t, `
clusters: {production: [prod], kubernetesVersion: "1.30", criticalNamespaces: [pay]}
rules:
  severity: {service-recreated: off, many: note}
  parameters: {many: {most: 100}}
suppress: [{rule: many, reason: because}]
filters: {hide: [{path: data.built, reason: a date}], off: [chart-labels]}
`)
	plain := parse(t, `{}`)
	found := rule.Finding{Rule: "service-recreated", Unit: "dev", Units: []string{"dev"}, Severity: rule.Error}
	for _, tt := range []struct {
		name                string
		scope               Scope
		severity            rule.Severity
		suppressions, hides int
		most                int64
		production, pending bool // of unit dev; that the head would silence more
	}{
		{"a change cannot silence itself", Scope{Base: plain, Head: quiet}, rule.Error, 0, 0, 10, true, true},
		{"nor in a repository without a file", Scope{Head: quiet}, rule.Error, 0, 0, 10, true, true},
		{"what is there already counts", Scope{Base: quiet, Head: quiet}, 0, 1, 1, 100, false, false},
		{"a severity that is taken back counts at once", Scope{Base: quiet, Head: plain}, rule.Error, 1, 1, 10, true, false},
		{"a file given by hand counts alone", Scope{Base: plain, Head: plain, Forced: quiet}, 0, 1, 1, 100, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.scope.Settings(twoRules)
			if got := tt.scope.Severity(found, s); got != tt.severity {
				t.Errorf("Severity() = %s, want %s", got, tt.severity)
			}
			if got := len(tt.scope.Suppressions()); got != tt.suppressions {
				t.Errorf("%d suppressions, want %d", got, tt.suppressions)
			}
			hide := tt.scope.Hide()
			if got := hide != nil && hide(object.Ref{}, "data.built.at") == ".prdiff.yaml:7"; got != (tt.hides > 0) {
				t.Errorf("hides data.built.at = %v, want %v", got, tt.hides > 0)
			}
			most := int64(10)
			if v, ok := s.Parameters["many"]["most"]; ok {
				most = v
			}
			if most != tt.most {
				t.Errorf("most = %d, want %d", most, tt.most)
			}
			if got := s.InProduction("dev"); got != tt.production {
				t.Errorf("InProduction(dev) = %v, want %v", got, tt.production)
			}
			if got := tt.scope.PendingSilence(); got != tt.pending {
				t.Errorf("PendingSilence() = %v, want %v", got, tt.pending)
			}
			// What makes prdiff say more counts on either side.
			if !s.Critical("pay") || s.Kubernetes.String() != "1.30" || !slices.Equal(tt.scope.FiltersOff(), []string{"chart-labels"}) {
				t.Errorf("Settings() = %+v, filters off %v", s, tt.scope.FiltersOff())
			}
		})
	}
	if got := (Scope{Base: quiet, Head: quiet}).Off(); !slices.Equal(got, []string{"service-recreated"}) {
		t.Errorf("Off() = %v", got)
	}
	if got := (Scope{Base: quiet, Head: plain}).Off(); len(got) > 0 {
		t.Errorf("Off() of a rule that the head side has on = %v", got)
	}
}

func TestSchemaHasEveryKeyAndRule(t *testing.T) {
	data, err := Schema(known, twoRules)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"criticalNamespaces"`, `"service-recreated"`, `"most"`, `"default": 10`, `"chart-labels"`, `"additionalProperties": false`, `"expires"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("Schema() lacks %s", want)
		}
	}
}
