package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/source"
)

// environments makes a Tanka project of n environments with 20 objects each,
// over one library; image is that of the last environment.
func environments(n int, image string) fstest.MapFS {
	files := fstest.MapFS{
		"jsonnetfile.json": {Data: []byte("{}")},
		"lib/app.libsonnet": {Data: []byte(`
function(image) {
  ['deployment%02d' % i]: {
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'app%02d' % i },
    spec: {
      replicas: 3, selector: { matchLabels: { app: 'app%02d' % i } },
      template: { metadata: { labels: { app: 'app%02d' % i } }, spec: { containers: [{ name: 'app', image: image, env: [{ name: 'V%d' % v, value: 'x' } for v in std.range(1, 9)] }] } },
    },
  } for i in std.range(1, 10)
} + {
  ['service%02d' % i]: {
    apiVersion: 'v1', kind: 'Service', metadata: { name: 'app%02d' % i }, spec: { selector: { app: 'app%02d' % i }, ports: [{ port: 80 }] },
  } for i in std.range(1, 10)
}`)},
	}
	for i := range n {
		use := "registry.example/app:1"
		if i == n-1 {
			use = image
		}
		dir := fmt.Sprintf("environments/e%03d/", i)
		files[dir+"spec.json"] = &fstest.MapFile{Data: []byte(`{"spec": {"namespace": "app"}}`)}
		files[dir+"main.jsonnet"] = &fstest.MapFile{Data: []byte("(import 'app.libsonnet')('" + use + "')\n")}
	}
	return files
}

// plainManifests makes n folders of ten plain manifests.
func plainManifests(n int, image string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := range n {
		for j := range 10 {
			files[fmt.Sprintf("apps/a%03d/%d.yaml", i, j)] = &fstest.MapFile{Data: fmt.Appendf(nil, `apiVersion: apps/v1
kind: Deployment
metadata: {name: app%d, namespace: app}
spec:
  replicas: 3
  selector: {matchLabels: {app: app%d}}
  template:
    metadata: {labels: {app: app%d}}
    spec:
      containers: [{name: app, image: %q, ports: [{containerPort: 80}]}]
`, j, j, j, image)}
		}
	}
	return files
}

func compareTrees(tb testing.TB, before, after fstest.MapFS) *report.Report {
	tb.Helper()
	rep, err := compare(context.Background(), comparison{
		src:  source.Trees(source.NewTree("before", before), source.NewTree("after", after)),
		jobs: 2, now: time.Now, tell: func(int, int) {},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rep
}

// BenchmarkRun runs the whole pipeline, reports included, on 2,000 objects.
func BenchmarkRun(b *testing.B) {
	for _, bb := range []struct {
		name          string
		before, after fstest.MapFS
		changes       int
	}{
		{"one Tanka environment of 100 differs", environments(100, "registry.example/app:1"), environments(100, "registry.example/app:2"), 10},
		{"all of 200 plain folders differ", plainManifests(200, "registry.example/app:1"), plainManifests(200, "registry.example/app:2"), 2000},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rep := compareTrees(b, bb.before, bb.after)
				if len(rep.Changes) != bb.changes {
					b.Fatalf("%d changes, want %d", len(rep.Changes), bb.changes)
				}
				for _, f := range formats {
					if err := f.write(&bytes.Buffer{}, rep, report.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// TestLibraryChangeRendersEverything: what every environment imports is an input
// of each, so that a change of it is never taken for none.
func TestLibraryChangeRendersEverything(t *testing.T) {
	before, after := environments(5, "registry.example/app:1"), environments(5, "registry.example/app:1")
	lib := bytes.ReplaceAll(after["lib/app.libsonnet"].Data, []byte("replicas: 3"), []byte("replicas: 4"))
	after["lib/app.libsonnet"] = &fstest.MapFile{Data: lib}
	rep := compareTrees(t, before, after)
	if got := rep.Count(report.Rendered); got != 5 {
		t.Errorf("%d environments rendered, want 5", got)
	}
	if len(rep.Changes) != 50 || rep.Changes[0].Group == "" {
		t.Errorf("%d changes in group %q, want 50 that are grouped", len(rep.Changes), rep.Changes[0].Group)
	}
}
