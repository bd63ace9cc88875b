package source

import (
	"errors"
	"fmt"
	"io/fs"
)

// What a repository can be like that a run cannot go on with. Errors of this
// package wrap one of them and say in their text what to do.
var (
	ErrNoGit         = errors.New("git not found")
	ErrNotRepository = errors.New("not a git repository")
	ErrOwner         = errors.New("repository owned by another user")
	ErrBare          = errors.New("bare repository")
	ErrUnborn        = errors.New("no commit yet")
	ErrNoRevision    = errors.New("no such revision")
	ErrNoBase        = errors.New("no base to compare with")
	ErrShallow       = errors.New("shallow clone")
	ErrMissingObject = errors.New("missing object")
)

// A repoError is one of the above with a sentence of its own.
type repoError struct {
	kind error
	msg  string
}

func (e *repoError) Error() string { return e.msg }
func (e *repoError) Unwrap() error { return e.kind }

func errorOf(kind error, format string, args ...any) error {
	return &repoError{kind, fmt.Sprintf(format, args...)}
}

// The errors of io/fs have no words for these two. The second is an
// fs.ErrNotExist as well: below a file there is nothing.
var (
	errIsDir  = errors.New("is a folder")
	errNotDir = error(&repoError{fs.ErrNotExist, "not a folder"})
)

// A LinkReason says what is wrong with a link.
type LinkReason int

// The reasons why a link is not followed.
const (
	LinkOutside  LinkReason = iota + 1 // it leads out of the tree, or is absolute
	LinkLoop                           // it leads to itself, or through more than 40 links
	LinkDangling                       // what it leads to is not there
	LinkInvalid                        // its target is empty, too long or not a path
)

// A LinkError is a link that cannot be followed. A dangling one is fs.ErrNotExist too.
type LinkError struct {
	Link, Target string // the link's real name, and what is written in it
	Reason       LinkReason
	Noun         string // "repository" or "folder"
}

func (e *LinkError) Error() string {
	at := fmt.Sprintf("%s -> %s", e.Link, e.Target)
	switch e.Reason {
	case LinkOutside:
		return fmt.Sprintf("link leads outside the %s: %s; prdiff reads nothing out there, so copy the file in", e.Noun, at)
	case LinkLoop:
		return fmt.Sprintf("link leads in a circle: %s", at)
	case LinkDangling:
		return fmt.Sprintf("link leads to a file that does not exist: %s", at)
	default:
		return fmt.Sprintf("link has no usable target: %s -> %.80q", e.Link, e.Target)
	}
}

// Is makes a dangling link a file that does not exist.
func (e *LinkError) Is(target error) bool {
	return target == fs.ErrNotExist && e.Reason == LinkDangling
}

// A SubmoduleError is an attempt to read in a submodule.
type SubmoduleError struct{ Submodule string }

func (e *SubmoduleError) Error() string {
	return fmt.Sprintf("inside the submodule %s: prdiff does not look into submodules or other nested repositories", e.Submodule)
}

// An LFSError is a file whose content Git LFS keeps elsewhere.
type LFSError struct {
	OID    string // SHA-256 of the content, hex
	Size   int64  // bytes
	Commit string // the revision that was read, "" for a working tree
}

func (e *LFSError) Error() string {
	pull := "git lfs pull"
	if e.Commit != "" {
		pull = fmt.Sprintf("git lfs fetch origin %s", e.Commit)
	}
	return fmt.Sprintf("is a Git LFS pointer and its content (%d bytes) is not on this machine: run `%s` first (in GitHub Actions, set `lfs: true` on actions/checkout)", e.Size, pull)
}

// A TooLargeError is a file over the limit of Options.MaxFileSize.
type TooLargeError struct{ Size, Limit int64 } // bytes

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("is %d bytes large; prdiff reads files of up to %d", e.Size, e.Limit)
}

// A SpecialFileError is a device, pipe or socket.
type SpecialFileError struct{ Mode fs.FileMode }

func (e *SpecialFileError) Error() string {
	what := "special file"
	switch {
	case e.Mode&fs.ModeNamedPipe != 0:
		what = "named pipe"
	case e.Mode&fs.ModeSocket != 0:
		what = "socket"
	case e.Mode&fs.ModeDevice != 0:
		what = "device"
	}
	return fmt.Sprintf("is a %s; prdiff reads regular files only", what)
}

// An OutsideError is a path that a user named and that is not in the tree.
type OutsideError struct{ Path, Root, Noun string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s is outside the %s %s: name a path inside it, or run prdiff in the repository that the path belongs to", e.Path, e.Noun, e.Root)
}

// An IgnoredError is a file that is on disk but that git does not count to the
// working tree. It is fs.ErrNotExist too.
type IgnoredError struct{ Name string }

func (e *IgnoredError) Error() string {
	return fmt.Sprintf("file does not exist for git: %s is on disk, but ignored (`git check-ignore -v` says by which line), so no commit would have it", e.Name)
}

// Is makes an ignored file one that does not exist.
func (e *IgnoredError) Is(target error) bool { return target == fs.ErrNotExist }
