//go:build e2e

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A world is everything that the action meets: a runner (act,
// https://github.com/nektos/act), a GitHub with state (emulate,
// https://github.com/vercel-labs/emulate), and before it Prism
// (https://github.com/stoplightio/prism), which refuses every request that GitHub's
// own OpenAPI description does not have. .ci/e2e installs them.
type world struct {
	tools, dir string
	binary     string
	action     string // the action as the tag v1 has it
	releases   string // the address of its releases
	artifacts  string // what was uploaded, by name
	emulate    string // its address
	gate       *gate
}

// The tokens of the world, and who writes with them.
const (
	e2eToken      = "ghs_fake"      // dev, who owns dev/infra
	e2eOther      = "ghs_mallory"   // mallory, who has a fork of it
	e2eReadOnly   = "ghs_read_only" // the token of a run of a fork: GitHub refuses that it writes
	notAccessible = "Resource not accessible by integration"
)

func newWorld(t *testing.T) *world {
	w := &world{tools: os.Getenv("PRDIFF_E2E_TOOLS"), dir: t.TempDir()}
	if w.tools == "" {
		t.Fatal("PRDIFF_E2E_TOOLS is not set: run .ci/e2e")
	}
	w.binary, w.artifacts = buildByAction(t, w.dir), filepath.Join(w.dir, "artifacts")
	w.startGitHub(t)
	w.installAction(t)
	// Of a step that fails, act drops what it has not read by then
	// (pkg/container/host_environment.go): the shell stays for a moment.
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(w.dir, "bin/bash"), "#!"+bash+"\n"+bash+" \"$@\" || { code=$?; sleep 1; exit $code; }\n")
	return w
}

// command runs a program that must succeed, and gives what it printed.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// buildByAction has the action build its own commit from source, as it does where
// that belongs to no release, and gives the binary, dir/prdiff.
func buildByAction(t *testing.T, dir string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(dir, "build.output")
	command(t, dir, "env", "RUNNER_OS=Linux", "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+output, "PRDIFF_ACTION_PATH="+root,
		"sh", filepath.Join(root, ".github/action/prdiff.sh"), "build")
	data, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	built, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "binary=")
	if !ok {
		t.Fatalf("the outputs of the build: %s", data)
	}
	binary := filepath.Join(dir, "prdiff")
	if err := os.Rename(built, binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// freePort gives a port that nobody listened at a moment ago.
func freePort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
}

// startServer starts a program of npm that serves at a port, and waits until it answers.
func (w *world) startServer(t *testing.T, port, script string, args ...string) string {
	cmd := exec.Command("node", append([]string{filepath.Join(w.tools, "npm/node_modules", script)}, args...)...)
	log, err := os.Create(filepath.Join(w.dir, filepath.Base(filepath.Dir(script))+port+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended; log.Close() })
	address := "http://127.0.0.1:" + port
	for range 600 {
		if resp, err := http.Get(address); err == nil {
			resp.Body.Close()
			return address
		}
		select {
		case err := <-ended:
			ended <- err
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("%s ended: %v\n%s", script, err, said)
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not answer", script)
	return ""
}

// startGitHub starts emulate with one repository and a fork of it, Prism before it,
// and the gate before that.
func (w *world) startGitHub(t *testing.T) {
	seed := filepath.Join(w.dir, "seed.yaml")
	writeFile(t, seed, `tokens: {`+e2eToken+`: {login: dev, scopes: [repo]}, `+e2eOther+`: {login: mallory, scopes: [repo]}, `+e2eReadOnly+`: {login: dev, scopes: [repo]}}
github:
  users: [{login: dev, name: Dev, email: dev@example.com}, {login: mallory, name: M, email: m@example.com}]
  repos: [{owner: dev, name: infra, auto_init: true, default_branch: main}]
`)
	port := freePort(t)
	w.emulate = w.startServer(t, port, "emulate/dist/index.js", "start", "--service", "github", "--seed", seed, "--port", port)
	w.github(t, e2eOther, "POST", "/repos/dev/infra/forks", map[string]string{}, nil)
	port = freePort(t)
	prism := w.startServer(t, port, "@stoplight/prism-cli/dist/index.js", "proxy", "--errors", "--port", port, "--host", "127.0.0.1", filepath.Join(w.tools, "github.json"), w.emulate)
	w.gate = newGate(t, prism)
}

// github asks emulate for something, past the gate.
func (w *world) github(t *testing.T, token, method, path string, in, out any) {
	t.Helper()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, w.emulate+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %v %s", method, path, resp.StatusCode, err, data)
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			t.Fatal(err)
		}
	}
}

var numbers = regexp.MustCompile(`[0-9]+`)

// A gate is where runs reach GitHub. It remembers what was asked, and can fail.
type gate struct {
	*httptest.Server
	mu       sync.Mutex
	seen     map[string]int // by method and path, numbers as #
	problems []string       // what Prism refused
	// intercept may answer a request itself.
	intercept func(http.ResponseWriter, *http.Request) bool
}

func newGate(t *testing.T, prism string) *gate {
	to, err := url.Parse(prism)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{seen: map[string]int{}}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(resp *http.Response) error {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.problems = append(g.problems, fmt.Sprintf("%s %s: %s", resp.Request.Method, resp.Request.URL, body))
		}
		return nil
	}
	g.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		// GitHub answers this for the tokens of Actions, and emulate has no GraphQL.
		if r.URL.Path == "/graphql" {
			respond(rw, 200, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": "dev"}}})
			return
		}
		g.mu.Lock()
		g.seen[r.Method+" "+numbers.ReplaceAllString(r.URL.Path, "#")]++
		intercept := g.intercept
		g.mu.Unlock()
		if r.Method != "GET" && r.Header.Get("Authorization") == "Bearer "+e2eReadOnly {
			respond(rw, 403, map[string]string{"message": notAccessible})
			return
		}
		if intercept != nil && intercept(rw, r) {
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// during has the gate fail in a way for one test.
func (g *gate) during(t *testing.T, intercept func(http.ResponseWriter, *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.intercept = intercept
	t.Cleanup(func() { g.mu.Lock(); g.intercept = nil; g.mu.Unlock() })
}

// check tells what Prism refused, and whether it was asked at all.
func (g *gate) check(t *testing.T, wanted ...string) {
	t.Helper()
	g.mu.Lock()
	seen, problems := maps.Clone(g.seen), slices.Clone(g.problems)
	g.mu.Unlock()
	for _, p := range problems {
		t.Errorf("GitHub's description does not allow %s", p)
	}
	t.Logf("requests, all held against GitHub's description:")
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%4d %s", seen[key], key)
	}
	for _, key := range wanted {
		if seen[key] == 0 {
			t.Errorf("nothing asked for %s", key)
		}
	}
	resp, err := http.Post(g.URL+"/repos/dev/infra/issues/1/comments", "application/json", strings.NewReader(`{"text": "x"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 422 {
		t.Errorf("a comment without a body is answered %d: Prism checks nothing", resp.StatusCode)
	}
}

// A stub is an action of GitHub's that the world has its own of.
var e2eStubs = map[string]string{
	"nothing": "name: nothing\ndescription: nothing\nruns: {using: composite, steps: [{shell: bash, run: 'true'}]}\n",
	"upload": `name: upload
description: Keeps an artifact
inputs: {name: {description: n}, path: {description: p}, if-no-files-found: {description: i}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", FROM: "${{ inputs.path }}"}
      run: mkdir -p "$ARTIFACTS/$NAME" && cp -R "$FROM/." "$ARTIFACTS/$NAME/"
`,
	"download": `name: download
description: Gives artifacts back, one or those of a pattern in a folder each
inputs: {name: {description: n}, pattern: {description: p}, path: {description: p}, run-id: {description: r}, github-token: {description: t}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", PATTERN: "${{ inputs.pattern }}", TO: "${{ inputs.path }}"}
      run: |
        mkdir -p "$TO"
        if [ -n "$NAME" ]; then cp -R "$ARTIFACTS/$NAME/." "$TO/"; else cp -R "$ARTIFACTS"/$PATTERN "$TO/"; fi
`,
}

const e2eVersion = "v9.9.9"

// installAction makes the action as the tag v1 has it, with a release.txt that
// names the bytes of a release, and a server that has them.
func (w *world) installAction(t *testing.T) {
	w.action = filepath.Join(w.dir, "action")
	command(t, w.dir, "mkdir", "-p", w.action)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	command(t, root, "cp", "-R", "action.yml", "go.mod", "go.sum", w.action)
	command(t, root, "cp", "-R", "--parents", ".github/action", w.action)
	releases := filepath.Join(w.dir, "releases")
	archive := filepath.Join(releases, e2eVersion, "prdiff.tar.gz")
	command(t, w.dir, "mkdir", "-p", filepath.Dir(archive))
	command(t, w.dir, "tar", "-czf", archive, "prdiff")
	sum := func(file string) string { return strings.Fields(command(t, w.dir, "sha256sum", file))[0] }
	pins := "version " + e2eVersion + "\n"
	for _, arch := range []string{"X64", "ARM64"} {
		pins += "Linux " + arch + " prdiff.tar.gz " + sum(archive) + " " + sum(w.binary) + "\n"
	}
	writeFile(t, filepath.Join(w.action, ".github/action/release.txt"), pins)
	server := httptest.NewServer(http.FileServer(http.Dir(releases)))
	t.Cleanup(server.Close)
	w.releases = server.URL
	for name, text := range e2eStubs {
		writeFile(t, filepath.Join(w.dir, "stubs", name, "action.yml"), text)
	}
}

// fillToolCache puts the release where an earlier run of the action leaves it, for
// workflows that say nothing of where releases are.
func (w *world) fillToolCache(t *testing.T) {
	t.Helper()
	for _, arch := range []string{"X64", "ARM64"} {
		dir := filepath.Join(w.dir, "act/tool_cache/prdiff", e2eVersion, arch)
		command(t, w.dir, "mkdir", "-p", dir)
		command(t, w.dir, "cp", w.binary, dir)
	}
}

// stubs gives the arguments of act for all actions that the action and the
// workflows in a folder use.
func (w *world) stubs(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no workflow (%v)", folder, err)
	}
	args := []string{"--local-repository", "prdiff/prdiff@v1=" + w.action}
	for _, file := range append(files, filepath.Join(w.action, "action.yml")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			_, used, ok := strings.Cut(line, "uses: ")
			if !ok || strings.HasPrefix(used, "prdiff/") || strings.HasPrefix(used, "actions/checkout") {
				continue
			}
			name := strings.Fields(used)[0]
			stub := "nothing"
			switch {
			case strings.HasPrefix(name, "actions/upload-artifact@"):
				stub = "upload"
			case strings.HasPrefix(name, "actions/download-artifact@"):
				stub = "download"
			}
			args = append(args, "--local-repository", name+"="+filepath.Join(w.dir, "stubs", stub))
		}
	}
	return args
}

// An e2ePull is a pull request at emulate, and a checkout of its merge.
type e2ePull struct {
	*world
	t               *testing.T
	number          int
	head            string // what emulate holds for the commit of its branch
	headRepo        string
	headRepoID      int64
	fixture         string
	base, headSHA   string // in the checkout
	workflow        string
	token           string
	lastLog         string
	pushes, lastRun int
}

// newPull makes a pull request with a workflow and its first state of files. From
// is the owner of the branch.
func (w *world) newPull(t *testing.T, from, workflow string, files map[string]string) *e2ePull {
	t.Helper()
	p := &e2ePull{world: w, t: t, fixture: t.TempDir(), workflow: "pr.yml", token: e2eToken}
	token := map[string]string{"dev": e2eToken, "mallory": e2eOther}[from]
	branch := strings.NewReplacer("/", "-", ",", "").Replace(t.Name())
	var ref struct{ Object struct{ SHA string } }
	w.github(t, token, "GET", "/repos/"+from+"/infra/git/ref/heads/main", nil, &ref)
	w.github(t, token, "POST", "/repos/"+from+"/infra/git/refs", map[string]string{"ref": "refs/heads/" + branch, "sha": ref.Object.SHA}, nil)
	var pull struct {
		Number int
		Head   struct {
			SHA  string
			Repo struct {
				ID       int64
				FullName string `json:"full_name"`
			}
		}
	}
	w.github(t, token, "POST", "/repos/dev/infra/pulls", map[string]string{"title": t.Name(), "head": from + ":" + branch, "base": "main"}, &pull)
	p.number, p.head, p.headRepo, p.headRepoID = pull.Number, pull.Head.SHA, pull.Head.Repo.FullName, pull.Head.Repo.ID
	if p.number == 0 || p.headRepo != from+"/infra" {
		t.Fatalf("the pull request: %+v", pull)
	}
	command(t, w.dir, "git", "init", "-q", "-b", "main", p.fixture)
	command(t, p.fixture, "git", "remote", "add", "origin", "https://github.com/dev/infra.git")
	if workflow != "" {
		writeFile(t, filepath.Join(p.fixture, ".github/workflows/pr.yml"), workflow)
	} else {
		command(t, p.fixture, w.binary, "init")
		p.workflow = "prdiff.yml"
	}
	p.commit(files)
	p.base = command(t, p.fixture, "git", "rev-parse", "HEAD")
	return p
}

func (p *e2ePull) commit(files map[string]string) {
	p.t.Helper()
	for name, text := range files {
		writeFile(p.t, filepath.Join(p.fixture, name), text)
	}
	command(p.t, p.fixture, "git", "add", "-A")
	command(p.t, p.fixture, "git", "commit", "-qm", "a change\n\n::error::CANARY of a commit message")
}

// push makes the checkout the merge of a pull request with these files.
func (p *e2ePull) push(files map[string]string) {
	p.t.Helper()
	p.pushes++
	command(p.t, p.fixture, "git", "checkout", "-q", "-B", "feature", p.base)
	files = maps.Clone(files)
	if files == nil {
		files = map[string]string{}
	}
	files["notes.txt"] = fmt.Sprint(p.number, " ", p.pushes) // no two pushes are one commit
	p.commit(files)
	p.headSHA = command(p.t, p.fixture, "git", "rev-parse", "HEAD")
	command(p.t, p.fixture, "git", "checkout", "-q", "--detach", p.base)
	command(p.t, p.fixture, "git", "merge", "-q", "--no-ff", "--no-edit", "feature")
}

// event gives the payload of pull_request.
func (p *e2ePull) event() string {
	data, err := json.Marshal(map[string]any{"action": "synchronize", "number": p.number, "pull_request": map[string]any{
		"number": p.number, "head": map[string]any{"ref": "feature", "sha": p.headSHA, "repo": map[string]any{"id": p.headRepoID, "full_name": p.headRepo}},
		"base": map[string]any{"ref": "main", "sha": p.base}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// run runs the workflow for the pull request as run number id, and says whether
// the job succeeded.
func (p *e2ePull) run(id int, vars ...string) bool {
	p.t.Helper()
	log, ok := p.act("pull_request", p.event(), p.workflow, id, vars...)
	p.lastLog = log
	return ok
}

// act has the runner run a workflow, and gives its log and whether it succeeded.
func (p *e2ePull) act(event, payload, workflow string, id int, vars ...string) (string, bool) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "event.json")
	writeFile(p.t, file, payload)
	workflows := filepath.Join(p.fixture, ".github/workflows")
	args := []string{event, "-W", filepath.Join(workflows, workflow), "-e", file, "-P", "ubuntu-latest=-self-hosted", "--pull=false", "--no-cache-server",
		"--action-cache-path", filepath.Join(p.dir, "act"), "-s", "GITHUB_TOKEN=" + p.token, "--actor", "dev", "--concurrent-jobs", "2",
		"--env", "GITHUB_API_URL=" + p.gate.URL, "--env", "GITHUB_GRAPHQL_URL=" + p.gate.URL + "/graphql", "--env", "RELEASES=" + p.releases,
		"--env", "NO_COLOR=1", "--env", fmt.Sprint("GITHUB_RUN_ID=", id), "--env", "ARTIFACTS=" + p.artifacts}
	args = append(args, p.stubs(p.t, workflows)...)
	for _, v := range vars {
		args = append(args, "--env", v)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.tools, "bin/act"), args...)
	cmd.Dir, cmd.WaitDelay = p.fixture, 10*time.Second
	// Whatever act is told on this machine, it is not told here.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GITHUB_") || strings.HasPrefix(s, "ACTIONS_") }),
		"HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, "PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		p.t.Fatalf("act: %v\n%s", err, out)
	}
	return string(out), err == nil
}

type e2eComment struct {
	ID   int64
	Body string
	User struct{ Login string }
}

// comments gives the comments of the pull request that begin as ours do.
func (p *e2ePull) comments() []e2eComment {
	p.t.Helper()
	var ours []e2eComment
	for page := 1; ; page++ {
		var all []e2eComment
		p.github(p.t, e2eToken, "GET", fmt.Sprintf("/repos/dev/infra/issues/%d/comments?per_page=100&page=%d", p.number, page), nil, &all)
		for _, c := range all {
			if strings.HasPrefix(c.Body, "<!-- prdiff:comment") {
				ours = append(ours, c)
			}
		}
		if len(all) < 100 {
			return ours
		}
	}
}

// one gives the one comment of ours.
func (p *e2ePull) one() e2eComment {
	p.t.Helper()
	all := p.comments()
	if len(all) != 1 {
		p.t.Fatalf("%d comments, want one; the run's log:\n%s", len(all), p.lastLog)
	}
	return all[0]
}

// none fails if there is a comment of ours.
func (p *e2ePull) none() {
	p.t.Helper()
	if all := p.comments(); len(all) != 0 {
		p.t.Fatalf("%d comments, want none; the run's log:\n%s", len(all), p.lastLog)
	}
}

// says fails if the last run's log lacks a text.
func (p *e2ePull) says(words ...string) {
	p.t.Helper()
	for _, s := range words {
		if !strings.Contains(p.lastLog, s) {
			p.t.Errorf("the log does not say %q:\n%s", s, p.lastLog)
		}
	}
}
