package tanka

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/jsonnet"
)

// tree makes a tree of "name: content" pairs.
func tree(files map[string]string) *source.Tree {
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return source.NewTree("test", fsys)
}

func newRenderer() *Renderer { return &Renderer{Engine: &jsonnet.Engine{}} }

const (
	inline    = "{ apiVersion: 'tanka.dev/v1alpha1', kind: 'Environment', metadata: { name: 'e' }, data: {} }"
	configMap = "{ cm: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } } }"
)

func TestFind(t *testing.T) {
	const project = "jsonnetfile.json"
	tests := []struct {
		name    string
		files   map[string]string
		units   []string
		skipped []string // "path: part of the reason"
	}{
		{
			"static environments, whatever their folder is called",
			map[string]string{project: "{}", "environments/prod/main.jsonnet": configMap, "environments/prod/spec.json": "{}", "envs/a/main.jsonnet": configMap, "envs/a/spec.json": "{}"},
			[]string{"environments/prod", "envs/a"}, nil,
		},
		{
			"two projects in one repository",
			map[string]string{"tanka/jsonnetfile.json": "{}", "tanka/environments/a/main.jsonnet": "{}", "tanka/environments/a/spec.json": "{}", "ops/jsonnetfile.json": "{}", "ops/envs/b/main.jsonnet": "{}", "ops/envs/b/spec.json": "{}"},
			[]string{"ops/envs/b", "tanka/environments/a"}, nil,
		},
		{
			"an environment inside another",
			map[string]string{project: "{}", "environments/a/main.jsonnet": "{}", "environments/a/spec.json": "{}", "environments/a/k3d/main.jsonnet": "{}", "environments/a/k3d/spec.json": "{}"},
			[]string{"environments/a", "environments/a/k3d"}, nil,
		},
		{
			"libraries and vendored environments are none",
			map[string]string{project: "{}", "lib/environment/main.jsonnet": "{}", "lib/environment/spec.json": "{}", "vendor/x/environments/default/main.jsonnet": "{}", "vendor/x/environments/default/spec.json": "{}"},
			nil, []string{"lib/environment/main.jsonnet: library folder lib", "vendor/x/environments/default/main.jsonnet: vendored"},
		},
		{
			"an inline environment that does not say tanka.dev itself",
			map[string]string{project: "{}", "environments/infra/main.jsonnet": "(import 'clusters.libsonnet')", "lib/clusters.libsonnet": inline},
			[]string{"environments/infra"}, nil,
		},
		{
			"an inline environment of another name, and the helper that it imports",
			map[string]string{project: "{}", "environments/k3s.jsonnet": inline + " + (import 'ing.jsonnet')", "environments/ing.jsonnet": "{}"},
			[]string{"environments/k3s.jsonnet"}, nil,
		},
		{
			"pieces called main.jsonnet that are only imported",
			map[string]string{project: "{}", "base/web/main.jsonnet": "{}", "base/db/main.jsonnet": "{}", "environments/a/main.jsonnet": "(import '../../base/web/main.jsonnet') + import 'base/db/main.jsonnet'", "environments/a/spec.json": "{}", "environments/a/vendor/none": ""},
			[]string{"base/db", "environments/a"}, []string{"base/web/main.jsonnet: imported by environments/a/main.jsonnet"},
		},
		{
			"a static environment that another one imports",
			map[string]string{project: "{}", "environments/a/main.jsonnet": "{}", "environments/a/spec.json": "{}", "environments/b/main.jsonnet": "import '../a/main.jsonnet'", "environments/b/spec.json": "{}"},
			[]string{"environments/a", "environments/b"}, nil,
		},
		{
			"no project",
			map[string]string{"examples/x/main.jsonnet": "{}"},
			nil, []string{"examples/x/main.jsonnet: not in a Tanka project"},
		},
		{
			"mixins are none",
			map[string]string{project: "{}", "mixin/alerts.jsonnet": "{ groups: [] }", "mixin/dashboards.jsonnet": "{}"},
			nil, nil,
		},
		{
			"test data, examples, and an environment called test",
			map[string]string{
				project: "{}", "environments/test/main.jsonnet": "{}", "environments/test/spec.json": "{}",
				"pkg/testdata/e/main.jsonnet": "{}", "pkg/testdata/e/spec.json": "{}", "example/tk/a/main.jsonnet": "{}", "example/tk/a/spec.json": "{}",
			},
			[]string{"environments/test"}, []string{"example/tk/a: example", "pkg/testdata/e: test data"},
		},
		{
			"examples count when there is nothing else",
			map[string]string{project: "{}", "example/tk/a/main.jsonnet": "{}", "example/tk/a/spec.json": "{}"},
			[]string{"example/tk/a"}, nil,
		},
		{
			"another name beside a spec.json",
			map[string]string{project: "{}", "environments/a/prod.jsonnet": inline, "environments/a/spec.json": "{}"},
			nil, []string{"environments/a/prod.jsonnet: not called main.jsonnet"},
		},
		{
			"a project in the root of the repository",
			map[string]string{project: "{}", "main.jsonnet": "{}", "spec.json": "{}"},
			[]string{"."}, nil,
		},
	}
	for _, tt := range tests {
		for _, prefix := range []string{"", "infra/"} {
			t.Run(tt.name+" "+prefix, func(t *testing.T) {
				files := map[string]string{}
				for name, content := range tt.files {
					files[prefix+name] = content
				}
				found, err := newRenderer().Find(tree(files))
				if err != nil {
					t.Fatal(err)
				}
				var units []string
				for _, u := range found.Units {
					units = append(units, u.Path)
				}
				var want []string
				for _, u := range tt.units {
					want = append(want, strings.TrimSuffix(strings.TrimSuffix(prefix+u, "."), "/"))
				}
				if prefix == "" && slices.Contains(tt.units, ".") {
					want = []string{"."}
				}
				if !slices.Equal(units, want) {
					t.Errorf("units = %q, want %q", units, want)
				}
				if len(found.Skipped) != len(tt.skipped) {
					t.Fatalf("skipped = %q, want %q", found.Skipped, tt.skipped)
				}
				for i, s := range found.Skipped {
					at, reason, _ := strings.Cut(tt.skipped[i], ": ")
					if s.Path != prefix+at || !strings.Contains(s.Reason, strings.Replace(reason, "by ", "by "+prefix, 1)) && !strings.Contains(s.Reason, reason) && !strings.Contains(s.Reason, strings.Replace(reason, "folder lib", "folder "+prefix+"lib", 1)) {
						t.Errorf("skipped %q, want %q", s, tt.skipped[i])
					}
				}
			})
		}
	}
}

func TestFindClaims(t *testing.T) {
	found, err := newRenderer().Find(tree(map[string]string{
		"jsonnetfile.json": "{}", "main.jsonnet": "{}", "spec.json": "{}",
		"environments/a/main.jsonnet": "{}", "environments/a/spec.json": "{}", "environments/k3s.jsonnet": inline,
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"environments/a", "environments/k3s.jsonnet", "lib", "main.jsonnet", "spec.json", "vendor"}
	if !reflect.DeepEqual(found.Claims, want) {
		t.Errorf("Claims = %v, want %v", found.Claims, want)
	}
}

func TestRenderInline(t *testing.T) {
	env := func(name, data string) string {
		return fmt.Sprintf("{ apiVersion: 'tanka.dev/v1alpha1', kind: 'Environment', metadata: { name: '%s' }, spec: { namespace: 'n' }, data: %s }", name, data)
	}
	render1 := func(main string) (*render.Output, error) {
		return newRenderer().Render(context.Background(), tree(map[string]string{"jsonnetfile.json": "{}", "e/main.jsonnet": main}), render.Unit{Renderer: "tanka", Path: "e"})
	}
	t.Run("an environment that fails does not stop the others", func(t *testing.T) {
		out, err := render1("[\n" + env("good", configMap) + ",\n" + env("bad", "{ x: error 'no luck' }") + ",\n" + env("odd", "{ x: 1 }") + "]")
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Parts) != 1 || out.Parts[0].Name != "e:good" || out.Parts[0].Objects[0].Ref.String() != "ConfigMap n/a" || out.Parts[0].Objects[0].Ref.Unit != "e:good" {
			t.Errorf("Parts = %+v", out.Parts)
		}
		if len(out.Problems) != 2 || !strings.Contains(out.Problems[0].Error(), `e/main.jsonnet:3: environment "bad": `) || !strings.Contains(out.Problems[1].Error(), `environment "odd": `) {
			t.Errorf("Problems = %v", out.Problems)
		}
	})
	t.Run("two of one name", func(t *testing.T) {
		out, err := render1("[" + env("a", configMap) + "," + env("a", configMap) + "]")
		if err != nil || len(out.Parts) != 2 || out.Parts[1].Name != "e:a#2" || len(out.Notes) != 1 {
			t.Errorf("Render = %+v, %v", out, err)
		}
	})
	t.Run("no environment at all", func(t *testing.T) {
		out, err := render1(configMap)
		if err != nil || len(out.Parts) != 0 || len(out.Notes) != 1 {
			t.Errorf("Render = %+v, %v, want a note and nothing else", out, err)
		}
	})
	t.Run("never meant as an environment", func(t *testing.T) {
		_, err := render1("function(cluster) { x: cluster }")
		var skip *render.SkipError
		if !errors.As(err, &skip) || !strings.Contains(skip.Reason, "Missing argument: cluster") {
			t.Errorf("Render error = %v, want a SkipError with the cause", err)
		}
	})
	t.Run("meant as one", func(t *testing.T) {
		_, err := render1("function(cluster) " + inline)
		var skip *render.SkipError
		if err == nil || errors.As(err, &skip) || !strings.Contains(err.Error(), "Missing argument: cluster") {
			t.Errorf("Render error = %v, want the missing argument", err)
		}
	})
}

func TestRenderNeedsVendoring(t *testing.T) {
	files := map[string]string{
		"jsonnetfile.json":   `{"dependencies": [{"source": {"git": {"remote": "https://github.com/grafana/jsonnet-libs.git", "subdir": "ksonnet-util"}}}]}`,
		"e/main.jsonnet":     "import 'github.com/grafana/jsonnet-libs/ksonnet-util/kausal.libsonnet'",
		"e/spec.json":        "{}",
		"other/main.jsonnet": "import 'gone.libsonnet'",
		"other/spec.json":    "{}",
		"short/main.jsonnet": "import 'ksonnet-util/kausal.libsonnet'",
		"short/spec.json":    "{}",
	}
	for _, unit := range []string{"e", "short"} {
		_, err := newRenderer().Render(context.Background(), tree(files), render.Unit{Renderer: "tanka", Path: unit})
		var skip *render.SkipError
		if !errors.As(err, &skip) || !strings.Contains(skip.Reason, "jb install") {
			t.Errorf("Render(%s) error = %v, want a SkipError that names jb install", unit, err)
		}
	}
	_, err := newRenderer().Render(context.Background(), tree(files), render.Unit{Renderer: "tanka", Path: "other"})
	var skip *render.SkipError
	if err == nil || errors.As(err, &skip) {
		t.Errorf("Render(other) error = %v, want a plain one: no dependency would bring the file", err)
	}
}

func TestInputs(t *testing.T) {
	files := map[string]string{
		"jsonnetfile.json": "{}", "lib/a.libsonnet": "import 'b.libsonnet'", "lib/b.libsonnet": "{}",
		"e/main.jsonnet": "(import 'a.libsonnet') + { t: importstr 't.txt', b:: importbin 'b.bin', x:: if false then import 'gone/x.libsonnet' }",
		"e/spec.json":    "{}", "e/t.txt": "", "e/b.bin": "",
	}
	in, err := newRenderer().Inputs(tree(files), render.Unit{Renderer: "tanka", Path: "e"})
	if err != nil {
		t.Fatal(err)
	}
	want := render.Inputs{
		Files: []string{"e/b.bin", "e/main.jsonnet", "e/spec.json", "e/t.txt", "jsonnetfile.json", "lib/a.libsonnet", "lib/b.libsonnet"},
		Missing: []string{
			"e/a.libsonnet", "e/gone", "e/jsonnetfile.json", "e/tkrc.yaml", "e/vendor", "lib/gone", "tkrc.yaml", "vendor",
		},
	}
	if !reflect.DeepEqual(in, want) {
		t.Errorf("Inputs = %+v\nwant %+v", in, want)
	}
}

func TestInputsOfHelmAndKustomize(t *testing.T) {
	files := map[string]string{
		"jsonnetfile.json": "{}", "charts/a/Chart.yaml": "", "charts/a/charts/sub/Chart.yaml": "", "e/charts/b/Chart.yaml": "",
		"lib/helm.libsonnet": "{ template: std.native('helmTemplate') }",
		"e/main.jsonnet":     "import 'helm.libsonnet'", "e/spec.json": "{}",
		"k/main.jsonnet": "std.native('kustomizeBuild')('.', {})", "k/spec.json": "{}",
		"n/main.jsonnet": "{}", "n/spec.json": "{}",
	}
	dirs := func(unit string) ([]string, string) {
		in, err := newRenderer().Inputs(tree(files), render.Unit{Renderer: "tanka", Path: unit})
		if err != nil {
			t.Fatal(err)
		}
		return in.Dirs, in.Unknown
	}
	if got, unknown := dirs("e"); !slices.Equal(got, []string{"charts/a", "e/charts/b"}) || unknown != "" {
		t.Errorf("Dirs, Unknown of helmTemplate = %v, %q", got, unknown)
	}
	if _, unknown := dirs("k"); unknown == "" {
		t.Error("Unknown of kustomizeBuild is empty")
	}
	if got, unknown := dirs("n"); got != nil || unknown != "" {
		t.Errorf("Dirs, Unknown of neither = %v, %q", got, unknown)
	}
}

func TestRenderManyAtOnce(t *testing.T) {
	tr, r := monorepo(8), newRenderer()
	parts := make([]render.Part, 8)
	var group sync.WaitGroup
	for i := range parts {
		group.Go(func() {
			out, err := r.Render(context.Background(), tr, render.Unit{Renderer: "tanka", Path: fmt.Sprintf("environments/team%d/env%d", i, i)})
			if err != nil {
				t.Error(err)
				return
			}
			parts[i] = out.Parts[0]
		})
	}
	group.Wait()
	for i, part := range parts {
		var stage string
		for _, o := range part.Objects {
			if o.Ref.String() == "ConfigMap team/svc1-config" {
				stage = o.Text("data[\"config.json\"]")
			}
		}
		if want := fmt.Sprintf(`"stage": "stage%d"`, i); !strings.Contains(stage, want) {
			t.Errorf("environment %d renders %q, want it to have %s", i, stage, want)
		}
	}
}
