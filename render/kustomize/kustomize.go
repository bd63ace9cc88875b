// Package kustomize renders Kustomize overlays with kustomize's own krusty
// library on a source tree: no checkout, no program, no network, no plugins. It
// is the only package that imports kustomize.
package kustomize

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// Options tunes the renderer; the zero value is what `kustomize build` does.
type Options struct {
	// Unrestricted lets a kustomization read files above its own folder, as
	// --load-restrictor=LoadRestrictionsNone and Flux do. Never outside the tree.
	Unrestricted bool
}

// A Renderer renders the kustomizations of a tree that no other one uses.
type Renderer struct{ opts Options }

// New makes a renderer.
func New(opts Options) *Renderer { return &Renderer{opts} }

// Name is "kustomize".
func (*Renderer) Name() string { return "kustomize" }

// Inputs follows everything that the kustomization names, without building it.
func (r *Renderer) Inputs(t *source.Tree, u render.Unit) (render.Inputs, error) {
	return scanFolder(t, u.Path).inputs(), nil
}

func (s *scan) inputs() render.Inputs {
	in := render.Inputs{Files: s.files, Dirs: s.dirs, Missing: s.missing}
	if len(s.built) > 0 {
		in.Unknown = s.built[0] + ": builds generators or transformers, which may read any file"
	}
	return in
}

// Render builds one overlay. What it names and the repository does not have makes
// the output partial: the rest is there.
func (r *Renderer) Render(ctx context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out, err := scanFolder(t, u.Path).render(u.Name(), u.Path, r.opts, nil)
	if err == nil && path.Base(u.Path) == "base" {
		out.Notes = append(out.Notes, "base, nothing uses it")
	}
	return out, err
}

// render builds the folder that s scanned to objects of unit. Each, if not nil,
// may replace an object before it is read.
func (s *scan) render(unit, dir string, opts Options, each func(map[string]any) (map[string]any, error)) (*render.Output, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	out := &render.Output{Partial: s.needed()}
	for file := range s.secretGenerators {
		out.Notes = append(out.Notes, file+": built without what this generator decrypts")
	}
	slices.Sort(out.Notes)
	extra, notes, err := s.inflate()
	if err != nil {
		return nil, err
	}
	out.Notes = append(out.Notes, notes...)
	m, err := s.build(dir, extra, opts)
	if err != nil && out.Partial != "" {
		// Patches for what is not there fail the rest: compare it as it is written.
		out.Parts = []render.Part{{Name: unit, Objects: s.asWritten(unit)}}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	origins := s.origins()
	part := render.Part{Name: unit}
	for _, res := range m.Resources() {
		manifest, err := res.Map()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", dir, res.CurId(), err)
		}
		if each != nil {
			if manifest, err = each(manifest); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", dir, res.CurId(), err)
			}
		}
		id := res.OrgId()
		at, ok := origins[originKey{id.Kind, id.Name}]
		if !ok {
			at = object.Origin{Path: s.names[dir]}
		}
		o, err := object.New(unit, at, manifest)
		if err != nil {
			return nil, err
		}
		part.Objects = append(part.Objects, o)
	}
	if out.Partial != "" {
		part.Objects = append(part.Objects, s.kustomizations(unit)...)
	}
	out.Parts = []render.Part{part}
	return out, nil
}

// err gives what stands against building at all, nil when nothing does.
func (s *scan) err() error {
	if len(s.errs) > 0 {
		return errors.Join(slices.Concat(s.errs, s.absent)...)
	}
	if len(s.absent) > 0 {
		return &render.SkipError{Reason: errors.Join(s.absent...).Error(), Mistake: true}
	}
	return nil
}

// asWritten gives the objects of all resource files before anything is done to
// them, and the kustomization files.
func (s *scan) asWritten(unit string) []*object.Object {
	var out []*object.Object
	for _, dir := range s.order {
		for _, name := range s.visited[dir].Resources {
			at := path.Join(dir, name)
			data, err := s.tree.ReadFile(at)
			if err != nil {
				continue // a folder, or not in the repository
			}
			objects, _ := object.Parse(unit, at, data)
			out = append(out, objects...)
		}
	}
	return append(out, s.kustomizations(unit)...)
}

// kustomizations gives the kustomization files themselves as objects, so that a
// change of what is not rendered, such as the version of a remote base, is one that
// can be seen. Values files of charts are part of them.
func (s *scan) kustomizations(unit string) []*object.Object {
	var out []*object.Object
	for _, dir := range s.order {
		if !slices.ContainsFunc(s.needs, func(n need) bool { return n.dir == dir }) {
			continue
		}
		var whole map[string]any
		data, err := s.tree.ReadFile(s.names[dir])
		if err != nil || yaml.Unmarshal(data, &whole) != nil || whole == nil {
			continue
		}
		whole["apiVersion"], whole["kind"] = "kustomize.config.k8s.io/v1beta1", "Kustomization"
		whole["metadata"] = map[string]any{"name": dir}
		charts, _ := whole["helmCharts"].([]any)
		for _, c := range charts {
			if chart, ok := c.(map[string]any); ok {
				s.addValues(dir, chart)
			}
		}
		if o, err := object.New(unit, object.Origin{Path: s.names[dir]}, whole); err == nil {
			out = append(out, o)
		}
	}
	return out
}

// addValues adds the content of a chart's values files to its entry.
func (s *scan) addValues(dir string, chart map[string]any) {
	add := func(v any) {
		name, _ := v.(string)
		var values map[string]any
		data, err := s.tree.ReadFile(path.Join(dir, name))
		if name == "" || err != nil || yaml.Unmarshal(data, &values) != nil {
			return
		}
		inFiles, _ := chart["valuesInFiles"].(map[string]any)
		if inFiles == nil {
			inFiles = map[string]any{}
		}
		inFiles[name] = values
		chart["valuesInFiles"] = inFiles
	}
	add(chart["valuesFile"])
	more, _ := chart["additionalValuesFiles"].([]any)
	for _, v := range more {
		add(v)
	}
}

// An originKey is what an object was called before kustomize renamed it.
type originKey struct{ kind, name string }

// origins gives the place of every object that the scan's files hold or
// generators make, so that a report can point at it. Where two have one kind and
// name, as a base and a patch may, the first resource counts.
func (s *scan) origins() map[originKey]object.Origin {
	out := map[originKey]object.Origin{}
	add := func(kind, name string, at object.Origin) {
		if _, ok := out[originKey{kind, name}]; !ok {
			out[originKey{kind, name}] = at
		}
	}
	for _, dir := range s.order {
		k := s.visited[dir]
		for _, name := range k.Resources {
			at := path.Join(dir, name)
			data, err := s.tree.ReadFile(at)
			if err != nil {
				continue // a folder, which the scan visits by itself
			}
			objects, _ := object.Parse("", at, data) // building says what is wrong with the file
			for _, o := range objects {
				add(o.Ref.Kind, o.Ref.Name, o.Origin)
			}
		}
		for _, g := range k.ConfigMapGenerator {
			add("ConfigMap", g.Name, object.Origin{Path: s.names[dir]})
		}
		for _, g := range k.SecretGenerator {
			add("Secret", g.Name, object.Origin{Path: s.names[dir]})
		}
	}
	return out
}

// schemaLock keeps builds that name an OpenAPI schema from all others: kustomize
// holds one schema for the whole process.
var schemaLock sync.RWMutex

// Text builds the kustomization in dir and gives what `kustomize build` prints.
func Text(t *source.Tree, dir string) (string, error) {
	s := scanFolder(t, dir)
	if len(s.errs)+len(s.absent)+len(s.needs) > 0 {
		errs := slices.Concat(s.errs, s.absent)
		for _, n := range s.needs {
			errs = append(errs, errors.New(n.text))
		}
		return "", errors.Join(errs...)
	}
	extra, _, err := s.inflate()
	if err != nil {
		return "", err
	}
	m, err := s.build(dir, extra, Options{})
	if err != nil {
		return "", err
	}
	out, err := m.AsYaml()
	return string(out), err
}

// build runs kustomize on the folder that s scanned, which found nothing to refuse.
func (s *scan) build(dir string, extra map[string][]byte, opts Options) (m resmap.ResMap, err error) {
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.DisabledPluginConfig()
	if opts.Unrestricted {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	if s.openapi {
		schemaLock.Lock()
		defer schemaLock.Unlock()
		defer openapi.ResetOpenAPI()
		defer func() {
			// kustomize panics at a file that is no schema (kyaml/openapi.initSchema).
			if p := recover(); p != nil {
				m, err = nil, fmt.Errorf("%s: openapi.path: name a file with an OpenAPI schema, as `kustomize openapi fetch` prints it: %v", s.names[dir], p)
			}
		}()
	} else {
		schemaLock.RLock()
		defer schemaLock.RUnlock()
	}
	m, err = krusty.MakeKustomizer(options).Run(files{s.tree, extra}, "/"+strings.TrimPrefix(dir, "."))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.names[dir], relative(err))
	}
	return m, nil
}

// rooted matches the slash that begins a path in a message.
var rooted = regexp.MustCompile(`(^|[\s'"(])/(?:[^\s/])`)

// relative takes the leading slash off the paths in kustomize's messages: what
// it sees as the root is the root of the tree.
func relative(err error) error {
	text := rooted.ReplaceAllStringFunc(err.Error(), func(m string) string { return strings.Replace(m, "/", "", 1) })
	return errors.New(strings.TrimSpace(text))
}
