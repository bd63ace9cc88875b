package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/kustomize"
)

// vendorRenderer is the name under which a unit is rendered as if the charts that it
// depends on were vendored: its kustomization's helmCharts, the dependencies of its
// Chart.yaml. They were fetched, and the unit brings them along.
const vendorRenderer = "with charts"

// maxTogether is how many bytes the fetched charts of one unit may have, packed.
const maxTogether = 40 << 20

// A vendoredUnit is a unit with charts that are not in the repository.
type vendoredUnit struct {
	Unit   render.Unit
	Charts map[string][]byte // packed, by the folder that they would be in
	// Failed says of charts that could not be fetched why.
	Failed []string
}

// withCharts gives a unit with the charts fetched that it needs; ok is false when it
// needs none. U is the unit as it was found, carried as its renderer takes it.
func (s side) withCharts(ctx context.Context, u, carried render.Unit) (v vendoredUnit, ok bool) {
	if s.fetcher == nil {
		return v, false
	}
	var needs []helm.Need
	if d, declared := s.definitions[u]; declared {
		needs = d.Needs(s.tree)
	} else if u.Renderer == "helm" {
		needs = helm.Needs(s.tree, u.Path)
	} else if u.Renderer == "kustomize" {
		needs = kustomize.Needs(s.tree, u.Path, kustomize.Edit{})
	}
	v = vendoredUnit{Unit: carried, Charts: map[string][]byte{}}
	total := 0
	for _, n := range needs {
		archive, err := s.fetcher.get(ctx, gitops.RemoteOf(n))
		if total += len(archive); err == nil && total > maxTogether {
			err = fmt.Errorf("the charts of the unit have more than %d MiB together", maxTogether>>20)
		}
		if err != nil {
			v.Failed = append(v.Failed, fmt.Sprintf("helm.fetch: %s: %v", n.Name, err))
			continue
		}
		v.Charts[n.At] = archive
	}
	return v, len(needs) > 0
}

func (v vendoredUnit) carry() (render.Unit, error) {
	data, err := json.Marshal(v)
	return render.Unit{Renderer: vendorRenderer, Path: v.Unit.Path, Variant: string(data)}, err
}

// A vendorer renders such units by the renderers of a side.
type vendorer struct {
	renderer func(name string) render.Renderer
}

func (vendorer) Name() string                            { return vendorRenderer }
func (vendorer) Find(*source.Tree) (render.Found, error) { return render.Found{}, nil }

func (r vendorer) unit(u render.Unit) (v vendoredUnit, inner render.Renderer, err error) {
	if err := json.Unmarshal([]byte(u.Variant), &v); err != nil {
		return v, nil, fmt.Errorf("%s: its charts: %w", u.Path, err)
	}
	if inner = r.renderer(v.Unit.Renderer); inner == nil {
		return v, nil, fmt.Errorf("%s: the renderer %s is switched off", u.Path, v.Unit.Renderer)
	}
	return v, inner, nil
}

func (r vendorer) Inputs(t *source.Tree, u render.Unit) (render.Inputs, error) {
	v, inner, err := r.unit(u)
	if err != nil {
		return render.Inputs{}, err
	}
	return inner.Inputs(t, v.Unit)
}

func (r vendorer) Render(ctx context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	v, inner, err := r.unit(u)
	if err != nil {
		return nil, err
	}
	if len(v.Charts) > 0 {
		over := vendored{below: t}
		for _, at := range slices.Sorted(maps.Keys(v.Charts)) {
			chart, err := helm.Unpack(at, v.Charts[at])
			if err != nil {
				v.Failed = append(v.Failed, "helm.fetch: "+err.Error())
				continue
			}
			over.charts = append(over.charts, chart)
		}
		t = source.NewTree(t.Rev, over)
	}
	out, err := inner.Render(ctx, t, v.Unit)
	if err == nil && out.Partial != "" && len(v.Failed) > 0 {
		told := *out
		told.Partial = strings.Join(append([]string{out.Partial}, v.Failed...), "; ")
		out = &told
	}
	return out, err
}

// A vendored file system is a tree with charts in it. What the tree has counts.
type vendored struct {
	below  *source.Tree
	charts []*source.Tree
}

// lookUp calls f with the tree, and with the charts as long as nothing is there.
func lookUp[T any](v vendored, f func(t *source.Tree) (T, error)) (T, error) {
	got, err := f(v.below)
	for _, c := range v.charts {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if more, err := f(c); err == nil {
			return more, nil
		}
	}
	return got, err
}

func (v vendored) Open(name string) (fs.File, error) {
	return lookUp(v, func(t *source.Tree) (fs.File, error) { return t.Open(name) })
}

func (v vendored) ReadFile(name string) ([]byte, error) {
	return lookUp(v, func(t *source.Tree) ([]byte, error) { return t.ReadFile(name) })
}

func (v vendored) Stat(name string) (fs.FileInfo, error) {
	return lookUp(v, func(t *source.Tree) (fs.FileInfo, error) { return t.Stat(name) })
}

func (v vendored) Lstat(name string) (fs.FileInfo, error) {
	return lookUp(v, func(t *source.Tree) (fs.FileInfo, error) { return t.Lstat(name) })
}

func (v vendored) ReadLink(name string) (string, error) { return v.below.ReadLink(name) }

func (v vendored) ReadDir(name string) ([]fs.DirEntry, error) {
	out, err := v.below.ReadDir(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, c := range v.charts {
		more, moreErr := c.ReadDir(name)
		if moreErr != nil {
			continue
		}
		err = nil
		for _, e := range more {
			if !slices.ContainsFunc(out, func(have fs.DirEntry) bool { return have.Name() == e.Name() }) {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, err
}
