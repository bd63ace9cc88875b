package rules_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/rules"
)

// mangle gives a copy of a decoded manifest in which some values are of another
// type than Kubernetes has there.
func mangle(r *rand.Rand, v object.Value, depth int) any {
	if depth > 1 && r.IntN(12) == 0 {
		return []any{nil, "text", int64(-1), 1e300, true, "150%", []any{nil, "x", int64(1)}, map[string]any{"a": []any{}}, "-7", "999999999999999999999"}[r.IntN(10)]
	}
	switch v.Type() {
	case object.Map:
		m := map[string]any{}
		for k, item := range v.Fields() {
			m[k] = mangle(r, item, depth+1)
		}
		return m
	case object.List:
		l := []any{}
		for _, item := range v.Items() {
			l = append(l, mangle(r, item, depth+1))
		}
		return l
	case object.Number:
		n, _ := v.Float()
		return n
	case object.Bool:
		b, _ := v.Bool()
		return b
	}
	return v.Text()
}

// TestRulesSurviveManifestsOfAnyShape runs all rules on mangled fixtures: no shape
// that a pull request may bring makes one panic, and a run twice says the same.
func TestRulesSurviveManifestsOfAnyShape(t *testing.T) {
	names, err := fs.Glob(rules.Fixtures, "testdata/*/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	findings := 0
	for _, name := range names {
		data, err := rules.Fixtures.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var all []*object.Object
		for _, file := range txtar.Parse(data).Files {
			if path.Dir(file.Name) != "." {
				objects, _ := object.Parse("u", file.Name, file.Data)
				all = append(all, objects...)
			}
		}
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 1))
			side := func() *object.Set {
				var objects []*object.Object
				for _, o := range all {
					if r.IntN(3) == 0 {
						continue
					}
					manifest := mangle(r, o.Root(), 0).(map[string]any)
					if mangled, err := object.New("u", object.Origin{Path: "f.yaml"}, manifest); err == nil {
						objects = append(objects, mangled)
					}
				}
				return object.NewSet(objects)
			}
			before, after := side(), side()
			run := func() string {
				u := &rule.Unit{Name: "u", Before: before, After: after, Changes: diff.Compare(before, after, diff.Options{})}
				found := rule.Fold(rule.Run(rules.All, []*rule.Unit{u, {Name: "gone", Before: before, Changes: diff.Compare(before, nil, diff.Options{})},
					{Name: "new", After: after, Changes: diff.Compare(nil, after, diff.Options{})}}))
				findings += len(found)
				return fmt.Sprint(found)
			}
			if a, b := run(), run(); a != b {
				t.Fatalf("%s, seed %d: two runs differ:\n%s\n%s", name, seed, a, b)
			}
		}
	}
	if findings == 0 {
		t.Error("no rule said anything")
	}
}
