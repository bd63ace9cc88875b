package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var rivals = flag.String("rivals", "", "the folder with dyff, kustomize and helm, for BenchmarkRivals: make bench installs them")

// writeTree writes files below a fresh folder and gives it.
func writeTree(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// deployment is one manifest of about 1,100 bytes.
func deployment(i int, image string) string {
	var env strings.Builder
	for v := range 9 {
		fmt.Fprintf(&env, "        - name: VAR_%d\n          value: \"value-%d-%d\"\n", v, i, v)
	}
	return strings.NewReplacer("NAME", fmt.Sprintf("app-%d", i), "TEAM", fmt.Sprintf("team-%d", i%20), "IMAGE", image, "ENV", env.String()).Replace(`---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: TEAM
  labels:
    app.kubernetes.io/name: NAME
    app.kubernetes.io/part-of: shop
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: NAME
  template:
    metadata:
      labels:
        app.kubernetes.io/name: NAME
    spec:
      containers:
      - name: app
        image: IMAGE
        env:
ENV        ports:
        - name: http
          containerPort: 8080
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 128Mi
`)
}

// deployments gives n manifests, of which the first of each n/changed has image.
func deployments(n, changed int, image string) string { return deploymentsFrom(0, n, changed, image) }

// deploymentsFrom gives n manifests whose names are counted from first.
func deploymentsFrom(first, n, changed int, image string) string {
	var b strings.Builder
	for i := range n {
		use := "registry.example/app:1"
		if changed > 0 && i%(n/changed) == 0 && i/(n/changed) < changed {
			use = image
		}
		b.WriteString(deployment(first+i, use))
	}
	return b.String()
}

// took runs programs one after the other in a folder and gives how long they take
// and what they print. Exit code 1 is a difference to some of them.
func took(tb testing.TB, dir string, commands ...[]string) (time.Duration, []byte) {
	tb.Helper()
	var out bytes.Buffer
	start := time.Now()
	for _, args := range commands {
		cmd := exec.Command(args[0], args[1:]...)
		if args[0] == "prdiff" {
			cmd = exec.Command("/proc/self/exe", args[1:]...)
			cmd.Args[0] = "prdiff" // as which this test's program is prdiff itself: see TestMain
		}
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CI=", "GITHUB_ACTIONS=")
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			tb.Fatalf("%v: %v\n%s", args, err, stderr.String())
		}
	}
	return time.Since(start), out.Bytes()
}

// prdiffOn gives the command that compares two sides, for took.
func prdiffOn(before, after string) []string {
	return []string{"prdiff", "diff", before, after, "--cache", "off", "--format", "json", "--fail-on", "never"}
}

func countChanges(tb testing.TB, out []byte) int {
	tb.Helper()
	var rep struct{ Changes []struct{} }
	if err := json.Unmarshal(out, &rep); err != nil {
		tb.Fatalf("%v in %.200s", err, out)
	}
	return len(rep.Changes)
}

// BenchmarkRivals measures prdiff against the tools that do a part of its work, on
// the same files and in turns; the least of five counts on both sides. prdiff does
// more than they do each time: it renders in a sandbox, compares by schema, asks
// all rules and writes a report.
func BenchmarkRivals(b *testing.B) {
	if *rivals == "" {
		b.Skip("needs -rivals: make bench")
	}
	const next = "registry.example/app:2"
	kustomization := func(tag string) string {
		return "resources: [../../base]\nnamespace: prod\nimages: [{name: registry.example/app, newTag: '" + tag + "'}]\n"
	}
	chart := "{{- range until (int .Values.count) }}\n" + strings.NewReplacer("app-0", "app-{{ . }}", "registry.example/app:1", "registry.example/app:{{ $.Values.tag }}").Replace(deployment(0, "registry.example/app:1")) + "{{- end }}\n"
	tool := func(name string) string { return filepath.Join(*rivals, name) }
	for _, bb := range []struct {
		name    string
		files   map[string]string
		rival   [][]string
		changes int
	}{
		{
			"dyff, 10000 objects of which 60 change",
			map[string]string{"before.yaml": deployments(10000, 60, "registry.example/app:1"), "after.yaml": deployments(10000, 60, next)},
			[][]string{{tool("dyff"), "between", "before.yaml", "after.yaml"}}, 60,
		},
		{
			"kustomize build, twice, an overlay of 60 objects",
			map[string]string{
				"before/base/all.yaml": deployments(60, 0, ""), "before/base/kustomization.yaml": "resources: [all.yaml]\n", "before/overlays/prod/kustomization.yaml": kustomization("1"),
				"after/base/all.yaml": deployments(60, 0, ""), "after/base/kustomization.yaml": "resources: [all.yaml]\n", "after/overlays/prod/kustomization.yaml": kustomization("2"),
			},
			[][]string{{tool("kustomize"), "build", "before/overlays/prod"}, {tool("kustomize"), "build", "after/overlays/prod"}}, 60,
		},
		{
			"helm template, twice, a chart of 60 objects",
			map[string]string{
				"before/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "before/values.yaml": "tag: '1'\ncount: 60\n", "before/templates/all.yaml": chart,
				"after/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "after/values.yaml": "tag: '2'\ncount: 60\n", "after/templates/all.yaml": chart,
			},
			[][]string{{tool("helm"), "template", "before"}, {tool("helm"), "template", "after"}}, 60,
		},
	} {
		b.Run(bb.name, func(b *testing.B) {
			dir := writeTree(b, bb.files)
			before, after := "before", "after"
			if bb.files["before.yaml"] != "" {
				before, after = "before.yaml", "after.yaml"
			}
			for b.Loop() {
				rival, ours := time.Hour, time.Hour
				for range 5 {
					t, _ := took(b, dir, bb.rival...)
					rival = min(rival, t)
					t, out := took(b, dir, prdiffOn(before, after))
					ours = min(ours, t)
					if got := countChanges(b, out); got != bb.changes {
						b.Fatalf("%d changes, want %d", got, bb.changes)
					}
				}
				b.ReportMetric(rival.Seconds(), "s-rival")
				b.ReportMetric(ours.Seconds(), "s-prdiff")
				b.ReportMetric(rival.Seconds()/ours.Seconds(), "x-faster")
			}
		})
	}
}

// BenchmarkGrowth tells by its ratios that the time of a whole run grows with the
// size of what is compared: ten times the objects, twice the text.
func BenchmarkGrowth(b *testing.B) {
	configMap := func(lines int, changed bool) string {
		var s strings.Builder
		s.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules}\ndata:\n  rules.yaml: |\n    groups:\n")
		for i := range lines / 3 {
			most := i
			if changed && (i == 5 || i == lines/6) {
				most = -1
			}
			fmt.Fprintf(&s, "    - name: rule-%d\n      expr: sum(rate(requests_total{app=\"app-%d\"}[5m])) > %d\n      for: 5m\n", i, i, most)
		}
		return s.String()
	}
	definition := func(fields int, changed bool) string {
		var s strings.Builder
		s.WriteString("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Thing, plural: things}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n")
		for i := range fields {
			kind := "string"
			if changed && i == fields/2 {
				kind = "integer"
			}
			fmt.Fprintf(&s, "              field%d:\n                type: %s\n                description: What field %d of a thing is good for.\n", i, kind, i)
		}
		return s.String()
	}
	// Files are read up to 64 MiB, so that objects come in files of 1,000.
	files := func(n, changed int) map[string]string {
		out := map[string]string{}
		for i := range n / 1000 {
			out[fmt.Sprintf("%03d.yaml", i)] = deploymentsFrom(1000*i, 1000, changed, "registry.example/app:2")
		}
		return out
	}
	one := func(text string) map[string]string { return map[string]string{"one.yaml": text} }
	for _, bb := range []struct {
		name                      string
		small, smallAfter         map[string]string
		large, largeAfter         map[string]string
		times                     float64
		smallChanges, largeChange int
	}{
		{"10000 to 100000 objects", files(10000, 0), files(10000, 6), files(100000, 0), files(100000, 6), 10, 60, 600},
		{"ConfigMaps of 2.5 to 5 MB", one(configMap(81000, false)), one(configMap(81000, true)), one(configMap(162000, false)), one(configMap(162000, true)), 2, 1, 1},
		{"definitions of 1 to 2 MB", one(definition(8500, false)), one(definition(8500, true)), one(definition(17000, false)), one(definition(17000, true)), 2, 1, 1},
	} {
		b.Run(bb.name, func(b *testing.B) {
			all := map[string]string{}
			for dir, files := range map[string]map[string]string{"s0": bb.small, "s1": bb.smallAfter, "l0": bb.large, "l1": bb.largeAfter} {
				for name, text := range files {
					all[dir+"/"+name] = text
				}
			}
			dir := writeTree(b, all)
			for b.Loop() {
				small, large := time.Hour, time.Hour
				for range 3 {
					t, out := took(b, dir, prdiffOn("s0", "s1"))
					small = min(small, t)
					if got := countChanges(b, out); got != bb.smallChanges {
						b.Fatalf("%d changes, want %d", got, bb.smallChanges)
					}
					t, out = took(b, dir, prdiffOn("l0", "l1"))
					large = min(large, t)
					if got := countChanges(b, out); got != bb.largeChange {
						b.Fatalf("%d changes, want %d", got, bb.largeChange)
					}
				}
				b.ReportMetric(small.Seconds(), "s-small")
				b.ReportMetric(large.Seconds(), "s-large")
				b.ReportMetric(large.Seconds()/small.Seconds()/bb.times, "x-linear")
			}
		})
	}
}
