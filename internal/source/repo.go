package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A repo is a git repository, and how git is run in it.
type repo struct {
	root      string // absolute path of the working tree, or of the repository when it is bare
	prefix    string // where the caller's folder stands below root, "." for root
	commonDir string // absolute path of the folder that all worktrees share
	bare      bool
	shallow   bool
	config    gitConfig
	env       []string
	overrides []string // "-c name=value" for every command
	limit     int64

	mu  sync.Mutex
	cat *catFile
}

// passedOn is what git sees of the caller's environment: how to find programs,
// its configuration, a proxy, the temporary folder, and what Windows cannot do without. No token
// is among it. SUDO_UID lets git accept the repository of the user who called sudo.
var passedOn = []string{
	"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "SUDO_UID",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
	"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH",
	"SystemRoot", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA",
	"ProgramData", "PATHEXT", "COMSPEC", "TEMP", "TMP",
}

// passedOnToFetch is what is seen beside that where a partial clone has to fetch
// the objects that it left out.
var passedOnToFetch = []string{
	"SSH_AUTH_SOCK", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
}

func pass(env []string, getenv func(string) string, names []string) []string {
	for _, name := range names {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// gitEnvironment is the environment of every git process. Replacement objects
// and grafts would show a tree that nobody merges; messages are in English, since they are read.
func gitEnvironment(getenv func(string) string) []string {
	env := []string{
		"LC_ALL=C", "LANGUAGE=",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
		"GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_PROXY_COMMAND=",
	}
	return safeDirectories(pass(env, getenv, passedOn), getenv)
}

// safeDirectories hands on what GIT_CONFIG_COUNT says of safe.directory, which is how
// a container is told to trust the folder that it was given, and nothing else of it.
func safeDirectories(env []string, getenv func(string) string) []string {
	count, err := strconv.Atoi(getenv("GIT_CONFIG_COUNT"))
	if err != nil {
		return env
	}
	n := 0
	for i := range min(count, 1000) {
		if !strings.EqualFold(getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i)), "safe.directory") {
			continue
		}
		value := getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i))
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=safe.directory", n), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		n++
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
}

// fixedOverrides switch off what a repository's own configuration could make git
// run, or fetch (https://git-scm.com/docs/git-config).
var fixedOverrides = []string{
	"core.fsmonitor=false",
	"core.hooksPath=" + os.DevNull,
	"core.alternateRefsCommand=true",
	"core.pager=cat",
	"diff.external=",
	"protocol.ext.allow=never",
	"gc.auto=0",
	"maintenance.auto=false",
}

// discover finds the repository that dir is in.
func discover(ctx context.Context, dir string, o Options) (*repo, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(abs); {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s: not a folder", dir)
	}
	r := &repo{root: abs, prefix: ".", env: gitEnvironment(o.getenv()), limit: o.limit()}
	for _, c := range fixedOverrides {
		r.overrides = append(r.overrides, "-c", c)
	}
	out, err := r.git(ctx, nil, "rev-parse", "--is-bare-repository", "--is-inside-work-tree",
		"--is-shallow-repository", "--git-common-dir")
	if err != nil {
		return nil, discoverError(dir, err)
	}
	facts := strings.SplitN(strings.TrimSuffix(out, "\n"), "\n", 4)
	if len(facts) != 4 {
		return nil, fmt.Errorf("git rev-parse: unexpected answer %q", out)
	}
	r.shallow = facts[2] == "true"
	r.commonDir = facts[3]
	if !filepath.IsAbs(r.commonDir) {
		r.commonDir = filepath.Join(abs, r.commonDir)
	}
	if facts[1] != "true" {
		r.bare = true
		if facts[0] != "true" {
			return nil, errorOf(ErrNotRepository, "%s is inside a repository's .git folder: run prdiff in the working tree beside it", dir)
		}
		r.root = r.commonDir
	} else if err := r.findRoot(ctx, dir); err != nil {
		return nil, err
	}
	return r, r.readConfig(ctx, o.getenv())
}

func (r *repo) findRoot(ctx context.Context, dir string) error {
	top, err := r.git(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return discoverError(dir, err)
	}
	prefix, err := r.git(ctx, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return discoverError(dir, err)
	}
	r.root = filepath.FromSlash(strings.TrimSuffix(top, "\n"))
	if p := strings.TrimSuffix(strings.TrimSuffix(prefix, "\n"), "/"); p != "" {
		r.prefix = p
	}
	// core.worktree could make any folder of the machine a working tree.
	if _, err := os.Lstat(filepath.Join(r.root, ".git")); err != nil {
		return errorOf(ErrNotRepository, "%s: the repository's core.worktree names %s, which has no .git of its own; prdiff only reads a working tree that does", dir, r.root)
	}
	return nil
}

func discoverError(dir string, err error) error {
	var failed *gitError
	if !errors.As(err, &failed) {
		return err
	}
	switch msg := failed.stderr; {
	case strings.Contains(msg, "dubious ownership"), strings.Contains(msg, "unsafe repository"):
		where := dir
		if _, rest, ok := strings.Cut(msg, "repository at '"); ok {
			where, _, _ = strings.Cut(rest, "'")
		}
		return errorOf(ErrOwner, "the repository %s belongs to another user, so git does not read it; if you trust it, run: git config --global --add safe.directory %s", where, shellQuote(where))
	case strings.Contains(msg, "not a git repository"):
		return errorOf(ErrNotRepository, "%s is not in a git repository; run prdiff in one, or name two files or folders: prdiff diff BEFORE AFTER", dir)
	}
	return err
}

// shellQuote writes s so that a POSIX shell reads it as one word.
func shellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,=-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// readConfig takes from the configuration what prdiff has to know, and switches off the programs
// that it names.
func (r *repo) readConfig(ctx context.Context, getenv func(string) string) error {
	out, err := r.git(ctx, nil, "config", "--list", "--show-scope", "-z")
	if err != nil {
		return err
	}
	if r.config, err = parseConfig(out); err != nil {
		return err
	}
	off, err := r.config.overrides()
	if err != nil {
		return err
	}
	for _, c := range off {
		r.overrides = append(r.overrides, "-c", c)
	}
	if !r.isPartial() || r.config.fetchProgram() != "" {
		r.env = append(r.env, noFetch...)
		return nil
	}
	ssh := getenv("GIT_SSH_COMMAND")
	if ssh == "" {
		ssh = r.config.trusted("core.sshcommand")
	}
	if ssh == "" {
		ssh = "ssh -o BatchMode=yes" // do not ask
	}
	r.env = append(pass(r.env, getenv, passedOnToFetch), "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "GIT_SSH_COMMAND="+ssh)
	return nil
}

// isPartial says whether git fetches objects when they are first read.
func (r *repo) isPartial() bool { return len(r.config.promisors()) > 0 }

// noFetch is for repositories that have every object: git asks no one for more.
var noFetch = []string{"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL="}

// A gitError is a git command that did not do what it was asked.
type gitError struct {
	command string
	code    int // exit code, -1 when it was killed
	stderr  string
}

func (e *gitError) Error() string {
	msg := firstLine(e.stderr)
	if msg == "" {
		msg = fmt.Sprintf("exit code %d", e.code)
	}
	return fmt.Sprintf("git %s: %s", e.command, msg)
}

// firstLine gives the line of git's messages that says what is wrong.
func firstLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	i := slices.IndexFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "fatal: ") || strings.HasPrefix(l, "error: ")
	})
	line := strings.TrimSpace(lines[max(i, 0)])
	line = strings.TrimPrefix(strings.TrimPrefix(line, "fatal: "), "error: ")
	if len(line) > 300 {
		line = strings.ToValidUTF8(line[:300], "") + "..."
	}
	return line
}

// command makes a git process in the root of the repository. It ends with ctx.
func (r *repo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", slices.Concat(r.overrides, args)...)
	cmd.Dir = r.root
	cmd.Env = r.env
	// A fetch that git began may hold the pipes after git itself was ended.
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// git runs a command and gives what it printed.
func (r *repo) git(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	cmd := r.command(ctx, args...)
	var stdout strings.Builder
	stderr := &headBuffer{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, stderr
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	return stdout.String(), r.runError(ctx, args[0], err, stderr.String())
}

func (r *repo) runError(ctx context.Context, command string, err error, stderr string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", command, ctx.Err())
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		failed := &gitError{command, exit.ExitCode(), stderr}
		if fetchFailed(stderr) {
			return r.fetchError(stderr)
		}
		return failed
	case errors.Is(err, exec.ErrNotFound):
		return errorOf(ErrNoGit, "git is not installed, or not in PATH: prdiff reads revisions with it (2.31 or newer); two files or folders are compared without: prdiff diff BEFORE AFTER")
	}
	return fmt.Errorf("git %s: %w", command, err)
}

// A headBuffer keeps the first 8 KiB that are written to it.
type headBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *headBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := 8<<10 - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *headBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// objects gives the one process that reads objects of this repository.
func (r *repo) objects(ctx context.Context) *catFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cat == nil {
		r.cat = newCatFile(ctx, r)
	}
	return r.cat
}

func (r *repo) close() error {
	r.mu.Lock()
	cat := r.cat
	r.mu.Unlock()
	if cat == nil {
		return nil
	}
	return cat.close()
}
