package main

import (
	"testing"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render"
)

func TestPlainFilesLandWhereTheOtherSideDeploysThem(t *testing.T) {
	objects, errs := object.Parse("web", "web/a.yaml", []byte(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: c}}
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	unit := render.Unit{Renderer: "plain", Path: "web"}
	out := &render.Output{Parts: []render.Part{{Name: "web", Objects: objects}}}
	for _, c := range []struct {
		name string
		all  bool
		want [3]string
	}{
		{"an Application fills the namespace in", false, [3]string{"shop", "other", ""}},
		{"the targetNamespace of Flux is for all", true, [3]string{"shop", "shop", ""}},
	} {
		s := side{landings: map[render.Unit]landing{unit: {"shop", c.all, "why"}}}
		got := s.land(unit, out)
		for i, want := range c.want {
			if ns := got.Parts[0].Objects[i].Ref.Namespace; ns != want {
				t.Errorf("%s: object %d is in %q, want %q", c.name, i, ns, want)
			}
		}
		if len(got.Notes) != 1 || got.Notes[0] != "why" {
			t.Errorf("%s: notes = %q", c.name, got.Notes)
		}
		if objects[0].Ref.Namespace != "" || objects[1].Ref.Namespace != "other" || len(out.Notes) != 0 {
			t.Errorf("%s: what was rendered is changed", c.name)
		}
	}
}
