package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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

const configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  level: {{ .Values.level | quote }}
  region: {{ .Values.region | quote }}
`

func chartFiles() map[string]string {
	return map[string]string{
		"app/Chart.yaml":            "apiVersion: v2\nname: app\nversion: 0.1.0\n",
		"app/values.yaml":           "level: 1\nregion: none\n",
		"app/values-prod.yaml":      "level: 2\n",
		"app/ci/small-values.yaml":  "level: 3\n",
		"app/templates/cm.yaml":     configMap,
		"app/templates/_help.tpl":   `{{ define "x" }}{{ end }}`,
		"app/templates/NOTES.txt":   "thanks",
		"app/crds/crd.yaml":         "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\nspec: {}\n",
		"app/templates/hook.yaml":   "apiVersion: v1\nkind: Pod\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n",
		"app/templates/test/t.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\n",
	}
}

func names(t *testing.T, tr *source.Tree, r Release) string {
	t.Helper()
	objects, _, problems, err := Objects(tr, "u", "app", r)
	if err != nil || len(problems) > 0 {
		t.Fatalf("error %v, problems %v", err, problems)
	}
	var out []string
	for _, o := range objects {
		out = append(out, o.Ref.Kind+"/"+o.Ref.Name)
	}
	return strings.Join(out, " ")
}

func TestWhatAReleaseHolds(t *testing.T) {
	cases := []struct {
		name string
		r    Release
		want string
	}{
		{"as helm template prints it", Release{}, "ConfigMap/app Pod/hook Pod/test"},
		{"with CRDs first", Release{IncludeCRDs: true}, "CustomResourceDefinition/xs.example.com ConfigMap/app Pod/hook Pod/test"},
		{"without tests", Release{SkipTests: true}, "ConfigMap/app Pod/hook"},
		{"without any hook", Release{NoHooks: true}, "ConfigMap/app"},
		{"under another name", Release{Name: "one", NoHooks: true}, "ConfigMap/one"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := names(t, tree(chartFiles()), c.r); got != c.want {
				t.Errorf("objects = %q, want %q", got, c.want)
			}
		})
	}
}

func TestUnitsAreTheChartAndItsValueSets(t *testing.T) {
	files := chartFiles()
	files["lib/Chart.yaml"] = "apiVersion: v2\nname: lib\nversion: 1.0.0\n"
	files["lib/templates/_only.tpl"] = ""
	files["app/charts/sub/Chart.yaml"] = "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
	files["examples/x/Chart.yaml"] = "apiVersion: v2\nname: x\nversion: 1.0.0\n"
	files["examples/x/templates/a.yaml"] = ""
	found, err := New(Options{}).Find(tree(files))
	if err != nil {
		t.Fatal(err)
	}
	var units, skipped []string
	for _, u := range found.Units {
		units = append(units, u.Name())
	}
	for _, s := range found.Skipped {
		skipped = append(skipped, s.Path+": "+s.Reason)
	}
	if got, want := strings.Join(units, " "), "app app:ci/small-values.yaml app:values-prod.yaml"; got != want {
		t.Errorf("units = %q, want %q", got, want)
	}
	if got, want := strings.Join(skipped, "; "), "examples/x: example; lib: library"; got != want {
		t.Errorf("skipped = %q, want %q", got, want)
	}
}

func TestAValuesFileIsLaidOverTheChartsOwn(t *testing.T) {
	out, err := New(Options{}).Render(context.Background(), tree(chartFiles()), render.Unit{Path: "app", Variant: "values-prod.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out.Parts[0].Objects {
		if o.Ref.Kind == "ConfigMap" && (o.Text("data.level") != "2" || o.Text("data.region") != "none") {
			t.Errorf("data = %v, want level 2 and region none", o.Strings("data"))
		}
	}
}

func TestConfiguredInstallationsReplaceGuessing(t *testing.T) {
	r := New(Options{Installations: []Installation{
		{Chart: "app", Release: Release{Name: "eu", Namespace: "shop", ValuesFiles: []string{"app/values-prod.yaml"}, Set: []string{"region=eu"}, NoHooks: true}},
		{Chart: "app/", Release: Release{Name: "us", NoHooks: true}},
	}})
	tr := tree(chartFiles())
	found, err := r.Find(tr)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Units) != 2 || found.Units[0].Name() != "app:eu" || found.Units[1].Name() != "app:us" {
		t.Fatalf("units = %v, want app:eu and app:us", found.Units)
	}
	out, err := r.Render(context.Background(), tr, found.Units[0])
	if err != nil {
		t.Fatal(err)
	}
	o := out.Parts[0].Objects[0]
	if o.Ref.Name != "eu" || o.Text("data.region") != "eu" || o.Text("data.level") != "2" {
		t.Errorf("object %s with %v, want eu with level 2 and region eu", o.Ref, o.Strings("data"))
	}
}

func TestDependencies(t *testing.T) {
	t.Run("one that is not vendored names the command", func(t *testing.T) {
		files := chartFiles()
		files["app/Chart.yaml"] += "dependencies: [{name: redis, version: 1.2.3, repository: \"https://charts.example.com\"}]\n"
		_, err := Template(tree(files), "app", Release{})
		if err == nil || !strings.Contains(err.Error(), "needs chart redis 1.2.3 from https://charts.example.com") || !strings.Contains(err.Error(), "helm dependency update app") {
			t.Errorf("error = %v, want the chart and the command", err)
		}
	})
	t.Run("one by file:// is read where it is", func(t *testing.T) {
		files := chartFiles()
		files["app/Chart.yaml"] += "dependencies: [{name: sub, version: 1.0.0, repository: \"file://../sub\"}]\n"
		files["sub/Chart.yaml"] = "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
		files["sub/templates/s.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: sub}\n"
		if got, want := names(t, tree(files), Release{NoHooks: true}), "Service/sub ConfigMap/app"; got != want {
			t.Errorf("objects = %q, want %q", got, want)
		}
		in := InputsOf(tree(files), "app", Release{})
		if got, want := strings.Join(in.Dirs, " "), "app sub"; got != want {
			t.Errorf("input folders = %q, want %q", got, want)
		}
	})
	t.Run("one by file:// outside the repository is refused", func(t *testing.T) {
		files := chartFiles()
		files["app/Chart.yaml"] += "dependencies: [{name: sub, version: 1.0.0, repository: \"file://../../sub\"}]\n"
		if _, err := Template(tree(files), "app", Release{}); err == nil || !strings.Contains(err.Error(), "outside the repository") {
			t.Errorf("error = %v, want it refused", err)
		}
	})
	t.Run("one that is packed is unpacked in memory", func(t *testing.T) {
		files := chartFiles()
		files["app/Chart.yaml"] += "dependencies: [{name: sub, version: 1.0.0, repository: \"https://charts.example.com\"}]\n"
		files["app/charts/sub-1.0.0.tgz"] = pack(t, map[string]string{
			"sub/Chart.yaml":       "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
			"sub/templates/s.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: packed}\n",
		})
		if got, want := names(t, tree(files), Release{NoHooks: true}), "Service/packed ConfigMap/app"; got != want {
			t.Errorf("objects = %q, want %q", got, want)
		}
	})
	t.Run("a packed one that would write outside is refused", func(t *testing.T) {
		files := chartFiles()
		files["app/charts/sub-1.0.0.tgz"] = pack(t, map[string]string{"sub/../../evil.yaml": "x", "sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n"})
		if _, err := Template(tree(files), "app", Release{}); err == nil {
			t.Error("no error for an archive with a name that leads out of it")
		}
	})
}

func pack(t *testing.T, files map[string]string) string {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for name, content := range files {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestTemplatesSeeNothingOfTheMachine(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_should_never_be_seen")
	cases := []struct{ name, template, want string }{
		{"the environment", `{{ env "GITHUB_TOKEN" }}`, `function "env" not defined`},
		{"the environment, expanded", `{{ expandenv "$GITHUB_TOKEN" }}`, `function "expandenv" not defined`},
		{"an absolute file", `{{ .Files.Get "/etc/passwd" }}`, ""},
		{"a file above the chart", `{{ .Files.Get "../../etc/passwd" }}`, ""},
		{"a name in DNS", `{{ getHostByName "localhost" }}`, ""},
		{"the cluster", `{{ lookup "v1" "Secret" "default" "x" | toJson }}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := chartFiles()
			files["app/templates/x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  got: " + `"[` + c.template + `]"` + "\n"
			docs, err := Template(tree(files), "app", Release{})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error = %v, want it to say %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				if strings.Contains(d.Text, "root:") || strings.Contains(d.Text, "127.0.0.1") || strings.Contains(d.Text, "ghp_") {
					t.Errorf("rendered %q", d.Text)
				}
			}
		})
	}
}

func TestWhatIsRandomIsNoChange(t *testing.T) {
	files := chartFiles()
	files["app/templates/r.yaml"] = `apiVersion: v1
kind: ConfigMap
metadata: {name: r}
data:
  random: {{ randAlphaNum 20 | quote }}
  second: {{ now | unixEpoch | quote }}
  words: {{ printf "now %s" (now | date "150405") | quote }}
  said: "now"
  file: |
    # {{/* not now */}}
    level: info
    id: {{ uuidv4 }}
    cert: {{ genPrivateKey "ecdsa" | replace "\n" " " }}
    lines: {{ randInt 1 3 }} {{ if eq (randInt 0 1000 | toString) "1" }}more{{ end }}
  stable: "1"
`
	objects, settled, _, err := Objects(tree(files), "u", "app", Release{})
	if err != nil || !settled {
		t.Fatal(settled, err)
	}
	want := map[string]string{
		"random": render.Nondeterministic, "second": render.Nondeterministic, "words": "now " + render.Nondeterministic,
		"said": "now", "stable": "1",
	}
	for _, o := range objects {
		if o.Ref.Name != "r" {
			continue
		}
		for key, text := range want {
			if got := o.Strings("data")[key]; got != text {
				t.Errorf("data.%s = %q, want %q", key, got, text)
			}
		}
		lines := strings.Split(o.Text("data.file"), "\n")
		if lines[1] != "level: info" || lines[2] != "id: "+render.Nondeterministic || !strings.HasPrefix(lines[3], "cert: "+render.Nondeterministic) {
			t.Errorf("data.file = %q, want the words replaced that differ", lines)
		}
	}
}

func TestAChartThatIsAnotherAtAnotherTimeIsStillRendered(t *testing.T) {
	files := chartFiles()
	files["app/templates/r.yaml"] = `{{ if gt (now | date "2006" | int) ` + strconv.Itoa(time.Now().Year()+1) + ` }}{{ fail "not at that time" }}{{ end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: r}
data: {random: {{ randAlphaNum 20 | quote }}}
`
	objects, settled, _, err := Objects(tree(files), "u", "app", Release{})
	if err != nil || !settled {
		t.Fatal(settled, err)
	}
	for _, o := range objects {
		if o.Ref.Name == "r" && o.Text("data.random") != render.Nondeterministic {
			t.Errorf("data.random = %q", o.Text("data.random"))
		}
	}
}

func TestErrorsNameTheTemplate(t *testing.T) {
	cases := []struct{ name, file, content, want string }{
		{"a template that does not parse", "app/templates/x.yaml", "{{ if }}", "app/templates/x.yaml:1"},
		{"a template that fails", "app/templates/x.yaml", `{{ fail "no region" }}`, "no region"},
		{"values that do not parse", "app/values.yaml", "a: [", "values.yaml"},
		{"values against the schema", "app/values.schema.json", `{"properties": {"level": {"type": "string"}}}`, "level"},
		{"a chart without version", "app/Chart.yaml", "apiVersion: v2\nname: app\n", "version"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := chartFiles()
			files[c.file] = c.content
			_, err := Template(tree(files), "app", Release{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestASchemaThatWouldBeFetchedIsNotApplied(t *testing.T) {
	files := chartFiles()
	files["app/values.schema.json"] = `{"properties": {"level": {"$ref": "https://example.com/level.json"}}}`
	if _, err := Template(tree(files), "app", Release{}); err != nil {
		t.Errorf("error = %v, want the schema left out", err)
	}
}

func TestWhatNamesNoNamespaceGoesIntoThatOfTheRelease(t *testing.T) {
	files := chartFiles()
	files["app/templates/own.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: elsewhere}\n"
	files["app/templates/app.yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: child}\nspec: {}\n"
	files["app/templates/told.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: told, namespace: {{ .Release.Namespace }}}\n"
	for _, c := range []struct {
		name string
		r    Release
		want string
	}{
		{"one that is named", Release{Namespace: "prod", NoHooks: true}, "app=prod child=prod own=elsewhere told=prod xs.example.com="},
		{"another one than templates are told", Release{Namespace: "prod", Into: "web", NoHooks: true}, "app=web child=web own=elsewhere told=prod xs.example.com="},
		{"the one that is assumed, but what deploys others stays without", Release{NoHooks: true}, "app=default child= own=elsewhere told=default xs.example.com="},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.IncludeCRDs = true
			objects, _, problems, err := Objects(tree(files), "u", "app", c.r)
			if err != nil || len(problems) > 0 {
				t.Fatalf("error %v, problems %v", err, problems)
			}
			var out []string
			for _, o := range objects {
				out = append(out, o.Ref.Name+"="+o.Ref.Namespace)
			}
			slices.Sort(out)
			if got := strings.Join(out, " "); got != c.want {
				t.Errorf("namespaces = %q, want %q", got, c.want)
			}
		})
	}
}
