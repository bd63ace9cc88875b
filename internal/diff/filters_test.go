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
	in := func(unit, text string) *object.Object { return parse(t, text).All()[0].WithUnit(unit) }
	gone := func(o *object.Object) diff.Change { return diff.Change{Action: diff.Delete, Ref: o.Ref, Before: o} }
	come := func(o *object.Object) diff.Change { return diff.Change{Action: diff.Create, Ref: o.Ref, After: o} }
	shop, other := deployment("a", "1"), "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {paused: true, replicas: 7, minReadySeconds: 3}\n"
	claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"

	t.Run("the same object", func(t *testing.T) {
		changes := []diff.Change{gone(in("a", shop)), come(in("b", shop))}
		got := diff.LinkMoves(changes, diff.Options{})
		if len(got) != 1 || got[0].Action != diff.Rename || got[0].MovedFrom != "a" || got[0].Ref.Unit != "b" || got[0].RenamedFrom.Unit != "a" || len(got[0].Fields) != 0 || !got[0].Visible() {
			t.Fatalf("got %s%+v", print(got), got)
		}
		if e := got[0].Effects; len(e) != 1 || !strings.Contains(e[0].Text, "pruning a after that deletes it") {
			t.Errorf("effects = %v", e)
		}
		if len(changes[0].Effects) != 0 {
			t.Error("what was given is changed")
		}
	})
	t.Run("a changed one", func(t *testing.T) {
		got := diff.LinkMoves([]diff.Change{come(in("a", deployment("a", "2"))), gone(in("b", shop))}, diff.Options{})
		if len(got) != 1 || got[0].MovedFrom != "b" || len(got[0].Fields) != 1 || got[0].Fields[0].Path != "spec.template.spec.containers[name=app].image" {
			t.Fatalf("got %s", print(got))
		}
	})
	t.Run("a claim keeps its warning", func(t *testing.T) {
		lost := gone(in("a", claim))
		lost.Effects = []diff.Effect{{Kind: diff.DataLoss, Text: "deletes the volume"}}
		got := diff.LinkMoves([]diff.Change{lost, come(in("b", claim))}, diff.Options{})
		if len(got) != 1 || got[0].Effects[0].Kind != diff.DataLoss || !strings.Contains(got[0].Effects[0].Text, "deletes the volume") {
			t.Fatalf("got %s", print(got))
		}
	})
	t.Run("another object of that name", func(t *testing.T) {
		got := diff.LinkMoves([]diff.Change{gone(in("a", shop)), come(in("b", other))}, diff.Options{})
		if len(got) != 2 || !strings.Contains(got[0].Effects[0].Text, "unit b creates the same object") || len(got[1].Effects) != 1 {
			t.Fatalf("got %s", print(got))
		}
	})
	t.Run("a kind that lives in no namespace, which one unit names", func(t *testing.T) {
		planet := func(namespace string) string {
			return "apiVersion: example.com/v1\nkind: Planet\nmetadata: {name: mars" + namespace + "}\nspec: {size: 1}\n"
		}
		changes := []diff.Change{gone(in("a", planet(""))), come(in("b", planet(", namespace: shop")))}
		if got := diff.LinkMoves(changes, diff.Options{}); len(got) != 2 {
			t.Errorf("of unknown scope: got %s", print(got))
		}
		crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: planets.example.com}\nspec: {group: example.com, scope: Cluster, names: {kind: Planet}}\n"
		got := diff.LinkMoves(changes, diff.Options{Schemas: parse(t, crd).All()})
		if len(got) != 1 || got[0].MovedFrom != "a" || len(got[0].Fields) != 1 || got[0].Fields[0].Hidden != "cluster-scoped" {
			t.Errorf("got %s", print(got))
		}
	})
	t.Run("one that comes twice", func(t *testing.T) {
		got := diff.LinkMoves([]diff.Change{gone(in("a", shop)), come(in("b", shop)), come(in("c", shop))}, diff.Options{})
		if len(got) != 3 {
			t.Fatalf("got %s", print(got))
		}
	})
	t.Run("one of which the content is not known", func(t *testing.T) {
		o := in("a", shop)
		got := diff.LinkMoves([]diff.Change{{Action: diff.Delete, Ref: o.Ref}, {Action: diff.Create, Ref: o.WithUnit("b").Ref}}, diff.Options{})
		if len(got) != 2 || len(got[0].Effects) != 1 {
			t.Fatalf("got %s", print(got))
		}
	})
}
