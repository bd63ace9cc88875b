package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// fetchFailed says whether git's messages are about an object that a partial
// clone left out and could not fetch. Those of the fetch itself, about the transport,
// may come without git's own.
func fetchFailed(stderr string) bool {
	return strings.Contains(stderr, "promisor remote") || strings.Contains(stderr, "lazy fetch") || strings.Contains(stderr, "transport '")
}

func (r *repo) fetchError(stderr string) error {
	if key := r.config.fetchProgram(); key != "" {
		return errorOf(ErrMissingObject, "this is a partial clone, and prdiff fetches none of what it left out while the repository's own configuration names a program to fetch with (%s): fetch everything before with `git fetch --refetch --no-filter`", key)
	}
	why := firstLine(stderr)
	if why == "" {
		why = "no remote has it"
	}
	return errorOf(ErrMissingObject, "this is a partial clone, and git could not fetch an object that it left out (%s): run prdiff where `git fetch` works, or fetch everything before with `git fetch --refetch --no-filter`", why)
}

// missingObject says why an object is not there; fetchErr is what a fetch said.
func (r *repo) missingObject(id string, fetchErr error) error {
	switch {
	case fetchErr != nil:
		return fetchErr
	case r.shallow:
		return errorOf(ErrMissingObject, "the object %s is not in this shallow clone: %s", id, r.deepen())
	}
	return errorOf(ErrMissingObject, "the object %s is missing, so the repository is damaged: `git fsck` says more, and a fresh clone helps", id)
}

// deepen says how a shallow clone gets more of the history.
func (r *repo) deepen() string {
	return "run `git fetch --unshallow`, or in GitHub Actions give actions/checkout `fetch-depth: 0`"
}

// checkRev refuses what is not a revision before git sees it.
func checkRev(rev string) error {
	switch {
	case rev == "":
		return errorOf(ErrNoRevision, "the revision is empty: name a branch, tag or commit")
	case strings.HasPrefix(rev, "-"):
		return errorOf(ErrNoRevision, "%q is no revision: they do not begin with '-'", rev)
	case strings.ContainsAny(rev, "\x00\n"):
		return errorOf(ErrNoRevision, "%q is no revision", rev)
	}
	return nil
}

// commit finds the commit that rev names.
func (r *repo) commit(ctx context.Context, rev string) (string, error) {
	if err := checkRev(rev); err != nil {
		return "", err
	}
	spec := rev
	if strings.HasPrefix(rev, ":/") {
		// What follows is all text to look for in messages.
		id, err := r.revParse(ctx, rev)
		if err == nil {
			spec = id
		}
	}
	id, err := r.revParse(ctx, spec+"^{commit}")
	if err == nil {
		return id, nil
	}
	var failed *gitError
	if !errors.As(err, &failed) {
		return "", err
	}
	return "", r.noRevision(ctx, rev, failed)
}

func (r *repo) revParse(ctx context.Context, rev string) (string, error) {
	out, err := r.git(ctx, nil, "rev-parse", "--verify", "--end-of-options", rev)
	if err != nil {
		return "", err
	}
	id := strings.TrimSuffix(out, "\n")
	if !isObjectID(id) {
		return "", &gitError{"rev-parse", 0, fmt.Sprintf("%.80q is not one commit", rev)}
	}
	return id, nil
}

// noRevision says why rev names no commit.
func (r *repo) noRevision(ctx context.Context, rev string, failed *gitError) error {
	if branch := r.unborn(ctx); branch != "" && (rev == "HEAD" || rev == branch || strings.HasPrefix(rev, "HEAD~") || strings.HasPrefix(rev, "HEAD^")) {
		return errorOf(ErrUnborn, "the branch %s has no commit yet: commit first, or compare two folders: prdiff diff BEFORE AFTER", branch)
	}
	if strings.Contains(failed.stderr, "is ambiguous") {
		return errorOf(ErrNoRevision, "the revision %q is ambiguous: write more of its letters, or its whole name, such as refs/heads/NAME", rev)
	}
	if _, err := r.revParse(ctx, rev); err == nil && !isObjectID(rev) {
		return errorOf(ErrNoRevision, "the revision %q is not a commit", rev)
	}
	branch := r.fetchBranch(rev)
	if r.shallow && branch == "" {
		return errorOf(ErrShallow, "the revision %q is not in this shallow clone: %s", rev, r.deepen())
	}
	hint := "`git fetch` may bring it"
	if branch != "" {
		// A clone of one branch gets no other one by a plain git fetch, not even by
		// git fetch --unshallow.
		hint = "if it is a branch, " + branch
	}
	if similar := r.similar(ctx, rev); len(similar) > 0 {
		hint = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	if r.shallow {
		return errorOf(ErrShallow, "the revision %q is not in this shallow clone: %s", rev, hint)
	}
	return errorOf(ErrNoRevision, "there is no revision %q in this repository: %s", rev, hint)
}

// unborn gives the branch that HEAD is on when that has no commit, else "".
func (r *repo) unborn(ctx context.Context) string {
	if _, err := r.revParse(ctx, "HEAD"); err == nil {
		return ""
	}
	return r.branch(ctx)
}

// branch gives the branch that HEAD is on, "" when HEAD is detached.
func (r *repo) branch(ctx context.Context) string {
	out, err := r.git(ctx, nil, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(out, "\n"), "refs/heads/")
}

// similar lists up to three branches and tags whose names are near to rev.
func (r *repo) similar(ctx context.Context, rev string) []string {
	out, err := r.git(ctx, nil, "for-each-ref", "--format=%(refname:short)")
	if err != nil {
		return nil
	}
	type near struct {
		name     string
		distance int
	}
	var all []near
	for name := range strings.Lines(out) {
		name = strings.TrimSuffix(name, "\n")
		// A branch of a remote is near to the branch's own name.
		_, last, _ := strings.Cut(name, "/")
		d := min(editDistance(rev, name), editDistance(rev, last)+1)
		if d <= 1+len(rev)/4 {
			all = append(all, near{name, d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.distance - b.distance })
	var names []string
	for _, n := range all[:min(3, len(all))] {
		names = append(names, n.name)
	}
	return names
}

// editDistance counts the bytes to add, drop or change to make b of a.
func editDistance(a, b string) int {
	if len(a) > 200 || len(b) > 200 {
		return 200
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// mergeBase finds where head left base, both commits; baseName is what the user knows it by.
func (r *repo) mergeBase(ctx context.Context, base, head, baseName string) (string, error) {
	out, err := r.git(ctx, nil, "merge-base", base, head)
	if id := strings.TrimSuffix(out, "\n"); err == nil && isObjectID(id) {
		return id, nil
	}
	var failed *gitError
	if err != nil && (!errors.As(err, &failed) || failed.code != 1) {
		return "", err
	}
	if r.shallow {
		return "", errorOf(ErrShallow, "this shallow clone does not reach back to where the branch left %s: %s", baseName, r.deepen())
	}
	return "", errorOf(ErrNoBase, "the branch and %s have no commit in common: name what to compare with, as in --base REV", baseName)
}

// defaultBase finds the branch that a change would be merged into:
//
//  1. what upstream/HEAD, then origin/HEAD points to (a clone sets it; "upstream" is what
//     the original of a fork is called),
//  2. the branch's own upstream, if it has another name than the branch: one with
//     the same name is the branch itself, pushed,
//  3. upstream/main, upstream/master, origin/main, origin/master,
//  4. the same of the only remote, if it has another name,
//  5. main, master,
//  6. HEAD, where the repository has no remote and no other branch: what is
//     uncommitted is the change. Elsewhere a comparison of HEAD with itself would
//     look like "nothing changes", so there it is an error.
//
// It gives the commit, and the name to show.
func (r *repo) defaultBase(ctx context.Context) (id, name string, err error) {
	remotes := []string{"upstream", "origin"}
	if others := r.config.subsections("remote", "url"); len(others) == 1 && !slices.Contains(remotes, others[0]) {
		remotes = append(remotes, others[0])
	}
	var refs []string
	for _, remote := range remotes[:2] {
		refs = append(refs, "refs/remotes/"+remote+"/HEAD")
	}
	if up := r.otherUpstream(ctx); up != "" {
		refs = append(refs, up)
	}
	for _, remote := range remotes {
		if !slices.Contains(remotes[:2], remote) {
			refs = append(refs, "refs/remotes/"+remote+"/HEAD")
		}
		refs = append(refs, "refs/remotes/"+remote+"/main", "refs/remotes/"+remote+"/master")
	}
	refs = append(refs, "refs/heads/main", "refs/heads/master")
	if r.alone(ctx) {
		refs = append(refs, "HEAD")
	}
	for _, ref := range refs {
		if id, err := r.revParse(ctx, ref+"^{commit}"); err == nil {
			return id, r.shortName(ctx, ref), nil
		} else if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
	}
	_, err = r.commit(ctx, "HEAD")
	if err == nil {
		err = errorOf(ErrNoBase, "which branch this would be merged into is not known here: name it, as in --base origin/main%s", r.fetchHint())
	}
	return "", "", err
}

// alone says whether the branch that is checked out is all that there is.
func (r *repo) alone(ctx context.Context) bool {
	if r.shallow || len(r.config.subsections("remote", "url")) > 0 || r.branch(ctx) == "" {
		return false
	}
	out, err := r.git(ctx, nil, "for-each-ref", "--count=2", "--format=%(refname)", "refs/heads/")
	return err == nil && strings.Count(out, "\n") <= 1
}

// remote gives the name of the remote that branches are fetched from, "" without one.
func (r *repo) remote() string {
	remotes := r.config.subsections("remote", "url")
	switch {
	case slices.Contains(remotes, "origin"):
		return "origin"
	case len(remotes) > 0:
		return remotes[0]
	}
	return ""
}

// fetchHint says how a branch comes into a clone that was made of another one alone.
func (r *repo) fetchHint() string {
	remote := r.remote()
	if remote == "" {
		return ""
	}
	return fmt.Sprintf("; if it is not in this clone: git fetch %s main:refs/remotes/%s/main", shellQuote(remote), remote)
}

// branchName is what a branch that is worth naming in a command can be called.
var branchName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}$`)

// fetchBranch says how to get rev if it is the name of a branch, "" if it cannot
// be one, or there is nowhere to fetch it from.
func (r *repo) fetchBranch(rev string) string {
	remote := r.remote()
	name := strings.TrimPrefix(rev, remote+"/")
	if remote == "" || !branchName.MatchString(name) || !branchName.MatchString(remote) || strings.HasPrefix(name, "refs/") || name == "HEAD" || isObjectID(name) || hexOnly(name) {
		return ""
	}
	return fmt.Sprintf("run `git fetch %[1]s %[2]s:refs/remotes/%[1]s/%[2]s` and call it %[1]s/%[2]s", remote, name)
}

// hexOnly says whether s may be the beginning of an object's name.
func hexOnly(s string) bool {
	return len(s) >= 4 && strings.Trim(s, "0123456789abcdef") == ""
}

// otherUpstream gives the ref that the current branch follows, if it is called otherwise.
func (r *repo) otherUpstream(ctx context.Context) string {
	branch := r.branch(ctx)
	if branch == "" {
		return ""
	}
	merge := strings.TrimPrefix(r.config.get("branch."+branch+".merge"), "refs/heads/")
	if merge == "" || merge == branch {
		return ""
	}
	out, err := r.git(ctx, nil, "rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", "@{upstream}")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(out, "\n")
}

// shortName writes a ref as users know it, and origin/HEAD as the branch that it points to.
func (r *repo) shortName(ctx context.Context, ref string) string {
	if strings.HasSuffix(ref, "/HEAD") {
		if out, err := r.git(ctx, nil, "symbolic-ref", "--quiet", ref); err == nil {
			ref = strings.TrimSuffix(out, "\n")
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/remotes/"), "refs/heads/")
}

// Parents gives the parents of a commit as its object names them, first parent
// first, also where the history of a shallow clone ends before them. It is an
// ErrShallow, beside the ids, when the first is named but not there; none is no error.
func Parents(ctx context.Context, dir, rev string, o Options) ([]string, error) {
	r, err := discover(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	id, err := r.commit(ctx, rev)
	if err != nil {
		return nil, err
	}
	raw, err := r.git(ctx, nil, "cat-file", "commit", id)
	if err != nil {
		return nil, err
	}
	parents := parseParents(raw)
	if len(parents) == 0 {
		return nil, nil
	}
	if _, err := r.revParse(ctx, parents[0]+"^{commit}"); err != nil {
		var failed *gitError
		if !errors.As(err, &failed) {
			return nil, err
		}
		return parents, errorOf(ErrShallow, "%s names %s as its first parent, which this clone does not have: in GitHub Actions give actions/checkout `fetch-depth: 2`, elsewhere run `git fetch --depth=1 origin %s`", rev, parents[0], parents[0])
	}
	return parents, nil
}

// parseParents reads the header of a raw commit object.
func parseParents(raw string) []string {
	var out []string
	for line := range strings.Lines(raw) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			break
		}
		if id, ok := strings.CutPrefix(line, "parent "); ok && isObjectID(id) {
			out = append(out, id)
		}
	}
	return out
}
