package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/prdiff/prdiff/internal/source"
)

// errReadOnly answers every attempt to write: a build must not change its tree.
var errReadOnly = errors.New("the tree cannot be written to")

// files shows a tree to kustomize as a file system whose root "/" is the root of
// the tree, with some files replaced or added by extra. It reads nothing else.
type files struct {
	tree  *source.Tree
	extra map[string][]byte // by name in the tree
}

var _ filesys.FileSystem = files{}

// name gives the tree's name for one of kustomize's paths.
func name(p string) string {
	p = path.Clean("/" + filepath.ToSlash(p))
	if p == "/" {
		return "."
	}
	return p[1:]
}

func (f files) Create(string) (filesys.File, error) { return nil, errReadOnly }
func (f files) Mkdir(string) error                  { return errReadOnly }
func (f files) MkdirAll(string) error               { return errReadOnly }
func (f files) RemoveAll(string) error              { return errReadOnly }
func (f files) WriteFile(string, []byte) error      { return errReadOnly }

func (f files) Open(p string) (filesys.File, error) {
	data, err := f.ReadFile(p)
	if err != nil {
		return nil, err
	}
	return &openFile{Reader: bytes.NewReader(data), files: f, path: p}, nil
}

func (f files) IsDir(p string) bool {
	if f.made(name(p)) {
		return true
	}
	info, err := f.tree.Stat(name(p))
	return err == nil && info.IsDir()
}

// made says whether a folder has files of extra in it.
func (f files) made(dir string) bool {
	for n := range f.extra {
		if path.Dir(n) == dir {
			return true
		}
	}
	return false
}

func (f files) ReadDir(p string) ([]string, error) {
	entries, err := f.tree.ReadDir(name(p))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// CleanedAbs follows links, so that kustomize's rule that a file must lie below
// its kustomization holds for where a file really is.
func (f files) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	n := name(p)
	if _, ok := f.extra[n]; ok {
		return filesys.ConfirmedDir("/" + strings.TrimPrefix(path.Dir(n), ".")), path.Base(n), nil
	}
	if !f.tree.Exists(n) && f.made(n) {
		return filesys.ConfirmedDir("/" + n), "", nil
	}
	resolved, err := f.tree.Resolve(n)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", n, plain(err))
	}
	info, err := f.tree.Stat(resolved)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", n, plain(err))
	}
	if info.IsDir() {
		return filesys.ConfirmedDir("/" + strings.TrimPrefix(resolved, ".")), "", nil
	}
	return filesys.ConfirmedDir("/" + strings.TrimPrefix(path.Dir(resolved), ".")), path.Base(resolved), nil
}

// plain takes the operation and path off a file error: the caller has named them.
func plain(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

func (f files) Exists(p string) bool {
	if _, ok := f.extra[name(p)]; ok || f.made(name(p)) {
		return true
	}
	return f.tree.Exists(name(p))
}

func (f files) Glob(pattern string) ([]string, error) {
	matches, err := fs.Glob(f.tree, name(pattern))
	if err != nil {
		return nil, err
	}
	for i := range matches {
		matches[i] = "/" + matches[i]
	}
	if !filesys.IsHiddenFilePath(pattern) {
		matches = filesys.RemoveHiddenFiles(matches)
	}
	return matches, nil
}

func (f files) ReadFile(p string) ([]byte, error) {
	if data, ok := f.extra[name(p)]; ok {
		return data, nil
	}
	return f.tree.ReadFile(name(p))
}

func (f files) Walk(p string, walk filepath.WalkFunc) error {
	return fs.WalkDir(f.tree, name(p), func(n string, d fs.DirEntry, err error) error {
		if err != nil {
			return walk("/"+n, nil, err)
		}
		info, err := d.Info()
		return walk("/"+n, info, err)
	})
}

// An openFile is one file of the tree, read into memory.
type openFile struct {
	*bytes.Reader
	files files
	path  string
}

func (o *openFile) Write([]byte) (int, error) { return 0, errReadOnly }
func (o *openFile) Close() error              { return nil }
func (o *openFile) Stat() (os.FileInfo, error) {
	return o.files.tree.Stat(name(o.path))
}

var _ io.ReadWriteCloser = (*openFile)(nil)
