// Package source gives the two states of a repository that a run compares, as
// trees of files: git revisions read straight from the object store, the working
// tree, folders and files. Links, LFS pointers, submodules and shallow clones are
// dealt with here and nowhere else.
package source

import (
	"context"
	"os"
)

// A Source gives the two trees of a run.
type Source interface {
	Base(ctx context.Context) (*Tree, error)
	Head(ctx context.Context) (*Tree, error)
	// Changed lists, in byte order, the files that are not the same in both
	// trees, by content, mode or presence. The names are real ones: a file that
	// is reached through a link stands under its own name (Tree.Resolve tells
	// it), the link under the link's. A submodule that moved is listed too.
	Changed(ctx context.Context) ([]string, error)
	Close() error
}

// DefaultMaxFileSize is the size in bytes above which a file is not read: 64 MiB.
// Manifests are a thousand times smaller; GitHub refuses files over 100 MiB
// (https://docs.github.com/en/repositories/working-with-files/managing-large-files/about-large-files-on-github).
const DefaultMaxFileSize = 64 << 20

// Options is what a caller may say about opening trees. The zero value is the default.
type Options struct {
	// Getenv looks up the environment; git is given a short list of what it
	// finds and nothing else. Nil means the environment of this process.
	Getenv func(string) string
	// MaxFileSize is the size in bytes above which a file is not read; 0 means
	// DefaultMaxFileSize.
	MaxFileSize int64
}

func (o Options) getenv() func(string) string {
	if o.Getenv == nil {
		return os.Getenv
	}
	return o.Getenv
}

func (o Options) limit() int64 {
	if o.MaxFileSize <= 0 {
		return DefaultMaxFileSize
	}
	return o.MaxFileSize
}
