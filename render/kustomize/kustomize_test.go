package kustomize

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// tree makes a source tree of file contents by name.
func tree(files map[string]string) *source.Tree {
	m := fstest.MapFS{}
	for name, content := range files {
		m[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return source.NewTree("test", m)
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1", envFrom: [{configMapRef: {name: settings}}]}]
`

func project() map[string]string {
	return map[string]string{
		"base/kustomization.yaml": "resources: [web.yaml]\nconfigMapGenerator: [{name: settings, files: [app.conf, \"other.conf=in/app.conf\"]}]\n",
		"base/web.yaml":           deployment,
		"base/app.conf":           "level=1\n",
		"base/in/app.conf":        "level=2\n",
		"overlays/prod/kustomization.yaml": `resources: [../../base]
components: [../../components/labels]
namespace: prod
patches:
- path: replicas.yaml
- target: {kind: Deployment}
  patch: |-
    - op: add
      path: /metadata/annotations
      value: {note: patched}
`,
		"overlays/prod/replicas.yaml":          "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 4}\n",
		"components/labels/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {team: a}}]\n",
	}
}

func TestRender(t *testing.T) {
	out, err := New(Options{}).Render(context.Background(), tree(project()), render.Unit{Renderer: "kustomize", Path: "overlays/prod"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range out.Parts[0].Objects {
		got = append(got, o.Ref.String()+" from "+o.Origin.Path)
		if o.Ref.Kind == "Deployment" {
			if n, _ := o.At("spec.replicas").Int(); n != 4 {
				t.Errorf("replicas = %d, want 4", n)
			}
			if o.Labels()["team"] != "a" || o.Annotation("note") != "patched" {
				t.Errorf("labels %v, annotations %v: component or patch not applied", o.Labels(), o.Strings("metadata.annotations"))
			}
			ref := o.Text("spec.template.spec.containers[name=web].envFrom[0].configMapRef.name")
			if !strings.HasPrefix(ref, "settings-") {
				t.Errorf("reference to the generated ConfigMap is %q, want its hashed name", ref)
			}
		}
	}
	want := "Deployment prod/web from base/web.yaml"
	if !strings.Contains(strings.Join(got, "\n"), want) {
		t.Errorf("objects = %q, want one to be %q", got, want)
	}
	if len(got) != 2 {
		t.Errorf("%d objects, want 2: %q", len(got), got)
	}
}

func TestFindProposesRootsOnce(t *testing.T) {
	files := project()
	files["tests/kustomization.yaml"] = "resources: [../base]\n"
	files["overlays/test/kustomization.yaml"] = "resources: [../../base]\n"
	files["vendor/x/kustomization.yaml"] = "resources: []\n"
	files["flux/kustomization.yaml"] = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: x}\n"
	files["unused/kustomization.yaml"] = "kind: Component\n"
	found, err := New(Options{}).Find(tree(files))
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
	if got, want := strings.Join(units, " "), "overlays/prod overlays/test"; got != want {
		t.Errorf("units = %q, want %q", got, want)
	}
	if got, want := strings.Join(skipped, "; "), "tests: test data; unused: component, used by no overlay"; got != want {
		t.Errorf("skipped = %q, want %q", got, want)
	}
}

func TestInputsNameWhatWasReadAndWhatIsMissing(t *testing.T) {
	files := project()
	files["overlays/prod/kustomization.yaml"] += "transformers: [gone.yaml]\n"
	in, err := New(Options{}).Inputs(tree(files), render.Unit{Path: "overlays/prod"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"base/app.conf", "base/in/app.conf", "base/kustomization.yaml", "base/web.yaml", "components/labels/kustomization.yaml", "overlays/prod/kustomization.yaml", "overlays/prod/replicas.yaml"} {
		if !strings.Contains(strings.Join(in.Files, "\n"), want) {
			t.Errorf("files %q lack %s", in.Files, want)
		}
	}
	for _, want := range []string{"base/kustomization.yml", "base/Kustomization", "overlays/prod/gone.yaml"} {
		if !strings.Contains(strings.Join(in.Missing, "\n"), want) {
			t.Errorf("missing %q lacks %s", in.Missing, want)
		}
	}
}

// What a kustomization must not make prdiff do: fetch, run, or read outside.
func TestRefuses(t *testing.T) {
	cases := []struct{ name, kustomization, want string }{
		{"a remote base by address", "resources: [\"https://github.com/o/r//deploy?ref=v1\"]", "needs remote base"},
		{"a remote base without scheme", "resources: [\"github.com/o/r/deploy?ref=v1\"]", "needs remote base"},
		{"a remote base over ssh", "resources: [\"git@example.com:o/r.git\"]", "needs remote base"},
		{"a local folder with the name of a remote one", "resources: [github.com/o/r]", "needs remote base"},
		{"a remote patch", "patches: [{path: \"https://example.com/p.yaml\"}]", "needs remote base"},
		{"a remote file in a generator", "configMapGenerator: [{name: x, files: [\"a=https://example.com/x\"]}]", "needs remote base"},
		{"a remote file in a builtin generator's own file", "generators: [remote-files.yaml]", "needs remote file"},
		{"an exec plugin", "generators: [exec.yaml]", "runs no plugins"},
		{"an exec plugin inline", "transformers:\n- |-\n  apiVersion: example.com/v1\n  kind: Exec\n  metadata: {name: x, annotations: {config.kubernetes.io/function: \"exec: {path: ./run.sh}\"}}\n", "runs no plugins"},
		{"a file outside the repository", "resources: [../../etc/passwd]", "outside the repository"},
		{"an absolute file", "resources: [/etc/passwd]", "absolute path"},
		{"a file that is not there", "resources: [nothing.yaml]", "refers to nothing.yaml, which is not in the repository"},
		{"a chart that is not vendored", "helmCharts: [{name: redis, version: 1.2.3, repo: \"https://charts.example.com\"}]", "helm pull"},
		{"broken YAML", "resources: [", "o/kustomization.yaml"},
		{"a mistyped field", "resource: [x.yaml]", "resource"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr := tree(map[string]string{
				"o/kustomization.yaml":                c.kustomization + "\n",
				"o/exec.yaml":                         "apiVersion: example.com/v1\nkind: Exec\nmetadata: {name: x}\n",
				"o/remote-files.yaml":                 "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: x}\nfiles: [\"https://example.com/x\"]\n",
				"o/github.com/o/r/kustomization.yaml": "resources: []\n",
			})
			out, err := New(Options{}).Render(context.Background(), tr, render.Unit{Path: "o"})
			said := fmt.Sprint(err)
			if err == nil {
				said = out.Partial
			}
			if !strings.Contains(said, c.want) {
				t.Errorf("said %q, want %q", said, c.want)
			}
			if _, err := Text(tr, "o"); err == nil {
				t.Error("Text gives no error")
			}
		})
	}
}

func TestHelmChartsAreInflatedInProcess(t *testing.T) {
	tr := tree(map[string]string{
		"o/kustomization.yaml": `namespace: prod
helmCharts:
- {name: app, releaseName: one, valuesInline: {level: 3}, includeCRDs: true}
patches:
- target: {kind: ConfigMap}
  patch: |-
    - {op: add, path: /metadata/labels, value: {patched: "yes"}}
`,
		"o/charts/app/Chart.yaml":        "apiVersion: v2\nname: app\nversion: 0.1.0\n",
		"o/charts/app/values.yaml":       "level: 1\nother: 2\n",
		"o/charts/app/templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-cm\ndata:\n  level: {{ .Values.level | quote }}\n  other: {{ .Values.other | quote }}\n",
	})
	out, err := New(Options{}).Render(context.Background(), tr, render.Unit{Path: "o"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.Parts[0].Objects); n != 1 {
		t.Fatalf("%d objects, want 1", n)
	}
	o := out.Parts[0].Objects[0]
	if got, want := o.Ref.String(), "ConfigMap prod/one-cm"; got != want {
		t.Errorf("object = %q, want %q", got, want)
	}
	if o.Text("data.level") != "3" || o.Text("data.other") != "2" || o.Labels()["patched"] != "yes" {
		t.Errorf("data %v, labels %v: values or patches not applied", o.Strings("data"), o.Labels())
	}
	if got, want := o.Origin.Path, "o/kustomization.yaml"; got != want {
		t.Errorf("origin = %q, want %q", got, want)
	}
	in, err := New(Options{}).Inputs(tr, render.Unit{Path: "o"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(in.Dirs, " "), "o/charts/app"; got != want {
		t.Errorf("input folders = %q, want %q", got, want)
	}
}

func TestAFileThatIsNoSchemaIsRefused(t *testing.T) {
	files := project()
	files["crd/kustomization.yaml"] = "resources: [web.yaml]\nopenapi: {path: schema.json}\npatches:\n- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: web}\n    spec: {replicas: 7}\n"
	files["crd/web.yaml"] = deployment
	files["crd/schema.json"] = "no schema\n"
	tr := tree(files)
	_, err := Text(tr, "crd")
	if err == nil || !strings.Contains(err.Error(), "crd/kustomization.yaml: openapi.path: name a file with an OpenAPI schema") {
		t.Errorf("error = %v, want one about openapi.path", err)
	}
	if _, err := Text(tr, "overlays/prod"); err != nil {
		t.Errorf("the next overlay fails too: %v", err)
	}
}

// kustomize keeps one schema for a whole process; a unit that names one must not
// change what the next one renders to.
func TestAnOverlaysSchemaDoesNotLeak(t *testing.T) {
	files := project()
	files["crd/kustomization.yaml"] = "resources: [web.yaml]\nopenapi: {path: schema.json}\n"
	files["crd/web.yaml"] = deployment
	files["crd/schema.json"] = `{"definitions": {}}`
	tr := tree(files)
	before, err := Text(tr, "overlays/prod")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Text(tr, "crd"); err != nil {
		t.Fatal(err)
	}
	after, err := Text(tr, "overlays/prod")
	if err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("the same overlay renders differently after one with a schema:\n%s\nand before:\n%s", after, before)
	}
}
