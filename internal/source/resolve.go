package source

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// maxLinks is how many links one name may lead through, as on Linux
// (https://man7.org/linux/man-pages/man7/path_resolution.7.html).
const maxLinks = 40

// maxLinkLength is the longest target that a link may have, in bytes: PATH_MAX of Linux.
const maxLinkLength = 4096

// validName says whether name may be asked for. Other than fs.ValidPath it takes
// names that are not UTF-8, for git does.
func validName(name string) bool {
	if name == "." {
		return true
	}
	for elem := range strings.SplitSeq(name, "/") {
		if elem == "" || elem == "." || elem == ".." || strings.Contains(elem, "\x00") {
			return false
		}
	}
	return true
}

// resolve finds the node that name leads to. With follow, a link that name
// itself is gets followed too.
func (t *Tree) resolve(name string, follow bool) (node, error) {
	if !validName(name) {
		return node{}, fs.ErrInvalid
	}
	if t.store.exact() {
		if n, err := t.store.lstat(name); err == nil && !(follow && n.isLink()) {
			return n, nil
		}
	}
	n, err := t.walk(name, follow)
	if errors.Is(err, fs.ErrNotExist) {
		err = t.store.explain(name, err)
	}
	return n, err
}

func (t *Tree) walk(name string, follow bool) (node, error) {
	at, err := t.store.lstat(".")
	if err != nil {
		return node{}, err
	}
	var link LinkError // the last link followed
	rest := strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		elem := rest[0]
		rest = rest[1:]
		switch {
		case at.isSubmodule():
			return node{}, &SubmoduleError{Submodule: at.name}
		case !at.mode.IsDir():
			return node{}, notThere(link, errNotDir)
		case elem == "" || elem == ".":
			continue
		case elem == "..":
			if at.name == "." {
				link.Reason, link.Noun = LinkOutside, t.noun
				return node{}, &link
			}
			if at, err = t.store.lstat(path.Dir(at.name)); err != nil {
				return node{}, err
			}
			continue
		}
		next, err := t.store.lstat(path.Join(at.name, elem))
		if err != nil {
			return node{}, notThere(link, err)
		}
		if !next.isLink() || len(rest) == 0 && !follow {
			at = next
			continue
		}
		target, err := t.store.readLink(next)
		if err != nil {
			return node{}, err
		}
		link = LinkError{Link: next.name, Target: target, Noun: t.noun}
		if links++; links > maxLinks {
			link.Reason = LinkLoop
			return node{}, &link
		}
		if path.IsAbs(target) {
			link.Reason = LinkOutside
			return node{}, &link
		}
		if target == "" || len(target) > maxLinkLength || strings.Contains(target, "\x00") {
			link.Reason = LinkInvalid
			return node{}, &link
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// notThere says which link led to what is not there, if one did.
func notThere(link LinkError, err error) error {
	if link.Link == "" || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	link.Reason = LinkDangling
	return &link
}
