package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// unit parses both sides of a unit and compares them.
func unit(t *testing.T, name, before, after string) *rule.Unit {
	t.Helper()
	side := func(text string) *object.Set {
		objects, errs := object.Parse(name, "all.yaml", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return object.NewSet(objects)
	}
	u := &rule.Unit{Name: name, Before: side(before), After: side(after)}
	u.Changes = diff.Compare(u.Before, u.After, diff.Options{})
	return u
}

const (
	configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: prod}, data: {a: '%d'}}\n---\n"
	ingress   = "{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: old, namespace: prod}, spec: {backend: {serviceName: web, servicePort: %d}}}\n---\n"
)

func texts(findings []rule.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%s %s %s %s %s", f.Severity, f.Rule, strings.Join(f.Units, "+"), f.Ref, f.Message))
	}
	return out
}

func TestRunShowsEachRuleWhatItAsksFor(t *testing.T) {
	say := func(p *rule.Pass, c diff.Change) { p.Reportf(c, "data.a", "%s", c.Action) }
	rules := []*rule.Rule{
		{ID: "z-any", Severity: rule.Note, Check: say},
		{ID: "config", Severity: rule.Warning, Kinds: []string{"ConfigMap"}, Actions: []diff.Action{diff.Update}, Check: say},
		{ID: "ingress", Severity: rule.Error, Kinds: []string{"Ingress.networking.k8s.io"}, Check: say},
		{ID: "fleet", Severity: rule.Note, CheckAll: func(l *rule.Fleet) {
			l.Report(l.Units[0], l.Units[0].Changes[0], rule.Finding{Message: fmt.Sprint(len(l.Units), " units"), Severity: rule.Error})
		}},
	}
	u := unit(t, "prod",
		fmt.Sprintf(configMap, "b", 1)+fmt.Sprintf(configMap, "gone", 1)+fmt.Sprintf(ingress, 80),
		fmt.Sprintf(configMap, "b", 2)+fmt.Sprintf(ingress, 81))
	want := []string{
		"error fleet prod ConfigMap prod/b 1 units",
		"error ingress prod Ingress prod/old update",
		"warning config prod ConfigMap prod/b update",
		"note z-any prod ConfigMap prod/b update",
		"note z-any prod ConfigMap prod/gone delete",
		"note z-any prod Ingress prod/old update",
	}
	if got := texts(rule.Run(rules, []*rule.Unit{u})); !slices.Equal(got, want) {
		t.Errorf("Run() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	slices.Reverse(rules)
	if got := texts(rule.Run(rules, []*rule.Unit{u})); !slices.Equal(got, want) {
		t.Errorf("Run() with the rules in another order =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReportFillsInWhatTheRuleKnows(t *testing.T) {
	r := &rule.Rule{ID: "config", Severity: rule.Warning, Advice: "leave it", Incidents: []string{"one"},
		Check: func(p *rule.Pass, c diff.Change) { p.Reportf(c, "data.a", "it changes") }}
	u := unit(t, "prod", fmt.Sprintf(configMap, "b", 1), fmt.Sprintf(configMap, "b", 2))
	f := rule.Run([]*rule.Rule{r}, []*rule.Unit{u})[0]
	if got, want := f.Before.Text()+" "+f.After.Text(), "1 2"; got != want {
		t.Errorf("values before and after = %q, want %q", got, want)
	}
	if f.Advice != "leave it" || len(f.Incidents) != 1 || f.Origin.Path != "all.yaml" || f.Unit != "prod" {
		t.Errorf("finding lacks what rule and change know: %+v", f)
	}
	r.Check = func(p *rule.Pass, c diff.Change) { p.Reportf(c, "data.a", "in other words, with 3 pods") }
	if g := rule.Run([]*rule.Rule{r}, []*rule.Unit{u})[0]; g.Fingerprint != f.Fingerprint || len(f.Fingerprint) != 16 {
		t.Errorf("fingerprint = %q, want %q: words are no part of it", g.Fingerprint, f.Fingerprint)
	}
}

func TestFoldTellsOnceWhatUnitsShare(t *testing.T) {
	ref := func(unit, name string) object.Ref { return object.Ref{Unit: unit, Kind: "Service", Name: name} }
	find := func(unit, name, message string) rule.Finding {
		return rule.Finding{Rule: "r", Severity: rule.Error, Unit: unit, Units: []string{unit}, Ref: ref(unit, name), Message: message,
			Related: []object.Ref{ref(unit, "other")}, Fingerprint: unit + name}
	}
	in := []rule.Finding{
		find("cell-1", "web", "none of 3 pods"),
		find("cell-1", "web", "none of 3 pods"), // twice the same
		find("cell-3", "web", "none of 3 pods"),
		find("cell-2", "web", "none of 3 pods"),
		find("cell-4", "web", "none of 5 pods"), // another number
		find("cell-1", "api", "none of 3 pods"), // another object
	}
	got := texts(rule.Fold(in))
	want := []string{
		"error r cell-1+cell-2+cell-3+cell-4 Service web none of 3 pods",
		"error r cell-1 Service api none of 3 pods",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Fold() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	told := rule.Fold(in)[0].Elsewhere
	if len(told) != 1 || !slices.Equal(told[0].Units, []string{"cell-4"}) || told[0].Message != "none of 5 pods" || told[0].Consequence != "" {
		t.Errorf("Fold() tells of other numbers as %v", told)
	}
	if again := rule.Fold(rule.Fold(in)); len(again) != 2 || len(again[0].Elsewhere) != 1 {
		t.Errorf("Fold(Fold()) = %v", again)
	}
	in[4].Severity = rule.Note
	if got := rule.Fold(in); len(got) != 3 {
		t.Errorf("Fold() joined an error and a note: %v", texts(got))
	}
	in[4].Severity, in[4].Before = rule.Error, object.TextOf("5")
	if got := rule.Fold(in); len(got) != 3 {
		t.Errorf("Fold() joined two edits: %v", texts(got))
	}
	if in[0].Units[0] != "cell-1" || len(in[0].Units) != 1 {
		t.Errorf("Fold changed the findings that it was given: %v", in[0].Units)
	}
	if rule.Fold(nil) != nil {
		t.Error("Fold(nil) is not nil")
	}
}

func ExampleRun() {
	r := &rule.Rule{ID: "config-changed", Severity: rule.Note, Kinds: []string{"ConfigMap"},
		Check: func(p *rule.Pass, c diff.Change) { p.Reportf(c, "data", "%d keys after", c.After.At("data").Len()) }}
	parse := func(text string) *object.Set {
		objects, _ := object.Parse("prod", "config.yaml", []byte(text))
		return object.NewSet(objects)
	}
	u := &rule.Unit{
		Name:   "prod",
		Before: parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {a: x}}"),
		After:  parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {a: x, b: y}}"),
	}
	u.Changes = diff.Compare(u.Before, u.After, diff.Options{})
	for _, f := range rule.Run([]*rule.Rule{r}, []*rule.Unit{u}) {
		fmt.Println(f.Severity, f.Ref, f.Message)
	}
	// Output: note ConfigMap app 2 keys after
}

func TestFoldTellsOnceWhatNamespacesShare(t *testing.T) {
	find := func(unit string, pods int) rule.Finding {
		name := object.Ref{Unit: unit, Kind: "Service", Namespace: "shop-" + unit, Name: "web"}
		return rule.Finding{Rule: "r", Severity: rule.Warning, Unit: unit, Units: []string{unit}, Ref: name, Message: name.String() + " loses pods",
			Consequence: fmt.Sprintf("%d pods of shop-%s/web are left", pods, unit)}
	}
	got := rule.Fold([]rule.Finding{find("dev", 1), find("prod", 12), find("staging", 1), find("test", 12)})
	if len(got) != 1 || !slices.Equal(got[0].Units, []string{"dev", "prod", "staging", "test"}) {
		t.Fatalf("Fold() = %v", texts(got))
	}
	told := got[0].Elsewhere
	if len(told) != 2 || told[0].Consequence != "12 pods of shop-prod/web are left" || told[0].Message != "" {
		t.Errorf("Fold() tells of other numbers as %+v", told)
	}
}
