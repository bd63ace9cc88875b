package plain

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

const (
	deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"
	service    = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n"
	overlay    = "resources: [d.yaml]\n"
	chart      = "apiVersion: v2\nname: x\nversion: 1.0.0\n"
)

func tree(files map[string]string) *source.Tree {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return source.NewTree("test", m)
}

func TestFind(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		claims  []string
		units   []string
		skipped []string // "path: reason"
	}{
		{
			name:  "each folder with manifests directly in it is a unit",
			files: map[string]string{"deploy/a.yaml": deployment, "deploy/crds/c.json": `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`, "apps/x/y/z.yml": service},
			units: []string{"apps/x/y", "deploy", "deploy/crds"},
		},
		{
			name:  "manifests at the root are the unit .",
			files: map[string]string{"a.yaml": deployment, "README.md": "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n"},
			units: []string{"."},
		},
		{
			name: "files of other tools are no manifests",
			files: map[string]string{
				".github/workflows/ci.yml": "on: push\njobs: {}\n", "docker-compose.yml": "services: {}\n", "openapi.yaml": "openapi: 3.0.0\n",
				"values.yaml": "kind: Deployment\nextra:\n  - apiVersion: v1\n    kind: Service\n    metadata: {name: x}\n", "package.json": `{"name":"x"}`,
				"coredns.yaml.sed": deployment, "mkdocs.yml": "site_name: x\n", "Chart.lock": "x", ".sops.yaml": "creation_rules: []\n",
			},
		},
		{
			name: "objects that only a tool on someone's machine reads",
			files: map[string]string{
				"kind.yaml": "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes: []\n", "catalog-info.yaml": "apiVersion: backstage.io/v1alpha1\nkind: Component\nmetadata:\n  name: x\n",
				"kubeconfig.yaml": "apiVersion: v1\nkind: Config\nmetadata: {}\n",
			},
			skipped: []string{"catalog-info.yaml: not a cluster object", "kubeconfig.yaml: not a cluster object"},
		},
		{
			name:    "vendored, test data, hidden and example folders are left out, once each",
			files:   map[string]string{"deploy/a.yaml": deployment, "vendor/x/a.yaml": deployment, "a/testdata/b.yaml": deployment, "a/testdata/c/d.yaml": service, ".ci/x.yaml": deployment, "examples/e.yaml": deployment},
			units:   []string{"deploy"},
			skipped: []string{".ci: hidden folder", "a/testdata: test data", "examples: example", "vendor: vendored"},
		},
		{
			name:  "a folder called test beside production is an environment",
			files: map[string]string{"apps/web/test/d.yaml": deployment, "apps/web/production/d.yaml": deployment},
			units: []string{"apps/web/production", "apps/web/test"},
		},
		{
			name:    "examples are the product of a repository that has nothing else",
			files:   map[string]string{"examples/web/d.yaml": deployment, "testdata/d.yaml": deployment},
			units:   []string{"examples/web"},
			skipped: []string{"testdata: test data"},
		},
		{
			name:    "a chart owns all below it",
			files:   map[string]string{"charts/x/Chart.yaml": chart, "charts/x/templates/d.yaml": deployment, "charts/x/crds/c.yaml": service, "deploy/d.yaml": deployment},
			claims:  []string{"charts/x"},
			units:   []string{"deploy"},
			skipped: nil,
		},
		{
			name:    "a chart is left out also when Helm is switched off",
			files:   map[string]string{"x/Chart.yaml": chart, "x/crds/c.yaml": service},
			skipped: []string{"x: helm chart, not rendered"},
		},
		{
			name:    "a manifest beside a kustomization that does not list it",
			files:   map[string]string{"a/kustomization.yaml": overlay, "a/d.yaml": deployment, "a/e.yaml": service},
			claims:  []string{"a/kustomization.yaml", "a/d.yaml"},
			skipped: []string{"a/e.yaml: not listed by kustomization.yaml"},
		},
		{
			name:    "a kustomization is left out whole when Kustomize is switched off",
			files:   map[string]string{"a/kustomization.yaml": overlay, "a/d.yaml": deployment, "a/e.yaml": service},
			skipped: []string{"a: belongs to kustomization.yaml, which is not rendered"},
		},
		{
			name:  "a Flux object called kustomization.yaml makes no overlay",
			files: map[string]string{"a/kustomization.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: x\n", "a/d.yaml": deployment},
			units: []string{"a"},
		},
		{
			name:    "output beside what it is made from",
			files:   map[string]string{"env/main.jsonnet": "{}", "env/gen/d.yaml": deployment, "install/d.yaml": "# DO NOT EDIT\n" + deployment, "install/base/d.yaml": deployment},
			claims:  []string{"env/main.jsonnet", "install/base/d.yaml"},
			skipped: []string{"env/gen/d.yaml: generated from env/main.jsonnet", "install/d.yaml: generated from install/base/d.yaml"},
		},
		{
			name:  "output without its source is the best there is",
			files: map[string]string{"gen/d.yaml": deployment, "install.yaml": "# DO NOT EDIT\n" + deployment},
			units: []string{".", "gen"},
		},
		{
			name: "templates of other tools",
			files: map[string]string{
				"a/d.tmpl.yaml": deployment, "a/p.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: x\n{% if y %}\nspec: {}\n{% endif %}\n",
				"roles/x/templates/d.yaml": deployment, "a/ok.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: alerts\ndata:\n  x: 'value {{ $labels.x }} of {{ .y }}'\n",
			},
			units:   []string{"a"},
			skipped: []string{"a/d.tmpl.yaml: another tool's template", "a/p.yaml: another tool's template: looks like a manifest but does not parse", "roles/x/templates: another tool's template"},
		},
		{
			name:    "git-crypt and binary files",
			files:   map[string]string{"a/s.yaml": "\x00GITCRYPT\x00xx", "a/d.yaml": deployment},
			units:   []string{"a"},
			skipped: []string{"a/s.yaml: not text"},
		},
		{
			name:  "odd but valid starts of files",
			files: map[string]string{"a/x.yaml": "\xEF\xBB\xBF---\r\n# hello\r\napiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: x\r\n", "b/x.yaml": "--- {apiVersion: v1, kind: Service, metadata: {name: x}}\n", "c/x.yaml": "  \"apiVersion\": v1\n  kind: List\n  items: []\n", "d/x.yaml": "# nothing\n---\n"},
			units: []string{"a", "b", "c"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{})
			r.Leave(tt.claims)
			found, err := r.Find(tree(tt.files))
			if err != nil {
				t.Fatal(err)
			}
			var units, skipped []string
			for _, u := range found.Units {
				units = append(units, u.Path)
			}
			for _, s := range found.Skipped {
				skipped = append(skipped, s.Path+": "+s.Reason)
			}
			if !slices.Equal(units, tt.units) {
				t.Errorf("units %q, want %q", units, tt.units)
			}
			if !slices.Equal(skipped, tt.skipped) {
				t.Errorf("skipped %q, want %q", skipped, tt.skipped)
			}
		})
	}
}

func TestIncludeOverridesNames(t *testing.T) {
	r := New(Options{Include: func(dir string) bool { return strings.HasPrefix(dir, "testdata") }})
	found, err := r.Find(tree(map[string]string{"testdata/a/d.yaml": deployment, "deploy/d.yaml": deployment}))
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Units) != 2 || len(found.Skipped) != 0 {
		t.Errorf("found %v, want both folders as units", found)
	}
}

func TestRender(t *testing.T) {
	tests := []struct {
		name     string
		files    map[string]string
		objects  []string // "Kind name at path:line"
		problems []string
		notes    []string
	}{
		{
			name:    "files in the order of their names, with lines",
			files:   map[string]string{"b.yaml": "# x\n" + service, "a.yaml": deployment + "---\n" + service},
			objects: []string{"Deployment web at a.yaml:1", "Service web at a.yaml:6", "Service web at b.yaml:2"},
		},
		{
			name:     "a bad document costs itself only",
			files:    map[string]string{"a.yaml": deployment + "---\napiVersion: v1\nkind: Service\nmetadata: [\n---\n" + service},
			objects:  []string{"Deployment web at a.yaml:1", "Service web at a.yaml:10"},
			problems: []string{"a.yaml:8: not valid YAML: did not find expected node content"},
		},
		{
			name:     "an object without a name",
			files:    map[string]string{"a.yaml": "apiVersion: apps/v1\nkind: Deployment\nspec: {}\n"},
			problems: []string{"a.yaml:1: apps/v1 Deployment has no metadata.name"},
		},
		{
			name:     "foreign documents are problems of their own, double keys and tools' objects are notes",
			files:    map[string]string{"a.yaml": service + "---\nhello: world\n---\napiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\nmetadata:\n  name: dev\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  name: b\n"},
			objects:  []string{"Service web at a.yaml:1", "Service b at a.yaml:13"},
			problems: []string{"a.yaml:6: not a Kubernetes object: it has neither apiVersion nor kind"},
			notes: []string{
				"a.yaml:8: left out, not a cluster object: Cluster of kind.x-k8s.io/v1alpha4",
				"a.yaml:17: key stands twice in one map: \"name\"; the last one counts",
			},
		},
		{
			name:     "JSON that ends too early",
			files:    map[string]string{"a.json": "{\"apiVersion\": \"v1\", \"kind\": \"Service\",\n\"metadata\": {\"name\": \"x\""},
			problems: []string{"a.json:2: not valid JSON: it ends in the middle of a value"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{})
			tr := tree(tt.files)
			out, err := r.Render(context.Background(), tr, render.Unit{Renderer: "plain", Path: "."})
			if err != nil {
				t.Fatal(err)
			}
			var objects, problems []string
			for _, p := range out.Parts {
				for _, o := range p.Objects {
					objects = append(objects, fmt.Sprintf("%s at %s", o.Ref, o.Origin))
				}
			}
			for _, p := range out.Problems {
				problems = append(problems, p.Error())
			}
			if !slices.Equal(objects, tt.objects) {
				t.Errorf("objects %q, want %q", objects, tt.objects)
			}
			if !slices.Equal(problems, tt.problems) {
				t.Errorf("problems %q, want %q", problems, tt.problems)
			}
			if !slices.Equal(out.Notes, tt.notes) {
				t.Errorf("notes %q, want %q", out.Notes, tt.notes)
			}
		})
	}
}

func TestInputsAreTheFilesOfTheFolder(t *testing.T) {
	r := New(Options{})
	tr := tree(map[string]string{"a/d.yaml": deployment, "a/sub/e.yaml": service, "a/values.yaml": "x: 1\n"})
	in, err := r.Inputs(tr, render.Unit{Renderer: "plain", Path: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/d.yaml"}; !slices.Equal(in.Files, want) {
		t.Errorf("files %q, want %q", in.Files, want)
	}
	if got := in.Touched([]string{"a/sub/e.yaml"}); got != "" {
		t.Errorf("a sub-folder's file touches the unit: %s", got)
	}
	if got := in.Touched([]string{"a/kustomization.yaml"}); got == "" {
		t.Error("a kustomization that appears does not touch the unit")
	}
}

func TestLinksAreReadOnce(t *testing.T) {
	m := fstest.MapFS{
		"deploy/real.yaml":     {Data: []byte(deployment)},
		"deploy/again.yaml":    {Data: []byte("real.yaml"), Mode: fs.ModeSymlink},
		"deploy/vendored.yaml": {Data: []byte("../vendor/x/s.yaml"), Mode: fs.ModeSymlink},
		"deploy/outside.yaml":  {Data: []byte("../../x.yaml"), Mode: fs.ModeSymlink},
		"vendor/x/s.yaml":      {Data: []byte(service)},
	}
	r := New(Options{})
	tr := source.NewTree("test", m)
	found, err := r.Find(tr)
	if err != nil {
		t.Fatal(err)
	}
	in, err := r.Inputs(tr, render.Unit{Path: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"deploy/real.yaml", "deploy/vendored.yaml", "vendor/x/s.yaml"}; !slices.Equal(in.Files, want) {
		t.Errorf("inputs %q, want %q", in.Files, want)
	}
	if len(found.Skipped) != 2 || found.Skipped[0].Path != "deploy/outside.yaml" || found.Skipped[1] != (render.Skipped{Path: "vendor", Reason: "vendored"}) {
		t.Errorf("skipped %q, want the link that leads out, and vendor", found.Skipped)
	}
}

func BenchmarkRender(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-%d\nspec:\n  template:\n    spec:\n      containers:\n      - name: app\n        image: registry.example.com/web:%d\n        env:\n        - name: LEVEL\n          value: info\n", i, i)
	}
	tr := tree(map[string]string{"a.yaml": text.String()})
	b.ReportAllocs()
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := New(Options{}).Render(context.Background(), tr, render.Unit{Path: "."}); err != nil {
			b.Fatal(err)
		}
	}
}

// A file that was meant as an object must not be passed by without a word: the
// change that brings it would look as if it did nothing.
func TestAManifestWithAMistakeAmongOthersIsAProblem(t *testing.T) {
	cases := []struct{ name, content string }{
		{"wrong indentation", "apiVersion: v1\nkind: ConfigMap\n  metadata: {name: x}\n"},
		{"no name", "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n"},
		{"a key in capitals", "apiVersion: v1\nKind: ConfigMap\nmetadata: {name: x}\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr := tree(map[string]string{"k8s/good.yaml": service, "k8s/bad.yaml": c.content, "other/x.yaml": c.content})
			r := New(Options{})
			found, err := r.Find(tr)
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Units) != 1 || found.Units[0].Path != "k8s" {
				t.Fatalf("units = %v, want just k8s", found.Units)
			}
			out, err := r.Render(context.Background(), tr, found.Units[0])
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Problems) != 1 || out.Problems[0].Path != "k8s/bad.yaml" {
				t.Errorf("problems = %v, want one in k8s/bad.yaml", out.Problems)
			}
		})
	}
}
