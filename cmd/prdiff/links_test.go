package main

import (
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/render"
)

// TestAChangeOnTheWayIsNoticed changes what units read in a roundabout way, and
// looks whether they are rendered again. That they render to something else says
// that they did read it.
func TestAChangeOnTheWayIsNoticed(t *testing.T) {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	object := func(value string) *fstest.MapFile {
		return text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {value: " + value + "}\n")
	}
	chart := func(more fstest.MapFS) fstest.MapFS {
		out := fstest.MapFS{
			"charts/app/Chart.yaml":          text("apiVersion: v2\nname: app\nversion: 1.0.0\n"),
			"charts/app/values.yaml":         text("value: one\n"),
			"charts/app/templates/own.yaml":  text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {value: {{ .Values.value }} }\n"),
			"charts/app/templates/_none.tpl": text(""),
		}
		maps.Copy(out, more)
		return out
	}
	generator := "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: made}\nfiles: [g.txt]\n"
	tests := []struct {
		name string
		unit render.Unit
		base fstest.MapFS
		file string // what changes
		to   *fstest.MapFile
	}{
		{"a link in a chart to a file outside of it", render.Unit{Renderer: "helm", Path: "charts/app"},
			chart(fstest.MapFS{"shared/x.txt": object("one"), "charts/app/templates/x.yaml": link("../../../shared/x.txt")}),
			"shared/x.txt", object("two")},
		{"a link in a chart to a folder with a link", render.Unit{Renderer: "helm", Path: "charts/app"},
			chart(fstest.MapFS{"shared/t/x.yaml": link("../x.txt"), "shared/x.txt": object("one"), "charts/app/templates/more": link("../../../shared/t")}),
			"shared/x.txt", object("two")},
		{"the second of two links to a values file", render.Unit{Renderer: "helm", Path: "charts/app", Variant: "values-prod.yaml"},
			chart(fstest.MapFS{"v/one": text("value: one\n"), "v/two": text("value: two\n"), "v/now": link("one"), "charts/app/values-prod.yaml": link("../../v/now")}),
			"v/now", link("two")},
		{"the second of two links to a folder of an overlay", render.Unit{Renderer: "kustomize", Path: "k"},
			fstest.MapFS{
				"k/kustomization.yaml": text("resources: [base]\n"), "k/base": link("../v/now"), "v/now": link("one"),
				"v/one/kustomization.yaml": text("resources: [x.yaml]\n"), "v/one/x.yaml": object("one"),
				"v/two/kustomization.yaml": text("resources: [x.yaml]\n"), "v/two/x.yaml": object("two"),
			},
			"v/now", link("two")},
		{"the second of two links to a manifest", render.Unit{Renderer: "plain", Path: "p"},
			fstest.MapFS{"p/other.yaml": text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"), "p/x.yaml": link("../v/now"), "v/now": link("one"), "v/one": object("one"), "v/two": object("two")},
			"v/now", link("two")},
		{"a file of a generator in another folder", render.Unit{Renderer: "kustomize", Path: "k"},
			fstest.MapFS{"k/kustomization.yaml": text("generators: [in/gen.yaml]\n"), "k/in/gen.yaml": text(generator), "k/g.txt": text("one")},
			"k/g.txt", text("two")},
		{"a file of a generator that a folder builds to", render.Unit{Renderer: "kustomize", Path: "k"},
			fstest.MapFS{"k/kustomization.yaml": text("generators: [in]\n"), "k/in/kustomization.yaml": text("resources: [gen.yaml]\n"), "k/in/gen.yaml": text(generator), "k/g.txt": text("one")},
			"k/g.txt", text("two")},
		{"a file that a generator missed", render.Unit{Renderer: "kustomize", Path: "k"},
			fstest.MapFS{"k/kustomization.yaml": text("generators: [gen.yaml]\n"), "k/gen.yaml": text(generator)},
			"k/g.txt", text("two")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			after := maps.Clone(tt.base)
			after[tt.file] = tt.to
			base, head := newSide(t, tt.base), newSide(t, after)
			if before := outcome(t.Context(), base, tt.unit); before == outcome(t.Context(), head, tt.unit) {
				t.Fatalf("%s renders to the same: %s", tt.unit.Name(), before)
			}
			if same, _ := sameInputs(base, head, tt.unit, newPathSet([]string{tt.file})); same {
				t.Errorf("%s is taken for unchanged", tt.unit.Name())
			}
		})
	}
}

// TestLinksInCirclesEnd: names that links lead to come to an end.
func TestLinksInCirclesEnd(t *testing.T) {
	s := newSide(t, fstest.MapFS{
		"a/up":    &fstest.MapFile{Data: []byte(".."), Mode: fs.ModeSymlink},
		"a/self":  &fstest.MapFile{Data: []byte("self"), Mode: fs.ModeSymlink},
		"b":       &fstest.MapFile{Data: []byte("b/b"), Mode: fs.ModeSymlink},
		"c":       &fstest.MapFile{Data: []byte("d/x"), Mode: fs.ModeSymlink},
		"d":       &fstest.MapFile{Data: []byte("c/y"), Mode: fs.ModeSymlink},
		"out":     &fstest.MapFile{Data: []byte("../../etc"), Mode: fs.ModeSymlink},
		"rooted":  &fstest.MapFile{Data: []byte("/etc"), Mode: fs.ModeSymlink},
		"a/x.txt": &fstest.MapFile{Data: []byte("x")},
	})
	names, err := s.links.behind(s.tree, []string{"a", "b", "c/z", "out/passwd", "rooted"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !fs.ValidPath(name) {
			t.Errorf("%q is no name in a tree", name)
		}
	}
}
