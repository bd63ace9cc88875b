package find

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// A finder finds what it is made with.
type finder struct {
	name  string
	found render.Found
	err   error
	left  []string // the claims of those before it
}

func (f *finder) Name() string                            { return f.name }
func (f *finder) Find(*source.Tree) (render.Found, error) { return f.found, f.err }
func (f *finder) Leave(claims []string)                   { f.left = claims }
func (f *finder) Inputs(*source.Tree, render.Unit) (render.Inputs, error) {
	return render.Inputs{}, nil
}
func (f *finder) Render(context.Context, *source.Tree, render.Unit) (*render.Output, error) {
	return nil, nil
}

func units(renderer string, paths ...string) []render.Unit {
	var out []render.Unit
	for _, p := range paths {
		out = append(out, render.Unit{Renderer: renderer, Path: p})
	}
	return out
}

func TestUnits(t *testing.T) {
	tests := []struct {
		name          string
		finders       []*finder
		units         []string
		skipped       []string
		failed, plain string // the finder that failed, and what plain is told to leave
	}{
		{
			name: "in the order of their names, and each is told what is taken before it",
			finders: []*finder{
				{name: "plain", found: render.Found{Units: units("plain", "b")}},
				{name: "tanka", found: render.Found{Units: units("tanka", "a"), Claims: []string{"a"}}},
			},
			units: []string{"tanka a", "plain b"}, plain: "a",
		},
		{
			name: "a chart that an overlay inflates is no unit of its own",
			finders: []*finder{
				{name: "helm", found: render.Found{Units: units("helm", "charts/x", "charts/y")}},
				{name: "kustomize", found: render.Found{Units: units("kustomize", "over"), Takes: []string{"charts/x"}}},
			},
			units: []string{"helm charts/y", "kustomize over"},
		},
		{
			name: "an overlay inside a chart belongs to it",
			finders: []*finder{
				{name: "helm", found: render.Found{Units: units("helm", "x")}},
				{name: "kustomize", found: render.Found{Units: units("kustomize", "x/crds")}},
			},
			units: []string{"helm x"}, skipped: []string{"x/crds: part of the chart x"},
		},
		{
			name: "examples of one renderer give way to units of another",
			finders: []*finder{
				{name: "tanka", found: render.Found{Units: units("tanka", "examples/a")}},
				{name: "plain", found: render.Found{Units: units("plain", "deploy")}},
			},
			units: []string{"plain deploy"}, skipped: []string{"examples/a: example"},
		},
		{
			name:    "examples are the product where there is nothing else",
			finders: []*finder{{name: "tanka", found: render.Found{Units: units("tanka", "examples/a"), Skipped: []render.Skipped{{Path: "testdata", Reason: "test data"}}}}},
			units:   []string{"tanka examples/a"}, skipped: []string{"testdata: test data"},
		},
		{
			name: "one reason a path, that of the folder above or the first",
			finders: []*finder{
				{name: "helm", found: render.Found{Skipped: []render.Skipped{{Path: "a", Reason: "library"}, {Path: "u", Reason: "not so"}}}},
				{name: "plain", found: render.Found{Units: units("plain", "u"), Skipped: []render.Skipped{{Path: "a", Reason: "example"}, {Path: "a/b", Reason: "example"}}}},
			},
			units: []string{"plain u"}, skipped: []string{"a: library"},
		},
		{
			name:    "a finder that fails does not stop the others",
			finders: []*finder{{name: "helm", err: errors.New("no")}, {name: "plain", found: render.Found{Units: units("plain", "u")}}},
			units:   []string{"plain u"}, failed: "helm",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var rs []render.Renderer
			for _, f := range tt.finders {
				rs = append(rs, f)
			}
			got := Units(source.NewTree("test", fstest.MapFS{"f": {}}), rs)
			var us, skipped []string
			for _, u := range got.Units {
				us = append(us, u.Renderer+" "+u.Name())
			}
			for _, s := range got.Skipped {
				skipped = append(skipped, fmt.Sprintf("%s: %s", s.Path, s.Reason))
			}
			if !slices.Equal(us, tt.units) {
				t.Errorf("units %q, want %q", us, tt.units)
			}
			if !slices.Equal(skipped, tt.skipped) {
				t.Errorf("skipped %q, want %q", skipped, tt.skipped)
			}
			if (len(got.Failed) > 0) != (tt.failed != "") || tt.failed != "" && got.Failed[0].Renderer != tt.failed {
				t.Errorf("failed %v, want %q", got.Failed, tt.failed)
			}
			for _, f := range tt.finders {
				if f.name == "plain" && tt.plain != "" && strings.Join(f.left, " ") != tt.plain {
					t.Errorf("plain leaves %q, want %q", f.left, tt.plain)
				}
			}
		})
	}
}
