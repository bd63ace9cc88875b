package gitops_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/find"
	"github.com/prdiff/prdiff/render/gitops"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/jsonnet"
	"github.com/prdiff/prdiff/render/kustomize"
	"github.com/prdiff/prdiff/render/plain"
	"github.com/prdiff/prdiff/render/tanka"
)

// TestLayouts finds the units of small repositories that are laid out as real ones
// are. Each file of testdata/layouts is one, with what is expected of it:
//
//	unit RENDERER NAME             a unit that renders (a part of one, where it has several)
//	skip RENDERER NAME: REASON     a unit that cannot be rendered here
//	fail RENDERER NAME: ERROR      a unit that must not be like that
//	skip PATH: REASON              what looks like a unit or a manifest and is none
//	object NAME: OBJECT [PATH=V]   an object of a unit, and a value in it
//	note NAME: TEXT                what is said beside a unit
//	reads RENDERER NAME: FILE      a file that touches a unit
//
// All units and all that is skipped must be listed; of the rest, what is listed
// must be there. @P@ stands for the folder that the whole is put in.
func TestLayouts(t *testing.T) {
	files, err := filepath.Glob("testdata/layouts/*.txtar")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d layouts, error %v: there are 40", len(files), err)
	}
	for _, file := range files {
		for _, prefix := range []string{"", "infra/"} {
			t.Run(strings.TrimSuffix(path.Base(file), ".txtar")+"/"+prefix, func(t *testing.T) {
				checkLayout(t, file, prefix)
			})
		}
	}
}

func checkLayout(t *testing.T, file, prefix string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, want := readLayout(t, txtar.Parse(data), prefix)
	got := look(t, tree)
	for _, line := range want {
		kind, rest, _ := strings.Cut(line, " ")
		lists := slices.Contains([]string{"unit", "skip", "fail"}, kind)
		i := slices.IndexFunc(got.lines, func(g string) bool { return strings.HasPrefix(g, line) })
		switch {
		case lists && i < 0:
			t.Errorf("lacks: %s", line)
		case lists:
			got.lines = slices.Delete(got.lines, i, i+1)
		case !slices.ContainsFunc(got.more, func(g string) bool {
			name, value, _ := strings.Cut(rest, ": ")
			return strings.HasPrefix(g, kind+" "+name+": ") && strings.Contains(g, value)
		}):
			t.Errorf("lacks: %s\namong:\n%s", line, strings.Join(got.more, "\n"))
		}
	}
	for _, line := range got.lines {
		t.Errorf("has too: %s", line)
	}
}

// readLayout makes a tree of an archive, and gives the expected lines.
func readLayout(t *testing.T, a *txtar.Archive, prefix string) (*source.Tree, []string) {
	t.Helper()
	fill := strings.NewReplacer("@P@.\n", path.Clean(prefix)+"\n", "@P@", prefix)
	fsys := fstest.MapFS{}
	var want []string
	for _, f := range a.Files {
		text := fill.Replace(string(f.Data))
		switch how, name, special := strings.Cut(f.Name, " "); {
		case f.Name == "want":
			want = strings.Split(strings.TrimSpace(text), "\n")
		case special && how == "link":
			fsys[prefix+name] = &fstest.MapFile{Data: []byte(strings.TrimSpace(text)), Mode: fs.ModeSymlink}
		case special && how == "escaped":
			raw, err := strconv.Unquote(strings.TrimSpace(text))
			if err != nil {
				t.Fatal(err)
			}
			fsys[prefix+name] = &fstest.MapFile{Data: []byte(raw)}
		default:
			fsys[prefix+f.Name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return source.NewTree("test", fsys), slices.DeleteFunc(want, func(l string) bool { return l == "" })
}

// A sight is what is found in a tree and what it renders to, as lines.
type sight struct{ lines, more []string }

func look(t *testing.T, tree *source.Tree) sight {
	t.Helper()
	s := newSide(tree)
	walked, err := gitops.Walk(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range walked.Failed {
		t.Errorf("finder %s: %v", f.Renderer, f.Err)
	}
	var out sight
	for _, sk := range walked.Skipped {
		out.lines = append(out.lines, fmt.Sprintf("skip %s: %s", sk.Path, sk.Reason))
	}
	for _, u := range walked.Units {
		out.unit(t, s, walked, u)
	}
	checkCoverage(t, s, walked)
	return out
}

func definition(w *gitops.Walked, u render.Unit) *gitops.Definition {
	if d, ok := w.Definitions[u]; ok {
		return &d
	}
	return nil
}

func (out *sight) unit(t *testing.T, s gitops.Side, w *gitops.Walked, u render.Unit) {
	t.Helper()
	head := u.Renderer + " " + u.Name()
	in, err := s.Inputs(u, definition(w, u))
	if err != nil {
		t.Errorf("inputs of %s: %v", head, err)
	}
	for _, f := range in.Files {
		out.more = append(out.more, "reads "+head+": "+f)
	}
	for _, dir := range in.Dirs {
		below, err := s.Tree.Files(dir)
		if err != nil {
			continue
		}
		for _, f := range below {
			out.more = append(out.more, "reads "+head+": "+f)
		}
	}
	rendered, err := s.Render(context.Background(), u, definition(w, u))
	var skip *render.SkipError
	switch {
	case errors.As(err, &skip):
		out.lines = append(out.lines, "skip "+head+": "+skip.Reason)
		return
	case err != nil:
		out.lines = append(out.lines, "fail "+head+": "+err.Error())
		return
	case rendered.Partial != "":
		out.lines = append(out.lines, "skip "+head+": "+rendered.Partial)
	default:
		for _, p := range rendered.Parts {
			out.lines = append(out.lines, "unit "+u.Renderer+" "+p.Name)
		}
	}
	for _, p := range rendered.Problems {
		out.lines = append(out.lines, "fail "+head+": "+p.Error())
	}
	for _, n := range rendered.Notes {
		out.more = append(out.more, "note "+u.Name()+": "+n)
	}
	for _, p := range rendered.Parts {
		for _, o := range p.Objects {
			out.more = append(out.more, fmt.Sprintf("object %s: %s", u.Name(), o.Ref))
			for _, at := range []string{"data.level", "data.a", "data.b", "spec.values.level", "spec.values.c"} {
				if v := o.At(at); v.Exists() {
					out.more = append(out.more, fmt.Sprintf("object %s: %s %s=%s", u.Name(), o.Ref, at, said(v)))
				}
			}
		}
	}
}

func said(v object.Value) string {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	return v.Text()
}

// checkCoverage holds the promise that every file with an object is read by a unit
// or left out with a reason.
func checkCoverage(t *testing.T, s gitops.Side, w *gitops.Walked) {
	t.Helper()
	names, err := s.Tree.Files(".")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	files := map[string]bool{}
	for _, u := range w.Units {
		in, err := s.Inputs(u, definition(w, u))
		if err != nil {
			continue
		}
		dirs = append(dirs, in.Dirs...)
		for _, f := range in.Files {
			files[f] = true
		}
	}
	for _, sk := range w.Skipped {
		dirs = append(dirs, sk.Path)
	}
	for _, name := range names {
		ext := path.Ext(name)
		if ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		data, err := s.Tree.ReadFile(name)
		if err != nil {
			continue
		}
		objects, _ := object.Parse("", name, data)
		covered := files[name] || slices.ContainsFunc(dirs, func(d string) bool { return d == "." || name == d || strings.HasPrefix(name, d+"/") })
		if path.Base(name) == "spec.json" || path.Base(name) == "kustomization.yaml" && len(objects) == 0 {
			continue
		}
		if len(objects) > 0 && !covered {
			t.Errorf("%s holds %s, is read by no unit and not left out", name, objects[0].Ref)
		}
	}
}

// newSide puts the renderers together as the program does.
func newSide(tree *source.Tree) gitops.Side {
	engine := &jsonnet.Engine{}
	renderers := []render.Renderer{
		&tanka.Renderer{Engine: engine}, &jsonnet.Renderer{Engine: engine, Discover: true},
		helm.New(helm.Options{}), kustomize.New(kustomize.Options{}), plain.New(plain.Options{}),
	}
	of := func(u render.Unit, d *gitops.Definition) (render.Renderer, render.Unit) {
		if d != nil {
			carried, err := d.Carry(u)
			if err != nil {
				panic(err)
			}
			return &gitops.Carrier{}, carried
		}
		return renderers[slices.IndexFunc(renderers, func(r render.Renderer) bool { return r.Name() == u.Renderer })], u
	}
	return gitops.Side{
		Tree: tree,
		Find: func(claimed ...string) find.Result { return find.Units(tree, renderers, claimed...) },
		Inputs: func(u render.Unit, d *gitops.Definition) (render.Inputs, error) {
			r, u := of(u, d)
			return r.Inputs(tree, u)
		},
		Render: func(ctx context.Context, u render.Unit, d *gitops.Definition) (*render.Output, error) {
			r, u := of(u, d)
			return r.Render(ctx, tree, u)
		},
	}
}
