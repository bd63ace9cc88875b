package tanka

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/jsonnet"
	"github.com/prdiff/prdiff/render/kustomize"
)

// TestGolden runs every case of testdata/golden. A case is run, or named in
// outOfScope or instead (golden_expect_test.go) with the reason.
func TestGolden(t *testing.T) {
	sets, err := filepath.Glob("testdata/golden/*/cases")
	if err != nil || len(sets) == 0 {
		t.Fatalf("no golden sets found (%v)", err)
	}
	ran := map[string]int{}
	left := maps.Clone(outOfScope)
	for _, file := range sets {
		dir := filepath.Dir(file)
		set := filepath.Base(dir)
		for _, c := range readCases(t, dir) {
			id := set + "/" + c.name
			if _, ok := outOfScope[id]; ok {
				delete(left, id)
				ran["out of scope"]++
				continue
			}
			ran[c.verb]++
			t.Run(id, func(t *testing.T) { c.run(t, id) })
		}
	}
	for id := range left {
		t.Errorf("%s is listed as out of scope, but there is no such case", id)
	}
	for _, verb := range []string{"show", "export", "eval", "env list", "tool jpath", "tool imports", "tool importers"} {
		if ran[verb] == 0 {
			t.Errorf("no case of tk %s was run", verb)
		}
	}
	t.Logf("cases: %v", ran)
}

func (c *goldenCase) run(t *testing.T, id string) {
	r := &Renderer{Engine: &jsonnet.Engine{Natives: natives}, Options: func(string) Options { return c.options() }}
	tree := source.NewTree("golden", os.DirFS(c.root))
	var err error
	switch c.verb {
	case "show":
		err = c.show(t, r, tree)
	case "export":
		err = c.export(t, r, tree)
	case "eval":
		err = c.eval(t, r, tree)
	case "env list":
		err = c.list(t, r, tree)
	case "tool jpath":
		err = c.jpath(t, r, tree)
	case "tool imports":
		err = c.imports(t, r, tree)
	case "tool importers":
		err = c.importers(t, id, r, tree)
	default:
		t.Fatalf("no runner for tk %s", c.verb)
	}
	want, mustFail := refused[id]
	exit := strings.TrimSpace(string(c.read(t, "exit")))
	if reason, ok := stricter[id]; ok {
		if exit == "1" || err == nil || !strings.Contains(err.Error(), reason) {
			t.Fatalf("refused on purpose (%s), got error %v, tk's status %s", reason, err, exit)
		}
		return
	}
	if reason, ok := accepted[id]; ok {
		if exit == "0" || err != nil {
			t.Fatalf("accepted on purpose (%s), got error %v, tk's status %s", reason, err, exit)
		}
		return
	}
	if (exit == "1") != mustFail {
		t.Fatalf("tk's status is %s, and the texts of its error are listed: %v (got error: %v)", exit, mustFail, err)
	}
	if !mustFail {
		if err != nil {
			t.Fatalf("error %v, tk accepts it", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("no error, tk refuses it: %s", c.read(t, "stderr"))
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want it to say %q", err, text)
		}
	}
	if strings.Contains(err.Error(), "goroutine ") || strings.Contains(err.Error(), "golden") {
		t.Errorf("error %q shows a path of the machine or a stack", err)
	}
	t.Log(err)
}

// natives render charts and kustomizations in process, as the program does.
var natives = jsonnet.Natives{
	Helm: func(_ context.Context, call jsonnet.HelmCall) (string, error) {
		text, _, err := helm.Text(call.Tree, call.Chart, helm.Release{
			Name: call.Release, Namespace: call.Namespace, Values: call.Values, KubeVersion: call.KubeVersion,
			APIVersions: call.APIVersions, IncludeCRDs: call.IncludeCRDs, SkipTests: call.SkipTests, NoHooks: call.NoHooks,
		})
		return text, err
	},
	Kustomize: func(_ context.Context, call jsonnet.KustomizeCall) (string, error) {
		return kustomize.Text(call.Tree, call.Path)
	},
}

// read gives a file of the expected folder, nothing when it is not there.
func (c *goldenCase) read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.expected, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}

func (c *goldenCase) show(t *testing.T, r *Renderer, tree *source.Tree) error {
	manifests, err := r.Show(context.Background(), tree, c.args[0], c.options())
	if err != nil {
		return err
	}
	got, err := Print(manifests)
	if err != nil {
		t.Fatal(err)
	}
	want := c.read(t, "stdout")
	if !bytes.Equal(got, want) {
		t.Errorf("printed:\n%s\nwant:\n%s", got, want)
	}
	sameObjects(t, manifests, decode(t, want))
	return nil
}

// export compares the objects, not how tk names their files.
func (c *goldenCase) export(t *testing.T, r *Renderer, tree *source.Tree) error {
	manifests, err := c.exported(r, tree)
	if err != nil || accepted[c.set+"/"+c.name] != "" {
		return err
	}
	var want []any
	err = fs.WalkDir(os.DirFS(filepath.Join(c.expected)), "out", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == "out" || err == nil && (d.IsDir() || d.Name() == "manifest.json") {
			return nil
		}
		if err != nil {
			return err
		}
		want = append(want, decode(t, c.read(t, name))...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	byText := func(a, b string) int { return strings.Compare(a, b) }
	got := texts(t, manifestsData(manifests))
	slices.SortFunc(got, byText)
	wanted := texts(t, want)
	slices.SortFunc(wanted, byText)
	if !slices.Equal(got, wanted) {
		t.Errorf("objects:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
	return nil
}

func (c *goldenCase) exported(r *Renderer, tree *source.Tree) ([]jsonnet.Manifest, error) {
	if !c.has("recursive") {
		return r.Show(context.Background(), tree, c.args[1], c.options())
	}
	var out []jsonnet.Manifest
	for _, root := range c.args[1:] {
		for _, file := range mainFiles(tree, root) {
			l, err := newLoader(context.Background(), r.Engine.On(tree), file, c.options())
			if err != nil {
				return nil, err
			}
			envs, err := l.all()
			if err != nil {
				return nil, err
			}
			for _, e := range envs {
				if e.err != nil {
					return nil, e.err
				}
				manifests, err := l.process(e)
				if err != nil {
					return nil, err
				}
				out = append(out, manifests...)
			}
			l.close()
		}
	}
	return out, nil
}

func mainFiles(tree *source.Tree, root string) []string {
	if info, err := tree.Lstat(path.Clean(root)); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return nil // links to folders are not followed
	}
	var out []string
	fs.WalkDir(tree, path.Clean(root), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == mainFile {
			out = append(out, name)
		}
		return nil
	})
	return out
}

func (c *goldenCase) eval(t *testing.T, r *Renderer, tree *source.Tree) error {
	value, err := r.Eval(context.Background(), tree, c.args[0], c.flag("eval"), c.options())
	if err != nil {
		return err
	}
	got, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if want := c.read(t, "stdout"); !bytes.Equal(got, want) {
		t.Errorf("value:\n%s\nwant:\n%s", got, want)
	}
	return nil
}

func (c *goldenCase) list(t *testing.T, r *Renderer, tree *source.Tree) error {
	root := "."
	if len(c.args) > 0 {
		root = c.args[0]
	}
	envs := []Environment{}
	for _, file := range mainFiles(tree, root) {
		l, err := newLoader(context.Background(), r.Engine.On(tree), file, c.options())
		if err != nil {
			return err
		}
		list := []Environment{l.static}
		if !l.project.static {
			if list, err = l.list(); err != nil {
				return err
			}
		}
		for _, e := range list {
			if l.selects.Matches(labelSet(e)) {
				envs = append(envs, e)
			}
		}
		l.close()
	}
	slices.SortStableFunc(envs, func(a, b Environment) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	var got bytes.Buffer
	switch {
	case c.has("json"):
		b, err := json.Marshal(envs)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s\n", b)
	case c.has("names"):
		for _, e := range envs {
			fmt.Fprintln(&got, e.Metadata.Name)
		}
	default:
		// Compare words; how wide the columns are is no concern of ours.
		for _, e := range envs {
			fmt.Fprintln(&got, e.Metadata.Name, e.Spec.Namespace, e.Spec.APIServer)
		}
		_, rows, _ := strings.Cut(string(c.read(t, "stdout")), "\n")
		if want := strings.Fields(rows); !slices.Equal(strings.Fields(got.String()), want) {
			t.Errorf("environments:\n%s\nwant:\n%s", got.String(), rows)
		}
		return nil
	}
	if want := c.read(t, "stdout"); strings.TrimSpace(got.String()) != strings.TrimSpace(string(want)) {
		t.Errorf("environments:\n%s\nwant:\n%s", got.String(), want)
	}
	return nil
}

func (c *goldenCase) jpath(t *testing.T, r *Renderer, tree *source.Tree) error {
	p, err := locate(r.Engine.On(tree), c.args[0])
	if err != nil {
		return err
	}
	search := p.search()
	slices.Reverse(search)
	for i, s := range search {
		search[i] = path.Join("<ROOT>", s)
	}
	if got, want := strings.Join(search, ":"), strings.TrimSpace(string(c.read(t, "stdout"))); got != want {
		t.Errorf("search path %q, want %q", got, want)
	}
	return nil
}

// imports demands all that tk lists, and beyond that only what tk leaves out.
func (c *goldenCase) imports(t *testing.T, r *Renderer, tree *source.Tree) error {
	in, err := r.Inputs(tree, render.Unit{Renderer: "tanka", Path: c.args[0]})
	if err != nil {
		return err
	}
	var want []string
	if err := json.Unmarshal(c.read(t, "stdout"), &want); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range in.Files {
		switch path.Base(f) {
		case specFile, packageFile, "blob.bin": // files that decide, and importbin
		default:
			got = append(got, f)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("inputs = %v, want %v", got, want)
	}
	return nil
}

// importers asks which environments a change of the files touches.
func (c *goldenCase) importers(t *testing.T, id string, r *Renderer, tree *source.Tree) error {
	var changed []string
	for _, arg := range c.args {
		changed = append(changed, strings.TrimPrefix(arg, "deleted:"))
	}
	var got []string
	for _, file := range mainFiles(tree, ".") {
		in, err := r.Inputs(tree, render.Unit{Renderer: "tanka", Path: path.Dir(file)})
		if err != nil {
			return err
		}
		if in.Touched(changed) != "" {
			got = append(got, "<ROOT>/"+file)
		}
	}
	want := strings.Fields(string(c.read(t, "stdout")))
	if better, ok := touches[id]; ok {
		want = better.mains
	}
	if !slices.Equal(got, want) {
		t.Errorf("touched = %v, want %v", got, want)
	}
	return nil
}

func manifestsData(manifests []jsonnet.Manifest) []any {
	var out []any
	for _, m := range manifests {
		out = append(out, m.Data)
	}
	return out
}

// decode reads expected YAML to the types of encoding/json.
func decode(t *testing.T, data []byte) []any {
	t.Helper()
	var out []any
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc map[string]any
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, plain(doc))
	}
}

func plain(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, item := range x {
			x[k] = plain(item)
		}
		return x
	case map[any]any:
		out := map[string]any{}
		for k, item := range x {
			out[fmt.Sprint(k)] = plain(item)
		}
		return out
	case []any:
		for i, item := range x {
			x[i] = plain(item)
		}
		return x
	case int:
		return float64(x)
	case int64:
		return float64(x)
	}
	return v
}

// texts gives each object as JSON.
func texts(t *testing.T, objects []any) []string {
	t.Helper()
	var out []string
	for _, o := range objects {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		// The reader of the expected YAML makes a whole number of -0.
		out = append(out, strings.ReplaceAll(string(b), ":-0,", ":0,"))
	}
	return out
}

// sameObjects compares manifests with expected ones as Kubernetes objects, in order.
func sameObjects(t *testing.T, manifests []jsonnet.Manifest, want []any) {
	t.Helper()
	var wanted []jsonnet.Manifest
	for _, w := range want {
		wanted = append(wanted, jsonnet.Manifest{Data: w.(map[string]any)})
	}
	gotObjects, problems := jsonnet.Objects("unit", "main.jsonnet", manifests)
	wantObjects, _ := jsonnet.Objects("unit", "main.jsonnet", wanted)
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	if len(gotObjects) != len(wantObjects) {
		t.Fatalf("%d objects, want %d", len(gotObjects), len(wantObjects))
	}
	for i, o := range gotObjects {
		if o.Ref != wantObjects[i].Ref || !o.Root().Equal(wantObjects[i].Root()) {
			t.Errorf("object %d is %v:\n%v\nwant %v:\n%v", i, o.Ref, o.Root(), wantObjects[i].Ref, wantObjects[i].Root())
		}
	}
}

func labelSet(e Environment) labelMap { return labelMap(e.Metadata.Labels) }

type labelMap map[string]string

func (m labelMap) Has(k string) bool              { _, ok := m[k]; return ok }
func (m labelMap) Get(k string) string            { return m[k] }
func (m labelMap) Lookup(k string) (string, bool) { v, ok := m[k]; return v, ok }
