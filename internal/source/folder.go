package source

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Folders opens two folders as they stand on disk, in a git repository or not.
// What is in a folder called .git is left out. The caller closes the source.
func Folders(before, after string, o Options) (Source, error) {
	b, err := openFolder(before, o)
	if err != nil {
		return nil, err
	}
	a, err := openFolder(after, o)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &pair{b, a}, nil
}

// A pair is two trees that are there already.
type pair struct{ base, head *Tree }

func (p *pair) Base(context.Context) (*Tree, error) { return p.base, nil }
func (p *pair) Head(context.Context) (*Tree, error) { return p.head, nil }
func (p *pair) Close() error                        { return errors.Join(p.base.Close(), p.head.Close()) }
func (p *pair) Changed(ctx context.Context) ([]string, error) {
	return changed(ctx, p.base, p.head)
}

func openFolder(dir string, o Options) (*Tree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &Tree{
		Rev: dir, Prefix: ".", limit: o.limit(), root: abs, noun: "folder",
		store: &folderStore{root: root, ids: map[string]string{}},
		close: root.Close,
	}, nil
}

// A folderStore is a folder on disk. Through an os.Root nothing outside is
// reached, whoever swaps links while it is read.
type folderStore struct {
	root *os.Root

	mu  sync.Mutex
	ids map[string]string
}

func isDotGit(elem string) bool { return strings.EqualFold(elem, ".git") }

func (s *folderStore) lstat(name string) (node, error) {
	if isDotGit(path.Base(name)) {
		return node{}, fs.ErrNotExist
	}
	return lstatRoot(s.root, name)
}

// lstatRoot describes a file on disk. What is not there is an fs.ErrNotExist, also
// where a file stands in the place of a folder.
func lstatRoot(root *os.Root, name string) (node, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return node{}, diskError(err)
	}
	return infoNode(name, info), nil
}

// diskError takes the path from an error: the caller knows it better.
func diskError(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fs.ErrNotExist
	}
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func infoNode(name string, info fs.FileInfo) node {
	n := node{name: name, mode: info.Mode() & (fs.ModeType | fs.ModePerm), size: -1}
	if n.mode.IsRegular() {
		n.size = info.Size()
	}
	if n.isSubmodule() {
		n.mode = fs.ModeDevice // whatever the system has there
	}
	return n
}

func (s *folderStore) readDir(dir string) ([]node, error) {
	f, err := openRoot(s.root, dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, diskError(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	out := make([]node, 0, len(entries))
	for _, e := range entries {
		if isDotGit(e.Name()) {
			continue
		}
		n, err := s.lstat(path.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// openRoot opens without waiting for the other end of a pipe.
func openRoot(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, diskError(err)
	}
	return f, nil
}

// openRegular opens a regular file and gives its size in bytes.
func openRegular(root *os.Root, name string) (*os.File, int64, error) {
	f, err := openRoot(root, name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &SpecialFileError{Mode: info.Mode()}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func readRegular(root *os.Root, name string, limit int64) ([]byte, error) {
	f, size, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readUpTo(f, size, limit)
}

// readUpTo reads all of r, which said that it has size bytes.
func readUpTo(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, &TooLargeError{size, limit}
	}
	data := make([]byte, 0, size+1)
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, 64<<10)
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, &TooLargeError{int64(len(data)), limit}
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, diskError(err)
		}
	}
}

func (s *folderStore) read(n node, limit int64) ([]byte, error) {
	data, err := readRegular(s.root, n.name, limit)
	if err != nil {
		return nil, err
	}
	return lfsStore{}.content(data, limit)
}

func (s *folderStore) readLink(n node) (string, error) { return readLinkRoot(s.root, n.name) }

func readLinkRoot(root *os.Root, name string) (string, error) {
	target, err := root.Readlink(filepath.FromSlash(name))
	if err != nil {
		return "", diskError(err)
	}
	if filepath.VolumeName(target) != "" {
		return "/" + filepath.ToSlash(target), nil // absolute on Windows
	}
	return filepath.ToSlash(target), nil
}

func (s *folderStore) files(dir string) ([]string, error) {
	nodes, err := walk(s.readDir, dir)
	if err != nil {
		return nil, err
	}
	return nodes.files(".")
}

func (s *folderStore) nodes() ([]node, error) {
	nodes, err := walk(s.readDir, ".")
	return nodes, err
}

func (s *folderStore) identity(n node) (string, error) {
	s.mu.Lock()
	id, ok := s.ids[n.name]
	s.mu.Unlock()
	if ok {
		return id, nil
	}
	var err error
	if n.isLink() {
		var target string
		if target, err = s.readLink(n); err == nil {
			id = blobID(sha1.New(), []byte(target))
		}
	} else {
		id, err = fileID(s.root, n.name, sha1.New())
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.ids[n.name] = id
	s.mu.Unlock()
	return id, nil
}

// blobID is the id that git gives to a blob: the hash of its kind, length and content.
func blobID(h hash.Hash, data []byte) string {
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// fileID is the blobID of a file of any size.
func fileID(root *os.Root, name string, h hash.Hash) (string, error) {
	f, size, err := openRegular(root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fmt.Fprintf(h, "blob %d\x00", size)
	if n, err := io.Copy(h, f); err != nil {
		return "", diskError(err)
	} else if n != size {
		return "", errors.New("changed while it was read: run prdiff again")
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (s *folderStore) size(n node) (int64, error) {
	if n.isLink() {
		target, err := s.readLink(n)
		return int64(len(target)), err
	}
	return n.size, nil
}

func (s *folderStore) exact() bool                       { return false }
func (s *folderStore) submodules() []string              { return nil }
func (s *folderStore) explain(_ string, err error) error { return err }
