package source

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// A workStore is the working tree: what a commit of all that is in it, but for
// ignored files, would hold. Text reads with the line endings that git would
// store, so that those which a checkout made are no change.
type workStore struct {
	listing
	root    *os.Root
	objects *catFile
	lfs     lfsStore
	newHash func() hash.Hash
	odd     map[string]workFile // those that are not what the index has

	mu  sync.Mutex
	ids map[string]string
}

// A workFile is a file that may be another than in the index.
type workFile struct {
	indexID  string // "" for an untracked file
	sparse   bool   // not on disk, on purpose: the index says what it would be
	wasLink  bool   // a link, on a system that has none
	eol      lineEndings
	lfsClean bool // git would store a Git LFS pointer
}

// workTree lists the working tree.
func (r *repo) workTree(ctx context.Context, objects *catFile) (*workStore, error) {
	var index, dirty, others string
	var errs [3]error
	var wg sync.WaitGroup
	wg.Go(func() { index, errs[0] = r.git(ctx, nil, "ls-files", "-s", "-v", "-z") })
	wg.Go(func() {
		// It compares times and sizes, and names too many: what it names is
		// hashed here. git diff would look closer, and write to the index.
		dirty, errs[1] = r.git(ctx, nil, "diff-files", "--name-only", "-z", "--no-renames", "--no-ext-diff",
			"--no-textconv", "--ignore-submodules=dirty")
	})
	wg.Go(func() {
		others, errs[2] = r.git(ctx, nil, "ls-files", "--others", "--exclude-standard", "-z")
	})
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	entries, err := parseIndex(index)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, err
	}
	s := &workStore{
		root: root, objects: objects, lfs: lfsStore{gitDir: r.commonDir},
		newHash: sha1.New, odd: map[string]workFile{}, ids: map[string]string{},
	}
	if r.config.get("extensions.objectformat") == "sha256" {
		s.newHash = sha256.New
	}
	if err := s.list(r, entries, splitNames(dirty), splitNames(others)); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if err := s.readAttributes(ctx, r); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

func splitNames(out string) []string {
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
}

// An indexEntry is one line of git's index.
type indexEntry struct {
	node
	sparse, assumed, unmerged bool
}

// parseIndex reads the output of git ls-files -s -v -z:
// tag, mode, id and stage, a tab, the name, a NUL. The tag is S for an entry that
// is left out of the working tree, and lower case for one that git was told to take for unchanged.
func parseIndex(out string) ([]indexEntry, error) {
	entries := make([]indexEntry, 0, strings.Count(out, "\x00"))
	for out != "" {
		line, rest, ok := strings.Cut(out, "\x00")
		about, name, tab := strings.Cut(line, "\t")
		fields := strings.Split(about, " ")
		if !ok || !tab || len(fields) != 4 || len(fields[0]) != 1 || !isObjectID(fields[2]) || !validName(name) {
			return nil, fmt.Errorf("git ls-files: unexpected answer %.200q", line)
		}
		mode, ok := parseMode(fields[1])
		if !ok {
			return nil, fmt.Errorf("the index has %.200q with the mode %s, which is none of git's", name, fields[1])
		}
		tag := fields[0]
		entries = append(entries, indexEntry{
			node:     node{name: name, mode: mode, id: fields[2], size: -1},
			sparse:   tag == "S" || tag == "s",
			assumed:  tag != strings.ToUpper(tag),
			unmerged: fields[3] != "0",
		})
		out = rest
	}
	return entries, nil
}

// list makes the listing of what the index has, what is modified, and what is untracked.
func (s *workStore) list(r *repo, index []indexEntry, dirty, others []string) error {
	modified := make(map[string]bool, len(dirty))
	for _, name := range dirty {
		modified[name] = true
	}
	modes := r.config.bool("core.filemode", true)
	links := r.config.bool("core.symlinks", true)
	nodes := make([]node, 0, len(index)+len(others))
	for i, e := range index {
		if i > 0 && index[i-1].name == e.name {
			continue // another stage of a conflict
		}
		if hasDotGit(e.name) {
			return fmt.Errorf("the index has an entry named %.200q, which git itself refuses to check out", e.name)
		}
		if !modified[e.name] && !e.sparse && !e.assumed && !e.unmerged {
			nodes = append(nodes, e.node)
			continue
		}
		n, err := s.lstatReal(e.name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && e.sparse:
			s.odd[e.name] = workFile{indexID: e.id, sparse: true}
			nodes = append(nodes, e.node)
			continue
		case errors.Is(err, fs.ErrNotExist):
			continue // deleted
		case err != nil:
			return fmt.Errorf("%s: %w", e.name, err)
		case n.mode.IsDir() && e.isSubmodule():
			n = node{name: e.name, mode: submoduleMode, size: -1}
			if !modified[e.name] {
				n.id = e.id
			}
		case n.mode.IsDir():
			continue // its files are untracked ones
		}
		f := workFile{indexID: e.id}
		if n.mode.IsRegular() && e.isLink() && !links {
			f.wasLink, n.mode, n.size = true, e.mode, -1
		}
		if n.mode.IsRegular() && e.mode.IsRegular() && !modes {
			n.mode = e.mode
		}
		s.odd[e.name] = f
		nodes = append(nodes, n)
	}
	for _, name := range others {
		if inner, ok := strings.CutSuffix(name, "/"); ok {
			nodes = append(nodes, node{name: inner, mode: submoduleMode, size: -1})
			continue
		}
		n, err := s.lstatReal(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && n.mode.IsDir() {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.odd[name] = workFile{}
		nodes = append(nodes, n)
	}
	s.listing = newListing(nodes)
	return nil
}

func hasDotGit(name string) bool {
	for elem := range strings.SplitSeq(name, "/") {
		if isDotGit(elem) {
			return true
		}
	}
	return false
}

// lstatReal is lstatRoot for a name that must not lead through a link, as for git.
func (s *workStore) lstatReal(name string) (node, error) {
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		if n, err := lstatRoot(s.root, name[:i]); err != nil || !n.mode.IsDir() {
			return node{}, errors.Join(fs.ErrNotExist, err)
		}
	}
	n, err := lstatRoot(s.root, name)
	n.size = -1 // on disk it may be another than as it is read
	return n, err
}

func (s *workStore) read(n node, limit int64) ([]byte, error) {
	f, listed := s.odd[n.name]
	if f.sparse {
		data, err := s.objects.read(n.id, "blob", limit)
		if err != nil {
			return nil, err
		}
		return s.lfs.content(data, limit)
	}
	data, err := readRegular(s.root, n.name, limit)
	if err != nil {
		return nil, err
	}
	if listed {
		if data, err = f.eol.clean(data, func() ([]byte, error) { return s.indexed(f, limit) }); err != nil {
			return nil, err
		}
		return s.lfs.content(data, limit)
	}
	// Git calls it unmodified. If its bytes are not those of the blob, the
	// line endings are; if they are not either, a filter such as git-crypt has been at work.
	if bytes.Contains(data, []byte("\r\n")) && blobID(s.newHash(), data) != n.id {
		if lf := toLF(data); blobID(s.newHash(), lf) == n.id {
			data = lf
		}
	}
	return s.lfs.content(data, limit)
}

// indexed gives what the index has for a modified file.
func (s *workStore) indexed(f workFile, limit int64) ([]byte, error) {
	if f.indexID == "" {
		return nil, nil
	}
	return s.objects.read(f.indexID, "blob", limit)
}

func (s *workStore) readLink(n node) (string, error) {
	f, listed := s.odd[n.name]
	switch {
	case !listed || f.sparse:
		return readLinkBlob(s.objects, n)
	case f.wasLink:
		data, err := readRegular(s.root, n.name, maxLinkLength)
		return string(data), err
	}
	return readLinkRoot(s.root, n.name)
}

func (s *workStore) identity(n node) (string, error) {
	s.mu.Lock()
	id, ok := s.ids[n.name]
	s.mu.Unlock()
	if ok {
		return id, nil
	}
	id, err := s.hash(n)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.ids[n.name] = id
	s.mu.Unlock()
	return id, nil
}

// hash gives the id of the blob that git would store.
func (s *workStore) hash(n node) (string, error) {
	f := s.odd[n.name]
	if n.isLink() {
		target, err := s.readLink(n)
		return blobID(s.newHash(), []byte(target)), err
	}
	file, size, err := openRegular(s.root, n.name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if f.lfsClean {
		return s.hashLFS(file, size)
	}
	if f.eol == storedAsIs || size > DefaultMaxFileSize {
		return fileID(s.root, n.name, s.newHash())
	}
	data, err := readUpTo(file, size, DefaultMaxFileSize)
	if err != nil {
		return "", err
	}
	data, err = f.eol.clean(data, func() ([]byte, error) { return s.indexed(f, DefaultMaxFileSize) })
	return blobID(s.newHash(), data), err
}

// hashLFS gives the id of the pointer that Git LFS would store in the file's place
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
func (s *workStore) hashLFS(file io.Reader, size int64) (string, error) {
	var start bytes.Buffer
	sum := sha256.New()
	if size < maxPointer {
		if _, err := io.Copy(io.MultiWriter(&start, sum), file); err != nil {
			return "", diskError(err)
		}
		if IsLFSPointer(start.Bytes()) || size == 0 {
			return blobID(s.newHash(), start.Bytes()), nil
		}
	} else if _, err := io.Copy(sum, file); err != nil {
		return "", diskError(err)
	}
	text := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", hex.EncodeToString(sum.Sum(nil)), size)
	return blobID(s.newHash(), []byte(text)), nil
}

// size is that on disk, which a checkout may have made larger with line endings.
func (s *workStore) size(n node) (int64, error) {
	if n.isLink() {
		target, err := s.readLink(n)
		return int64(len(target)), err
	}
	if s.odd[n.name].sparse {
		return s.objects.size(n.id)
	}
	info, err := s.root.Lstat(filepath.FromSlash(n.name))
	if err != nil {
		return 0, diskError(err)
	}
	return info.Size(), nil
}

// explain tells an ignored file from one that is not there.
func (s *workStore) explain(name string, err error) error {
	if err != fs.ErrNotExist || hasDotGit(name) {
		return err
	}
	if n, e := lstatRoot(s.root, name); e == nil && n.mode.IsRegular() {
		return &IgnoredError{path.Clean(name)}
	}
	return err
}
