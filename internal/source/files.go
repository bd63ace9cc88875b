package source

import (
	"crypto/sha1"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Paths opens what a user named as before and after: two folders, or two files
// in the sense of Files.
func Paths(before, after string, o Options) (Source, error) {
	b, err := os.Stat(before)
	if err != nil {
		return nil, err
	}
	a, err := os.Stat(after)
	switch {
	case err != nil:
		return nil, err
	case b.IsDir() && a.IsDir():
		return Folders(before, after, o)
	case b.IsDir():
		return nil, &mixedError{before, after}
	case a.IsDir():
		return nil, &mixedError{after, before}
	}
	return Files(before, after, o)
}

type mixedError struct{ folder, file string }

func (e *mixedError) Error() string {
	return e.folder + " is a folder and " + e.file + " is a file: name two folders or two files"
}

// Files opens two files as trees of one file each. Both have the same name in
// their trees, that of after, so that they are one file that changes.
// os.DevNull is a file that is not there, and a pipe, such as a shell's <(command),
// is read to its end; the name is then that of before.
func Files(before, after string, o Options) (Source, error) {
	name := "manifest.yaml"
	for _, p := range []string{after, before} {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			name = filepath.Base(p)
			break
		}
	}
	b, err := openOne(before, name, o)
	if err != nil {
		return nil, err
	}
	a, err := openOne(after, name, o)
	if err != nil {
		return nil, err
	}
	return &pair{b, a}, nil
}

func openOne(p, name string, o Options) (*Tree, error) {
	s := &fileStore{}
	if p != os.DevNull {
		data, mode, err := readNamed(p, o.limit())
		if err != nil {
			return nil, err
		}
		s.data = data
		s.listing = listing{{name: name, mode: mode, size: int64(len(data))}}
	}
	return &Tree{Rev: p, Prefix: ".", store: s, limit: o.limit(), noun: "file's folder"}, nil
}

// readNamed reads a file that the user named, pipes too.
func readNamed(p string, limit int64) ([]byte, fs.FileMode, error) {
	f, err := os.Open(p)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return nil, 0, &fs.PathError{Op: "read", Path: p, Err: errIsDir}
	case !mode.IsRegular() && mode&fs.ModeNamedPipe == 0:
		return nil, 0, &fs.PathError{Op: "read", Path: p, Err: &SpecialFileError{mode}}
	case !mode.IsRegular():
		mode = 0o644
	}
	data, err := readUpTo(f, info.Size(), limit)
	if err == nil {
		data, err = lfsStore{}.content(data, limit)
	}
	if err != nil {
		return nil, 0, &fs.PathError{Op: "read", Path: p, Err: err}
	}
	return data, mode.Perm(), nil
}

// A fileStore is one file in memory, or none.
type fileStore struct {
	listing
	data []byte
}

// read gives what is kept, not a copy.
func (s *fileStore) read(node, int64) ([]byte, error) { return s.data, nil }

func (s *fileStore) readLink(node) (string, error) { return "", errors.New("not a link") }
func (s *fileStore) identity(node) (string, error) { return blobID(sha1.New(), s.data), nil }
func (s *fileStore) size(n node) (int64, error)    { return n.size, nil }
