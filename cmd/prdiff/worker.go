package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/cache"
	"github.com/prdiff/prdiff/render/jsonnet"
	"github.com/prdiff/prdiff/render/plain"
	"github.com/prdiff/prdiff/render/worker"
)

// A workshop is where the units of a run are rendered: in child processes, with a
// cache before them. A nil workshop renders in this process.
type workshop struct {
	pool    *worker.Pool
	cache   *cache.Cache
	program string // which prdiff renders, for the cache

	// forced is the file of --config and its content, which counts for both sides.
	forced     string
	forcedData []byte
}

// workshop opens the workshop that the flags ask for. It must be closed.
func (f *workFlags) workshop(e env) (*workshop, error) {
	timeout := f.timeout
	if timeout == 0 {
		timeout = -1
	}
	w := &workshop{program: build(), forced: f.config}
	if f.config != "" {
		var err error
		if w.forcedData, err = os.ReadFile(e.path(f.config)); err != nil {
			return nil, usage("--config: %v", err)
		}
	}
	if dir := f.cacheDir(e); dir != "" {
		var err error
		if w.cache, err = cache.Open(dir, 0); err != nil && f.cache != "" {
			return nil, err
		}
	}
	w.pool = worker.NewPool(worker.Options{Jobs: f.jobs, Timeout: timeout})
	return w, nil
}

func (w *workshop) close() {
	if w == nil {
		return
	}
	w.pool.Close()
	_ = w.cache.Close() // what could not be trimmed now is trimmed by the next run
}

// rest ends the child processes until there is something to render again.
func (w *workshop) rest() {
	if w != nil {
		w.pool.Rest()
	}
}

// cacheOff is what --cache takes beside folders.
const cacheOff = "off"

// cacheDir is the folder of the cache, "" for none. In CI there is one only when
// it is asked for: a folder that is lost with the machine saves nothing.
func (f *workFlags) cacheDir(e env) string {
	switch {
	case f.cache == cacheOff:
		return ""
	case f.cache != "":
		return e.path(f.cache)
	case e.getenv("CI") != "":
		return ""
	}
	home := e.getenv("HOME")
	dir := e.getenv("XDG_CACHE_HOME")
	switch {
	case runtime.GOOS == "windows":
		dir = e.getenv("LocalAppData")
	case runtime.GOOS == "darwin" && home != "":
		dir = filepath.Join(home, "Library", "Caches")
	case dir == "" && home != "":
		dir = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "prdiff")
}

// build tells this build of prdiff from all others.
func build() string {
	v := version()
	if v != "development" {
		return v
	}
	exe, err := os.Executable()
	if err != nil {
		return v
	}
	info, err := os.Stat(exe)
	if err != nil {
		return v
	}
	return fmt.Sprint(v, " ", info.Size(), " ", info.ModTime().UnixNano())
}

// settings are what makes the renderers of a side, as a child is told them.
type settings struct {
	Config     string // the file's name, "" for none
	ConfigData []byte
	Uses       []string // renderers that are on
	TK         *tkSettings
}

type tkSettings struct {
	Name, Selector string
	Targets        []string
	Vars           jsonnet.Vars
}

// settings are what renderers is called with for a side.
func (w *workshop) settings(t *source.Tree, c *config.Config, uses func(string) bool, tk *tkFlags) (settings, error) {
	s := settings{Config: w.forced, ConfigData: w.forcedData}
	if c != nil && s.Config == "" {
		var err error
		s.Config = config.File
		if s.ConfigData, err = t.ReadFile(config.File); err != nil {
			return s, err
		}
	}
	for _, name := range rendererNames {
		if uses(name) {
			s.Uses = append(s.Uses, name)
		}
	}
	if tk != nil {
		s.TK = &tkSettings{tk.name, tk.selector, tk.targets, tk.vars}
	}
	return s, nil
}

// config is the configuration in settings, nil for none.
func (s settings) config() (*config.Config, error) {
	if s.Config == "" {
		return nil, nil
	}
	return config.Parse(s.Config, s.ConfigData, knownWords())
}

func (s settings) tk() *tkFlags {
	if s.TK == nil {
		return nil
	}
	return &tkFlags{name: s.TK.Name, selector: s.TK.Selector, targets: s.TK.Targets, vars: s.TK.Vars}
}

// A bench is the place of one side in the workshop.
type bench struct {
	shop     *workshop
	side     *worker.Side
	settings []byte
}

// bench gives a side its place; nil where units are rendered in this process.
func (w *workshop) bench(s side, uses func(string) bool, tk *tkFlags) (*bench, error) {
	if w == nil {
		return nil, nil
	}
	told, err := w.settings(s.tree, s.config, uses, tk)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	return &bench{w, w.pool.Side(s.tree, data), data}, nil
}

// render renders a unit, or finds it in the cache.
func (b *bench) render(ctx context.Context, t *source.Tree, r render.Renderer, u render.Unit) (*render.Output, error) {
	if p, ok := r.(*plain.Renderer); ok {
		return b.plain(ctx, t, p, u)
	}
	if b.shop.cache == nil {
		return b.side.Render(ctx, u)
	}
	in, err := r.Inputs(t, u)
	if err != nil {
		return b.side.Render(ctx, u) // which tells what is wrong
	}
	key, ok := cache.KeyOf(b.shop.program, b.settings, t, u, in)
	if !ok {
		return b.side.Render(ctx, u)
	}
	if out, ok := b.shop.cache.Get(key); ok {
		return out, nil
	}
	out, err := b.side.Render(ctx, u)
	if err == nil {
		b.shop.cache.Put(key, out)
	}
	return out, err
}

// plainReader is the name under which a child reads plain manifests. Which they
// are was found out by looking at the whole tree, so it is told: Variant lists them.
const plainReader = "plain files"

// plain reads a folder of manifests. That is no slower than the cache.
func (b *bench) plain(ctx context.Context, t *source.Tree, p *plain.Renderer, u render.Unit) (*render.Output, error) {
	names, err := p.Files(t, u)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	return b.side.Render(ctx, render.Unit{Renderer: plainReader, Path: u.Path, Variant: string(data)})
}

// A reader is the renderer behind plainReader. A child has one for both sides, so
// that a document which is the same on both is read once.
type reader struct {
	unit  string // of which documents are known
	known object.Documents
}

func (*reader) Name() string                                            { return plainReader }
func (*reader) Find(*source.Tree) (render.Found, error)                 { return render.Found{}, nil }
func (*reader) Inputs(*source.Tree, render.Unit) (render.Inputs, error) { return render.Inputs{}, nil }

func (r *reader) Render(_ context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	var names []string
	if err := json.Unmarshal([]byte(u.Variant), &names); err != nil {
		return nil, err
	}
	if r.unit != u.Path {
		r.unit, r.known = u.Path, object.Documents{}
	}
	out := plain.Read(t, u.Path, names, &r.known)
	out.Kept = true
	return out, nil
}

// showRenderer is the name under which a child renders one Tanka environment as
// tk show does. No unit is found by it.
const showRenderer = "tanka show"

// serve is the life of a child.
func serve(e env) int {
	manifests := &reader{}
	return worker.Serve(e.stdin, e.stdout, func(t *source.Tree, data []byte) (func(string) render.Renderer, error) {
		var s settings
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		uses := func(name string) bool { return slices.Contains(s.Uses, name) }
		c, err := s.config()
		if err != nil {
			return nil, err
		}
		far := side{tree: t, config: c}
		if err := far.setUp(uses, s.tk(), nil); err != nil {
			return nil, err
		}
		return func(name string) render.Renderer {
			switch name {
			case showRenderer:
				return shower{far, s.tk()}
			case plainReader:
				return manifests
			case vendorRenderer:
				return vendorer{far.renderer}
			}
			return far.renderer(name)
		}, nil
	})
}

// show prints one Tanka environment as tk show does.
func (b *bench) show(ctx context.Context, name string) ([]byte, error) {
	out, err := b.side.Render(ctx, render.Unit{Renderer: showRenderer, Path: name})
	if err != nil {
		return nil, err
	}
	return []byte(out.Parts[0].Name), nil
}

// A shower is the renderer behind showRenderer. Its output is one part without
// objects, the name of which is the printed text.
type shower struct {
	side
	tk *tkFlags
}

func (shower) Name() string                                            { return showRenderer }
func (shower) Find(*source.Tree) (render.Found, error)                 { return render.Found{}, nil }
func (shower) Inputs(*source.Tree, render.Unit) (render.Inputs, error) { return render.Inputs{}, nil }

func (s shower) Render(ctx context.Context, _ *source.Tree, u render.Unit) (*render.Output, error) {
	text, err := s.showHere(ctx, u.Path, s.tk)
	if err != nil {
		return nil, err
	}
	return &render.Output{Parts: []render.Part{{Name: string(text)}}}, nil
}

// tellGuards says what rendering is kept from on this machine.
func tellGuards(w io.Writer) error {
	guards, err := worker.Probe(worker.Options{})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, "\na process that renders:"); err != nil {
		return err
	}
	for _, g := range guards {
		sign := "yes"
		if !g.Held {
			sign = "NO "
		}
		if _, err := fmt.Fprintf(w, "  %s  %s (%s)\n", sign, g.What, g.By); err != nil {
			return err
		}
	}
	return nil
}
