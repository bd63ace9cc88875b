package source

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// trees gives the same files as a commit, a working tree and a folder.
func (r *testRepo) trees() map[string]*Tree {
	r.t.Helper()
	folder, err := openFolder(r.dir, Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { folder.Close() })
	all := map[string]*Tree{
		"commit": r.tree("HEAD"), "working tree": r.tree(""), "folder": folder, "fs": NewTree("x", os.DirFS(r.dir)),
	}
	for kind, tree := range maps.Clone(all) {
		all["remote "+kind] = remote(tree)
	}
	return all
}

func TestLinksAreFollowedInside(t *testing.T) {
	r := newRepo(t)
	r.write("base/deploy.yaml", "a: 1\n")
	r.write("base/sub/x.yaml", "x: 1\n")
	r.link("../base", "overlay/base")
	r.link("base/deploy.yaml", "overlay/deploy.yaml")
	r.link("overlay/deploy.yaml", "two-steps")
	r.link("overlay/base/sub", "sub")
	r.link("./overlay//base/./sub/../deploy.yaml", "crooked")
	r.link("..", "base/up")
	r.link(".", "here")
	r.commit("one")
	for kind, tree := range r.trees() {
		t.Run(kind, func(t *testing.T) {
			for _, name := range []string{
				"overlay/base/deploy.yaml", "overlay/deploy.yaml", "two-steps", "crooked",
				"base/up/base/deploy.yaml", "base/up/overlay/base/up/two-steps", "here/here/two-steps",
			} {
				checkRead(t, tree, name, "a: 1\n")
				if real, err := tree.Resolve(name); err != nil || real != "base/deploy.yaml" {
					t.Errorf("Resolve(%q) = %q, %v", name, real, err)
				}
				info, err := tree.Stat(name)
				if err != nil || !info.Mode().IsRegular() || info.Size() != 5 || info.Name() != filepath.Base(name) {
					t.Errorf("Stat(%q) = %v, %v", name, info, err)
				}
				id, err := tree.ID(name)
				if want := r.git("hash-object", "base/deploy.yaml"); err != nil || id != want {
					t.Errorf("ID(%q) = %q, %v, want %q", name, id, err, want)
				}
			}
			checkRead(t, tree, "sub/x.yaml", "x: 1\n")
			entries, err := tree.ReadDir("overlay/base")
			if err != nil || len(entries) != 3 || entries[0].Name() != "deploy.yaml" || !entries[1].IsDir() || entries[2].Type() != fs.ModeSymlink {
				t.Errorf("ReadDir = %v, %v", entries, err)
			}
			files, err := tree.Files("overlay/base")
			if want := []string{"overlay/base/deploy.yaml", "overlay/base/sub/x.yaml", "overlay/base/up"}; err != nil || !slices.Equal(files, want) {
				t.Errorf("Files = %q, %v, want %q", files, err, want)
			}
			if info, err := tree.Stat("overlay/base"); err != nil || !info.IsDir() {
				t.Errorf("Stat = %v, %v", info, err)
			}
			if info, err := tree.Lstat("overlay/base"); err != nil || info.Mode().Type() != fs.ModeSymlink {
				t.Errorf("Lstat = %v, %v", info, err)
			}
			if target, err := tree.ReadLink("overlay/base"); err != nil || target != "../base" {
				t.Errorf("ReadLink = %q, %v", target, err)
			}
			if !tree.Exists("sub/x.yaml") || tree.Exists("sub/y.yaml") {
				t.Error("Exists does not follow links")
			}
		})
	}
}

func TestLinksThatAreNotFollowed(t *testing.T) {
	r := newRepo(t)
	outside := filepath.Join(t.TempDir(), "secret")
	writeFile(t, outside, "secret")
	writeFile(t, filepath.Join(filepath.Dir(r.dir), "beside"), "secret")
	r.write("a/file", "1")
	r.link(outside, "absolute")
	r.link(filepath.Join(r.dir, "a/file"), "absolute-inside")
	r.link("../beside", "up")
	r.link("../../beside", "a/up-two")
	r.link("../repo/a/file", "out-and-in")
	r.link("../..", "a/folder")
	r.link("loop-b", "loop-a")
	r.link("loop-a", "loop-b")
	r.link("self/x", "self")
	r.link("a/not-there", "dangling")
	r.link("a/file/x", "below-file")
	r.link(strings.Repeat("a/../", 600)+"a/file", "long")
	r.link(".git/config", "git-config")
	r.commit("one")
	for kind, tree := range r.trees() {
		t.Run(kind, func(t *testing.T) {
			for _, test := range []struct {
				name   string
				reason LinkReason
			}{
				{"absolute", LinkOutside},
				{"absolute-inside", LinkOutside},
				{"up", LinkOutside},
				{"a/up-two", LinkOutside},
				{"out-and-in", LinkOutside},
				{"a/folder/beside", LinkOutside},
				{"a/folder", LinkOutside},
				{"loop-a", LinkLoop},
				{"self", LinkLoop},
				{"dangling", LinkDangling},
				{"below-file", LinkDangling},
				{"git-config", LinkDangling},
			} {
				if strings.HasSuffix(kind, "fs") && test.name == "git-config" {
					continue // any file system may have a .git
				}
				_, err := tree.ReadFile(test.name)
				var link *LinkError
				if !errors.As(err, &link) || link.Reason != test.reason {
					t.Errorf("ReadFile(%q): %v", test.name, err)
					continue
				}
				if errors.Is(err, fs.ErrNotExist) != (test.reason == LinkDangling) {
					t.Errorf("ReadFile(%q): %v is fs.ErrNotExist: %v", test.name, err, errors.Is(err, fs.ErrNotExist))
				}
				if tree.Exists(test.name) {
					t.Errorf("Exists(%q)", test.name)
				}
			}
			checkRead(t, tree, "long", "1")
		})
	}
	checkError(t, r.tree("HEAD"), "up", "link leads outside the repository", nil)
	for _, name := range []string{"", "/", "/etc/passwd", "../beside", "a/../a/file", "a//file", "./a", "a/", "a\x00b"} {
		for kind, tree := range r.trees() {
			if _, err := tree.ReadFile(name); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s: ReadFile(%q): %v", kind, name, err)
			}
		}
	}
}

func TestALinkBlobCanBeAnything(t *testing.T) {
	r := newRepo(t)
	r.write("huge", strings.Repeat("a/", 5000))
	r.write("nul", "a\x00b")
	r.write("empty", "")
	for _, name := range []string{"huge", "nul", "empty"} {
		id := r.git("hash-object", "-w", name)
		r.git("update-index", "--add", "--cacheinfo", "120000,"+id+","+name+"-link")
	}
	r.git("commit", "-qm", "one")
	tree := r.tree("HEAD")
	for _, name := range []string{"huge-link", "nul-link", "empty-link"} {
		_, err := tree.ReadFile(name)
		var link *LinkError
		if !errors.As(err, &link) || link.Reason != LinkInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASwappedFolderLeadsNowhere(t *testing.T) {
	r := newRepo(t)
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "x"), "secret")
	r.write("dir/x", "1")
	r.commit("one")
	work := r.tree("")
	folder, err := openFolder(r.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	n, err := folder.resolve("dir/x", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.dir, "dir")); err != nil {
		t.Fatal(err)
	}
	r.link(outside, "dir")
	if data, err := work.ReadFile("dir/x"); err == nil {
		t.Errorf("working tree: read %q", data)
	}
	if data, err := folder.readNode(n); err == nil {
		t.Errorf("folder: read %q", data)
	}
	// Opened anew, git calls the file deleted and the link untracked.
	s, err := Git(context.Background(), r.dir, "HEAD", "", r.options())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checkChanged(t, s, "dir", "dir/x")
	checkError(t, head(t, s), "dir/x", "link leads outside the repository", nil)
}
