package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// movedReport is a report of n workloads that go from unit a to unit b, of which
// the last one changes, with what rules say of each.
func movedReport(t *testing.T, n int) *Report {
	t.Helper()
	var changes []diff.Change
	r := &Report{Units: []Unit{{Name: "a", Renderer: "plain", Status: Rendered, Before: n}, {Name: "b", Renderer: "plain", Status: Rendered, After: n}}}
	for i := range n {
		manifest := func(image string) *object.Object {
			text := fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app%02d}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: app, image: %q}]}}}\n", i, image)
			objects, errs := object.Parse("a", "a/x.yaml", []byte(text))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			return objects[0]
		}
		before, after := manifest("x:1"), manifest("x:1").WithUnit("b")
		if i == n-1 {
			after = manifest("x:2").WithUnit("b")
		}
		changes = append(changes, diff.Change{Action: diff.Delete, Ref: before.Ref, Before: before}, diff.Change{Action: diff.Create, Ref: after.Ref, After: after})
		r.Findings = append(r.Findings,
			Finding{Finding: rule.Finding{Rule: "gone", Severity: rule.Warning, Unit: "a", Units: []string{"a"}, Ref: before.Ref, Message: "it moves"}},
			Finding{Finding: rule.Finding{Rule: "new", Severity: rule.Note, Unit: "b", Units: []string{"b"}, Ref: after.Ref, Message: "it is new"}},
			Finding{Finding: rule.Finding{Rule: "bad", Severity: rule.Error, Unit: "b", Units: []string{"b"}, Ref: after.Ref, Message: "it is bad"}})
		r.Numbers.Restarts = append(r.Numbers.Restarts, Restart{Ref: before.Ref, How: "ends"}, Restart{Ref: after.Ref, How: "starts"})
	}
	for _, c := range diff.LinkMoves(changes, diff.Options{}) {
		r.Changes = append(r.Changes, NewChange(c))
	}
	return r
}

func TestWhatMovesAloneIsOneLine(t *testing.T) {
	r := movedReport(t, 50)
	r.FoldMoves()
	var said []string
	for _, f := range r.Findings {
		said = append(said, fmt.Sprintf("%s %s (%d related)", f.Rule, f.Message, len(f.Related)))
	}
	if len(said) != 52 || said[0] != "gone it moves; so do 49 more (49 related)" || said[50] != "new it is new (0 related)" {
		t.Errorf("findings = %d, %q, want the removals as one, the errors all, the notes of what changes alone", len(said), said)
	}
	if len(r.Numbers.Restarts) != 1 || r.Numbers.Restarts[0].Ref.Name != "app49" {
		t.Errorf("restarts = %v, want that of what changes alone", r.Numbers.Restarts)
	}
	all := folded(r, false)
	if len(all) != 2 || all[0].Ref.String() != "49 objects (49 Deployment)" || all[1].Ref.Name != "app49" {
		t.Fatalf("%d changes", len(all))
	}
	if got := summary(all[0].Change, inert); got != "moved from a, not changed" {
		t.Errorf("summary = %q", got)
	}
	if got := summary(all[1].Change, inert); !strings.HasPrefix(got, "moved from a, ") || !strings.Contains(got, ".image 1 → 2") {
		t.Errorf("summary = %q", got)
	}
	for name, write := range map[string]Reporter{"text": Text, "markdown": Markdown, "html": HTML, "github": GitHub} {
		var b bytes.Buffer
		if err := write(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "app07"); n > 4 { // in the errors
			t.Errorf("%s names an object that moves alone %d times", name, n)
		}
	}
}

func TestMovesBetweenPartsOfARun(t *testing.T) {
	whole := movedReport(t, 3)
	part := func(unit string) *Report {
		p := &Report{Units: []Unit{{Name: unit, Renderer: "plain", Status: Rendered}}}
		for _, c := range movedReportChanges(t, 3) {
			if c.Ref.Unit == unit {
				p.Changes = append(p.Changes, c)
			}
		}
		var b bytes.Buffer
		if err := JSON(&b, p, Options{}); err != nil {
			t.Fatal(err)
		}
		read, err := ParseJSON(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	r, err := Merge([]*Report{part("a"), part("b")})
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for _, c := range r.Changes {
		if movesAlone(c) {
			moved++
		}
	}
	// What differs stays apart: a part does not hold what a field-wise comparison needs.
	if moved != 2 || len(r.Changes) != 4 {
		t.Errorf("%d of %d changes move alone, want 2 of 4", moved, len(r.Changes))
	}
	var b bytes.Buffer
	if err := JSON(&b, whole, Options{}); err != nil {
		t.Fatal(err)
	}
	again, err := ParseJSON(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if c := again.Changes[0]; c.MovedFrom != "a" || c.RenamedFrom.Unit != "a" || !movesAlone(c) {
		t.Errorf("read back: %+v", c)
	}
}

// movedReportChanges gives the changes of movedReport as they are before they are joined.
func movedReportChanges(t *testing.T, n int) []Change {
	t.Helper()
	var out []Change
	for _, c := range movedReport(t, n).Changes {
		before := c.Before.WithUnit("a")
		out = append(out, NewChange(diff.Change{Action: diff.Delete, Ref: before.Ref, Before: before}), NewChange(diff.Change{Action: diff.Create, Ref: c.Ref, After: c.After}))
	}
	return out
}

// A finding may give one value of a text in which more changes.
func TestOneValueOfATextIsNotItsDiff(t *testing.T) {
	load := func(text string) *object.Object {
		objects, errs := object.Parse("u", "x.yaml", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return objects[0]
	}
	const before = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a.yaml: |\n    x: 1\n    y: 1\n"
	b, a := load(before), load(strings.ReplaceAll(before, "1\n", "2\n"))
	c := NewChange(diff.Compare(object.NewSet([]*object.Object{b}), object.NewSet([]*object.Object{a}), diff.Options{})[0])
	f := Finding{Finding: rule.Finding{Rule: "r", Severity: rule.Warning, Unit: "u", Ref: c.Ref, Path: `data["a.yaml"]`, Before: object.Of(1), After: object.Of(2)}}
	r := &Report{Changes: []Change{c}, Findings: []Finding{f}}
	if saidAbove(r, c, r.Findings, 100) {
		t.Error("two values change, a finding gives one, and the diff is left out")
	}
}

func TestWhatJustGetsAnotherNamespaceIsOneLine(t *testing.T) {
	r := &Report{}
	for _, unit := range []string{"eu", "us"} {
		var sides [2]*object.Set
		for i, namespace := range []string{"shop", "market"} {
			text := fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: c%d}\n", i)
			for n := range 50 {
				text += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: map%02d, namespace: %s}\ndata: {a: b}\n", n, namespace)
			}
			text += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: %s}\ndata: {same: same, more: more, a: %q}\n", namespace, namespace)
			objects, errs := object.Parse(unit, "x.yaml", []byte(text))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			sides[i] = object.NewSet(objects)
		}
		r.Units = append(r.Units, Unit{Name: unit, Renderer: "plain", Status: Rendered})
		for _, c := range diff.Compare(sides[0], sides[1], diff.Options{}) {
			r.Changes = append(r.Changes, NewChange(c))
		}
	}
	Group(r.Changes)
	var told []string
	for _, s := range folded(r, false) {
		told = append(told, s.Ref.String()+": "+summary(s.Change, inert)+" in "+s.spread(inert))
	}
	want := "50 objects (50 ConfigMap): move to another namespace, metadata.namespace shop → market in eu and us"
	if len(told) < 2 || !strings.Contains(strings.Join(told, "\n"), want) || strings.Contains(strings.Join(told, "\n"), "map07") {
		t.Errorf("told:\n%s\nwant among them:\n%s", strings.Join(told, "\n"), want)
	}
	if !strings.Contains(strings.Join(told, "\n"), "ConfigMap market/other") {
		t.Errorf("told:\n%s\nwant what changes besides by itself", strings.Join(told, "\n"))
	}
	for name, write := range map[string]Reporter{"text": Text, "markdown": Markdown, "html": HTML} {
		var b bytes.Buffer
		if err := write(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "another namespace") || strings.Contains(b.String(), "map07") && name != "html" {
			t.Errorf("%s:\n%s", name, b.String())
		}
	}
}
