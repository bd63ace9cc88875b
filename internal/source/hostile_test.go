package source

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// trap is a repository whose own configuration and hooks would create the file mark.
func trap(t *testing.T) (r *testRepo, mark string) {
	t.Helper()
	r = newRepo(t)
	mark = filepath.Join(t.TempDir(), "mark")
	script := filepath.Join(t.TempDir(), "evil")
	writeFile(t, script, "#!/bin/sh\ntouch '"+mark+"'\ncat\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("b.evil", "b: 0\n")
	r.commit("zero")
	r.write("a.yaml", "a: 1\n")
	r.write("b.evil", "b: 1\n")
	r.write(".gitattributes", "*.evil filter=evil diff=evil\n*.proc filter=proc\n*.req filter=req\n")
	r.write("c.proc", "c: 1\n")
	r.write("d.req", "d: 1\n")
	r.commit("one")
	for _, kv := range [][2]string{
		{"core.fsmonitor", script}, {"core.sshCommand", script}, {"core.pager", script}, {"core.editor", script},
		{"core.gitProxy", script}, {"core.askPass", script}, {"core.alternateRefsCommand", script},
		{"core.hooksPath", filepath.Dir(script)}, {"diff.external", script}, {"diff.evil.command", script},
		{"diff.evil.textconv", script}, {"filter.evil.clean", script}, {"filter.evil.smudge", script},
		{"filter.proc.process", script}, {"filter.req.clean", script}, {"filter.req.required", "true"},
		{"credential.helper", "!" + script}, {"pager.diff", script}, {"pager.ls-files", script},
		{"alias.ls-tree", "!" + script}, {"gpg.program", script}, {"interactive.diffFilter", script},
		{"trace2.eventTarget", mark}, {"log.showSignature", "true"}, {"core.untrackedCache", "true"},
	} {
		r.git("config", kv[0], kv[1])
	}
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-auto-gc"} {
		data, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{filepath.Join(r.dir, ".git/hooks"), filepath.Dir(script)} {
			if err := os.WriteFile(filepath.Join(dir, hook), data, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r, mark
}

func TestTheRepositoryRunsNothing(t *testing.T) {
	r, mark := trap(t)
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"b.evil", "c.proc", "d.req"} {
		r.write(name, "x: 2\n")
		if err := os.Chtimes(filepath.Join(r.dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	r.write("new.evil", "n: 1\n")
	s := r.open("HEAD", "")
	checkChanged(t, s, "b.evil", "c.proc", "d.req", "new.evil")
	checkRead(t, head(t, s), "b.evil", "x: 2\n")
	checkRead(t, base(t, s), "b.evil", "b: 1\n")
	r.open("", "")
	if _, err := Parents(context.Background(), r.dir, "HEAD", r.options()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Fatal("a program that the repository names was run")
	}
	r.git("status")
	if _, err := os.Lstat(mark); err != nil {
		t.Error("the trap does not work: git status does not run it either")
	}
}

func TestAPartialCloneRunsNothingWhileFetching(t *testing.T) {
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked <- req.Header.Get("Authorization")
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for name, url := range map[string]string{
		"http": server.URL + "/x.git", "ssh": "ssh://localhost:1/x.git", "git": "git://localhost:1/x.git",
		"ext": "ext::touch MARK", "file": "ITSELF", "upload": "ITSELF",
	} {
		t.Run(name, func(t *testing.T) {
			r, mark := trap(t)
			url := strings.ReplaceAll(strings.ReplaceAll(url, "MARK", mark), "ITSELF", r.dir)
			script := r.git("config", "core.sshCommand")
			for _, kv := range [][2]string{
				{"core.repositoryFormatVersion", "1"}, {"extensions.partialClone", "origin"},
				{"remote.origin.promisor", "true"}, {"remote.origin.partialCloneFilter", "blob:none"},
				{"remote.origin.url", url}, {"protocol.ext.allow", "always"},
				{"credential." + server.URL + ".helper", "!" + script},
			} {
				r.git("config", kv[0], kv[1])
			}
			if name == "upload" {
				r.git("config", "remote.origin.uploadpack", script)
			}
			id := r.git("rev-parse", "HEAD:a.yaml")
			if err := os.Remove(filepath.Join(r.dir, ".git/objects", id[:2], id[2:])); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(mark); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			checkChanged(t, r.open("HEAD~1", "HEAD"), ".gitattributes", "a.yaml", "b.evil", "c.proc", "d.req")
			checkError(t, r.tree("HEAD"), "a.yaml", "this is a partial clone", ErrMissingObject)
			if _, err := os.Lstat(mark); err == nil {
				t.Error("a program that the repository names was run")
			}
		})
	}
	if len(asked) == 0 {
		t.Error("the server was never asked, so nothing was tried")
	}
}

func TestTheUsersOwnHelpersServeFetching(t *testing.T) {
	c := gitConfig{
		{"system", "credential.helper", "manager"},
		{"global", "credential.https://x.example.helper", "!gcloud"},
		{"local", "credential.helper", "!evil"},
		{"local", "remote.origin.promisor", "true"},
		{"local", "core.sshcommand", "evil"},
		{"global", "core.sshcommand", "ssh -4"},
	}
	got, err := c.overrides()
	want := []string{"credential.helper=", "credential.helper=manager", "credential.https://x.example.helper=!gcloud"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("overrides = %q, %v, want %q", got, err, want)
	}
	if got := c.trusted("core.sshcommand"); got != "ssh -4" {
		t.Errorf("trusted = %q", got)
	}
}

func TestNamesThatCannotBeOverridden(t *testing.T) {
	for _, key := range []string{"filter.a=b.clean", "filter.a\nb.process"} {
		if _, err := (gitConfig{{"local", key, "evil"}}).overrides(); err == nil {
			t.Errorf("%q gave no error", key)
		}
	}
}

func TestTheEnvironmentIsNotInherited(t *testing.T) {
	for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN", "GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_TRACE", "GIT_CONFIG_PARAMETERS", "LD_PRELOAD"} {
		t.Setenv(name, "secret-"+name)
	}
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "http.extraHeader")
	t.Setenv("GIT_CONFIG_VALUE_0", "secret")
	for _, kv := range gitEnvironment(os.Getenv) {
		if strings.Contains(kv, "secret") {
			t.Errorf("git sees %s", kv)
		}
	}
	// GIT_DIR of a hook that runs prdiff does not lead elsewhere.
	r := newRepo(t)
	r.write("a", "1")
	r.commit("one")
	checkRead(t, r.tree("HEAD"), "a", "1")
}

func TestCoreWorktreeElsewhere(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	r.commit("one")
	r.git("config", "core.worktree", filepath.Dir(r.dir))
	wantError(t, r.openError("HEAD", ""), "core.worktree names", ErrNotRepository)
}

func TestTreesThatGitWouldNotCheckOut(t *testing.T) {
	id := strings.Repeat("a", 40)
	for _, name := range []string{"..", "../x", "a/../x", "/abs", "a//b", "", ".", "a/."} {
		if _, err := parseTree("100644 blob " + id + "\t" + name + "\x00"); err == nil {
			t.Errorf("%q gave no error", name)
		}
	}
	// A file and a folder of one name: the file is what is read, nothing breaks.
	list, err := parseTree("100644 blob " + id + "\ta\x00100644 blob " + id + "\ta/b\x00")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := list.lstat("a"); err != nil || !n.mode.IsRegular() {
		t.Errorf("%v, %v", n, err)
	}
	if in, err := list.readDir("."); err != nil || len(in) != 1 {
		t.Errorf("%v, %v", in, err)
	}
}
