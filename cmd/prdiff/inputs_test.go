package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// repositories are small ones of every kind of unit, by a name.
func repositories(t *testing.T) map[string]fstest.MapFS {
	t.Helper()
	out := map[string]fstest.MapFS{}
	projects, err := filepath.Glob("../../render/tanka/testdata/golden/*/input")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range projects {
		files := fstest.MapFS{}
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(name)
			rel, _ := filepath.Rel(dir, name)
			files[filepath.ToSlash(rel)] = &fstest.MapFile{Data: data}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(filepath.Dir(dir))] = files
	}
	layouts, err := filepath.Glob("../../render/gitops/testdata/layouts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range layouts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{}
		for _, f := range txtar.Parse(data).Files {
			if f.Name != "want" {
				files[f.Name] = &fstest.MapFile{Data: f.Data}
			}
		}
		out[filepath.Base(name)] = files
	}
	if len(out) < 60 {
		t.Fatalf("only %d repositories", len(out))
	}
	return out
}

// reads notes the files that are opened.
type reads struct {
	fstest.MapFS
	seen map[string]bool
}

func (r reads) Open(name string) (fs.File, error) {
	f, err := r.MapFS.Open(name)
	if err == nil {
		if info, statErr := f.Stat(); statErr == nil && !info.IsDir() {
			r.seen[name] = true
		}
	}
	return f, err
}

// newSide is a side of a tree without a configuration, all renderers on, with
// its units found.
func newSide(t *testing.T, fsys fs.FS) side {
	t.Helper()
	s := side{tree: source.NewTree("x", fsys)}
	all := func(string) bool { return true }
	if err := s.setUp(all, nil, nil); err != nil {
		t.Fatal(err)
	}
	c := comparison{jobs: 1}
	if err := s.walk(t.Context(), 1, all, nil, c.renderSide, nil, nil); err != nil {
		t.Fatal(err)
	}
	s.rendered = nil // rendered anew, for seeing what that reads
	return s
}

// outcome is all that a unit renders to, as text that can be compared.
func outcome(ctx context.Context, s side, u render.Unit) string {
	out, err := s.render(ctx, u)
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	for _, p := range out.Parts {
		fmt.Fprintf(&b, "part %s\n", p.Name)
		for _, o := range p.Objects {
			b.Write(o.AppendWire(nil))
		}
	}
	for _, p := range out.Problems {
		fmt.Fprintf(&b, "problem %v\n", p)
	}
	fmt.Fprint(&b, out.Notes, out.Partial)
	return b.String()
}

// TestInputsCoverWhatIsRead renders every unit of the repositories and looks
// whether it opens a file that is not among its inputs: a change of such a file
// would be taken for none.
func TestInputsCoverWhatIsRead(t *testing.T) {
	units := 0
	for name, files := range repositories(t) {
		t.Run(name, func(t *testing.T) {
			found := newSide(t, files)
			for _, u := range found.found.Units {
				units++
				in, err := found.inputs(u)
				if err != nil || in.Unknown != "" {
					continue // then it is always rendered
				}
				r := reads{files, map[string]bool{}}
				s := newSide(t, r)
				clear(r.seen)
				outcome(t.Context(), s, u)
				for _, file := range slices.Sorted(maps.Keys(r.seen)) {
					if in.Touched([]string{file}) == "" && !readToFind(u, file) {
						t.Errorf("%s %s reads %s, which is not among its inputs %v", u.Renderer, u.Name(), file, in)
					}
				}
			}
		})
	}
	if units < 60 {
		t.Errorf("only %d units", units)
	}
}

// readToFind says that a file was only looked at to see whose it is.
func readToFind(u render.Unit, _ string) bool { return u.Renderer == "plain" }

// TestAFileThatAppearsIsNoticed adds to the repositories, one at a time, files
// with names that their units read, in every folder: where a unit then renders to
// something else, it must not have been taken for unchanged.
func TestAFileThatAppearsIsNoticed(t *testing.T) {
	differed := 0
	for name, files := range repositories(t) {
		t.Run(name, func(t *testing.T) {
			base := newSide(t, files)
			want := map[render.Unit]string{}
			bases := map[string]bool{"spec.json": true, "main.jsonnet": true, "jsonnetfile.json": true, "tkrc.yaml": true, "kustomization.yaml": true, "Chart.yaml": true, "values.yaml": true}
			folders := map[string]bool{"lib": true, "vendor": true}
			for _, u := range base.found.Units {
				want[u] = outcome(t.Context(), base, u)
				for _, file := range slices.Concat(filesOf(base, u), []string{u.Path + "/x"}) {
					bases[path.Base(file)] = true
					for dir := path.Dir(file); ; dir = path.Dir(dir) {
						folders[dir], folders[path.Join(dir, "lib")], folders[path.Join(dir, "vendor")] = true, true, true
						if dir == "." {
							break
						}
					}
				}
			}
			tried := 0
			for _, dir := range slices.Sorted(maps.Keys(folders)) {
				for _, b := range slices.Sorted(maps.Keys(bases)) {
					file := path.Join(dir, b)
					if _, there := files[file]; there || !fs.ValidPath(file) || !canAdd(files, file) {
						continue
					}
					// All places of small repositories, and some of large ones.
					if tried++; len(folders)*len(bases) > 100 && tried%11 != 0 {
						continue
					}
					more := maps.Clone(files)
					more[file] = &fstest.MapFile{Data: []byte(shadow(b))}
					head := side{tree: source.NewTree("x", more)}
					if err := head.setUp(func(string) bool { return true }, nil, nil); err != nil {
						t.Fatal(err)
					}
					head.found, head.definitions = base.found, base.definitions
					for u, before := range want {
						if u.Renderer == "plain" {
							continue // finding says what its files are
						}
						if same, _ := sameInputs(base, head, u, newPathSet([]string{file})); !same {
							continue
						}
						if after := outcome(t.Context(), head, u); after != before {
							t.Errorf("%s in %s changes %s %s, which is taken for unchanged:\n%.300s\n%.300s", file, name, u.Renderer, u.Name(), before, after)
						}
					}
					differed++
				}
			}
		})
	}
	if differed < 300 {
		t.Errorf("only %d files were tried", differed)
	}
}

func filesOf(s side, u render.Unit) []string {
	in, err := s.inputs(u)
	if err != nil {
		return nil
	}
	return in.Files
}

// canAdd says that no part of a name is a file already, and the name no folder.
func canAdd(files fstest.MapFS, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := files[dir]; ok {
			return false
		}
	}
	_, err := fs.Stat(files, name)
	return errors.Is(err, fs.ErrNotExist)
}

// shadow is content for a file of that name which says where it comes from.
func shadow(base string) string {
	switch path.Ext(base) {
	case ".jsonnet", ".libsonnet":
		return "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shadow' } }"
	case ".json":
		return `{"spec": {"namespace": "shadow"}, "shadow": true}`
	}
	return "shadow: true\n"
}
