//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The tests here run the action as GitHub's runner would, by act
// (https://github.com/nektos/act), against emulate, a GitHub with state
// (https://github.com/vercel-labs/emulate). .ci/e2e installs both.

// A world is a repository with a pull request, the action, and a GitHub.
type world struct {
	t                *testing.T
	tools, dir       string
	api              string
	action, fixture  string
	baseSHA, headSHA string
	binary, releases string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, tools: os.Getenv("PRDIFF_E2E_TOOLS"), dir: t.TempDir()}
	if w.tools == "" {
		t.Fatal("PRDIFF_E2E_TOOLS is not set: run .ci/e2e")
	}
	w.binary = filepath.Join(w.dir, "prdiff")
	w.run("../..", "go", "build", "-o", w.binary, "./cmd/prdiff")
	w.startGitHub()
	w.installAction()
	w.makeRepository()
	return w
}

func (w *world) run(dir, name string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// startGitHub starts emulate with one repository and one pull request.
func (w *world) startGitHub() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	seed := filepath.Join(w.dir, "seed.yaml")
	w.write(seed, `tokens: {ghs_fake: {login: dev, scopes: [repo]}}
github:
  users: [{login: dev, name: Dev, email: dev@example.com}, {login: someone, name: S, email: s@example.com}]
  repos: [{owner: dev, name: infra, auto_init: true, default_branch: main}]
`)
	cmd := exec.Command("node", filepath.Join(w.tools, "node_modules/emulate/dist/index.js"), "start", "--service", "github", "--seed", seed, "--port", fmt.Sprint(port))
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	w.api = fmt.Sprintf("http://127.0.0.1:%d", port)
	for range 120 {
		if resp, err := http.Get(w.api + "/repos/dev/infra"); err == nil {
			resp.Body.Close()
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	var ref struct{ Object struct{ SHA string } }
	w.github("GET", "/repos/dev/infra/git/ref/heads/main", nil, &ref)
	w.github("POST", "/repos/dev/infra/git/refs", map[string]string{"ref": "refs/heads/feature", "sha": ref.Object.SHA}, nil)
	w.github("POST", "/repos/dev/infra/pulls", map[string]string{"title": "t", "head": "feature", "base": "main"}, nil)
}

func (w *world) github(method, path string, in, out any) {
	w.t.Helper()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			w.t.Fatal(err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, w.api+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer ghs_fake")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		w.t.Fatalf("%s %s: %d %v %s", method, path, resp.StatusCode, err, data)
	}
	if out != nil {
		if err := json.Unmarshal(data, out); err != nil {
			w.t.Fatal(err)
		}
	}
}

type e2eComment struct {
	ID   int64
	Body string
}

// comments gives the comments of ours.
func (w *world) comments() []e2eComment {
	w.t.Helper()
	var ours []e2eComment
	for page := 1; ; page++ {
		var all []e2eComment
		w.github("GET", fmt.Sprintf("/repos/dev/infra/issues/1/comments?per_page=100&page=%d", page), nil, &all)
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

// installAction makes the action as the tag v1 has it, with a release.txt that
// names the bytes of a release, and a server that has them. The actions that it
// uses itself do nothing here.
func (w *world) installAction() {
	w.action = filepath.Join(w.dir, "action")
	w.run(w.dir, "mkdir", "-p", w.action)
	root, err := filepath.Abs("../..")
	if err != nil {
		w.t.Fatal(err)
	}
	w.run(root, "cp", "-R", "action.yml", "go.mod", "go.sum", w.action)
	w.run(root, "cp", "-R", "--parents", ".github/action", w.action)
	// A version of its own, as the runner's tool cache outlives the test.
	version := fmt.Sprintf("v9.9.%d", time.Now().UnixNano())
	releases := filepath.Join(w.dir, "releases")
	w.write(filepath.Join(releases, version, "README"), "")
	w.run(w.dir, "tar", "-czf", filepath.Join(releases, version, "prdiff.tar.gz"), "prdiff")
	sum := func(file string) string { return strings.Fields(w.run(w.dir, "sha256sum", file))[0] }
	pins := "version " + version + "\n"
	for _, arch := range []string{"X64", "ARM64"} {
		pins += "Linux " + arch + " prdiff.tar.gz " + sum(filepath.Join(releases, version, "prdiff.tar.gz")) + " " + sum(w.binary) + "\n"
	}
	w.write(filepath.Join(w.action, ".github/action/release.txt"), pins)
	server := httptest.NewServer(http.FileServer(http.Dir(releases)))
	w.t.Cleanup(server.Close)
	w.releases = server.URL
	w.write(filepath.Join(w.dir, "nothing/action.yml"), "name: nothing\ndescription: nothing\nruns: {using: composite, steps: [{shell: bash, run: 'true'}]}\n")
}

const e2eManifest = `apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {selector: {app: cart%s}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec: {containers: [{name: cart, image: "cart:1", ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hostile, namespace: shop}
data:
  text: |
    %s
    ::error::obeyed
    ::set-output name=verdict::obeyed
    ::add-mask::cart
    ##[error]obeyed
    ::stop-commands::x
`

const e2eWorkflow = `name: prdiff
on: [pull_request, workflow_run]
jobs:
  prdiff:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: prdiff
        uses: prdiff/prdiff@v1
        with:
          comment-author: dev
          download-url: ${{ env.RELEASES }}
          from-fork: ${{ github.event_name == 'workflow_run' && env.FORK_REPORT || '' }}
      - if: always()
        shell: bash
        env:
          VERDICT: ${{ steps.prdiff.outputs.verdict }}
          ERRORS: ${{ steps.prdiff.outputs.errors }}
          COMMENT: ${{ steps.prdiff.outputs.comment-url }}
          REPORT: ${{ steps.prdiff.outputs.report }}
        run: |
          echo "OUTPUTS verdict=$VERDICT errors=$ERRORS comment=$COMMENT"
          cp "$REPORT" "$KEEP_REPORT"
`

// makeRepository makes a repository whose HEAD is the merge of a pull request.
func (w *world) makeRepository() {
	w.fixture = filepath.Join(w.dir, "infra")
	w.run(w.dir, "git", "init", "-q", "-b", "main", w.fixture)
	w.run(w.fixture, "git", "remote", "add", "origin", "https://github.com/dev/infra.git")
	w.write(filepath.Join(w.fixture, ".github/workflows/pr.yml"), e2eWorkflow)
	w.write(filepath.Join(w.fixture, "all.yaml"), fmt.Sprintf(e2eManifest, "", "a"))
	w.run(w.fixture, "git", "add", "-A")
	w.run(w.fixture, "git", "commit", "-qm", "one")
	w.baseSHA = w.run(w.fixture, "git", "rev-parse", "HEAD")
}

// push makes HEAD the merge of a pull request with this content.
func (w *world) push(manifest string) {
	w.t.Helper()
	w.run(w.fixture, "git", "checkout", "-q", "-B", "feature", w.baseSHA)
	w.write(filepath.Join(w.fixture, "all.yaml"), manifest)
	w.write(filepath.Join(w.fixture, "notes.txt"), fmt.Sprint(time.Now().UnixNano()))
	w.run(w.fixture, "git", "add", "-A")
	w.run(w.fixture, "git", "commit", "-qm", "two")
	w.headSHA = w.run(w.fixture, "git", "rev-parse", "HEAD")
	w.run(w.fixture, "git", "checkout", "-q", "--detach", w.baseSHA)
	w.run(w.fixture, "git", "merge", "-q", "--no-ff", "--no-edit", "feature")
}

// act runs the workflow, and gives its log and whether the job succeeded.
func (w *world) act(event, payload, runID string, vars ...string) (string, bool) {
	w.t.Helper()
	file := filepath.Join(w.dir, "event.json")
	w.write(file, payload)
	args := []string{event, "-W", ".github/workflows/pr.yml", "-e", file, "-P", "ubuntu-latest=-self-hosted", "--pull=false", "--no-cache-server",
		"--local-repository", "prdiff/prdiff@v1=" + w.action, "-s", "GITHUB_TOKEN=ghs_fake", "--actor", "dev",
		"--env", "GITHUB_API_URL=" + w.api, "--env", "GITHUB_GRAPHQL_URL=" + w.api + "/graphql", "--env", "RELEASES=" + w.releases,
		"--env", "NO_COLOR=1", "--env", "GITHUB_RUN_ID=" + runID, "--env", "KEEP_REPORT=" + filepath.Join(w.dir, "kept.json")}
	yml, err := os.ReadFile(filepath.Join(w.action, "action.yml"))
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(yml)) {
		if _, used, ok := strings.Cut(line, "uses: "); ok {
			args = append(args, "--local-repository", strings.Fields(used)[0]+"="+filepath.Join(w.dir, "nothing"))
		}
	}
	for _, v := range vars {
		args = append(args, "--env", v)
	}
	cmd := exec.Command(filepath.Join(w.tools, "bin/act"), args...)
	cmd.Dir = w.fixture
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (w *world) pullEvent() string {
	return strings.NewReplacer(`"number":7`, `"number":1`, pullHead, w.headSHA).Replace(pullEvent)
}

func TestE2E(t *testing.T) {
	w := newWorld(t)
	var log string
	var ok bool
	one := func() e2eComment {
		t.Helper()
		all := w.comments()
		if len(all) != 1 {
			t.Fatalf("%d comments, want one; the run's log:\n%s", len(all), log)
		}
		return all[0]
	}

	// The clean first push says nothing.
	w.push(fmt.Sprintf(e2eManifest, "", "a"))
	if log, ok = w.act("pull_request", w.pullEvent(), "1"); !ok || len(w.comments()) != 0 {
		t.Fatalf("a clean push: %v, %d comments\n%s", ok, len(w.comments()), log)
	}
	if !strings.Contains(log, ", verified") {
		t.Errorf("the release was not downloaded and verified:\n%s", log)
	}

	// 150 comments of others come before ours.
	for i := range 150 {
		w.github("POST", "/repos/dev/infra/issues/1/comments", map[string]string{"body": fmt.Sprint("words ", i)}, nil)
	}
	w.push(fmt.Sprintf(e2eManifest, ", zone: a", "b"))
	if log, ok = w.act("pull_request", w.pullEvent(), "10"); ok {
		t.Errorf("an error did not fail the job:\n%s", log)
	}
	first := one()
	if !strings.Contains(first.Body, "service-without-endpoints") || !strings.Contains(first.Body, "sha="+w.headSHA) {
		t.Errorf("the comment: %s", first.Body)
	}
	if !strings.Contains(log, "OUTPUTS verdict=found errors=1 comment=http") {
		t.Errorf("the outputs are missing:\n%s", log)
	}
	// act shows what it obeyed with a sign in front.
	if strings.Contains(log, "❗  ::error::obeyed") || strings.Contains(log, "verdict=obeyed") || strings.Contains(log, "***/***") {
		t.Errorf("the log's commands were obeyed:\n%s", log)
	}
	if !strings.Contains(log, "❗  ::error file=all.yaml") {
		t.Errorf("our annotation was not obeyed:\n%s", log)
	}

	// The second edits it, a clean one says so, an older run does not win.
	w.push(fmt.Sprintf(e2eManifest, ", zone: b", "c"))
	log, _ = w.act("pull_request", w.pullEvent(), "20")
	if second := one(); second.ID != first.ID || !strings.Contains(second.Body, "zone=b") {
		t.Errorf("the second push: %+v", second)
	}
	w.push(fmt.Sprintf(e2eManifest, "", "a"))
	log, _ = w.act("pull_request", w.pullEvent(), "30")
	if third := one(); third.ID != first.ID || strings.Contains(third.Body, "service-without-endpoints") {
		t.Errorf("the clean push: %+v", third)
	}
	w.push(fmt.Sprintf(e2eManifest, ", zone: old", "c"))
	log, _ = w.act("pull_request", w.pullEvent(), "25")
	if strings.Contains(one().Body, "zone=old") || !strings.Contains(log, "a newer run wrote it") {
		t.Errorf("an older run won:\n%s", log)
	}

	// Of a fork, the first run's comment is refused here by a wrong token, and the
	// second workflow's, for the commit that GitHub knows, is made.
	var pull struct {
		Head struct {
			SHA  string
			Repo struct{ ID int64 }
		}
	}
	w.github("GET", "/repos/dev/infra/pulls/1", nil, &pull)
	kept := filepath.Join(w.dir, "kept.json")
	payload := fmt.Sprintf(`{"action":"completed","workflow_run":{"id":40,"run_attempt":1,"event":"pull_request","conclusion":"failure","head_sha":"%s",
		"head_branch":"feature","head_repository":{"id":%d,"full_name":"dev/infra"},"pull_requests":[]},"repository":{"full_name":"dev/infra"}}`, pull.Head.SHA, pull.Head.Repo.ID)
	log, ok = w.act("workflow_run", payload, "41", "FORK_REPORT="+w.copyOf(kept))
	if body := one().Body; !ok || !strings.Contains(body, "zone=old") || !strings.Contains(body, "run=40") || !strings.Contains(body, "Found by a run of the") {
		t.Errorf("the fork's report was not published (%v): %.400s\n%s", ok, body, log)
	}
	moved := strings.Replace(payload, pull.Head.SHA, strings.Repeat("9", 40), 1)
	moved = strings.Replace(moved, `"id":40`, `"id":50`, 1)
	log, ok = w.act("workflow_run", moved, "51", "FORK_REPORT="+w.copyOf(kept))
	if !ok || strings.Contains(one().Body, "run=50") || !strings.Contains(log, "moved on") {
		t.Errorf("a run of a commit that the pull request is not at was published (%v)\n%s", ok, log)
	}
}

// copyOf puts a file into a folder of its own, as download-artifact does.
func (w *world) copyOf(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	dir, err := os.MkdirTemp(w.dir, "artifact")
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(filepath.Join(dir, "report.json"), string(data))
	return dir
}
