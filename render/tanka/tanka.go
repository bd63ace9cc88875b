// Package tanka renders Tanka environments as `tk show` and `tk export` do,
// static (spec.json) and inline ones, without tk. What Tanka does by mistake or
// leaves to chance is done in the useful way; the comments say where.
//
// The behaviour is that of Tanka at commit 9cbf25174 with go-jsonnet v0.22.0,
// and is held to its output by testdata/golden.
package tanka

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/jsonnet"
)

// Options are what tk takes on its command line.
type Options struct {
	Vars jsonnet.Vars
	// Name selects an inline environment. Render takes the ones that are called
	// exactly so, as `tk export -r` does; Show the one whose name contains it.
	Name string
	// Selector is a Kubernetes label selector on the environment's labels, as -l.
	Selector string
	// Targets are expressions over Kind/name, as -t.
	Targets []string
}

// A Renderer renders Tanka environments. It implements render.Renderer, and is
// safe for concurrent use.
type Renderer struct {
	Engine *jsonnet.Engine
	// Options gives the options of a unit by its path; nil means none.
	Options func(path string) Options
}

// Name gives "tanka".
func (r *Renderer) Name() string { return "tanka" }

func (r *Renderer) options(unit string) Options {
	if r.Options == nil {
		return Options{}
	}
	return r.Options(unit)
}

// Inputs follows the imports of the unit's entry point, and adds spec.json and
// the files that make a folder the root of a project.
func (r *Renderer) Inputs(t *source.Tree, u render.Unit) (render.Inputs, error) {
	side := r.Engine.On(t)
	p, err := locate(side, u.Path)
	if err != nil {
		return render.Inputs{}, err
	}
	in := side.Reach(p.program(r.options(u.Path).Vars)).Inputs
	in.Files = merge(in.Files, p.files)
	in.Missing = merge(in.Missing, p.missing)
	return in, nil
}

// Render gives one part for a static environment, called like the unit, and one
// for each environment of an inline one, called like the unit, a colon and the
// environment's name. An environment that fails does not stop the others of its
// file: it is a problem.
func (r *Renderer) Render(ctx context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	side := r.Engine.On(t)
	options := r.options(u.Path)
	l, err := newLoader(ctx, side, u.Path, options)
	if err != nil {
		return nil, err
	}
	defer l.close()
	out := &render.Output{}
	envs, err := l.all()
	if err != nil {
		return nil, excuse(side, l, err)
	}
	names := map[string]int{}
	for _, e := range envs {
		name := u.Path
		if e.inline {
			name += ":" + e.env.Metadata.Name
			if names[name]++; names[name] > 1 {
				out.Notes = append(out.Notes, fmt.Sprintf("%d environments are called %q; Tanka shows one of them by chance", names[name], e.env.Metadata.Name))
				name = fmt.Sprintf("%s#%d", name, names[name])
			}
		}
		if e.err == nil {
			e.manifests, e.err = l.process(e)
		}
		if e.err != nil {
			if !e.inline {
				return nil, excuse(side, l, e.err)
			}
			p := problem(l.project.entry, e)
			p.Part = name
			out.Problems = append(out.Problems, p)
			continue
		}
		objects, problems := jsonnet.Objects(name, l.project.entry, e.manifests)
		target, err := e.target(name, l.project)
		if err != nil {
			return nil, err
		}
		out.Parts = append(out.Parts, render.Part{Name: name, Objects: objects, Target: target})
		for _, p := range problems {
			p.Part = name
			out.Problems = append(out.Problems, p)
		}
	}
	out.Notes = append(out.Notes, l.notes...)
	return out, nil
}

// problem is the fault of one environment among several in a file.
func problem(entry string, e environment) render.Problem {
	p := render.Problem{Path: entry, Err: fmt.Errorf("environment %q: %w", e.env.Metadata.Name, e.err)}
	var fault *jsonnet.Error
	if errors.As(e.err, &fault) && fault.Path == entry {
		p.Line = fault.Line
	}
	return p
}

// excuse gives the error of a unit that does not evaluate: a SkipError where a
// library was not vendored, and for a main.jsonnet without spec.json in which
// nothing speaks of Tanka. That was never meant as an environment; Tanka itself
// would only list it because of its name.
func excuse(side *jsonnet.Side, l *loader, err error) error {
	var fault *jsonnet.Error
	if !errors.As(err, &fault) {
		return err
	}
	if fault.Missing != "" {
		if name := notVendored(side, l.project.root, fault.Missing); name != "" {
			return &render.SkipError{Reason: fmt.Sprintf("import %q not found: %s is in jsonnetfile.json, but not in the repository; run jb install and commit vendor/ (what git ignores is not read)", fault.Missing, name)}
		}
	}
	reach := side.Reach(l.project.program(l.options.Vars))
	if l.project.static || len(reach.NotFound) > 0 || speaksOfTanka(side, reach.Code) {
		return err
	}
	return &render.SkipError{Reason: fmt.Sprintf("no environment: it has no spec.json, nothing in it or its imports says tanka.dev, and it does not evaluate alone: %v", err)}
}

// Show renders one environment as `tk show PATH` does, and refuses what it
// refuses. PATH is a folder, also one below an environment's, a file, or, when
// there is no such path, the name of an environment of the root. The manifests
// are as printed: with nulls, numbers as float64, and secrets in the clear. They
// are for the eyes of who asked, not for reports.
func (r *Renderer) Show(ctx context.Context, t *source.Tree, name string, o Options) ([]jsonnet.Manifest, error) {
	side := r.Engine.On(t)
	name = path.Clean(name)
	found, err := side.Find(name)
	if err != nil {
		return nil, err
	}
	asName := found.Missing != ""
	if asName {
		o.Name, name = name, "."
	}
	l, err := newLoader(ctx, side, name, o)
	if err != nil && asName {
		return nil, fmt.Errorf("%s: no such file or folder, and looking for an environment of that name: %w", o.Name, err)
	}
	if err != nil {
		return nil, err
	}
	defer l.close()
	e, err := l.one(name)
	if err != nil {
		return nil, err
	}
	return l.process(e)
}

// Eval gives the value of an environment's entry point, or of an expression over
// it, as `tk eval` does: expr follows the value, such as "web.spec" or `["a-b"]`;
// "" is the whole.
func (r *Renderer) Eval(ctx context.Context, t *source.Tree, name, expr string, o Options) (any, error) {
	l, err := newLoader(ctx, r.Engine.On(t), path.Clean(name), o)
	if err != nil {
		return nil, err
	}
	defer l.close()
	switch {
	case expr == "":
	case expr[0] == '[':
		expr = "main" + expr
	default:
		expr = "main." + expr
	}
	return l.session.Eval(ctx, expr)
}
