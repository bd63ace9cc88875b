package source

import (
	"crypto/sha1"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// NewTree makes a tree of any file system, for archives and tests. If it has
// links, it is an fs.ReadLinkFS.
func NewTree(rev string, fsys fs.FS) *Tree {
	return &Tree{Rev: rev, Prefix: ".", store: fsStore{fsys}, limit: DefaultMaxFileSize, noun: "folder"}
}

type fsStore struct{ fsys fs.FS }

func (s fsStore) lstat(name string) (node, error) {
	info, err := fs.Lstat(s.fsys, name)
	if err != nil {
		return node{}, diskError(err)
	}
	return infoNode(name, info), nil
}

func (s fsStore) readDir(dir string) ([]node, error) {
	entries, err := fs.ReadDir(s.fsys, dir)
	if err != nil {
		return nil, diskError(err)
	}
	out := make([]node, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, diskError(err)
		}
		out = append(out, infoNode(path.Join(dir, e.Name()), info))
	}
	slices.SortFunc(out, func(a, b node) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func (s fsStore) read(n node, limit int64) ([]byte, error) {
	data, err := s.all(n, limit)
	if err != nil {
		return nil, err
	}
	return lfsStore{}.content(data, limit)
}

func (s fsStore) all(n node, limit int64) ([]byte, error) {
	f, err := s.fsys.Open(n.name)
	if err != nil {
		return nil, diskError(err)
	}
	defer f.Close()
	return readUpTo(f, max(n.size, 0), limit)
}

func (s fsStore) readLink(n node) (string, error) {
	target, err := fs.ReadLink(s.fsys, n.name)
	if err != nil {
		return "", diskError(err)
	}
	return target, nil
}

func (s fsStore) files(dir string) ([]string, error) {
	nodes, err := walk(s.readDir, dir)
	if err != nil {
		return nil, err
	}
	return nodes.files(".")
}

func (s fsStore) nodes() ([]node, error) {
	nodes, err := walk(s.readDir, ".")
	return nodes, err
}

func (s fsStore) identity(n node) (string, error) {
	if n.isLink() {
		target, err := s.readLink(n)
		return blobID(sha1.New(), []byte(target)), err
	}
	data, err := s.all(n, DefaultMaxFileSize)
	return blobID(sha1.New(), data), err
}

func (s fsStore) size(n node) (int64, error)        { return max(n.size, 0), nil }
func (s fsStore) exact() bool                       { return false }
func (s fsStore) submodules() []string              { return nil }
func (s fsStore) explain(_ string, err error) error { return err }
