package source

import (
	"context"
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
)

func TestTreeIsAFileSystem(t *testing.T) {
	r := newRepo(t)
	r.write("a/b/c.yaml", "c: 1\n")
	r.write("a/b-c", "x")
	r.write("a.yaml", "")
	r.write("top/deep/er/file", "y")
	r.link("b/c.yaml", "a/link")
	r.commit("one")
	r.write("untracked", "z")
	want := []string{"a/b/c.yaml", "a/b-c", "a.yaml", "top/deep/er/file", "a/link"}
	folder, err := openFolder(r.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for name, tree := range map[string]*Tree{
		"commit": r.tree("HEAD"), "working tree": r.tree(""), "folder": folder, "fs": NewTree("x", os.DirFS(r.dir)),
	} {
		t.Run(name, func(t *testing.T) {
			if err := fstest.TestFS(tree, want...); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestExportIgnoredFilesAreSeen(t *testing.T) {
	r := newRepo(t)
	r.write(".gitattributes", "secret.yaml export-ignore\nsubst.yaml export-subst\n")
	r.write("secret.yaml", "a: 1\n")
	r.write("subst.yaml", "a: $Format:%H$\n")
	r.commit("one")
	tree := r.tree("HEAD")
	checkRead(t, tree, "secret.yaml", "a: 1\n")
	checkRead(t, tree, "subst.yaml", "a: $Format:%H$\n")
}

func TestReplacementObjectsAreNotSeen(t *testing.T) {
	r := newRepo(t)
	r.write("a", "real\n")
	one := r.commit("one")
	r.write("a", "other\n")
	two := r.commit("two")
	r.git("replace", one, two)
	checkRead(t, r.tree(one), "a", "real\n")
}

var oddNames = []string{
	"-leading", "--output=x", "new\nline", "tab\there", `quo"te`, `back\slash`, "sp ace", "ünï", "日本.yaml",
	"*star", "[a]", ":(top)x", "a'b", "\xff\xfelatin", "dir with space/-x/ü", "%41", "trailing ",
}

func TestOddNames(t *testing.T) {
	r := newRepo(t)
	for i, name := range oddNames {
		r.write(name, fmt.Sprint(i))
	}
	one := r.commit("one")
	for i, name := range oddNames {
		r.write(name, fmt.Sprint(i, "changed"))
	}
	want := slices.Sorted(slices.Values(oddNames))
	s := r.open(one, "")
	checkChanged(t, s, want...)
	for _, tree := range []*Tree{base(t, s), head(t, s)} {
		got, err := tree.Files(".")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("Files of %s = %q, want %q", tree.Rev, got, want)
		}
	}
	for i, name := range oddNames {
		checkRead(t, base(t, s), name, fmt.Sprint(i))
		checkRead(t, head(t, s), name, fmt.Sprint(i, "changed"))
	}
}

func TestModesCount(t *testing.T) {
	r := newRepo(t)
	r.write("run.sh", "x")
	r.write("becomes-link", "target")
	one := r.commit("one")
	if err := os.Chmod(filepath.Join(r.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.dir, "becomes-link")); err != nil {
		t.Fatal(err)
	}
	r.link("target", "becomes-link")
	checkChanged(t, r.open(one, ""), "becomes-link", "run.sh")
	checkChanged(t, r.open(one, r.commit("two")), "becomes-link", "run.sh")
}

func TestSHA256Repository(t *testing.T) {
	r := newRepo(t, "--object-format=sha256")
	r.write("a", "1")
	r.write("b", "1")
	one := r.commit("one")
	r.write("a", "2")
	s := r.open(one, "")
	checkChanged(t, s, "a")
	checkRead(t, base(t, s), "a", "1")
	id, err := head(t, s).ID("a")
	if want := r.git("hash-object", "a"); err != nil || id != want {
		t.Errorf("ID = %q, %v, want %q", id, err, want)
	}
}

func TestSubfolderOfARepository(t *testing.T) {
	r := newRepo(t)
	r.write("env/prod/main.jsonnet", "{}")
	r.write("lib/x.libsonnet", "{}")
	one := r.commit("one")
	r.write("lib/x.libsonnet", "{a: 1}")
	sub := filepath.Join(r.dir, "env", "prod")
	s, err := Git(context.Background(), sub, one, "", r.options())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checkChanged(t, s, "lib/x.libsonnet")
	tree := base(t, s)
	if tree.Prefix != "env/prod" {
		t.Errorf("Prefix = %q, want env/prod", tree.Prefix)
	}
	other := t.TempDir()
	alias := filepath.Join(other, "alias")
	if err := os.Symlink(r.dir, alias); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, want string }{
		{"main.jsonnet", "env/prod/main.jsonnet"},
		{".", "env/prod"},
		{"../../lib", "lib"},
		{"../..", "."},
		{filepath.Join(r.dir, "lib"), "lib"},
		{filepath.Join(alias, "lib", "not-there"), "lib/not-there"},
		{r.dir, "."},
		{"../../..", "outside"},
		{"../../../repo-x", "outside"},
		{other, "outside"},
		{"/etc/passwd", "outside"},
	} {
		got, err := tree.Name(test.path)
		if test.want == "outside" {
			wantError(t, err, "outside the repository", nil)
		} else if err != nil || got != test.want {
			t.Errorf("Name(%q) = %q, %v, want %q", test.path, got, err, test.want)
		}
	}
}

func TestOpenAFile(t *testing.T) {
	r := newRepo(t)
	r.write("env/a.yaml", "a: 1\n")
	r.commit("one")
	for _, rev := range []string{"", "HEAD"} {
		tree, err := Open(context.Background(), filepath.Join(r.dir, "env/a.yaml"), rev, r.options())
		if err != nil {
			t.Fatal(err)
		}
		if tree.Prefix != "env/a.yaml" {
			t.Errorf("Prefix = %q, want env/a.yaml", tree.Prefix)
		}
		checkRead(t, tree, tree.Prefix, "a: 1\n")
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSubmodulesAreNamed(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	r.commit("zero")
	id := r.git("rev-parse", "HEAD")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+id+",vendor/lib")
	r.git("commit", "-qm", "one")
	one := r.git("rev-parse", "HEAD")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+one+",vendor/lib")
	r.git("commit", "-qm", "two")
	r.link("vendor/lib/charts", "charts")
	if err := os.MkdirAll(filepath.Join(r.dir, "vendor/lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	two := r.commit("three")

	s := r.open(one, two)
	checkChanged(t, s, "charts", "vendor/lib")
	for _, tree := range []*Tree{head(t, s), r.tree("")} {
		if got := tree.Submodules(); !slices.Equal(got, []string{"vendor/lib"}) {
			t.Errorf("Submodules of %s = %q", tree.Rev, got)
		}
		for _, name := range []string{"vendor/lib/main.libsonnet", "vendor/lib", "charts/x/values.yaml"} {
			_, err := tree.ReadFile(name)
			var sub *SubmoduleError
			if !errors.As(err, &sub) || sub.Submodule != "vendor/lib" || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("ReadFile(%q) in %s: %v", name, tree.Rev, err)
			}
		}
		// A walk passes it by.
		var walked []string
		err := fs.WalkDir(tree, "vendor", func(p string, d fs.DirEntry, err error) error {
			walked = append(walked, p)
			return err
		})
		if err != nil || !slices.Equal(walked, []string{"vendor", "vendor/lib"}) {
			t.Errorf("WalkDir of %s: %q, %v", tree.Rev, walked, err)
		}
		files, err := tree.Files("vendor")
		if err != nil || len(files) != 0 {
			t.Errorf("Files of %s = %q, %v", tree.Rev, files, err)
		}
	}
}

func TestLargeFilesAreRefused(t *testing.T) {
	r := newRepo(t)
	r.write("small", "123456789")
	r.write("large", strings.Repeat("x", 5000))
	r.commit("one")
	folder, err := openFolder(r.dir, Options{MaxFileSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	o := r.options()
	o.MaxFileSize = 4096
	trees := []*Tree{folder}
	for _, rev := range []string{"HEAD", ""} {
		tree, err := Open(context.Background(), r.dir, rev, o)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		trees = append(trees, tree)
	}
	for _, tree := range trees {
		_, err := tree.ReadFile("large")
		var tooLarge *TooLargeError
		if !errors.As(err, &tooLarge) || *tooLarge != (TooLargeError{5000, 4096}) {
			t.Errorf("%s: %v", tree.Rev, err)
		}
		// The process that reads objects goes on.
		checkRead(t, tree, "small", "123456789")
		if info, err := tree.Stat("large"); err != nil || info.Size() != 5000 {
			t.Errorf("%s: Stat = %v, %v", tree.Rev, info, err)
		}
		if _, err := tree.ID("large"); err != nil {
			t.Errorf("%s: ID: %v", tree.Rev, err)
		}
	}
}

func TestManyReadersAtOnce(t *testing.T) {
	r := newRepo(t)
	for i := range 50 {
		r.write(fmt.Sprintf("f%d", i), strings.Repeat(fmt.Sprintln(i), 1000))
	}
	one := r.commit("one")
	s := r.open(one, one)
	var wg sync.WaitGroup
	for worker := range 8 {
		tree := head(t, s)
		if worker%2 == 0 {
			tree = base(t, s)
		}
		wg.Go(func() {
			for i := range 50 {
				data, err := tree.ReadFile(fmt.Sprintf("f%d", (i+worker*7)%50))
				if want := strings.Repeat(fmt.Sprintln((i+worker*7)%50), 1000); err != nil || string(data) != want {
					t.Errorf("f%d: %d bytes, %v", i, len(data), err)
				}
			}
		})
	}
	wg.Wait()
}

func TestEndOfTheContextEndsReading(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	r.commit("one")
	ctx, cancel := context.WithCancel(context.Background())
	s, err := Git(ctx, r.dir, "HEAD", "HEAD", r.options())
	if err != nil {
		t.Fatal(err)
	}
	tree := head(t, s)
	checkRead(t, tree, "a", "1")
	cancel()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := tree.ReadFile("a"); err == nil {
		// It may come from memory, which Close has emptied.
		t.Error("a closed source still reads")
	}
}

func TestAReadSliceIsTheCallers(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	r.commit("one")
	tree := r.tree("HEAD")
	for range 3 {
		data, err := tree.ReadFile("a")
		if err != nil || string(data) != "1" {
			t.Fatalf("%q, %v", data, err)
		}
		data[0] = 'x'
	}
}

func TestOneProcessReadsBothTrees(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	one := r.commit("one")
	r.write("a", "2")
	s := r.open(one, r.commit("two")).(*gitSource)
	checkRead(t, base(t, s), "a", "1")
	pid := s.objects.proc.cmd.Process.Pid
	checkRead(t, head(t, s), "a", "2")
	if got := s.objects.proc.cmd.Process.Pid; got != pid {
		t.Errorf("process %d, then %d", pid, got)
	}
}

func TestAnEndedProcessIsStartedAgain(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	r.write("b", "2")
	r.write("c", "3")
	one := r.commit("one")
	s := r.open(one, one).(*gitSource)
	checkRead(t, head(t, s), "a", "1")
	if err := s.objects.proc.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// What is under way may fail, what follows does not.
	_, _ = head(t, s).ReadFile("b")
	checkRead(t, head(t, s), "c", "3")
}

func TestDamagedRepository(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	r.write("b", "2")
	r.commit("one")
	id := r.git("rev-parse", "HEAD:a")
	if err := os.Remove(filepath.Join(r.dir, ".git/objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	tree := r.tree("HEAD")
	checkError(t, tree, "a", "git fsck", ErrMissingObject)
	checkRead(t, tree, "b", "2")
}
