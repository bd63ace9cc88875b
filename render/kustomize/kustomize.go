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

// Find proposes the roots: kustomizations that no other one in the tree names
// and that are not components. What lies in folders that are not deployed by
// their name gives no units, and does not count as a user of others.
func (r *Renderer) Find(t *source.Tree) (render.Found, error) {
	var found render.Found
	files, err := t.Files(".")
	if err != nil {
		return found, err
	}
	exists := func(dir string) bool {
		info, err := t.Stat(dir)
		return err == nil && info.IsDir()
	}
	var dirs []string
	for _, f := range files {
		if slices.Contains(fileNames, path.Base(f)) && !render.Vendored(path.Dir(f)) && !slices.Contains(dirs, path.Dir(f)) {
			dirs = append(dirs, path.Dir(f))
		}
	}
	used := map[string]bool{}
	kinds := map[string]*kustomization{}
	for _, dir := range dirs {
		k, file, _, err := readKustomization(t, dir)
		if err == nil && strings.HasPrefix(k.APIVersion, "kustomize.toolkit.fluxcd.io/") {
			continue // a Flux object under an unlucky name: a plain manifest
		}
		if file != "" {
			found.Claims = append(found.Claims, file)
		}
		kinds[dir] = k
		if err != nil {
			continue
		}
		deployed := render.NotDeployedAmong(dir, exists) == ""
		for _, ref := range k.refs() {
			at := path.Join(dir, ref.value)
			if remote.MatchString(ref.value) || ref.inline && strings.ContainsAny(ref.value, "\n{") {
				continue
			}
			info, err := t.Stat(at)
			if err != nil {
				continue
			}
			if !info.IsDir() {
				found.Claims = append(found.Claims, at)
			} else if deployed && ref.folder {
				used[at] = true
			}
		}
		_, charts := k.allCharts(dir)
		found.Claims = append(found.Claims, charts...)
	}
	for _, dir := range dirs {
		k := kinds[dir]
		switch {
		case k == nil || used[dir]:
		case k.Kind == "Component":
			found.Skipped = append(found.Skipped, render.Skipped{Path: dir, Reason: "component, used by no overlay"})
		default:
			if reason := render.NotDeployedAmong(dir, exists); reason != "" {
				found.Skipped = append(found.Skipped, render.Skipped{Path: dir, Reason: reason})
				continue
			}
			found.Units = append(found.Units, render.Unit{Renderer: r.Name(), Path: dir})
		}
	}
	slices.Sort(found.Claims)
	found.Claims = slices.Compact(found.Claims)
	return found, nil
}

// Inputs follows everything that the kustomization names, without building it.
func (r *Renderer) Inputs(t *source.Tree, u render.Unit) (render.Inputs, error) {
	s := scanFolder(t, u.Path)
	return render.Inputs{Files: s.files, Dirs: s.dirs, Missing: s.missing}, nil
}

// Render builds one overlay.
func (r *Renderer) Render(ctx context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := scanFolder(t, u.Path)
	if len(s.errs) > 0 {
		return nil, errors.Join(s.errs...)
	}
	extra, notes, err := s.inflate()
	if err != nil {
		return nil, err
	}
	m, err := s.build(u.Path, extra, r.opts)
	if err != nil {
		return nil, err
	}
	origins := s.origins()
	part := render.Part{Name: u.Name()}
	for _, res := range m.Resources() {
		manifest, err := res.Map()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", u.Path, res.CurId(), err)
		}
		id := res.OrgId()
		at, ok := origins[originKey{id.Kind, id.Name}]
		if !ok {
			at = object.Origin{Path: s.names[u.Path]}
		}
		o, err := object.New(u.Name(), at, manifest)
		if err != nil {
			return nil, err
		}
		part.Objects = append(part.Objects, o)
	}
	return &render.Output{Parts: []render.Part{part}, Notes: notes}, nil
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
	if len(s.errs) > 0 {
		return "", errors.Join(s.errs...)
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
func (s *scan) build(dir string, extra map[string][]byte, opts Options) (resmap.ResMap, error) {
	options := krusty.MakeDefaultOptions()
	options.PluginConfig = types.DisabledPluginConfig()
	if opts.Unrestricted {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	if s.openapi {
		schemaLock.Lock()
		defer schemaLock.Unlock()
		defer openapi.ResetOpenAPI()
	} else {
		schemaLock.RLock()
		defer schemaLock.RUnlock()
	}
	m, err := krusty.MakeKustomizer(options).Run(files{s.tree, extra}, "/"+strings.TrimPrefix(dir, "."))
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
