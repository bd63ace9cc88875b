package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {a: b}}\ndata: {x: '1'}\n"

func output(t testing.TB, manifests string) *render.Output {
	t.Helper()
	objects, errs := object.Parse("unit", "a.yaml", []byte(manifests))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	target, err := object.New("unit", object.Origin{Path: "spec.json"}, map[string]any{
		"apiVersion": "tanka.dev/v1alpha1", "kind": "Environment", "metadata": map[string]any{"name": "unit"}, "spec": map[string]any{"apiServer": "https://eu.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &render.Output{Parts: []render.Part{{Name: "empty"}, {Name: "unit", Objects: objects, Target: target}}, Notes: []string{"a note"}}
}

func open(t testing.TB, dir string, size int64) *Cache {
	t.Helper()
	c, err := Open(dir, size)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func equal(a, b *render.Output) bool {
	x, errX := encode(Key{}, a)
	y, errY := encode(Key{}, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// entries gives the files of a cache in byte order.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestWhatIsPutIsThereInTheNextRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	want := output(t, manifest)
	c := open(t, dir, 0)
	if _, ok := c.Get(Key{1}); ok {
		t.Error("there is something in an empty cache")
	}
	c.Put(Key{1}, want)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got, ok := open(t, dir, 0).Get(Key{1})
	if !ok || !equal(got, want) || got.Parts[1].Target.Text("spec.apiServer") != "https://eu.example" || got.Parts[0].Target != nil {
		t.Errorf("got %v, %v, want %v", got, ok, want)
	}
	if _, ok := open(t, dir, 0).Get(Key{2}); ok {
		t.Error("there is something under another key")
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is for others too: %v, %v", info, err)
	}
	var none *Cache
	none.Put(Key{1}, want)
	if _, ok := none.Get(Key{1}); ok || none.Close() != nil {
		t.Error("no cache holds something")
	}
}

func TestWhatIsNotKept(t *testing.T) {
	withProblem := output(t, manifest)
	withProblem.Problems = []render.Problem{{Path: "a", Err: errors.New("broken")}}
	partial := output(t, manifest)
	partial.Partial = "chart not rendered: it is remote"
	for name, out := range map[string]*render.Output{
		"a secret":            output(t, manifest+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2-hunter2}\n"),
		"a secret in base64":  output(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: aHVudGVyMi1odW50ZXIy}\n"),
		"a password in a URL": output(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {url: 'postgres://u:hunter2-hunter2@db/x'}\n"),
		"problems":            withProblem,
		"a part":              partial,
	} {
		dir := t.TempDir()
		c := open(t, dir, 0)
		c.Put(Key{1}, out)
		if _, ok := c.Get(Key{1}); ok {
			t.Errorf("%s is kept", name)
		}
		if left := entries(t, dir); len(left) > 0 {
			t.Errorf("%s: the folder has %v", name, left)
		}
	}
}

func TestADamagedEntryIsIgnoredAndWrittenAnew(t *testing.T) {
	want := output(t, manifest)
	whole, err := encode(Key{1}, want)
	if err != nil {
		t.Fatal(err)
	}
	others, err := encode(Key{2}, want)
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string][]byte{"empty": {}, "of another key": others, "of something else": []byte("hello"), "longer": append(slices.Clone(whole), 0)}
	for n := 1; n < len(whole); n += 7 {
		damages[fmt.Sprint("cut at ", n)] = whole[:n]
		turned := slices.Clone(whole)
		turned[n] ^= 1
		damages[fmt.Sprint("turned at ", n)] = turned
	}
	c := open(t, t.TempDir(), 0)
	for name, data := range damages {
		c.Put(Key{1}, want)
		if err := os.WriteFile(c.file(Key{1}), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Get(Key{1}); ok {
			t.Errorf("an entry that is %s gives %v", name, got)
		}
	}
	c.Put(Key{1}, want)
	if got, ok := c.Get(Key{1}); !ok || !equal(got, want) {
		t.Errorf("it is not written anew: %v, %v", got, ok)
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	dir := t.TempDir()
	want := output(t, manifest)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			c := open(t, dir, 4<<10)
			for i := range 200 {
				k := Key{byte(i % 20)}
				if got, ok := c.Get(k); ok && !equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				c.Put(k, want)
				if i%50 == 49 {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
}

func TestTheFolderIsTrimmedFromItsOldestEnd(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 0)
	out := output(t, manifest)
	for i := range 20 {
		c.Put(Key{byte(i)}, out)
		at := time.Now().Add(time.Duration(i-1000) * time.Hour)
		if err := os.Chtimes(c.file(Key{byte(i)}), at, at); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(c.file(Key{0}))
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "something of the user's")
	abandoned, fresh := filepath.Join(dir, temporary+"1"), filepath.Join(dir, temporary+"2")
	for _, name := range []string{foreign, abandoned, fresh} {
		if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-100 * time.Hour)
	if err := os.Chtimes(abandoned, long, long); err != nil {
		t.Fatal(err)
	}
	small := open(t, dir, 10*info.Size())
	if _, ok := small.Get(Key{3}); !ok { // used: no longer the oldest
		t.Fatal("an entry is missing")
	}
	small.Put(Key{100}, out)
	if err := small.Close(); err != nil {
		t.Fatal(err)
	}
	left := entries(t, dir)
	if len(left) != 9+2 { // nine tenths, and what is not an entry
		t.Errorf("%d files left: %v", len(left), left)
	}
	for _, k := range []Key{{100}, {19}, {3}} {
		if _, ok := small.Get(k); !ok {
			t.Errorf("entry %d is gone", k[0])
		}
	}
	for name, want := range map[string]bool{foreign: true, fresh: true, abandoned: false} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "cache"), 0); err == nil || !strings.Contains(err.Error(), "cache: ") {
		t.Errorf("got %v", err)
	}
}

func TestTheKeyFollowsEverythingThatCounts(t *testing.T) {
	files := func(change func(fstest.MapFS)) fstest.MapFS {
		f := fstest.MapFS{
			"main.jsonnet": {Data: []byte("{}")}, "lib/a.libsonnet": {Data: []byte("{}")}, "chart/Chart.yaml": {Data: []byte("name: c")}, "chart/t/x.yaml": {Data: []byte("x")},
			"link": {Data: []byte("main.jsonnet"), Mode: fs.ModeSymlink}, "unrelated": {Data: []byte("x")},
		}
		if change != nil {
			change(f)
		}
		return f
	}
	in := render.Inputs{Files: []string{"main.jsonnet", "lib/a.libsonnet", "link"}, Dirs: []string{"chart"}, Missing: []string{"vendor", "lib/b.libsonnet"}}
	unit := render.Unit{Renderer: "tanka", Path: "main.jsonnet"}
	key := func(program, settings string, u render.Unit, in render.Inputs, f fstest.MapFS) Key {
		k, ok := KeyOf(program, []byte(settings), source.NewTree("x", f), u, in)
		if !ok {
			t.Fatal("there is no key")
		}
		return k
	}
	base := key("1", "s", unit, in, files(nil))
	same := files(func(f fstest.MapFS) { f["unrelated"] = &fstest.MapFile{Data: []byte("y")} })
	if key("1", "s", unit, in, same) != base {
		t.Error("a file that is no input counts")
	}
	put := func(name, text string) fstest.MapFS {
		return files(func(f fstest.MapFS) { f[name] = &fstest.MapFile{Data: []byte(text)} })
	}
	others := map[string]Key{
		"the program":            key("2", "s", unit, in, files(nil)),
		"the settings":           key("1", "t", unit, in, files(nil)),
		"the renderer":           key("1", "s", render.Unit{Renderer: "jsonnet", Path: "main.jsonnet"}, in, files(nil)),
		"the path":               key("1", "s", render.Unit{Renderer: "tanka", Path: "."}, in, files(nil)),
		"the variant":            key("1", "s", render.Unit{Renderer: "tanka", Path: "main.jsonnet", Variant: "v"}, in, files(nil)),
		"a file":                 key("1", "s", unit, in, put("lib/a.libsonnet", "{a: 1}")),
		"a file that went":       key("1", "s", unit, in, files(func(f fstest.MapFS) { delete(f, "lib/a.libsonnet") })),
		"a file in a folder":     key("1", "s", unit, in, put("chart/t/x.yaml", "y")),
		"a new file in a folder": key("1", "s", unit, in, put("chart/t/y.yaml", "y")),
		"a folder that went":     key("1", "s", unit, in, files(func(f fstest.MapFS) { delete(f, "chart/Chart.yaml"); delete(f, "chart/t/x.yaml") })),
		"a file that shadows":    key("1", "s", unit, in, put("lib/b.libsonnet", "{}")),
		"a folder that shadows":  key("1", "s", unit, in, put("vendor/x", "{}")),
		"where a link leads": key("1", "s", unit, in, files(func(f fstest.MapFS) {
			f["link"] = &fstest.MapFile{Data: []byte("lib/a.libsonnet"), Mode: fs.ModeSymlink}
		})),
		"a list's end, and another": key("1", "s", unit, render.Inputs{Files: in.Files, Dirs: in.Dirs, Missing: []string{"vendorlib/b.libsonnet"}}, files(nil)),
	}
	seen := map[Key]string{base: "nothing"}
	for name, k := range others {
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s give one key", name, other)
		}
		seen[k] = name
	}
}

func TestNoKeyWhenTheInputsAreNotKnown(t *testing.T) {
	tree := source.NewTree("x", fstest.MapFS{
		"a": {Data: []byte("x")}, "dir/b": {Data: []byte("x")}, "chart/x": {Data: []byte("x")},
		"out": {Data: []byte("../x"), Mode: fs.ModeSymlink}, "chart/link": {Data: []byte("../dir"), Mode: fs.ModeSymlink},
	})
	for name, in := range map[string]render.Inputs{
		"not told":                      {Files: []string{"a"}, Unknown: "calls kustomizeBuild"},
		"a link that leads out":         {Files: []string{"out"}},
		"a folder behind a link in one": {Dirs: []string{"chart"}},
	} {
		if _, ok := KeyOf("1", nil, tree, render.Unit{}, in); ok {
			t.Errorf("%s: there is a key", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	data, err := encode(Key{}, output(f, manifest))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = decode(Key{}, data, &object.WireParts{}) })
}

func BenchmarkGet(b *testing.B) {
	var manifests strings.Builder
	for i := range 50 {
		fmt.Fprintf(&manifests, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d}\nspec: {replicas: 3, template: {spec: {containers: [{name: app, image: 'registry.example/app:%d', ports: [{containerPort: 80}]}]}}}\n", i, i)
	}
	c := open(b, b.TempDir(), 0)
	c.Put(Key{1}, output(b, manifests.String()))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Get(Key{1}); !ok {
			b.Fatal("gone")
		}
	}
}
