package source

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"time"
)

// A Tree is one state of a repository or folder. Names are slash-separated and
// relative to its root, as in io/fs; it implements fs.FS, fs.ReadFileFS,
// fs.ReadDirFS, fs.StatFS and fs.ReadLinkFS. Links are followed inside the tree;
// one that leads out of it is an error that says so. No file has a time. Safe for
// concurrent use.
type Tree struct {
	Rev string // what the user asked for: a branch, "working tree", a folder's name
	SHA string // the commit, "" when there is none
	// Prefix is where the folder that the caller named stands in the tree, "."
	// when that is the root.
	Prefix string

	store store
	limit int64  // bytes; larger files are not read
	root  string // absolute path of the root on disk, "" when there is none
	noun  string // what the tree is a state of: "repository" or "folder"
	close func() error
}

// A node is one entry of a store. Its name has no link in it.
type node struct {
	name string      // "." for the root
	mode fs.FileMode // type, and permissions of files
	id   string      // the blob or commit, "" when the store does not know it yet
	size int64       // bytes, -1 when not known yet
}

func (n node) isLink() bool      { return n.mode&fs.ModeSymlink != 0 }
func (n node) isSubmodule() bool { return n.mode.Type() == submoduleMode }

// submoduleMode is the type of a submodule: neither file nor folder, so that
// walks pass it by.
const submoduleMode = fs.ModeIrregular

// A store is a tree as it is kept, links not followed. Names given to it are
// clean and have no link above their last element.
type store interface {
	// lstat fails with fs.ErrNotExist for what is not there.
	lstat(name string) (node, error)
	readDir(name string) ([]node, error) // in byte order
	// read gives the content of a regular file, or a *TooLargeError.
	read(n node, limit int64) ([]byte, error)
	readLink(n node) (string, error)
	// files gives all regular files and links below a folder, in byte order.
	files(dir string) ([]string, error)
	// nodes gives the same as files("."), and submodules, described.
	nodes() ([]node, error)
	// identity gives the git blob id of a file or link.
	identity(n node) (string, error)
	size(n node) (int64, error)
	// exact says that lstat of a name below a link or submodule always fails, so that a name
	// that is found needs no walk.
	exact() bool
	submodules() []string
	// explain adds to err why name is not there, when the store can tell.
	explain(name string, err error) error
}

// Open opens a file or folder for reading. A file is read whole.
func (t *Tree) Open(name string) (fs.File, error) {
	n, err := t.resolve(name, true)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if n.mode.IsDir() {
		return &openDir{t: t, name: name, info: fileInfo{path.Base(name), n, 0}}, nil
	}
	data, err := t.readNode(n)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{Reader: bytes.NewReader(data), info: fileInfo{path.Base(name), n, int64(len(data))}}, nil
}

// ReadFile reads a file whole. The slice is the caller's. Its error is an
// *fs.PathError around fs.ErrNotExist, a *LinkError, *SubmoduleError, *LFSError,
// *TooLargeError, *SpecialFileError or ErrMissingObject, or what the system said.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	data, err := t.View(name)
	if _, kept := t.store.(*fileStore); kept {
		data = bytes.Clone(data)
	}
	return data, err
}

// View is ReadFile for those who only look: the slice must not be changed. Of a tree that is
// one file in memory, which may be large, it is that file.
func (t *Tree) View(name string) ([]byte, error) {
	n, err := t.resolve(name, true)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	data, err := t.readNode(n)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, nil
}

func (t *Tree) readNode(n node) ([]byte, error) {
	switch {
	case n.mode.IsDir():
		return nil, errIsDir
	case n.isSubmodule():
		return nil, &SubmoduleError{Submodule: n.name}
	case !n.mode.IsRegular():
		return nil, &SpecialFileError{Mode: n.mode}
	}
	return t.store.read(n, t.limit)
}

// ReadDir lists a folder in byte order. Links are listed as links, and
// submodules as neither file nor folder.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.resolve(name, true)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	nodes, err := t.store.readDir(n.name)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	out := make([]fs.DirEntry, len(nodes))
	for i, c := range nodes {
		out[i] = dirEntry{t, c}
	}
	return out, nil
}

// Stat describes what name leads to, links followed.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return t.stat("stat", name, true) }

// Lstat describes name itself, and a link as a link.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.stat("lstat", name, false) }

func (t *Tree) stat(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := t.resolve(name, follow)
	if err == nil {
		var size int64
		if size, err = t.sizeOf(n); err == nil {
			return fileInfo{path.Base(name), n, size}, nil
		}
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: err}
}

func (t *Tree) sizeOf(n node) (int64, error) {
	if n.size >= 0 || !n.mode.IsRegular() && !n.isLink() {
		return max(n.size, 0), nil
	}
	return t.store.size(n)
}

// Exists says whether name leads to a file or folder that can be looked into. It
// is cheaper than Stat, which has to know a size.
func (t *Tree) Exists(name string) bool {
	n, err := t.resolve(name, true)
	return err == nil && !n.isSubmodule()
}

// ReadLink gives the target of a link as it is written there.
func (t *Tree) ReadLink(name string) (string, error) {
	n, err := t.resolve(name, false)
	if err == nil && !n.isLink() {
		err = fs.ErrInvalid
	}
	if err == nil {
		var target string
		if target, err = t.store.readLink(n); err == nil {
			return target, nil
		}
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
}

// Resolve gives the name under which the file or folder that name leads to
// really stands, as Source.Changed lists it.
func (t *Tree) Resolve(name string) (string, error) {
	n, err := t.resolve(name, true)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return n.name, nil
}

// ID is the identity of a file's content: the id of its git blob, links
// followed. Files with one ID read the same.
//
// The file in the working tree that git calls unmodified has the ID of its blob,
// whatever line endings or filters made of it on disk.
func (t *Tree) ID(name string) (string, error) {
	n, err := t.resolve(name, true)
	switch {
	case err != nil:
	case n.mode.IsDir():
		err = errIsDir
	case n.isSubmodule():
		err = &SubmoduleError{Submodule: n.name}
	case !n.mode.IsRegular():
		err = &SpecialFileError{Mode: n.mode}
	case n.id != "":
		return n.id, nil
	default:
		var id string
		if id, err = t.store.identity(n); err == nil {
			return id, nil
		}
	}
	return "", &fs.PathError{Op: "identify", Path: name, Err: err}
}

// Files lists all files and links below a folder, in byte order of their whole
// names. Links are listed, not followed; dir itself may be reached through one.
func (t *Tree) Files(dir string) ([]string, error) {
	n, err := t.resolve(dir, true)
	if err == nil && !n.mode.IsDir() {
		err = errNotDir
	}
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: dir, Err: err}
	}
	names, err := t.store.files(n.name)
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: dir, Err: err}
	}
	if n.name == dir {
		return names, nil
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = path.Join(dir, relative(n.name, name))
	}
	return out, nil
}

// Links lists all links of the tree, in byte order.
func (t *Tree) Links() ([]string, error) {
	nodes, err := t.store.nodes()
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: ".", Err: err}
	}
	var out []string
	for _, n := range nodes {
		if n.isLink() {
			out = append(out, n.name)
		}
	}
	return out, nil
}

// relative gives name without the folder dir that it is below.
func relative(dir, name string) string {
	if dir == "." {
		return name
	}
	return name[len(dir)+1:]
}

// Submodules lists, in byte order, the submodules, and in a working tree the
// other repositories inside it. Nothing below them can be read.
func (t *Tree) Submodules() []string { return t.store.submodules() }

// Name turns a path that a user wrote, absolute or relative to the folder that
// the tree was opened for, into a name in the tree. It need not exist there.
func (t *Tree) Name(p string) (string, error) {
	if filepath.IsAbs(p) {
		if name, ok := t.inRoot(p); ok {
			return name, nil
		}
		if name, ok := t.inRoot(evalExisting(p)); ok {
			return name, nil
		}
		return "", &OutsideError{Path: p, Root: t.root, Noun: t.noun}
	}
	name := path.Join(t.Prefix, filepath.ToSlash(p))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", &OutsideError{Path: p, Root: t.root, Noun: t.noun}
	}
	return name, nil
}

func (t *Tree) inRoot(p string) (string, bool) {
	if t.root == "" {
		return "", false
	}
	rel, err := filepath.Rel(t.root, p)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// evalExisting follows the links in the part of p that exists.
func evalExisting(p string) string {
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(p)
		if parent == p {
			return filepath.Join(p, rest)
		}
		p, rest = parent, filepath.Join(filepath.Base(p), rest)
	}
}

// Close ends what the tree holds open. A Source closes its own trees.
func (t *Tree) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}

type fileInfo struct {
	name string
	n    node
	size int64
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.n.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.n.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

type dirEntry struct {
	t *Tree
	n node
}

func (e dirEntry) Name() string      { return path.Base(e.n.name) }
func (e dirEntry) IsDir() bool       { return e.n.mode.IsDir() }
func (e dirEntry) Type() fs.FileMode { return e.n.mode.Type() }
func (e dirEntry) String() string    { return fs.FormatDirEntry(e) }
func (e dirEntry) Info() (fs.FileInfo, error) {
	size, err := e.t.sizeOf(e.n)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: e.n.name, Err: err}
	}
	return fileInfo{e.Name(), e.n, size}, nil
}

type openFile struct {
	*bytes.Reader
	info fileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	t    *Tree
	name string
	info fileInfo
	rest []fs.DirEntry
	read bool
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errIsDir}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		all, err := d.t.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.rest, d.read = all, true
	}
	if n <= 0 {
		out := d.rest
		d.rest = nil
		return out, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	out := d.rest[:n:n]
	d.rest = d.rest[n:]
	return out, nil
}
