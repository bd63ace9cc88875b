//go:build unix

package source

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func TestSpecialFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a"), "1")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, err := openFolder(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	checkError(t, tree, "pipe", "is a named pipe", nil)
	files, err := tree.Files(".")
	if err != nil || !slices.Equal(files, []string{"a"}) {
		t.Errorf("Files = %q, %v", files, err)
	}
	s, err := Folders(dir, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checkChanged(t, s)
	// The same in place of a tracked file.
	r := newRepo(t)
	r.write("f", "1")
	r.commit("one")
	if err := os.Remove(filepath.Join(r.dir, "f")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(r.dir, "f"), 0o644); err != nil {
		t.Fatal(err)
	}
	g := r.open("HEAD", "")
	checkChanged(t, g, "f")
	checkError(t, head(t, g), "f", "is a named pipe", nil)
}

func TestRepositoryOfAnotherUser(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	r.commit("one")
	if os.Getuid() == 0 {
		err := filepath.Walk(r.dir, func(p string, _ os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(p, 12345, 12345)
		})
		if err != nil {
			t.Fatal(err)
		}
	} else {
		// Only root can give files away. Git has this for its own tests; the
		// room hands on what a test may need.
		passedOn = append(passedOn, "GIT_TEST_ASSUME_DIFFERENT_OWNER")
		r.env["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
	}
	want := "belongs to another user, so git does not read it; if you trust it, run: git config --global --add safe.directory " + r.dir
	wantError(t, r.openError("HEAD", ""), want, ErrOwner)
	_, err := Open(context.Background(), r.dir, "", r.options())
	wantError(t, err, want, ErrOwner)

	// Either way out works.
	r.env["GIT_CONFIG_COUNT"] = "2"
	r.env["GIT_CONFIG_KEY_0"], r.env["GIT_CONFIG_VALUE_0"] = "core.abbrev", "5"
	r.env["GIT_CONFIG_KEY_1"], r.env["GIT_CONFIG_VALUE_1"] = "safe.directory", r.dir
	if err := r.openError("HEAD", ""); err != nil {
		t.Error(err)
	}
	delete(r.env, "GIT_CONFIG_COUNT")
	config := filepath.Join(t.TempDir(), "config")
	writeFile(t, config, "[safe]\n\tdirectory = "+r.dir+"\n")
	r.env["GIT_CONFIG_GLOBAL"] = config
	if err := r.openError("HEAD", ""); err != nil {
		t.Error(err)
	}
}

func TestPipesAsFiles(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "b.yaml"), "b: 1\n")
	go os.WriteFile(pipe, []byte("b: 2\n"), 0o644)
	s, err := Files(filepath.Join(dir, "b.yaml"), pipe, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkChanged(t, s, "b.yaml")
	checkRead(t, head(t, s), "b.yaml", "b: 2\n")
}
