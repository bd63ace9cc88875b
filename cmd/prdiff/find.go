package main

import (
	"slices"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/jsonnet"
	"github.com/prdiff/prdiff/render/plain"
	"github.com/prdiff/prdiff/render/tanka"
)

// rendererNames are the words for renderers in the configuration, in the order
// in which they look for units. Plain comes last: it takes what the others leave.
var rendererNames = []string{"tanka", "jsonnet", "plain"}

// renderers gives the renderers of one side as its configuration sets them up.
func renderers(t *source.Tree, c *config.Config, uses func(string) bool, tk *tkFlags) ([]render.Renderer, error) {
	engine := &jsonnet.Engine{}
	entries, err := entries(t, c)
	if err != nil {
		return nil, err
	}
	var out []render.Renderer
	for _, r := range []render.Renderer{
		&tanka.Renderer{Engine: engine, Options: func(unit string) tanka.Options { return tk.options(c, unit) }},
		&jsonnet.Renderer{Engine: engine, Entries: entries},
		plain.New(plain.Options{}),
	} {
		if uses(r.Name()) {
			out = append(out, r)
		}
	}
	return out, nil
}

// entries gives the jsonnet entry points that a configuration names, patterns
// replaced by the files that match them. A pattern that matches no file stays as
// it is, so that the renderer says that nothing is there.
func entries(t *source.Tree, c *config.Config) ([]jsonnet.Entry, error) {
	if c == nil || len(c.Jsonnet) == 0 {
		return nil, nil
	}
	files, err := t.Files(".")
	if err != nil {
		return nil, err
	}
	var out []jsonnet.Entry
	seen := map[string]bool{}
	for _, e := range c.Jsonnet {
		found := false
		add := func(path string) {
			found = true
			if !seen[path] {
				seen[path] = true
				out = append(out, jsonnet.Entry{Path: path, JPath: e.Libraries, Vars: vars(c.Vars(path))})
			}
		}
		if t.Exists(e.Path) {
			add(e.Path)
			continue
		}
		for _, f := range files {
			if config.Match(e.Path, f) {
				add(f)
			}
		}
		if !found {
			add(e.Path)
		}
	}
	return out, nil
}

func vars(v config.Vars) jsonnet.Vars {
	return jsonnet.Vars{ExtStr: v.ExtStr, ExtCode: v.ExtCode, TLAStr: v.TLAStr, TLACode: v.TLACode}
}

// foundUnits is what the finders give: units, what looked like one, and finders that failed.
type foundUnits struct {
	units   []render.Unit
	skipped []render.Skipped
	failed  []report.Unit
}

// findUnits asks every renderer for its units.
func findUnits(t *source.Tree, rs []render.Renderer) foundUnits {
	var out foundUnits
	var claims []string
	for _, r := range rs {
		if p, ok := r.(*plain.Renderer); ok {
			p.Leave(claims)
		}
		f, err := r.Find(t)
		if err != nil {
			out.failed = append(out.failed, report.Unit{Name: ".", Renderer: r.Name(), Status: report.Failed, Error: "looking for units: " + err.Error()})
			continue
		}
		out.units = append(out.units, f.Units...)
		out.skipped = append(out.skipped, f.Skipped...)
		claims = append(claims, f.Claims...)
	}
	slices.SortFunc(out.units, compareUnits)
	return out
}
