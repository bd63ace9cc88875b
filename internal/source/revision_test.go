package source

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clone clones r into a new folder.
func (r *testRepo) clone(args ...string) *testRepo {
	r.t.Helper()
	c := repoAt(r.t, filepath.Join(r.t.TempDir(), "clone"))
	r.git(append(append([]string{"clone", "-q"}, args...), "file://"+r.dir, c.dir)...)
	return c
}

func (r *testRepo) openError(base, head string) error {
	r.t.Helper()
	s, err := Git(context.Background(), r.dir, base, head, r.options())
	if err == nil {
		s.Close()
	}
	return err
}

func TestDefaultBase(t *testing.T) {
	from := newRepo(t)
	from.commit("one")
	from.commit("two")
	for _, test := range []struct {
		name    string
		prepare func(*testRepo)
		rev     string // of the base
		commit  string // what it is
	}{
		{"a clone on a branch: the fork point from the default branch", func(r *testRepo) {
			r.git("checkout", "-qb", "feature")
			r.commit("mine")
			r.git("update-ref", "refs/remotes/origin/main", r.git("commit-tree", "-p", "HEAD~1", "-m", "theirs", "HEAD^{tree}"))
		}, "merge base with origin/main", "HEAD~1"},
		{"on the default branch: what is not pushed", func(r *testRepo) {
			r.commit("mine")
		}, "merge base with origin/main", "HEAD~1"},
		{"on the default branch, all pushed: what is not committed", func(r *testRepo) {}, "merge base with origin/main", "HEAD"},
		{"a default branch of another name", func(r *testRepo) {
			r.git("update-ref", "refs/remotes/origin/trunk", "HEAD~1")
			r.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
		}, "merge base with origin/trunk", "HEAD~1"},
		{"a fork compares with the original", func(r *testRepo) {
			r.git("update-ref", "refs/remotes/upstream/main", "HEAD~1")
			r.git("symbolic-ref", "refs/remotes/upstream/HEAD", "refs/remotes/upstream/main")
		}, "merge base with upstream/main", "HEAD~1"},
		{"without origin/HEAD, what the branch follows", func(r *testRepo) {
			r.git("remote", "set-head", "origin", "--delete")
			r.git("update-ref", "refs/remotes/origin/release", "HEAD~1")
			r.git("checkout", "-qb", "feature")
			r.git("branch", "-q", "--set-upstream-to", "origin/release")
		}, "merge base with origin/release", "HEAD~1"},
		{"a branch pushed under its own name is not its base", func(r *testRepo) {
			r.git("remote", "set-head", "origin", "--delete")
			r.git("checkout", "-qb", "feature")
			r.commit("mine")
			r.git("update-ref", "refs/remotes/origin/feature", "HEAD")
			r.git("branch", "-q", "--set-upstream-to", "origin/feature")
		}, "merge base with origin/main", "HEAD~1"},
		{"origin/master", func(r *testRepo) {
			r.git("remote", "set-head", "origin", "--delete")
			r.git("update-ref", "-d", "refs/remotes/origin/main")
			r.git("update-ref", "refs/remotes/origin/master", "HEAD~1")
		}, "merge base with origin/master", "HEAD~1"},
		{"the only remote, of another name", func(r *testRepo) {
			r.git("remote", "rename", "origin", "company")
		}, "merge base with company/main", "HEAD"},
		{"no remote: the main branch", func(r *testRepo) {
			r.git("remote", "remove", "origin")
			r.git("checkout", "-qb", "feature")
			r.commit("mine")
		}, "merge base with main", "HEAD~1"},
		{"a detached head", func(r *testRepo) {
			r.git("checkout", "-q", "--detach", "HEAD~1")
		}, "merge base with origin/main", "HEAD"},
		{"neither remote nor main: the last commit", func(r *testRepo) {
			r.git("remote", "remove", "origin")
			r.git("branch", "-qm", "trunk")
		}, "HEAD", "HEAD"},
		{"a branch called as a remote", func(r *testRepo) {
			r.git("checkout", "-qb", "origin/HEAD")
			r.commit("mine")
		}, "merge base with origin/main", "HEAD~1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := from.clone()
			test.prepare(r)
			want := r.git("rev-parse", test.commit)
			tree := base(t, r.open("", ""))
			if tree.Rev != test.rev || tree.SHA != want {
				t.Errorf("base is %q %s, want %q %s", tree.Rev, tree.SHA, test.rev, want)
			}
		})
	}
}

func TestNamedMergeBase(t *testing.T) {
	r := newRepo(t)
	one := r.commit("one")
	r.git("checkout", "-qb", "feature")
	r.commit("mine")
	r.git("checkout", "-q", "main")
	two := r.commit("theirs")
	if got := base(t, r.open("main...", "feature")); got.SHA != one || got.Rev != "merge base with main" {
		t.Errorf("main... is %s %s, want %s", got.Rev, got.SHA, one)
	}
	if got := base(t, r.open("main", "feature")); got.SHA != two || got.Rev != "main" {
		t.Errorf("main is %s %s, want %s", got.Rev, got.SHA, two)
	}
}

func TestRevisionsThatAreNone(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	r.commit("one")
	r.git("branch", "production")
	r.git("tag", "blob", r.git("rev-parse", "HEAD:a"))
	r.git("update-ref", "refs/remotes/origin/staging", "HEAD")
	mark := filepath.Join(t.TempDir(), "mark")
	for _, test := range []struct{ rev, says string }{
		{"prodution", "did you mean production?"},
		{"staging", "did you mean origin/staging?"},
		{"nothing-like-it", "there is no revision \"nothing-like-it\" in this repository: `git fetch` may bring it"},
		{strings.Repeat("0", 39) + "1", "there is no revision"},
		{"-x", "do not begin with '-'"},
		{"--upload-pack=touch " + mark, "do not begin with '-'"},
		{"--output=" + mark, "do not begin with '-'"},
		{"HEAD\nHEAD", "is no revision"},
		{"HEAD..HEAD", "no revision"},
		{"^HEAD", "no revision"},
		{"blob", "is not a commit"},
		{"HEAD:a", "is not a commit"},
		{"HEAD~5", "no revision"},
		{"$(touch " + mark + ")", "no revision"},
	} {
		t.Run(test.rev, func(t *testing.T) {
			wantError(t, r.openError(test.rev, "HEAD"), test.says, ErrNoRevision)
			wantError(t, r.openError("HEAD", test.rev), test.says, ErrNoRevision)
		})
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a revision was run")
	}
	for _, rev := range []string{"HEAD", "main", "@", "heads/main", "main@{0}", ":/one", "HEAD^{}", "HEAD^0"} {
		if err := r.openError(rev, rev); err != nil {
			t.Errorf("%q: %v", rev, err)
		}
	}
}

func TestAmbiguousRevision(t *testing.T) {
	r := newRepo(t)
	r.commit("one")
	seen := map[string]bool{}
	for i := 0; ; i++ {
		id := r.git("commit-tree", "-m", strings.Repeat("x", i), "HEAD^{tree}")
		if seen[id[:4]] {
			wantError(t, r.openError(id[:4], "HEAD"), "is ambiguous: write more", ErrNoRevision)
			return
		}
		// Loose objects are enough: a few hundred share four letters sooner or later.
		seen[id[:4]] = true
	}
}

func TestUnbornBranch(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	wantError(t, r.openError("", ""), "the branch main has no commit yet: commit first", ErrUnborn)
	wantError(t, r.openError("HEAD", ""), "no commit yet", ErrUnborn)
	wantError(t, r.openError("main", ""), "no commit yet", ErrUnborn)
	wantError(t, r.openError("HEAD~1", ""), "no commit yet", ErrUnborn)
	wantError(t, r.openError("other", ""), "there is no revision", ErrNoRevision)
	// Rendering what is there needs no commit.
	checkRead(t, r.tree(""), "a", "1")
}

func TestBareRepository(t *testing.T) {
	from := newRepo(t)
	from.write("a", "1")
	from.commit("one")
	from.write("a", "2")
	from.commit("two")
	r := from.clone("--bare")
	checkChanged(t, r.open("HEAD~1", "HEAD"), "a")
	wantError(t, r.openError("HEAD~1", ""), "has no working tree: name two revisions", ErrBare)
	wantError(t, r.openError("", ""), "has no working tree", ErrBare)
	_, err := Open(context.Background(), r.dir, "", r.options())
	wantError(t, err, "has no working tree: name a revision", ErrBare)
	checkRead(t, r.tree("main"), "a", "2")

	from.dir = filepath.Join(from.dir, ".git")
	wantError(t, from.openError("HEAD", ""), "run prdiff in the working tree beside it", ErrNotRepository)
}

func TestShallowClone(t *testing.T) {
	from := newRepo(t)
	from.write("a", "1")
	one := from.commit("one")
	from.git("checkout", "-qb", "feature")
	from.write("a", "2")
	from.commit("mine")
	from.git("checkout", "-q", "main")
	from.commit("theirs")

	r := from.clone("--depth=1", "--no-single-branch", "-b", "feature")
	wantError(t, r.openError("", ""), "fetch-depth: 0", ErrShallow)
	wantError(t, r.openError("origin/main...", ""), "does not reach back to where the branch left origin/main", ErrShallow)
	wantError(t, r.openError(one, ""), "is not in this shallow clone", ErrShallow)
	wantError(t, r.openError("HEAD~1", ""), "fetch-depth", ErrShallow)
	// What is there works.
	checkChanged(t, r.open("origin/main", "HEAD"), "a")

	full := from.clone("-b", "feature")
	if got := base(t, full.open("", "")).SHA; got != one {
		t.Errorf("merge base = %s, want %s", got, one)
	}
}

func TestNoCommonHistory(t *testing.T) {
	r := newRepo(t)
	r.commit("one")
	r.git("checkout", "-q", "--orphan", "other")
	r.commit("two")
	wantError(t, r.openError("", ""), "the branch and main have no commit in common", ErrNoBase)
}

func TestParents(t *testing.T) {
	from := newRepo(t)
	one := from.commit("one\n\nparent 0123456789012345678901234567890123456789")
	from.git("checkout", "-qb", "feature")
	two := from.commit("two")
	from.git("checkout", "-q", "main")
	three := from.commit("three")
	from.git("merge", "-q", "--no-ff", "-m", "merge", "feature")
	merge := from.git("rev-parse", "HEAD")

	ctx := context.Background()
	for _, test := range []struct {
		name string
		repo *testRepo
		rev  string
		want []string
	}{
		{"a merge", from, "HEAD", []string{three, two}},
		{"a commit", from, two, []string{one}},
		{"the first commit", from, one, nil},
		{"a merge in a clone of depth 2", from.clone("--depth=2"), "HEAD", []string{three, two}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parents(ctx, test.repo.dir, test.rev, test.repo.options())
			if err != nil || strings.Join(got, " ") != strings.Join(test.want, " ") {
				t.Errorf("Parents = %q, %v, want %q", got, err, test.want)
			}
		})
	}
	shallow := from.clone("--depth=1")
	_, err := Parents(ctx, shallow.dir, "HEAD", shallow.options())
	wantError(t, err, "fetch-depth: 2", ErrShallow)
	wantError(t, err, three, nil)
	// Grafts and replacements do not change what a commit says.
	from.git("replace", "--graft", merge, one)
	got, err := Parents(ctx, from.dir, merge, from.options())
	if err != nil || len(got) != 2 {
		t.Errorf("Parents = %q, %v", got, err)
	}
}

func TestNoRepository(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a"), "1")
	r := repoAt(t, dir)
	r.env["GIT_CEILING_DIRECTORIES"] = filepath.Dir(dir)
	wantError(t, r.openError("", ""), "is not in a git repository; run prdiff in one, or name two files or folders", ErrNotRepository)
	tree := r.tree("")
	checkRead(t, tree, "a", "1")
	if tree.SHA != "" || tree.Prefix != "." || tree.Rev != dir {
		t.Errorf("tree is %q %q %q", tree.Rev, tree.SHA, tree.Prefix)
	}
	r.dir = filepath.Join(dir, "not-there")
	wantError(t, r.openError("", ""), "no such file", os.ErrNotExist)
}

func TestGitIsNotInstalled(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a"), "1")
	t.Setenv("PATH", t.TempDir())
	r := repoAt(t, dir)
	wantError(t, r.openError("", ""), "git is not installed", ErrNoGit)
	checkRead(t, r.tree(""), "a", "1")
}

func TestPartialClone(t *testing.T) {
	from := newRepo(t)
	from.git("config", "uploadpack.allowFilter", "true")
	from.git("config", "uploadpack.allowAnySHA1InWant", "true")
	from.write("a", "1")
	from.write("b", "1")
	from.commit("one")
	from.write("a", "2")
	from.write("b", "2")
	from.commit("two")
	for _, filter := range []string{"blob:none", "tree:0"} {
		r := from.clone("--filter=" + filter)
		s := r.open("HEAD~1", "")
		checkChanged(t, s, "a", "b")
		checkRead(t, base(t, s), "a", "1")
		checkRead(t, head(t, s), "a", "2")
	}

	// What differs is fetched at once, not as it is read.
	r := from.clone("--filter=blob:none")
	s := r.open("HEAD~1", "")
	base(t, s)
	missing := r.git("rev-list", "--objects", "--missing=print", "HEAD")
	if strings.Contains(missing, "?") {
		t.Errorf("still missing: %s", missing)
	}

	r = from.clone("--filter=blob:none")
	if err := os.Rename(from.dir, from.dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	s = r.open("HEAD~1", "HEAD")
	checkChanged(t, s, "a", "b")
	checkError(t, base(t, s), "a", "this is a partial clone, and git could not fetch", ErrMissingObject)
	checkError(t, base(t, s), "b", "this is a partial clone, and git could not fetch", ErrMissingObject)
	checkRead(t, head(t, s), "a", "2")
}

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"main", "main", 0}, {"mian", "main", 2}, {"main", "mai", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}} {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestBranchThatIsNotInTheClone(t *testing.T) {
	from := newRepo(t)
	from.write("a.yaml", "a: 1\n")
	from.commit("one")
	from.git("checkout", "-q", "-b", "topic")
	from.write("a.yaml", "a: 2\n")
	from.commit("two")
	from.git("checkout", "-q", "main")
	for _, shallow := range []bool{true, false} {
		args := []string{"--branch=topic", "--single-branch"}
		want := ErrNoRevision
		if shallow {
			args, want = append(args, "--depth=1"), ErrShallow
		}
		r := from.clone(args...)
		const says = "run `git fetch origin main:refs/remotes/origin/main` and call it origin/main"
		for _, rev := range []string{"main", "origin/main"} {
			wantError(t, r.openError(rev, ""), says, want)
		}
		r.git("fetch", "-q", "origin", "main:refs/remotes/origin/main")
		if got := base(t, r.open("origin/main", "")); got.Rev != "origin/main" {
			t.Errorf("base is %s", got.Rev)
		}
		wantError(t, r.openError("main", ""), "did you mean origin/main?", want)
		if shallow {
			wantError(t, r.openError("HEAD~3", ""), "git fetch --unshallow", ErrShallow)
			wantError(t, r.openError("abcdef12", ""), "git fetch --unshallow", ErrShallow)
		}
	}
}

func TestNoBranchToMergeInto(t *testing.T) {
	t.Run("a clone of one branch does not compare it with itself", func(t *testing.T) {
		from := newRepo(t)
		from.write("a.yaml", "a: 1\n")
		from.commit("one")
		from.git("checkout", "-q", "-b", "topic")
		from.write("a.yaml", "a: 2\n")
		from.commit("two")
		from.git("checkout", "-q", "main")
		r := from.clone("--depth=1", "--branch=topic", "--single-branch")
		wantError(t, r.openError("", ""), "git fetch origin main:refs/remotes/origin/main", ErrNoBase)
	})
	t.Run("nor does a detached checkout", func(t *testing.T) {
		r := newRepo(t, "--initial-branch=trunk")
		r.write("a.yaml", "a: 1\n")
		r.commit("one")
		r.git("checkout", "-q", "--detach")
		wantError(t, r.openError("", ""), "is not known here: name it", ErrNoBase)
	})
	t.Run("nor does one of several branches", func(t *testing.T) {
		r := newRepo(t, "--initial-branch=trunk")
		r.write("a.yaml", "a: 1\n")
		r.commit("one")
		r.git("checkout", "-q", "-b", "topic")
		wantError(t, r.openError("", ""), "is not known here: name it", ErrNoBase)
	})
	t.Run("the only branch shows what is uncommitted", func(t *testing.T) {
		r := newRepo(t, "--initial-branch=trunk")
		r.write("a.yaml", "a: 1\n")
		r.commit("one")
		r.write("a.yaml", "a: 2\n")
		checkChanged(t, r.open("", ""), "a.yaml")
	})
}
