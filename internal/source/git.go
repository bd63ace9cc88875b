package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// WorkingTree is the Rev of a working tree.
const WorkingTree = "working tree"

// Git opens two states of the repository that dir is in. Each of base and head is
// anything that git takes for a commit. Head "" is the working tree. Base "" is
// the merge base of head and the branch that it would be merged into
// (defaultBase says how that is found), and "REV..." the merge base of head and REV.
//
// The context bounds the life of the source: when it ends, so do the processes
// that it reads through. The caller closes the source.
func Git(ctx context.Context, dir, base, head string, o Options) (Source, error) {
	r, err := discover(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	g := &gitSource{repo: r, objects: r.objects(ctx)}
	if head == "" {
		if r.bare {
			return nil, r.noWorkingTree()
		}
		if branch := r.unborn(ctx); branch != "" && base == "" {
			_, err := r.commit(ctx, "HEAD")
			return nil, err
		}
		g.head.rev = WorkingTree
	} else {
		g.head.rev = head
		if g.head.sha, err = r.commit(ctx, head); err != nil {
			return nil, err
		}
	}
	if err := g.findBase(ctx, base); err != nil {
		return nil, err
	}
	return g, nil
}

func (r *repo) noWorkingTree() error {
	return errorOf(ErrBare, "%s is a bare repository, which has no working tree: name two revisions, as in --base REV --head REV", r.root)
}

// A gitSource is two states of one repository.
type gitSource struct {
	repo       *repo
	objects    *catFile
	base, head gitSide
}

// A gitSide is one of them, read when it is first asked for.
type gitSide struct {
	rev, sha string // sha "" for the working tree

	mu   sync.Mutex
	tree *Tree
}

func (g *gitSource) findBase(ctx context.Context, base string) error {
	rev, fork := strings.CutSuffix(base, "...")
	if base != "" && !fork {
		sha, err := g.repo.commit(ctx, base)
		g.base.rev, g.base.sha = base, sha
		return err
	}
	var id string
	var err error
	if rev == "" {
		id, rev, err = g.repo.defaultBase(ctx)
	} else {
		id, err = g.repo.commit(ctx, rev)
	}
	if err != nil {
		return err
	}
	head := g.head.sha
	if head == "" {
		if head, err = g.repo.commit(ctx, "HEAD"); err != nil {
			return err
		}
	}
	g.base.rev = "merge base with " + rev
	if rev == "HEAD" {
		g.base.rev = rev
	}
	g.base.sha, err = g.repo.mergeBase(ctx, id, head, rev)
	return err
}

func (g *gitSource) Base(ctx context.Context) (*Tree, error) { return g.side(ctx, &g.base) }
func (g *gitSource) Head(ctx context.Context) (*Tree, error) { return g.side(ctx, &g.head) }

func (g *gitSource) side(ctx context.Context, s *gitSide) (*Tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree != nil {
		return s.tree, nil
	}
	if s == &g.base && g.repo.isPartial() {
		g.prefetch(ctx)
	}
	tree, err := g.repo.tree(ctx, g.objects, s.rev, s.sha)
	if err != nil {
		return nil, err
	}
	s.tree = tree
	return tree, nil
}

// prefetch has git fetch, all at once, the files of a partial clone that are others in base
// than in head. They would be fetched one by one as they are read, at a second each.
// If it does not work, reading them says so.
func (g *gitSource) prefetch(ctx context.Context) {
	head := g.head.sha
	if head == "" {
		head = "HEAD"
	}
	// Counting lines makes git want the content of both sides.
	_, _ = g.repo.git(ctx, nil, "diff-tree", "-r", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--ignore-submodules=all", g.base.sha, head)
}

// tree reads the list of files of a commit, or of the working tree when sha is "".
func (r *repo) tree(ctx context.Context, objects *catFile, rev, sha string) (*Tree, error) {
	t := &Tree{Rev: rev, SHA: sha, Prefix: r.prefix, limit: r.limit, root: r.root, noun: "repository"}
	if sha == "" {
		s, err := r.workTree(ctx, objects)
		if err != nil {
			return nil, err
		}
		t.store, t.close = s, s.root.Close
		return t, nil
	}
	out, err := r.git(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", sha)
	if err != nil {
		return nil, err
	}
	list, err := parseTree(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rev, err)
	}
	t.store = &revStore{listing: list, objects: objects, lfs: lfsStore{r.commonDir, sha}}
	return t, nil
}

func (g *gitSource) Changed(ctx context.Context) ([]string, error) {
	base, err := g.Base(ctx)
	if err != nil {
		return nil, err
	}
	head, err := g.Head(ctx)
	if err != nil {
		return nil, err
	}
	return changed(ctx, base, head)
}

func (g *gitSource) Close() error {
	err := g.repo.close()
	for _, s := range []*gitSide{&g.base, &g.head} {
		s.mu.Lock()
		if s.tree != nil {
			err = errors.Join(err, s.tree.Close())
		}
		s.mu.Unlock()
	}
	return err
}

// Open opens one tree: the revision rev of the repository that dir is in, or for
// rev "" its working tree. A dir that is in no repository, or a file, is then read as it
// stands on disk; of a file, the tree is the folder that it is in and
// Prefix its name. The context bounds the life of the tree. The caller closes it.
func Open(ctx context.Context, dir, rev string, o Options) (*Tree, error) {
	name := "."
	folder := dir
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		folder, name = filepath.Dir(dir), filepath.Base(dir)
	}
	r, err := discover(ctx, folder, o)
	if rev == "" && (errors.Is(err, ErrNotRepository) || errors.Is(err, ErrNoGit)) {
		t, err := openFolder(folder, o)
		if err == nil {
			t.Prefix = name
		}
		return t, err
	}
	if err != nil {
		return nil, err
	}
	if name != "." {
		r.prefix = joinPrefix(r.prefix, name)
	}
	sha := ""
	if rev == "" {
		if r.bare {
			return nil, errorOf(ErrBare, "%s is a bare repository, which has no working tree: name a revision, as in --rev REV", r.root)
		}
		rev = WorkingTree
	} else if sha, err = r.commit(ctx, rev); err != nil {
		return nil, err
	}
	t, err := r.tree(ctx, r.objects(ctx), rev, sha)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	if closeRoot := t.close; closeRoot != nil {
		t.close = func() error { return errors.Join(closeRoot(), r.close()) }
	} else {
		t.close = r.close
	}
	return t, nil
}

func joinPrefix(prefix, name string) string {
	if prefix == "." {
		return name
	}
	return prefix + "/" + name
}

// parseTree reads the output of git ls-tree -r -z:
// mode, type and id, a tab, the name, a NUL.
func parseTree(out string) (listing, error) {
	nodes := make([]node, 0, strings.Count(out, "\x00"))
	for out != "" {
		line, rest, ok := strings.Cut(out, "\x00")
		about, name, tab := strings.Cut(line, "\t")
		fields := strings.Split(about, " ")
		if !ok || !tab || len(fields) != 3 || !isObjectID(fields[2]) {
			return nil, fmt.Errorf("git ls-tree: unexpected answer %.200q", line)
		}
		if !validName(name) || name == "." {
			return nil, fmt.Errorf("the tree has an entry named %.200q, which git itself refuses to check out", name)
		}
		mode, ok := parseMode(fields[0])
		if !ok {
			return nil, fmt.Errorf("the entry %.200q has the mode %s, which is none of git's", name, fields[0])
		}
		nodes = append(nodes, node{name: name, mode: mode, id: fields[2], size: -1})
		out = rest
	}
	return newListing(nodes), nil
}

// parseMode reads a mode of a git tree or index. Old repositories have files of mode 100664.
func parseMode(s string) (fs.FileMode, bool) {
	switch s {
	case "100644", "100664":
		return 0o644, true
	case "100755":
		return 0o755, true
	case "120000":
		return fs.ModeSymlink | 0o777, true
	case "160000":
		return submoduleMode, true
	}
	return 0, false
}

// A revStore is the tree of a commit.
type revStore struct {
	listing
	objects *catFile
	lfs     lfsStore
}

func (s *revStore) read(n node, limit int64) ([]byte, error) {
	data, err := s.objects.read(n.id, "blob", limit)
	if err != nil {
		return nil, err
	}
	return s.lfs.content(data, limit)
}

func (s *revStore) readLink(n node) (string, error) { return readLinkBlob(s.objects, n) }

func readLinkBlob(objects *catFile, n node) (string, error) {
	data, err := objects.read(n.id, "blob", maxLinkLength)
	if tooLarge := (*TooLargeError)(nil); errors.As(err, &tooLarge) {
		return "", &LinkError{Link: n.name, Reason: LinkInvalid}
	}
	return string(data), err
}

func (s *revStore) identity(n node) (string, error) { return n.id, nil }

// size is that of the blob; of a file in Git LFS, that of what reading gives.
func (s *revStore) size(n node) (int64, error) {
	size, err := s.objects.size(n.id)
	if err != nil || size > maxPointer {
		return size, err
	}
	data, err := s.objects.read(n.id, "blob", maxPointer)
	if err != nil {
		return 0, err
	}
	if p, ok := parsePointer(data); ok && n.mode.IsRegular() {
		return p.size, nil
	}
	return size, nil
}
