// Package source gives the two states of a repository that a run compares, as
// trees of files: git revisions read straight from the object store, the working
// tree, folders and files. Links, LFS pointers, submodules and shallow clones are
// dealt with here and nowhere else.
package source

import (
	"context"
	"io/fs"
)

// A Source gives the two trees of a run.
type Source interface {
	Base(ctx context.Context) (*Tree, error)
	Head(ctx context.Context) (*Tree, error)
	// Changed lists, in byte order, the files that are not the same in both
	// trees, by content, mode or presence.
	Changed(ctx context.Context) ([]string, error)
	Close() error
}

// A Tree is one state of a repository or folder. Names are slash-separated and
// relative to its root, as in io/fs; it implements fs.FS, fs.ReadFileFS,
// fs.ReadDirFS and fs.StatFS. Links are followed inside the tree; one that leads
// out of it is an error that says so. Safe for concurrent use.
type Tree struct {
	Rev  string // what the user asked for: a branch, "working tree", a folder's name
	SHA  string // the commit, "" when there is none
	fsys fs.FS
}

// NewTree makes a tree of any file system, for folders, archives and tests.
func NewTree(rev string, fsys fs.FS) *Tree { return &Tree{Rev: rev, fsys: fsys} }

// Open opens a file for reading.
func (t *Tree) Open(name string) (fs.File, error) { return t.fsys.Open(name) }

// ReadFile reads a file whole.
func (t *Tree) ReadFile(name string) ([]byte, error) { return fs.ReadFile(t.fsys, name) }

// ReadDir lists a folder in byte order.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.fsys, name) }

// Stat describes what name leads to, links followed.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.fsys, name) }

// Exists says whether name leads to a file or folder.
func (t *Tree) Exists(name string) bool {
	_, err := t.Stat(name)
	return err == nil
}
