package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
)

// A side is one of the two states, with the renderers that its configuration asks for.
type side struct {
	tree      *source.Tree
	config    *config.Config
	renderers []render.Renderer
	bench     *bench   // where it renders, nil for in this process
	fetcher   *fetcher // of charts that are not in the repository, nil for none

	// Set by walk: the units, how those are rendered that objects declare, and what
	// was rendered to find them.
	found       *gitops.Walked
	definitions map[render.Unit]gitops.Definition
	rendered    map[render.Unit]gitops.Rendered
	known       *sync.Map // render.Unit to the render.Inputs of it, once asked for
	links       *linkMap
	landings    map[render.Unit]landing // set by assumeReleases
}

// openSide opens one state for the commands that look at just one.
func openSide(ctx context.Context, e env, rev string, work workFlags, tk *tkFlags, shop *workshop) (side, error) {
	forced, err := work.forced(e)
	if err != nil {
		return side{}, err
	}
	t, err := source.Open(ctx, e.dir, rev, source.Options{Getenv: e.getenv})
	if err != nil {
		return side{}, err
	}
	s := side{tree: t, config: forced}
	if forced == nil {
		if s.config, err = readConfig(t); err != nil {
			return s, err
		}
	}
	return s, s.setUp(s.config.Uses, tk, shop)
}

// setUp gives a side its renderers.
func (s *side) setUp(uses func(string) bool, tk *tkFlags, shop *workshop) error {
	var err error
	s.known, s.links, s.landings = &sync.Map{}, &linkMap{}, map[render.Unit]landing{}
	if s.renderers, err = renderers(s.tree, s.config, uses, tk); err != nil {
		return err
	}
	s.bench, err = shop.bench(*s, uses, tk)
	return err
}

// readConfig reads the configuration of a tree, nil when it has none.
func readConfig(t *source.Tree) (*config.Config, error) {
	if !t.Exists(config.File) {
		return nil, nil
	}
	data, err := t.ReadFile(config.File)
	if err != nil {
		return nil, err
	}
	return config.Parse(config.File, data, knownWords())
}

// find gives the units of one side at or below the paths that the user wrote.
func (s *side) find(ctx context.Context, args []string, work workFlags) ([]render.Unit, *report.Report, error) {
	var paths []string
	for _, a := range args {
		name, err := s.tree.Name(a)
		if err != nil {
			return nil, nil, err
		}
		paths = append(paths, name)
	}
	c := comparison{jobs: work.jobs, timeout: work.timeout}
	if err := s.walk(ctx, c.jobs, s.config.Uses, nil, c.renderSide, nil, nil); err != nil {
		return nil, nil, err
	}
	rep := &report.Report{Units: failures(s.found)}
	var units []render.Unit
	for _, u := range s.found.Units {
		if s.config.Looks(u.Path) && named(paths, u) {
			units = append(units, u)
		}
	}
	for _, sk := range s.found.Skipped {
		if s.config.Looks(sk.Path) && named(paths, render.Unit{Path: sk.Path}) {
			rep.Units = append(rep.Units, report.Unit{Name: sk.Path, Status: report.Skipped, Error: sk.Reason})
		}
	}
	if len(paths) > 0 && len(units) == 0 {
		return nil, nil, noUnit(paths)
	}
	return units, rep, nil
}

func noUnit(paths []string) error {
	return fmt.Errorf("no unit at or below %s: prdiff units lists them", strings.Join(paths, ", "))
}

// named says whether a unit is at or below one of the paths, is called so, or is
// the one that a path lies in. No paths name every unit.
func named(paths []string, u render.Unit) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		return p == "." || p == u.Path || p == u.Name() || strings.HasPrefix(u.Path, p+"/") || strings.HasPrefix(p, u.Path+"/")
	})
}

// renderer gives the renderer of that name, nil when it is switched off.
func (s side) renderer(name string) render.Renderer {
	for _, r := range s.renderers {
		if r.Name() == name {
			return r
		}
	}
	return nil
}

// render renders a unit.
func (s side) render(ctx context.Context, u render.Unit) (*render.Output, error) {
	if done, ok := s.rendered[u]; ok {
		return done.Output, done.Err
	}
	r, carried, err := s.fetched(ctx, u).carried(u)
	if err == nil && r != nil {
		if v, ok := s.withCharts(ctx, u, carried); ok {
			r = vendorer{s.renderer}
			carried, err = v.carry()
		}
	}
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, fmt.Errorf("%s: the renderer %s is switched off", u.Path, u.Renderer)
	case s.far():
		return s.bench.render(ctx, s.tree, r, carried)
	}
	return r.Render(ctx, s.tree, carried)
}

// far says whether units are rendered in another process: plain manifests too,
// for reading them, and finding the secrets in them, takes time.
func (s side) far() bool { return s.bench != nil }
