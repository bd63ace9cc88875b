package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

func BenchmarkCompare(b *testing.B) {
	for _, size := range []struct{ objects, changed int }{{2_000, 20}, {10_000, 60}, {100_000, 600}} {
		b.Run(fmt.Sprintf("%d objects, %d changed", size.objects, size.changed), func(b *testing.B) {
			before, after := fleet(b, size.objects, 0), fleet(b, size.objects, size.changed)
			b.ReportAllocs()
			for b.Loop() {
				if n := len(diff.Compare(before, after, diff.Options{})); n != size.changed {
					b.Fatalf("%d changes, want %d", n, size.changed)
				}
			}
		})
	}
}

// BenchmarkCompareRenamed compares sets in which every object has another name.
func BenchmarkCompareRenamed(b *testing.B) {
	before := fleet(b, 10_000, 0)
	after := renamed(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		diff.Compare(before, after, diff.Options{})
	}
}

func BenchmarkCompareLongTexts(b *testing.B) {
	for _, tt := range []struct {
		name string
		line func(i int) string
	}{
		{"5 MB of lines", func(i int) string { return fmt.Sprintf("line %d of a long text without any structure;\n", i) }},
		{"1 MB of YAML", func(i int) string { return fmt.Sprintf("key%d: {retries: %d, hosts: [a, b]}\n", i, i) }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			limit := 5 << 20
			if strings.HasPrefix(tt.name, "1 MB") {
				limit = 1<<20 - 100
			}
			text := func(changed bool) *object.Set {
				var s strings.Builder
				for i := 0; s.Len() < limit-100; i++ {
					if changed && i%1000 == 17 {
						s.WriteString(tt.line(i + 1_000_000))
					}
					s.WriteString(tt.line(i))
				}
				return set(b, map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "long"},
					"data": map[string]any{"text": s.String()},
				})
			}
			before, after := text(false), text(true)
			b.ReportAllocs()
			for b.Loop() {
				if n := len(diff.Compare(before, after, diff.Options{})); n != 1 {
					b.Fatalf("%d changes, want 1", n)
				}
			}
		})
	}
}

// BenchmarkCompareLongList compares two atomic lists of 100,000 items, of which
// every hundredth moved and every thousandth is new.
func BenchmarkCompareLongList(b *testing.B) {
	list := func(changed bool) *object.Set {
		var items []any
		for i := range 100_000 {
			if changed && i%1000 == 17 {
				items = append(items, "new")
			}
			n := i
			if changed && i%100 == 50 {
				n = 100_000 - i
			}
			items = append(items, fmt.Sprintf("item %d", n))
		}
		return set(b, map[string]any{
			"apiVersion": "example.com/v1", "kind": "Long", "metadata": map[string]any{"name": "long"},
			"spec": map[string]any{"items": items},
		})
	}
	before, after := list(false), list(true)
	b.ReportAllocs()
	for b.Loop() {
		if n := len(diff.Compare(before, after, diff.Options{})); n != 1 {
			b.Fatalf("%d changes, want 1", n)
		}
	}
}

func BenchmarkCompareLargeDefinition(b *testing.B) {
	definition := func(changed bool) *object.Set {
		properties := map[string]any{}
		for i := range 5_000 {
			text := strings.Repeat("what this field is for, ", 8)
			if changed && i%100 == 0 {
				text += "and more"
			}
			properties[fmt.Sprintf("field%d", i)] = map[string]any{"type": "string", "description": text}
		}
		return set(b, map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "longs.example.com"},
			"spec": map[string]any{
				"group": "example.com", "names": map[string]any{"kind": "Long", "plural": "longs"},
				"versions": []any{map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": properties}}}},
			},
		})
	}
	before, after := definition(false), definition(true)
	b.ReportAllocs()
	for b.Loop() {
		if n := len(diff.Compare(before, after, diff.Options{})); n != 1 {
			b.Fatalf("%d changes, want 1", n)
		}
	}
}

// fleet makes objects of some thousand bytes of YAML each, of which the first
// ones have another image or port.
func fleet(b testing.TB, objects, changed int) *object.Set {
	b.Helper()
	var all []*object.Object
	for i := range objects {
		tag := "1"
		if i < changed {
			tag = "2"
		}
		all = append(all, thing(b, i, fmt.Sprintf("app-%d", i), tag))
	}
	return object.NewSet(all)
}

func renamed(b testing.TB, objects int) *object.Set {
	b.Helper()
	var all []*object.Object
	for i := range objects {
		all = append(all, thing(b, i, fmt.Sprintf("other-%d", i), "1"))
	}
	return object.NewSet(all)
}

func thing(b testing.TB, i int, name, tag string) *object.Object {
	b.Helper()
	labels := func() map[string]any { return map[string]any{"app": name, "team": fmt.Sprintf("team-%d", i%50)} }
	meta := map[string]any{"name": name, "namespace": fmt.Sprintf("ns-%d", i%20), "labels": labels()}
	manifest := map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": map[string]any{
		"selector": labels(), "ports": []any{map[string]any{"name": "http", "port": 8000 + i%100, "targetPort": "http-" + tag}},
	}}
	if i%2 == 0 {
		var env []any
		for j := range 12 {
			env = append(env, map[string]any{"name": fmt.Sprintf("SETTING_%d", j), "value": fmt.Sprintf("value %d of %d", j, i)})
		}
		container := func(n string) map[string]any {
			return map[string]any{
				"name": n, "image": "registry.example.com/" + name + "/" + n + ":" + tag, "env": env,
				"ports":     []any{map[string]any{"containerPort": 8080, "name": "http"}},
				"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}},
			}
		}
		manifest = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": map[string]any{
			"replicas": 3, "selector": map[string]any{"matchLabels": labels()},
			"template": map[string]any{"metadata": map[string]any{"labels": labels()}, "spec": map[string]any{
				"containers": []any{container("app"), container("proxy")},
			}},
		}}
	}
	o, err := object.New("unit", object.Origin{Path: "x.yaml"}, manifest)
	if err != nil {
		b.Fatal(err)
	}
	return o
}

func set(b testing.TB, manifest map[string]any) *object.Set {
	b.Helper()
	o, err := object.New("unit", object.Origin{Path: "x.yaml"}, manifest)
	if err != nil {
		b.Fatal(err)
	}
	return object.NewSet([]*object.Object{o})
}
