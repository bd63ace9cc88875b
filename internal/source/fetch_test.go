package source

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFetchGetsTheCommitThatAShallowCloneLacks(t *testing.T) {
	ctx := context.Background()
	from := newRepo(t)
	from.write("a", "1")
	one := from.commit("one")
	from.write("a", "2")
	two := from.commit("two")
	from.git("config", "uploadpack.allowAnySHA1InWant", "true")

	shallow := from.clone("--depth=1")
	if err := Fetch(ctx, shallow.dir, one, shallow.options()); err != nil {
		t.Fatal(err)
	}
	s := shallow.open(one, "HEAD")
	checkChanged(t, s, "a")
	checkRead(t, base(t, s), "a", "1")
	if id, err := Commit(ctx, shallow.dir, "HEAD", shallow.options()); err != nil || id != two {
		t.Errorf("Commit = %s, %v, want %s", id, err, two)
	}

	t.Run("a clone with its history keeps it, and asks nobody for what it has", func(t *testing.T) {
		full := from.clone()
		if err := Fetch(ctx, full.dir, one, full.options()); err != nil {
			t.Fatal(err)
		}
		from.write("a", "3")
		three := from.commit("three")
		if err := Fetch(ctx, full.dir, three, full.options()); err != nil {
			t.Fatal(err)
		}
		if got := full.git("rev-list", "--count", three); got != "3" {
			t.Errorf("%s commits, want the whole history of 3", got)
		}
	})
	t.Run("a commit that nobody has, and what is no commit's id", func(t *testing.T) {
		missing := strings.Repeat("ab", 20)
		wantError(t, Fetch(ctx, shallow.dir, missing, shallow.options()), "git could not fetch it", ErrShallow)
		wantError(t, Fetch(ctx, shallow.dir, "--upload-pack=touch x", shallow.options()), "is not the id of a commit", ErrNoRevision)
	})
	t.Run("a program that the repository names is not run", func(t *testing.T) {
		trapped := from.clone("--depth=1")
		mark := filepath.Join(t.TempDir(), "mark")
		trapped.git("config", "remote.origin.uploadpack", "touch "+mark+"; git-upload-pack")
		wantError(t, Fetch(ctx, trapped.dir, one, trapped.options()), "names a program to fetch with", ErrMissingObject)
		trapped.git("config", "--unset", "remote.origin.uploadpack")
		trapped.git("config", "core.sshCommand", "touch "+mark+" #")
		trapped.git("config", "credential.helper", "!touch "+mark+" #")
		trapped.git("remote", "set-url", "origin", "ssh://localhost:1/x.git")
		if err := Fetch(ctx, trapped.dir, one, trapped.options()); err == nil {
			t.Error("no error")
		}
		if _, err := os.Lstat(mark); err == nil {
			t.Error("a program that the repository names was run")
		}
	})
}
