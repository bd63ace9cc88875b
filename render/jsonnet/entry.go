package jsonnet

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// An Entry is a plain jsonnet file that the configuration names.
type Entry struct {
	Path string // relative to the tree's root
	// JPath are folders of the import path, the first one searched first, after
	// the importing file's own. nil means vendor and lib beside the nearest
	// jsonnetfile.json upwards.
	JPath []string
	Vars  Vars
}

// A Renderer renders plain jsonnet entry points. It implements render.Renderer.
type Renderer struct {
	Engine  *Engine
	Entries []Entry
	// Discover makes Find propose also files that nobody named, see discover. What
	// turns out to give no objects is then skipped.
	Discover bool
	// Vars gives the variables of such files by their paths; nil means none.
	Vars func(path string) Vars

	taken map[string]bool
}

// Name gives "jsonnet".
func (r *Renderer) Name() string { return "jsonnet" }

// Find proposes the entry points that are in the tree. Those that are not are
// skipped with the reason.
func (r *Renderer) Find(t *source.Tree) (render.Found, error) {
	var found render.Found
	side := r.Engine.On(t)
	for _, e := range r.Entries {
		f, err := side.Find(path.Clean(e.Path))
		switch {
		case err != nil:
			found.Skipped = append(found.Skipped, render.Skipped{Path: e.Path, Reason: err.Error()})
		case f.Missing != "":
			found.Skipped = append(found.Skipped, render.Skipped{Path: e.Path, Reason: "named as a jsonnet entry point, but not there"})
		case f.Dir:
			found.Skipped = append(found.Skipped, render.Skipped{Path: e.Path, Reason: "named as a jsonnet entry point, but a folder"})
		default:
			found.Units = append(found.Units, render.Unit{Renderer: r.Name(), Path: path.Clean(e.Path)})
			found.Claims = append(found.Claims, path.Clean(e.Path))
		}
	}
	if r.Discover {
		entries, skipped, err := r.discover(t)
		if err != nil {
			return found, err
		}
		for _, name := range entries {
			if !slices.Contains(found.Claims, name) {
				found.Units = append(found.Units, render.Unit{Renderer: r.Name(), Path: name})
				found.Claims = append(found.Claims, name)
			}
		}
		found.Skipped = append(found.Skipped, skipped...)
	}
	slices.SortFunc(found.Units, func(a, b render.Unit) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(found.Claims)
	slices.SortFunc(found.Skipped, func(a, b render.Skipped) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// Inputs follows the entry point's imports.
func (r *Renderer) Inputs(t *source.Tree, u render.Unit) (render.Inputs, error) {
	program, looked, err := r.program(t, u)
	if err != nil {
		return render.Inputs{}, err
	}
	in := r.Engine.On(t).Reach(program).Inputs
	in.Files = slices.Compact(slices.Sorted(slices.Values(slices.Concat(in.Files, looked.Files))))
	in.Missing = slices.Compact(slices.Sorted(slices.Values(slices.Concat(in.Missing, looked.Missing))))
	return in, nil
}

// Render evaluates the entry point and finds the objects in its value, as Tanka
// does. A text at the top, or in a field named like a YAML or JSON file, is read
// as manifests.
func (r *Renderer) Render(ctx context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	program, _, err := r.program(t, u)
	if err != nil {
		return nil, err
	}
	session := r.Engine.On(t).Open(program)
	defer session.Close()
	value, err := session.Eval(ctx, "")
	if err != nil && ctx.Err() == nil && !r.named(u.Path) {
		return nil, excuse(err)
	}
	if err != nil {
		return nil, err
	}
	if value, err = readTexts(value); err != nil {
		return nil, fmt.Errorf("%s: %w", u.Path, err)
	}
	manifests, err := Extract(value)
	if (err != nil || len(manifests) == 0) && !r.named(u.Path) {
		return nil, &render.SkipError{Reason: "evaluates to no Kubernetes objects"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u.Path, err)
	}
	objects, problems := Objects(u.Path, program.Entry, manifests)
	return &render.Output{Parts: []render.Part{{Name: u.Path, Objects: objects}}, Problems: problems}, nil
}

// program gives the program of a unit, and the files that decided about its
// import path.
func (r *Renderer) program(t *source.Tree, u render.Unit) (Program, render.Inputs, error) {
	for _, e := range r.Entries {
		if path.Clean(e.Path) != u.Path {
			continue
		}
		p := Program{Entry: u.Path, Search: e.JPath, Vars: e.Vars}
		var looked render.Inputs
		if p.Search == nil {
			var err error
			if p.Search, looked, err = r.Engine.On(t).defaultPath(u.Path); err != nil {
				return Program{}, looked, err
			}
		}
		return p, looked, nil
	}
	if !r.Discover {
		return Program{}, render.Inputs{}, fmt.Errorf("%s: not among the configured jsonnet entry points", u.Path)
	}
	search, looked, err := r.Engine.On(t).defaultPath(u.Path)
	p := Program{Entry: u.Path, Search: search}
	if r.Vars != nil {
		p.Vars = r.Vars(u.Path)
	}
	return p, looked, err
}

// named says whether the configuration names an entry point.
func (r *Renderer) named(name string) bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool { return path.Clean(e.Path) == name })
}

func (s *Side) defaultPath(entry string) (search []string, looked render.Inputs, err error) {
	for dir := path.Dir(entry); ; dir = path.Dir(dir) {
		marker := path.Join(dir, "jsonnetfile.json")
		found, err := s.Find(marker)
		if err != nil {
			return nil, looked, err
		}
		if found.Missing == "" {
			looked.Files = append(looked.Files, marker)
		} else {
			looked.Missing = append(looked.Missing, found.Missing)
		}
		if found.Missing == "" || dir == "." {
			return []string{path.Join(dir, "vendor"), path.Join(dir, "lib")}, looked, nil
		}
	}
}

// Objects makes objects of manifests and takes them over. Those that are none
// are problems of the file they come from.
func Objects(unit, entry string, manifests []Manifest) ([]*object.Object, []render.Problem) {
	var objects []*object.Object
	var problems []render.Problem
	for _, m := range manifests {
		o, err := object.New(unit, object.Origin{Path: entry}, m.Data)
		if err != nil {
			problems = append(problems, render.Problem{Path: entry, Err: fmt.Errorf("at %s: %w", m.Path, err)})
			continue
		}
		objects = append(objects, o)
	}
	return objects, problems
}

// readTexts replaces texts that hold manifests by what they hold: `jsonnet -S`
// and `jsonnet -m DIR -S` are how entry points write YAML.
func readTexts(value any) (any, error) {
	switch v := value.(type) {
	case string:
		return readText(v)
	case map[string]any:
		if str(v["apiVersion"]) != "" && str(v["kind"]) != "" {
			return v, nil
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text, ok := v[key].(string)
			if !ok {
				continue
			}
			switch path.Ext(key) {
			case ".yaml", ".yml", ".json":
				docs, err := readText(text)
				if err != nil {
					return nil, fmt.Errorf("field %q: %w", key, err)
				}
				v[key] = docs
			}
		}
	}
	return value, nil
}

// readText gives the documents of a YAML text, without empty ones.
func readText(text string) (any, error) {
	docs, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(docs, func(doc any) bool { return doc == nil }), nil
}
