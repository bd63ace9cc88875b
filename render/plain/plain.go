// Package plain renders folders of Kubernetes manifests in YAML and JSON: the
// files that kubectl would be given as they are, and that no other engine reads.
package plain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// Options tunes the renderer; the zero value is the default.
type Options struct {
	// Include says that a folder is deployed although its name says test data,
	// example or the like. nil includes none.
	Include func(dir string) bool
}

// A Renderer makes a unit of each folder that has manifests directly in it. It
// implements render.Renderer. After Leave it is safe for concurrent use.
type Renderer struct {
	opts   Options
	claims claims

	mu    sync.Mutex
	scans map[*source.Tree]*scan
}

// New makes a renderer.
func New(opts Options) *Renderer { return &Renderer{opts: opts} }

// Name is "plain".
func (*Renderer) Name() string { return "plain" }

// Leave says which files and folders belong to other renderers. It is called
// before Find, with the claims of all of them.
func (r *Renderer) Leave(taken []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims = newClaims(taken)
	r.scans = nil
}

// scan sorts the files of a tree, once for each tree.
func (r *Renderer) scan(t *source.Tree) (*scan, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.scans[t]; s != nil {
		return s, nil
	}
	s, err := newScan(r, t)
	if err != nil {
		return nil, err
	}
	if r.scans == nil {
		r.scans = map[*source.Tree]*scan{}
	}
	r.scans[t] = s
	return s, nil
}

// Find proposes the folders with manifests, each without its sub-folders. What
// looks like manifests and is left out is in Skipped, with the reason.
func (r *Renderer) Find(t *source.Tree) (render.Found, error) {
	s, err := r.scan(t)
	if err != nil {
		return render.Found{}, err
	}
	var found render.Found
	for _, dir := range s.folders() {
		found.Units = append(found.Units, render.Unit{Renderer: r.Name(), Path: dir})
	}
	found.Skipped = s.reasons()
	return found, nil
}

// Inputs gives the files of the folder that would be read, with what links among
// them lead to. A file that appears is among the inputs of the other tree.
func (r *Renderer) Inputs(t *source.Tree, u render.Unit) (render.Inputs, error) {
	s, err := r.scan(t)
	if err != nil {
		return render.Inputs{}, err
	}
	names := s.plain[u.Path]
	in := render.Inputs{Files: slices.Clone(names)}
	for _, name := range names {
		if target, err := t.Resolve(name); err == nil && target != name {
			in.Files = append(in.Files, target)
		}
	}
	slices.Sort(in.Files)
	in.Files = slices.Compact(in.Files)
	for _, name := range kustomizationNames {
		in.Missing = append(in.Missing, path.Join(u.Path, name))
	}
	return in, nil
}

// Render reads the manifests of a folder, in the order of their file names. A
// document that cannot be read is a problem; the others are there all the same.
func (r *Renderer) Render(ctx context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	s, err := r.scan(t)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return Read(t, u.Path, s.plain[u.Path], nil), nil
}

// Files gives the files of a unit, in byte order, as Read takes them.
func (r *Renderer) Files(t *source.Tree, u render.Unit) ([]string, error) {
	s, err := r.scan(t)
	if err != nil {
		return nil, err
	}
	return slices.Clone(s.plain[u.Path]), nil
}

// Read reads manifests to one part, named like the unit, in the order of the
// files. Documents that are known, which may be nil, are not read again.
func Read(t *source.Tree, unit string, names []string, known *object.Documents) *render.Output {
	out := &render.Output{}
	part := render.Part{Name: unit}
	for _, name := range names {
		part.Objects = append(part.Objects, file(t, unit, name, known, out)...)
	}
	out.Parts = []render.Part{part}
	return out
}

// file reads one file, and notes what is wrong with it.
func file(t *source.Tree, unit, name string, known *object.Documents, out *render.Output) []*object.Object {
	data, err := t.View(name)
	if err != nil {
		out.Problems = append(out.Problems, render.Problem{Path: name, Err: err})
		return nil
	}
	parsed, errs := known.Parse(unit, name, data)
	objects := parsed[:0]
	for _, o := range parsed {
		if !clusterObject(o) {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: left out, not a cluster object: %s of %s", o.Origin, o.Ref.Kind, o.APIVersion()))
			continue
		}
		objects = append(objects, o)
	}
	for _, err := range errs {
		problem := render.Problem{Path: name, Err: err}
		var at *object.ParseError
		if errors.As(err, &at) {
			problem.Line, problem.Err = at.Line, at.Err
		}
		switch {
		case errors.Is(err, object.ErrDuplicateKey):
			// kubectl takes the last value without a word
			// (https://github.com/kubernetes/kubernetes/issues/14791).
			out.Notes = append(out.Notes, problem.Error())
		case errors.Is(err, object.ErrNotManifest) && len(objects) > 0:
			problem.Refused = digest(data, problem.Line)
			out.Problems = append(out.Problems, problem)
		case errors.Is(err, object.ErrNotManifest) && misspells(data):
			problem.Err = errors.New("no Kubernetes object: its keys are written apiVersion and kind")
			out.Problems = append(out.Problems, problem)
		case errors.Is(err, object.ErrNotManifest):
		case isToolFile(err):
			out.Notes = append(out.Notes, fmt.Sprintf("%s: left out, not a cluster object: %v", object.Origin{Path: name, Line: problem.Line}, problem.Err))
		default:
			out.Problems = append(out.Problems, problem)
		}
	}
	return objects
}

// digest stands for the document that begins at a line, comments below it included.
func digest(data []byte, line int) string {
	for range line - 1 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	if end := bytes.Index(data, []byte("\n---")); end >= 0 {
		data = data[:end]
	}
	sum := sha256.Sum256(bytes.TrimSpace(data))
	return hex.EncodeToString(sum[:8])
}

// linksInside says whether a file is a link to one that is read where it stands:
// then it is not read a second time.
func linksInside(t *source.Tree, name string) bool {
	target, err := t.Resolve(name)
	if err != nil || target == name {
		return false
	}
	return !render.Vendored(path.Dir(target)) && render.NotDeployed(path.Dir(target)) == "" && hasManifestName(path.Base(target))
}

// hasManifestName says whether a file's name ends as manifests do. A further
// suffix, such as .yaml.tmpl, makes it the template of another tool.
func hasManifestName(base string) bool {
	switch strings.ToLower(path.Ext(base)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// isTemplateName says whether the ending before .yaml says template.
func isTemplateName(base string) bool {
	base = strings.ToLower(strings.TrimSuffix(base, path.Ext(base)))
	for _, suffix := range []string{".tmpl", ".tpl", ".template", ".gotmpl", ".j2"} {
		if strings.HasSuffix(base, suffix) {
			return true
		}
	}
	return false
}

// claims are what other renderers take: files, and folders with all below them.
type claims struct {
	names map[string]bool
	dirs  map[string]string // every folder that has a claim in it, with the first one
}

func newClaims(taken []string) claims {
	c := claims{names: map[string]bool{}, dirs: map[string]string{}}
	for _, name := range taken {
		name = path.Clean(name)
		c.names[name] = true
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			if _, seen := c.dirs[dir]; seen {
				break
			}
			c.dirs[dir] = name
			if dir == "." {
				break
			}
		}
	}
	return c
}

// folder gives the nearest folder above name that is claimed whole, "" when none is.
func (c claims) folder(name string) string {
	for at := path.Dir(name); ; at = path.Dir(at) {
		if c.names[at] {
			return at
		}
		if at == "." || at == "/" {
			return ""
		}
	}
}

// has says whether name or a folder above it is claimed.
func (c claims) has(name string) bool {
	for at := name; ; at = path.Dir(at) {
		if c.names[at] {
			return true
		}
		if at == "." || at == "/" {
			return false
		}
	}
}
