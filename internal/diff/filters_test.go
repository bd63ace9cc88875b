package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

func TestEveryFilterIsListedUsedAndSwitchable(t *testing.T) {
	used := map[string]bool{}
	for _, p := range pairs(t) {
		for _, c := range diff.Compare(p.before, p.after, diff.Options{}) {
			for _, f := range c.Fields {
				if f.Hidden != "" {
					used[f.Hidden] = true
				}
			}
		}
	}
	var ids []string
	for _, f := range diff.Filters() {
		ids = append(ids, f.ID)
		if !used[f.ID] {
			t.Errorf("no pair of testdata/compare shows what %s hides", f.ID)
		}
		delete(used, f.ID)
	}
	if len(used) > 0 {
		t.Errorf("filters that are not listed: %v", used)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("filters are not in the order of their ids: %v", ids)
	}
	for _, p := range pairs(t) {
		for _, c := range diff.Compare(p.before, p.after, diff.Options{Unfiltered: ids}) {
			for _, f := range c.Fields {
				if f.Hidden != "" {
					t.Errorf("%s: %s hides %s although it is switched off", p.name, f.Hidden, f.Path)
				}
			}
		}
	}
}

func TestUserFilterHidesAllButRefusedFields(t *testing.T) {
	before, after := parse(t, deployment("a", "1")), parse(t, deployment("b", "2"))
	hide := func(ref object.Ref, path object.Path) string {
		if ref.Name == "shop" && (strings.HasPrefix(string(path), "spec.selector") || strings.HasSuffix(string(path), "image")) {
			return "ours"
		}
		return ""
	}
	got := map[object.Path]string{}
	for _, c := range diff.Compare(before, after, diff.Options{Hide: hide}) {
		for _, f := range c.Fields {
			got[f.Path] = f.Hidden
		}
	}
	for path, want := range map[object.Path]string{
		"spec.selector.matchLabels.app":                 "",
		"spec.template.metadata.labels.app":             "",
		"spec.template.spec.containers[name=app].image": "ours",
	} {
		if hidden, there := got[path]; !there || hidden != want {
			t.Errorf("%s: there %v, hidden by %q, want %q", path, there, hidden, want)
		}
	}
}

func deployment(app, tag string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: ` + app + `}}
  template:
    metadata: {labels: {app: ` + app + `}}
    spec: {containers: [{name: app, image: "shop:` + tag + `"}]}
`
}

func TestNormalizedShowsNoNoise(t *testing.T) {
	before := parse(t, deployment("a", "1"))
	after := parse(t, strings.Replace(deployment("a", "2"), "spec: {containers: [{", "spec: {dnsPolicy: ClusterFirst, containers: [{name: side, image: \"s:1\"}, {", 1))
	changes := diff.Compare(before, after, diff.Options{})
	if len(changes) != 1 {
		t.Fatalf("%d changes, want 1", len(changes))
	}
	b, a := changes[0].Normalized()
	if !b.Equal(changes[0].Before.Root()) {
		t.Errorf("before = %s, want %s", b, changes[0].Before.Root())
	}
	want := `{"containers":[{"image":"s:1","name":"side"},{"image":"shop:2","name":"app"}]}`
	if got := a.At("spec.template.spec").String(); got != want {
		t.Errorf("pod spec after = %s, want %s", got, want)
	}
}

func TestLinkMoves(t *testing.T) {
	o := parse(t, deployment("a", "1")).All()[0]
	changes := []diff.Change{
		{Action: diff.Delete, Ref: o.WithUnit("a").Ref, Before: o.WithUnit("a")},
		{Action: diff.Create, Ref: o.WithUnit("b").Ref, After: o.WithUnit("b")},
	}
	got := diff.LinkMoves(changes)
	if len(got[0].Effects) != 1 || !strings.Contains(got[0].Effects[0].Text, "unit b creates the same object") {
		t.Errorf("effects of the deletion = %v", got[0].Effects)
	}
	if len(got[1].Effects) != 1 || len(changes[0].Effects) != 0 {
		t.Errorf("effects of the creation = %v, of what was given %v", got[1].Effects, changes[0].Effects)
	}
}
