package source

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A testRepo is a git repository of its own, untouched by the configuration of
// the machine.
type testRepo struct {
	t   testing.TB
	dir string
	env map[string]string
}

func newRepo(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	r := repoAt(t, filepath.Join(t.TempDir(), "repo"))
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return r
}

func repoAt(t testing.TB, dir string) *testRepo {
	t.Helper()
	return &testRepo{t, dir, map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
	}}
}

func (r *testRepo) options() Options {
	return Options{Getenv: func(name string) string { return r.env[name] }}
}

func (r *testRepo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	for k, v := range r.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		cmd.Env = append(cmd.Env, "GIT_"+who+"_NAME=t", "GIT_"+who+"_EMAIL=t@example.com", "GIT_"+who+"_DATE=2024-01-01T00:00:00Z")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (r *testRepo) write(name, content string) {
	r.t.Helper()
	writeFile(r.t, filepath.Join(r.dir, name), content)
}

func writeFile(t testing.TB, p, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *testRepo) link(target, name string) {
	r.t.Helper()
	p := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, p); err != nil {
		r.t.Fatal(err)
	}
}

// commit commits all there is, and gives the commit.
func (r *testRepo) commit(msg string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", msg)
	return r.git("rev-parse", "HEAD")
}

func (r *testRepo) open(base, head string) Source {
	r.t.Helper()
	s, err := Git(context.Background(), r.dir, base, head, r.options())
	if err != nil {
		r.t.Fatalf("Git(%q, %q): %v", base, head, err)
	}
	r.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.t.Errorf("Close: %v", err)
		}
	})
	return s
}

// tree opens one tree; rev "" is the working tree.
func (r *testRepo) tree(rev string) *Tree {
	r.t.Helper()
	t, err := Open(context.Background(), r.dir, rev, r.options())
	if err != nil {
		r.t.Fatalf("Open(%q): %v", rev, err)
	}
	r.t.Cleanup(func() {
		if err := t.Close(); err != nil {
			r.t.Errorf("Close: %v", err)
		}
	})
	return t
}

func head(t *testing.T, s Source) *Tree {
	t.Helper()
	tree, err := s.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func base(t *testing.T, s Source) *Tree {
	t.Helper()
	tree, err := s.Base(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func checkChanged(t *testing.T, s Source, want ...string) {
	t.Helper()
	got, err := s.Changed(context.Background())
	if err != nil {
		t.Fatalf("Changed: %v", err)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("Changed() = %q, want %q", got, want)
	}
}

func checkRead(t *testing.T, tree *Tree, name, want string) {
	t.Helper()
	got, err := tree.ReadFile(name)
	if err != nil {
		t.Errorf("ReadFile(%q): %v", name, err)
	} else if string(got) != want {
		t.Errorf("ReadFile(%q) = %q, want %q", name, got, want)
	}
}

func TestTwoCommits(t *testing.T) {
	r := newRepo(t)
	r.write("a.yaml", "a: 1\n")
	r.write("dir/b.yaml", "b: 1\n")
	r.write("dir/gone.yaml", "c: 1\n")
	one := r.commit("one")
	r.write("dir/b.yaml", "b: 2\n")
	r.write("dir-x/new.yaml", "d: 1\n")
	if err := os.Remove(filepath.Join(r.dir, "dir/gone.yaml")); err != nil {
		t.Fatal(err)
	}
	two := r.commit("two")
	// What is not committed is in neither.
	r.write("a.yaml", "a: 99\n")

	s := r.open(one, two)
	checkChanged(t, s, "dir-x/new.yaml", "dir/b.yaml", "dir/gone.yaml")
	checkRead(t, base(t, s), "dir/b.yaml", "b: 1\n")
	checkRead(t, head(t, s), "dir/b.yaml", "b: 2\n")
	checkRead(t, head(t, s), "a.yaml", "a: 1\n")
	if got := base(t, s).SHA; got != one {
		t.Errorf("base SHA = %s, want %s", got, one)
	}
}

func TestWorkingTree(t *testing.T) {
	r := newRepo(t)
	r.write(".gitignore", "ignored.yaml\n")
	r.write("same.yaml", "a: 1\n")
	r.write("edited.yaml", "a: 1\n")
	r.write("deleted.yaml", "a: 1\n")
	r.write("touched.yaml", "a: 1\n")
	r.commit("one")
	r.write("edited.yaml", "a: 2\n")
	r.write("staged.yaml", "a: 1\n")
	r.git("add", "staged.yaml")
	r.write("untracked/new.yaml", "a: 1\n")
	r.write("ignored.yaml", "a: 1\n")
	r.write("touched.yaml", "a: 1\n")
	if err := os.Remove(filepath.Join(r.dir, "deleted.yaml")); err != nil {
		t.Fatal(err)
	}
	s := r.open("HEAD", "")
	checkChanged(t, s, "deleted.yaml", "edited.yaml", "staged.yaml", "untracked/new.yaml")
	checkRead(t, head(t, s), "edited.yaml", "a: 2\n")
	checkRead(t, head(t, s), "untracked/new.yaml", "a: 1\n")
	checkRead(t, base(t, s), "edited.yaml", "a: 1\n")
	if head(t, s).Exists("deleted.yaml") {
		t.Error("the working tree has a file that was deleted")
	}
	checkError(t, head(t, s), "ignored.yaml", "ignored", os.ErrNotExist)
}

// checkError wants reading name to end in an error that says and is something.
func checkError(t *testing.T, tree *Tree, name, says string, is error) {
	t.Helper()
	_, err := tree.ReadFile(name)
	if err == nil {
		t.Errorf("ReadFile(%q) gave no error", name)
		return
	}
	wantError(t, err, says, is)
}

// wantError wants an error that says and is something.
func wantError(t *testing.T, err error, says string, is error) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", says)
		return
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("error is %q, want it to say %q", err, says)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error %q is not %q", err, is)
	}
}
