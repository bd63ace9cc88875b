package ruletest

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

const (
	one = "-- before/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: x}}\n-- after/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: y}}\n"
	two = "-- before/cell-1/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: x}}\n" +
		"-- before/cell-2/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: x}}\n" +
		"-- after/cell-1/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: y}}\n" +
		"-- after/cell-2/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: y}}\n"
)

var (
	loud   = &rule.Rule{ID: "loud", Title: "Loud", Subject: "config", Severity: rule.Warning, Doc: "Doc.", Advice: "Advice.", Check: changed}
	silent = &rule.Rule{ID: "silent", Title: "Silent", Subject: "config", Severity: rule.Note, Doc: "Doc.", Advice: "Advice.", Check: func(*rule.Pass, diff.Change) {}}
)

func changed(p *rule.Pass, c diff.Change) {
	p.Report(c, rule.Finding{Path: "data.k", Message: "changed", Consequence: "so what"})
}

func parse(t *testing.T, name, text string) *Fixture {
	t.Helper()
	f, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestParseRefusesWhatShowsNothing(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"a case without a sentence":          {one, "no sentence on top"},
		"a section with a misspelt name":     {"Case.\n" + strings.Replace(one, "after/", "afters/", 1), `"afters/a.yaml"`},
		"units for some manifests only":      {"Case.\n" + one + "-- after/cell/b.yaml --\n", "or none"},
		"a manifest that cannot be read":     {"Case.\n-- before/a.yaml --\n{a: [}\n", "before:"},
		"both sides the same":                {"Case.\n" + strings.Replace(one, "k: y", "k: x", 1), "are the same"},
		"one object twice on a side":         {"Case.\n" + one + "-- after/b.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "twice"},
		"a case with no manifests":           {"Case.\n-- want --\n", "are the same"},
		"a section deeper than a unit's dir": {"Case.\n-- before/a/b/c.yaml --\n", "or none"},
	} {
		if _, err := Parse("case.txtar", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Parse() = %v, want an error with %q", name, err, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	const said = "warning ConfigMap a: data.k: changed\n    so what\n"
	all := []*rule.Rule{loud, silent}
	tests := []struct {
		name, file, text string
		rule             *rule.Rule
		want             string // in an error, "" for none
	}{
		{"a finding as wanted", "fires", "Case.\n" + one + "-- want --\n" + said, loud, ""},
		{"a finding with other words", "fires", "Case.\n" + one + "-- want --\nwarning ConfigMap a: data.k: other\n", loud, "so what"},
		{"no want section", "fires", "Case.\n" + one, loud, "so what"},
		{"findings of several units, folded", "fires", "Case.\n" + two + "-- want --\n" + said + "    in: cell-1, cell-2\n", loud, ""},
		{"nothing where something is wanted", "fires", "Case.\n" + one, silent, "says nothing"},
		{"a finding in a quiet case", "quiet_case", "Case.\n" + one, loud, "must be quiet"},
		{"another rule in a quiet case", "quiet_case", "Case.\n" + one, silent, "loud: warning"},
		{"another rule that is listed", "quiet_case", "Case.\n" + one + "-- also --\nloud: warning ConfigMap a: data.k: changed\n", silent, ""},
		{"a want section in a quiet case", "quiet_case", "Case.\n" + one + "-- want --\nx\n-- also --\nloud: warning ConfigMap a: data.k: changed\n", silent, "no want section"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, errs := parse(t, tt.file+".txtar", tt.text).check(tt.rule, all)
			err := errors.Join(errs...)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("check() = %v, want an error with %q", err, tt.want)
			}
			if data == nil {
				return
			}
			// What -update writes passes.
			if _, errs := parse(t, tt.file+".txtar", string(data)).check(tt.rule, all); len(errs) > 0 {
				t.Errorf("check() of what it wrote = %v", errs)
			}
		})
	}
}

func TestVet(t *testing.T) {
	good := *loud
	bad := rule.Rule{ID: "Bad_ID", Title: "Ends with a stop.", Subject: "misc", Advice: "One.\n\nTwo.", CheckAll: func(*rule.Fleet) {}, Kinds: []string{"Service"}}
	if errs := Vet([]*rule.Rule{&good}); len(errs) > 0 {
		t.Errorf("Vet() of a good rule = %v", errs)
	}
	err := errors.Join(Vet([]*rule.Rule{&good, &good, &bad})...)
	for _, want := range []string{"twice", "kebab-case", "full stop", "subject", "no severity", "no doc", "one paragraph", "no effect"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Vet() does not say %q:\n%v", want, err)
		}
	}
}

func TestStrangersFindsFoldersThatNoRuleRuns(t *testing.T) {
	fsys := fstest.MapFS{"testdata/loud/x.txtar": {}, "testdata/lout/x.txtar": {}}
	if err := strangers(fsys, []*rule.Rule{loud}); err == nil || !strings.Contains(err.Error(), "testdata/lout") {
		t.Errorf("strangers() = %v, want testdata/lout", err)
	}
	delete(fsys, "testdata/lout/x.txtar")
	if err := strangers(fsys, []*rule.Rule{loud}); err != nil {
		t.Errorf("strangers() = %v, want nothing", err)
	}
}

func TestCatalogueTellsOneCaseAtLengthAndLinksTheOthers(t *testing.T) {
	fixtures := map[string][]*Fixture{"loud": {
		parse(t, "another.txtar", "Another case. With more to say.\n"+one),
		parse(t, "example.txtar", "The case.\n"+one),
		parse(t, "quiet_case.txtar", "The harmless twin.\n"+one),
	}}
	got := string(Catalogue([]*rule.Rule{silent, loud}, fixtures))
	for _, want := range []string{
		"**Config**\n\n| rule | severity | when |\n|---|---|---|\n| [silent](#silent) | note | Silent |\n| [loud](#loud) | warning | Loud |\n",
		"[The case.](testdata/loud/example.txtar)\n\n```text\nwarning ConfigMap a: data.k: changed\n    so what\n```\n\nIt fires too:\n\n- [Another case.](testdata/loud/another.txtar)\n\nIt is quiet:\n\n- [The harmless twin.](testdata/loud/quiet_case.txtar)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Catalogue() lacks\n%s\nin\n%s", want, got)
		}
	}
}
