package source

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWorkingTreeLineEndings(t *testing.T) {
	r := newRepo(t)
	r.write(".gitattributes", "*.yaml text eol=crlf\n*.raw -text\n*.auto text=auto\n")
	r.write("same.yaml", "a: 1\r\nb: 2\r\n")
	r.write("edited.yaml", "a: 1\r\nb: 2\r\n")
	r.write("touched.yaml", "a: 1\r\nb: 2\r\n")
	r.write("edited.raw", "a\r\n")
	r.write("same.auto", "a\n")
	r.write("to-crlf.auto", "a\n")
	r.write("binary.auto", "\x00a\n")
	one := r.commit("one")
	if got := r.git("cat-file", "blob", "HEAD:same.yaml"); got != "a: 1\nb: 2" {
		t.Fatalf("stored as %q", got)
	}
	old := time.Now().Add(-time.Hour)
	r.write("edited.yaml", "a: 1\r\nb: 3\r\n")
	r.write("touched.yaml", "a: 1\r\nb: 2\r\n")
	if err := os.Chtimes(filepath.Join(r.dir, "touched.yaml"), old, old); err != nil {
		t.Fatal(err)
	}
	r.write("edited.raw", "b\r\n")
	r.write("to-crlf.auto", "a\r\n")
	r.write("binary.auto", "\x00a\r\n")
	r.write("new.yaml", "n: 1\r\n")

	s := r.open(one, "")
	checkChanged(t, s, "binary.auto", "edited.raw", "edited.yaml", "new.yaml")
	tree := head(t, s)
	for name, want := range map[string]string{
		"same.yaml": "a: 1\nb: 2\n", "touched.yaml": "a: 1\nb: 2\n", "edited.yaml": "a: 1\nb: 3\n",
		"edited.raw": "b\r\n", "to-crlf.auto": "a\n", "binary.auto": "\x00a\r\n", "new.yaml": "n: 1\n",
	} {
		checkRead(t, tree, name, want)
		id, err := tree.ID(name)
		if want := r.git("hash-object", name); err != nil || id != want {
			t.Errorf("ID(%q) = %q, %v, git says %q", name, id, err, want)
		}
	}
	// The commit of all this reads the same.
	checkChanged(t, r.open(r.commit("two"), ""))
}

func TestAutocrlf(t *testing.T) {
	r := newRepo(t)
	r.write("lf", "a\n")
	r.write("crlf", "a\r\n")
	one := r.commit("one")
	r.git("config", "core.autocrlf", "true")
	r.write("lf", "b\r\n")
	r.write("crlf", "b\r\n") // stored with CR LF before, so it stays
	s := r.open(one, "")
	checkRead(t, head(t, s), "lf", "b\n")
	checkRead(t, head(t, s), "crlf", "b\r\n")
	for _, name := range []string{"lf", "crlf"} {
		id, err := head(t, s).ID(name)
		if err != nil {
			t.Fatal(err)
		}
		r.git("add", name)
		if want := strings.Fields(r.git("ls-files", "-s", name))[1]; id != want {
			t.Errorf("ID(%q) = %q, git stores %q", name, id, want)
		}
	}
}

func TestLineEndingsOf(t *testing.T) {
	for _, test := range []struct {
		text, crlf, eol, autocrlf string
		want                      lineEndings
	}{
		{"unspecified", "unspecified", "unspecified", "", storedAsIs},
		{"unspecified", "unspecified", "unspecified", "false", storedAsIs},
		{"unspecified", "unspecified", "unspecified", "true", guessed},
		{"unspecified", "unspecified", "unspecified", "input", guessed},
		{"unspecified", "unspecified", "crlf", "", storedAsLF},
		{"unset", "unspecified", "crlf", "true", storedAsIs},
		{"set", "unspecified", "unspecified", "", storedAsLF},
		{"auto", "unspecified", "lf", "", guessed},
		{"unspecified", "input", "unspecified", "", storedAsLF},
		{"unspecified", "unset", "unspecified", "true", storedAsIs},
	} {
		if got := lineEndingsOf(test.text, test.crlf, test.eol, test.autocrlf); got != test.want {
			t.Errorf("lineEndingsOf(%+v) = %d", test, got)
		}
	}
}

func TestConflictsAndReplacedPaths(t *testing.T) {
	r := newRepo(t)
	r.write("f", "1\n")
	r.write("file-to-folder", "1")
	r.write("folder-to-file/x", "1")
	r.write("folder-to-link/x", "1")
	r.write("target/x", "1")
	one := r.commit("one")
	r.git("checkout", "-qb", "other")
	r.write("f", "2\n")
	r.commit("two")
	r.git("checkout", "-q", "main")
	r.write("f", "3\n")
	r.commit("three")
	r.git("read-tree", "-m", "-u", "--aggressive", one, "main", "other") // leaves stages
	for _, name := range []string{"file-to-folder", "folder-to-file", "folder-to-link"} {
		if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.write("file-to-folder/x", "1")
	r.write("folder-to-file", "1")
	r.link("target", "folder-to-link")
	r.write("f", "<<<<<<<\n")
	s := r.open("main", "")
	checkChanged(t, s, "f", "file-to-folder", "file-to-folder/x", "folder-to-file", "folder-to-file/x",
		"folder-to-link", "folder-to-link/x")
	checkRead(t, head(t, s), "f", "<<<<<<<\n")
	checkRead(t, head(t, s), "folder-to-link/x", "1")
	if got, err := head(t, s).Resolve("folder-to-link/x"); err != nil || got != "target/x" {
		t.Errorf("Resolve = %q, %v", got, err)
	}
}

func TestFilesThatGitIsToldToTakeForUnchanged(t *testing.T) {
	r := newRepo(t)
	for _, name := range []string{"assumed", "assumed-same", "assumed-gone", "skipped", "sparse/away", "intent"} {
		r.write(name, "1\n")
	}
	one := r.commit("one")
	r.git("update-index", "--assume-unchanged", "assumed", "assumed-same", "assumed-gone")
	r.git("update-index", "--skip-worktree", "skipped", "sparse/away")
	r.write("assumed", "2\n")
	r.write("skipped", "2\n")
	for _, name := range []string{"assumed-gone", "sparse/away"} {
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.write("added", "1\n")
	r.git("add", "-N", "added")
	s := r.open(one, "")
	checkChanged(t, s, "added", "assumed", "assumed-gone", "skipped")
	checkRead(t, head(t, s), "assumed", "2\n")
	checkRead(t, head(t, s), "sparse/away", "1\n")
}

func TestSparseCheckout(t *testing.T) {
	r := newRepo(t)
	r.write("in/a", "1")
	r.write("out/deep/b", "1")
	one := r.commit("one")
	r.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
	if _, err := os.Lstat(filepath.Join(r.dir, "out")); err == nil {
		t.Fatal("the checkout is not sparse")
	}
	r.write("in/a", "2")
	s := r.open(one, "")
	checkChanged(t, s, "in/a")
	checkRead(t, head(t, s), "out/deep/b", "1")
}

func TestRepositoriesInsideTheWorkingTree(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	one := r.commit("one")
	inner := &testRepo{t, filepath.Join(r.dir, "sub"), r.env}
	writeFile(t, filepath.Join(inner.dir, "x"), "1")
	inner.git("init", "-q")
	inner.commit("x")
	r.write("nested/x", "1")
	nested := &testRepo{t, filepath.Join(r.dir, "nested"), r.env}
	nested.git("init", "-q")
	nested.commit("x")
	r.git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
	r.git("commit", "-qm", "two")
	two := r.git("rev-parse", "HEAD")

	s := r.open(two, "")
	checkChanged(t, s, "nested")
	if got := head(t, s).Submodules(); !slices.Equal(got, []string{"nested", "sub"}) {
		t.Errorf("Submodules = %q", got)
	}
	checkError(t, head(t, s), "nested/x", "inside the submodule nested", nil)
	checkError(t, head(t, s), "sub/x", "inside the submodule sub", nil)
	// The submodule moves on.
	inner.commit("y")
	checkChanged(t, r.open(two, ""), "nested", "sub")
	checkChanged(t, r.open(one, ""), "nested", "sub")
}

func TestFileModesCanBeOff(t *testing.T) {
	r := newRepo(t)
	r.write("run", "1")
	one := r.commit("one")
	r.git("config", "core.fileMode", "false")
	r.write("run", "2")
	if err := os.Chmod(filepath.Join(r.dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := r.open(one, "")
	checkChanged(t, s, "run")
	if info, err := head(t, s).Stat("run"); err != nil || info.Mode() != 0o644 {
		t.Errorf("Stat = %v, %v", info, err)
	}
}

func TestLinkedWorktree(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	one := r.commit("one")
	dir := filepath.Join(t.TempDir(), "linked")
	r.git("worktree", "add", "-q", "-b", "feature", dir)
	r.dir = dir
	r.write("a", "2")
	s := r.open(one, "")
	checkChanged(t, s, "a")
	checkRead(t, head(t, s), "a", "2")
}

func TestNothingIsWritten(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	one := r.commit("one")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, "a"), old, old); err != nil {
		t.Fatal(err)
	}
	r.write("b", "1")
	state := func() string {
		var out []string
		err := filepath.Walk(r.dir, func(p string, info os.FileInfo, err error) error {
			if err == nil {
				out = append(out, p+" "+info.ModTime().String()+" "+info.Mode().String())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(out, "\n")
	}
	before := state()
	s := r.open(one, "")
	checkChanged(t, s, "b")
	checkRead(t, head(t, s), "a", "1")
	if after := state(); after != before {
		for i, line := range strings.Split(after, "\n") {
			if !strings.Contains(before, line) {
				t.Errorf("line %d is new: %s", i, line)
			}
		}
	}
}

const lfsText = "version https://git-lfs.github.com/spec/v1\noid sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\nsize 5\n"

func TestLFS(t *testing.T) {
	r := newRepo(t)
	r.write("pointer", lfsText)
	r.write("other", strings.Replace(lfsText, "2cf2", "3cf2", 1))
	r.write("almost", strings.Replace(lfsText, "oid", "id", 1))
	one := r.commit("one")
	r.write(".gitattributes", "pointer filter=lfs -text\nnew filter=lfs -text\n")
	two := r.commit("two")

	for kind, tree := range r.trees() {
		_, err := tree.ReadFile("pointer")
		var lfs *LFSError
		if !errors.As(err, &lfs) || lfs.Size != 5 || !strings.Contains(err.Error(), "git lfs") {
			t.Errorf("%s: %v", kind, err)
		}
		checkRead(t, tree, "almost", strings.Replace(lfsText, "oid", "id", 1))
	}
	checkError(t, r.tree(""), "pointer", "git lfs pull", nil)
	checkError(t, r.tree(one), "pointer", "git lfs fetch origin "+one, nil)

	// What Git LFS has on this machine is read.
	oid := "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	writeFile(t, filepath.Join(r.dir, ".git/lfs/objects/2c/f2", oid), "hello")
	checkRead(t, r.tree(one), "pointer", "hello")
	if info, err := r.tree(one).Stat("pointer"); err != nil || info.Size() != 5 {
		t.Errorf("Stat = %v, %v", info, err)
	}
	checkError(t, r.tree(one), "other", "git lfs", nil)

	// A checkout has the content, and that is no change.
	r.write("pointer", "hello")
	s := r.open(two, "")
	checkChanged(t, s)
	checkRead(t, head(t, s), "pointer", "hello")
	r.write("pointer", "hullo")
	r.write("new", strings.Repeat("x", 5000))
	s = r.open(two, "")
	checkChanged(t, s, "new", "pointer")
	checkRead(t, head(t, s), "pointer", "hullo")

	writeFile(t, filepath.Join(r.dir, ".git/lfs/objects/2c/f2", oid), "damaged")
	checkError(t, r.tree(one), "pointer", "damaged", nil)
}
