package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFolders(t *testing.T) {
	before, after := t.TempDir(), t.TempDir()
	for _, dir := range []string{before, after} {
		writeFile(t, filepath.Join(dir, "same/a.yaml"), "a: 1\n")
		writeFile(t, filepath.Join(dir, "same-size.yaml"), "a: "+dir[len(dir)-1:]+"\n")
		writeFile(t, filepath.Join(dir, ".git/config"), dir)
		writeFile(t, filepath.Join(dir, "nested/.git/config"), dir)
		if err := os.Symlink("same/a.yaml", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(before, "gone/b.yaml"), "b: 1\n")
	writeFile(t, filepath.Join(after, "new/b.yaml"), "b: 1\n")
	writeFile(t, filepath.Join(after, "same-size.yaml"), "a: x\n")
	s, err := Paths(before, after, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checkChanged(t, s, "gone/b.yaml", "new/b.yaml", "same-size.yaml")
	tree := head(t, s)
	checkRead(t, tree, "link", "a: 1\n")
	checkError(t, tree, ".git/config", "not exist", fs.ErrNotExist)
	checkError(t, tree, "nested/.git/config", "not exist", fs.ErrNotExist)
	files, err := tree.Files(".")
	if want := []string{"link", "new/b.yaml", "same-size.yaml", "same/a.yaml"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("Files = %q, %v, want %q", files, err, want)
	}
	if got, err := tree.Name(filepath.Join(after, "same")); err != nil || got != "same" {
		t.Errorf("Name = %q, %v", got, err)
	}
	_, err = tree.Name(before)
	wantError(t, err, "outside the folder", nil)
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	old, renamed := filepath.Join(dir, "x/old.yaml"), filepath.Join(dir, "y/new.yaml")
	writeFile(t, old, "a: 1\n")
	writeFile(t, renamed, "a: 2\n")
	for _, test := range []struct {
		name, before, after string
		changed             []string
		base, head          string // "" for not there
	}{
		{"two files", old, renamed, []string{"new.yaml"}, "a: 1\n", "a: 2\n"},
		{"the same file", old, old, nil, "a: 1\n", "a: 1\n"},
		{"a new file", os.DevNull, renamed, []string{"new.yaml"}, "", "a: 2\n"},
		{"a deleted file", old, os.DevNull, []string{"old.yaml"}, "a: 1\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Paths(test.before, test.after, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			checkChanged(t, s, test.changed...)
			name := filepath.Base(test.after)
			if test.after == os.DevNull {
				name = filepath.Base(test.before)
			}
			for tree, want := range map[*Tree]string{base(t, s): test.base, head(t, s): test.head} {
				if want == "" {
					if tree.Exists(name) {
						t.Errorf("%s has %s", tree.Rev, name)
					}
					continue
				}
				checkRead(t, tree, name, want)
				if err := fstest.TestFS(tree, name); err != nil {
					t.Error(err)
				}
			}
			if base(t, s).Rev != test.before || head(t, s).Rev != test.after {
				t.Errorf("revs are %q and %q", base(t, s).Rev, head(t, s).Rev)
			}
		})
	}
	_, err := Paths(dir, old, Options{})
	wantError(t, err, "is a folder and", nil)
	_, err = Paths(filepath.Join(dir, "none"), old, Options{})
	wantError(t, err, "no such file", fs.ErrNotExist)
	_, err = Paths(old, renamed, Options{MaxFileSize: 3})
	wantError(t, err, "reads files of up to 3", nil)
}

func TestNewTree(t *testing.T) {
	tree := NewTree("demo", fstest.MapFS{
		"a/b.yaml": {Data: []byte("b: 1\n")}, "a-b": {Data: []byte("x")}, "a/lfs": {Data: []byte(lfsText)},
		"l": {Data: []byte("a/b.yaml"), Mode: fs.ModeSymlink}, "out": {Data: []byte("../x"), Mode: fs.ModeSymlink},
	})
	checkRead(t, tree, "l", "b: 1\n")
	checkError(t, tree, "out", "link leads outside the folder", nil)
	checkError(t, tree, "a/lfs", "Git LFS pointer", nil)
	files, err := tree.Files(".")
	if want := "a-b a/b.yaml a/lfs l out"; err != nil || strings.Join(files, " ") != want {
		t.Errorf("Files = %q, %v, want %q", files, err, want)
	}
	if id, err := tree.ID("l"); err != nil || id != "8b76663520f5205f24d4492a03fe72e6c01c23f0" {
		t.Errorf("ID = %q, %v", id, err)
	}
}
