package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Within opens two folders, or two files in the sense of Files, that lie in an open
// folder. Their names are relative to it, with forward slashes. Nothing outside
// of it is reached, not through links either, and nothing in a folder called
// .git. The caller keeps root open as long as the source, and closes both.
func Within(root *os.Root, before, after string, o Options) (Source, error) {
	b, err := statWithin(root, before)
	if err != nil {
		return nil, err
	}
	a, err := statWithin(root, after)
	switch {
	case err != nil:
		return nil, err
	case b.IsDir() && a.IsDir():
		return foldersWithin(root, before, after, o)
	case b.IsDir():
		return nil, &mixedError{before, after}
	case a.IsDir():
		return nil, &mixedError{after, before}
	}
	name := path.Base(after)
	from, err := fileWithin(root, before, name, o)
	if err != nil {
		return nil, err
	}
	to, err := fileWithin(root, after, name, o)
	if err != nil {
		return nil, err
	}
	return &pair{from, to}, nil
}

// statWithin says what is at a name, following links that stay inside.
func statWithin(root *os.Root, name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) || slices.ContainsFunc(strings.Split(name, "/"), isDotGit) {
		return nil, fmt.Errorf("%s: it is not a file or folder in the folder that prdiff was started for", name)
	}
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, within(name, err)
	}
	return info, nil
}

// within names the file as the user did.
func within(name string, err error) error {
	return &fs.PathError{Op: "read", Path: name, Err: diskError(err)}
}

func foldersWithin(root *os.Root, before, after string, o Options) (Source, error) {
	b, err := folderWithin(root, before, o)
	if err != nil {
		return nil, err
	}
	a, err := folderWithin(root, after, o)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &pair{b, a}, nil
}

func folderWithin(root *os.Root, name string, o Options) (*Tree, error) {
	sub, err := root.OpenRoot(filepath.FromSlash(name))
	if err != nil {
		return nil, within(name, err)
	}
	return &Tree{
		Rev: name, Prefix: ".", limit: o.limit(), noun: "folder",
		store: &folderStore{root: sub, ids: map[string]string{}},
		close: sub.Close,
	}, nil
}

func fileWithin(root *os.Root, name, as string, o Options) (*Tree, error) {
	data, err := readRegular(root, name, o.limit())
	if err == nil {
		data, err = lfsStore{}.content(data, o.limit())
	}
	if err != nil {
		return nil, within(name, err)
	}
	return textTree(name, as, data, o), nil
}

// Texts makes a source of two texts, as one file that changes. A nil text is a
// file that is not there. No file is read.
func Texts(name string, before, after []byte) Source {
	tree := func(rev string, data []byte) *Tree {
		if data == nil {
			return &Tree{Rev: rev, Prefix: ".", store: &fileStore{}, limit: DefaultMaxFileSize, noun: "file's folder"}
		}
		return textTree(rev, name, data, Options{})
	}
	return &pair{tree("before", before), tree("after", after)}
}

// textTree is a tree of one file.
func textTree(rev, name string, data []byte, o Options) *Tree {
	return &Tree{
		Rev: rev, Prefix: ".", limit: o.limit(), noun: "file's folder",
		store: &fileStore{data: data, listing: listing{{name: name, mode: 0o644, size: int64(len(data))}}},
	}
}
