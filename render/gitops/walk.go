package gitops

import (
	"bytes"
	"context"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/find"
)

// A Side is one state of a repository, and how its units are found and rendered.
type Side struct {
	Tree *source.Tree
	// Find asks the finders. Claimed are files and folders that objects claim.
	Find func(claimed ...string) find.Result
	// Inputs and Render are about a unit that Find gave, or, when a definition is
	// given, about one that an object declares.
	Inputs func(u render.Unit, d *Definition) (render.Inputs, error)
	Render func(ctx context.Context, u render.Unit, d *Definition) (*render.Output, error)
	// Addresses are the repository's own, in any spelling. Without any, the one
	// that most objects name is taken.
	Addresses []string
	// Off are renderers, Flux or ArgoCD, whose objects are not followed.
	Off []string
	// Same says that a unit with these inputs renders as on the other side, whose
	// result Walk is given. Nil means never.
	Same func(u render.Unit, d *Definition, in render.Inputs) bool
	// SameFile says that a file has the content that it has on the other side. Nil
	// means never.
	SameFile func(name string) bool
	// Read reads a file, for a caller that has read it before. Nil means the tree does.
	Read func(name string) ([]byte, error)
	Jobs int // units rendered at the same time; less than 2 means one
}

// A Rendered is what came of a unit that had to be rendered to find others.
type Rendered struct {
	Output *render.Output
	Err    error
}

// Walked is all units of a side: those that the finders give and that are not a
// part of what objects declare, and those.
type Walked struct {
	find.Result
	// Definitions are those of the units that objects declare.
	Definitions map[render.Unit]Definition
	// Keys name the objects behind those units, so that one unit can be told from
	// one side to the other though its folder is another one.
	Keys map[render.Unit]string
	// Parents are the units that rendered those objects, and Stays says of those that
	// would leave in the cluster what they deployed, were they removed, why.
	Parents map[render.Unit]render.Unit
	Stays   map[render.Unit]string
	// Outputs are those that were needed on the way. They are not to be changed.
	Outputs map[render.Unit]Rendered

	all    map[render.Unit]Rendered // those of units that were given up, too
	marked map[string]bool          // files that were read, and whether they speak of GitOps
}

// incomplete says whether a unit's objects are not all known, so that what they
// declare may be more.
func (r Rendered) incomplete() bool {
	return r.Err != nil || r.Output != nil && r.Output.Broken()
}

// Incomplete says whether a unit that may declare others did not render, so that the
// other side has to tell what it declares.
func (w *Walked) Incomplete() bool {
	for _, r := range w.all {
		if r.incomplete() {
			return true
		}
	}
	return false
}

// Walk finds the units of a side. Other is the result of the other side, if that
// is known already: what is the same is not rendered twice, and where a unit does
// not render here, what it declares there counts, because a fault of a parent
// does not make its children go away.
func Walk(ctx context.Context, s Side, other *Walked) (*Walked, error) {
	found := s.Find()
	out := &Walked{Result: found, Definitions: map[render.Unit]Definition{}, Keys: map[render.Unit]string{}, Parents: map[render.Unit]render.Unit{}, Stays: map[render.Unit]string{}, Outputs: map[render.Unit]Rendered{}, all: map[render.Unit]Rendered{}, marked: map[string]bool{}}
	w := side{Side: s, ctx: ctx, tree: s.Tree, other: other, out: out, dirs: map[string]bool{}, engines: map[string]string{}, marked: out.marked, index: map[objectKey]*object.Object{}}
	for _, a := range s.Addresses {
		w.addresses.known = append(w.addresses.known, normal(a))
	}
	var err error
	if w.files, err = s.Tree.Files("."); err != nil {
		return nil, err
	}
	for _, dir := range foldersOf(w.files) {
		w.dirs[dir] = true
	}
	var candidates []render.Unit
	for _, u := range found.Units {
		if u.Renderer == "tanka" || u.Renderer == "jsonnet" {
			w.engines[u.Path] = u.Renderer
		}
		if w.mayDeclare(u, nil) {
			candidates = append(candidates, u)
		}
	}
	if len(candidates) == 0 {
		return out, nil
	}
	w.render(candidates)
	w.walk(candidates)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	w.settle()
	return out, nil
}

type objectKey struct{ group, kind, namespace, name string }

// A side is a walk in progress.
type side struct {
	Side
	ctx       context.Context
	tree      *source.Tree
	other     *Walked
	out       *Walked
	files     []string
	dirs      map[string]bool
	engines   map[string]string // folders and files of jsonnet units
	marked    map[string]bool   // files that were read, and whether they speak of GitOps
	addresses addresses

	all   []*object.Object // everything rendered so far
	index map[objectKey]*object.Object

	children []*child
	known    map[string]*child
	names    map[render.Unit]bool
	waiting  []*child
}

// A child is a unit that an object declares.
type child struct {
	Definition
	unit   render.Unit
	key    string
	object *object.Object
	parent render.Unit
	files  map[string]bool // what it reads, as far as that is known by name
	charts map[string]bool
}

func (w *side) isDir(name string) bool        { return w.dirs[name] }
func (w *side) has(dir, base string) bool     { return w.tree.Exists(path.Join(dir, base)) }
func (w *side) off(renderer string) bool      { return slices.Contains(w.Off, renderer) }
func (w *side) seen(u render.Unit) bool       { _, ok := w.out.all[u]; return ok }
func (w *side) result(u render.Unit) Rendered { return w.out.all[u] }

// object gives a rendered object. A namespace that is not stated on one side of
// the question matches any.
func (w *side) object(group, kind, namespace, name string) *object.Object {
	if o := w.index[objectKey{group, kind, namespace, name}]; o != nil {
		return o
	}
	if o := w.index[objectKey{group, kind, "", name}]; o != nil || namespace != "" {
		return o
	}
	for _, o := range w.all {
		if o.Ref.Group == group && o.Ref.Kind == kind && o.Ref.Name == name {
			return o
		}
	}
	return nil
}

// marks are what every object that is followed has in its text.
var marks = [][]byte{[]byte("argoproj.io"), []byte("toolkit.fluxcd.io"), []byte(fluxOperator + "/")}

// mayDeclare says whether what a unit reads speaks of Argo CD or Flux at all.
// Vendored libraries are told by their names alone: they are many, and name every
// kind there is.
func (w *side) mayDeclare(u render.Unit, d *Definition) bool {
	if d != nil && d.Kind == "ApplicationSet" {
		return true
	}
	in, err := w.Inputs(u, d)
	if err != nil || in.Unknown != "" && u.Renderer != "tanka" {
		return true // rendering tells what is wrong
	}
	names := slices.Clone(in.Files)
	for _, dir := range in.Dirs {
		below, err := w.tree.Files(dir)
		if err != nil {
			continue
		}
		names = append(names, below...)
	}
	return slices.ContainsFunc(names, w.speaks)
}

func (w *side) speaks(name string) bool {
	said, ok := w.marked[name]
	if ok {
		return said
	}
	if w.other != nil && w.SameFile != nil {
		if said, ok := w.other.marked[name]; ok && w.SameFile(name) {
			w.marked[name] = said
			return said
		}
	}
	read := w.Read
	if read == nil {
		read = w.tree.ReadFile
	}
	switch {
	case render.Vendored(path.Dir(name)):
		lower := strings.ToLower(name)
		said = strings.Contains(lower, "argo") || strings.Contains(lower, "flux")
	default:
		data, err := read(name)
		said = err == nil && slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(data, m) })
	}
	w.marked[name] = said
	return said
}

// render renders units that were not yet, a few at a time.
func (w *side) render(units []render.Unit) {
	type job struct {
		unit       render.Unit
		definition *Definition
		result     Rendered
	}
	var jobs []*job
	for _, u := range units {
		if w.seen(u) {
			continue
		}
		j := &job{unit: u}
		if def, ok := w.out.Definitions[u]; ok {
			j.definition = &def
		}
		if r, ok := w.reuse(u, j.definition); ok {
			w.out.all[u] = r
			continue
		}
		jobs = append(jobs, j)
	}
	var group sync.WaitGroup
	slots := make(chan struct{}, max(1, w.Jobs))
	for _, j := range jobs {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			j.result.Output, j.result.Err = w.Render(w.ctx, j.unit, j.definition)
		})
	}
	group.Wait()
	for _, j := range jobs {
		w.out.all[j.unit] = j.result
	}
	for _, u := range units {
		w.take(u)
	}
}

// reuse gives what the other side rendered, when it is the same here.
func (w *side) reuse(u render.Unit, d *Definition) (Rendered, bool) {
	if w.other == nil || w.Same == nil {
		return Rendered{}, false
	}
	there, ok := w.other.all[u]
	if !ok {
		return there, false
	}
	if d != nil {
		was, ok := w.other.Definitions[u]
		if !ok || !reflect.DeepEqual(was, *d) {
			return there, false
		}
	}
	in, err := w.Inputs(u, d)
	return there, err == nil && in.Unknown == "" && w.Same(u, d, in)
}

// take puts the objects of a rendered unit where sources and values are looked for.
func (w *side) take(u render.Unit) {
	for _, o := range w.objects(u) {
		k := objectKey{o.Ref.Group, o.Ref.Kind, o.Ref.Namespace, o.Ref.Name}
		if w.index[k] == nil {
			w.index[k] = o
			w.all = append(w.all, o)
			w.vote(o)
		}
	}
}

// objects gives the objects of a unit, with those of the other side when it did
// not render here.
func (w *side) objects(u render.Unit) []*object.Object {
	var out []*object.Object
	add := func(r Rendered) {
		if r.Output == nil {
			return
		}
		for _, p := range r.Output.Parts {
			out = append(out, p.Objects...)
			for _, o := range p.Objects {
				out = append(out, synced(o)...)
			}
		}
	}
	here := w.result(u)
	add(here)
	if here.incomplete() && w.other != nil {
		have := map[object.Ref]bool{}
		for _, o := range out {
			have[o.Ref] = true
		}
		n := len(out)
		add(w.other.all[u])
		out = append(out[:n:n], slices.DeleteFunc(slices.Clone(out[n:]), func(o *object.Object) bool { return have[o.Ref] })...)
	}
	return out
}

// vote counts the address of an object whose path is in the tree.
func (w *side) vote(o *object.Object) {
	switch {
	case o.Ref.Group == argo && o.Ref.Kind == "Application":
		w.voteSources(o.At("spec"))
	case o.Ref.Group == argo && o.Ref.Kind == "ApplicationSet":
		w.voteSources(o.At("spec.template.spec"))
		w.voteGenerators(o.At("spec.generators"))
	case o.Ref.Group == fluxKustomize && o.Ref.Kind == "Kustomization":
		ref := o.At("spec.sourceRef")
		if dir, ok := cleanPath(o.Text("spec.path")); ok && w.isDir(dir) {
			if src := w.object(fluxSource, "GitRepository", or(ref.Field("namespace").Text(), o.Ref.Namespace), ref.Field("name").Text()); src != nil {
				w.addresses.vote(src.Text("spec.url"))
			}
		}
	case o.Ref.Group == fluxSource && o.Ref.Kind == "GitRepository":
		for _, k := range w.all {
			dir, ok := cleanPath(k.Text("spec.path"))
			if k.Ref.Group == fluxKustomize && k.Text("spec.sourceRef.name") == o.Ref.Name && ok && w.isDir(dir) {
				w.addresses.vote(o.Text("spec.url"))
			}
			if k.Ref.Group == fluxHelm && k.Text("spec.chart.spec.sourceRef.name") == o.Ref.Name {
				if dir, ok := cleanPath(k.Text("spec.chart.spec.chart")); ok && w.isDir(dir) {
					w.addresses.vote(o.Text("spec.url"))
				}
			}
		}
	case o.Ref.Group == fluxHelm && o.Ref.Kind == "HelmRelease":
		ref := o.At("spec.chart.spec.sourceRef")
		if dir, ok := cleanPath(o.Text("spec.chart.spec.chart")); ok && w.isDir(dir) {
			if src := w.object(fluxSource, "GitRepository", or(ref.Field("namespace").Text(), o.Ref.Namespace), ref.Field("name").Text()); src != nil {
				w.addresses.vote(src.Text("spec.url"))
			}
		}
	}
}

func (w *side) voteSources(spec object.Value) {
	sources := mapsOf(spec.Field("sources"))
	if one := spec.Field("source"); one.Exists() {
		sources = append(sources, plainMap(one))
	}
	for _, s := range sources {
		if at := text(s["path"]); at != "" && w.fits(at) {
			w.addresses.vote(text(s["repoURL"]))
		}
	}
}

// fits says whether a path that may have templates in it is that of a folder here.
func (w *side) fits(at string) bool {
	pattern, ok := cleanPath(simple.ReplaceAllString(at, "*"))
	if !ok || strings.HasPrefix(pattern, "*") {
		return false
	}
	for dir := range w.dirs {
		if glob(pattern, dir) {
			return true
		}
	}
	return false
}

func (w *side) voteGenerators(v object.Value) {
	for _, g := range v.Items() {
		git := g.Field("git")
		for _, field := range []string{"directories", "files"} {
			for _, d := range git.Field(field).Items() {
				pattern, _ := cleanPath(simple.ReplaceAllString(d.Field("path").Text(), "*"))
				match := func(name string) bool { return glob(pattern, name) }
				if w.fits(pattern) || slices.ContainsFunc(w.files, match) {
					w.addresses.vote(git.Field("repoURL").Text())
				}
			}
		}
		for _, kind := range []string{"matrix", "merge"} {
			w.voteGenerators(g.Field(kind).Field("generators"))
		}
	}
}
