//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

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
`

// e2eFiles are the files of a pull request whose Service asks for one more label.
func e2eFiles(label string) map[string]string {
	if label != "" {
		label = ", " + label
	}
	return map[string]string{"all.yaml": fmt.Sprintf(e2eManifest, label)}
}

const e2eWorkflow = `name: prdiff
on: pull_request
jobs:
  prdiff:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: prdiff
        uses: prdiff/prdiff@v1
        with:
          download-url: ${{ env.RELEASES }}
          check: true
          code-scanning: true
      - if: always()
        shell: bash
        env:
          VERDICT: ${{ steps.prdiff.outputs.verdict }}
          ERRORS: ${{ steps.prdiff.outputs.errors }}
          COMMENT: ${{ steps.prdiff.outputs.comment-url }}
        run: echo "OUTPUTS verdict=$VERDICT errors=$ERRORS comment=$COMMENT"
`

// TestE2E runs the action as GitHub's runner would, from a workflow to the comment.
func TestE2E(t *testing.T) {
	w := newWorld(t)
	t.Run("the first push creates one comment, the second edits it, a clean one says so", func(t *testing.T) {
		p := w.newPull(t, "dev", e2eWorkflow, e2eFiles(""))
		p.push(e2eFiles(""))
		if !p.run(1) {
			t.Errorf("a clean push fails the job:\n%s", p.lastLog)
		}
		p.none()
		p.says("verified", "OUTPUTS verdict=clean errors=0 comment=\n")

		p.push(e2eFiles("zone: a"))
		if p.run(10) {
			t.Errorf("an error did not fail the job:\n%s", p.lastLog)
		}
		first := p.one()
		if !strings.Contains(first.Body, "service-without-endpoints") || !strings.Contains(first.Body, "sha="+p.headSHA) {
			t.Errorf("the comment: %s", first.Body)
		}
		p.says("from the tool cache", "OUTPUTS verdict=found errors=1 comment=http", "check run made", "no upload to code scanning")

		p.push(e2eFiles("zone: b"))
		p.run(20)
		if second := p.one(); second.ID != first.ID || !strings.Contains(second.Body, "zone=b") {
			t.Errorf("the second push: %+v", second)
		}
		p.push(e2eFiles(""))
		if !p.run(30) {
			t.Errorf("a clean push fails the job:\n%s", p.lastLog)
		}
		if third := p.one(); third.ID != first.ID || strings.Contains(third.Body, "service-without-endpoints") {
			t.Errorf("the clean push: %+v", third)
		}
	})

	t.Run("150 comments of others, some with our marker, do not hide it", func(t *testing.T) {
		p := w.newPull(t, "dev", e2eWorkflow, e2eFiles(""))
		comments := fmt.Sprintf("/repos/dev/infra/issues/%d/comments", p.number)
		for i := range 150 {
			body := fmt.Sprint("words ", i)
			if i%50 == 0 {
				body = "<!-- prdiff:comment v1 key=default run=999999 attempt=1 -->\nall is well"
			}
			w.github(t, e2eOther, "POST", comments, map[string]string{"body": body}, nil)
		}
		mine := func() []e2eComment {
			var mine []e2eComment
			for _, c := range p.comments() {
				if c.User.Login == "dev" {
					mine = append(mine, c)
				}
			}
			return mine
		}
		p.push(e2eFiles("zone: a"))
		p.run(1)
		p.push(e2eFiles("zone: b"))
		p.run(2)
		if all := mine(); len(all) != 1 || !strings.Contains(all[0].Body, "zone=b") {
			t.Errorf("%d comments of ours:\n%s", len(all), p.lastLog)
		}
		if all := p.comments(); len(all) != 4 {
			t.Errorf("%d comments with our marker, want ours and the three of another person", len(all))
		}
	})

	t.Run("two runs that race leave one comment, with the newer text", func(t *testing.T) {
		p := w.newPull(t, "dev", e2eWorkflow, e2eFiles(""))
		// Nobody's comment is made before both want to make one.
		var both sync.WaitGroup
		both.Add(2)
		arrived := make(chan struct{})
		go func() { both.Wait(); close(arrived) }()
		made := 0
		var mu sync.Mutex
		w.gate.during(t, func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method != "POST" || !strings.HasSuffix(r.URL.Path, "/comments") {
				return false
			}
			mu.Lock()
			if made++; made <= 2 {
				both.Done()
			}
			mu.Unlock()
			select {
			case <-arrived:
			case <-time.After(time.Minute):
			}
			return false
		})
		newer := *p
		newer.fixture = t.TempDir()
		p.push(e2eFiles("zone: old"))
		command(t, w.dir, "cp", "-R", p.fixture+"/.", newer.fixture)
		newer.push(e2eFiles("zone: new"))
		var runs sync.WaitGroup
		for _, one := range []struct {
			p  *e2ePull
			id int
		}{{p, 50}, {&newer, 51}} {
			runs.Go(func() { one.p.run(one.id) })
		}
		runs.Wait()
		if made != 2 {
			t.Errorf("%d comments were made: the runs did not race\n%s", made, p.lastLog)
		}
		if body := p.one().Body; !strings.Contains(body, "zone=new") || !strings.Contains(body, "run=51") {
			t.Errorf("the comment that stays: %s\nthe older run:\n%s\nthe newer run:\n%s", body, p.lastLog, newer.lastLog)
		}
	})

	t.Run("an older run does not win", func(t *testing.T) {
		p := w.newPull(t, "dev", e2eWorkflow, e2eFiles(""))
		p.push(e2eFiles("zone: new"))
		p.run(30)
		p.push(e2eFiles("zone: old"))
		p.run(25)
		p.says("a newer run wrote it")
		if body := p.one().Body; strings.Contains(body, "zone=old") {
			t.Errorf("the comment: %s", body)
		}
	})

	t.Run("a comment that was deleted is made again", func(t *testing.T) {
		p := w.newPull(t, "dev", e2eWorkflow, e2eFiles(""))
		p.push(e2eFiles("zone: a"))
		p.run(1)
		first := p.one()
		w.github(t, e2eToken, "DELETE", fmt.Sprint("/repos/dev/infra/issues/comments/", first.ID), nil, nil)
		p.push(e2eFiles("zone: b"))
		p.run(2)
		if again := p.one(); again.ID == first.ID || !strings.Contains(again.Body, "zone=b") {
			t.Errorf("the comment: %+v", again)
		}
	})

	t.Run("where GitHub fails for good, the job fails by name, and the summary has the findings", func(t *testing.T) {
		p := w.newPull(t, "dev", e2eWorkflow, e2eFiles(""))
		p.push(e2eFiles("zone: a"))
		w.gate.during(t, func(rw http.ResponseWriter, r *http.Request) bool {
			rw.Header().Set("Retry-After", "3600")
			respond(rw, 429, map[string]string{"message": "slow down"})
			return true
		})
		if p.run(1) {
			t.Error("the job succeeded")
		}
		p.none()
		p.says("asks to wait for 1h0m0s", "OUTPUTS verdict=incomplete errors=1 comment=\n", "❗  ::error file=all.yaml", "service-without-endpoints", "Summary - ")
	})

	t.Run("a locked conversation is no fault of the run", func(t *testing.T) {
		p := w.newPull(t, "dev", strings.Replace(e2eWorkflow, "check: true", "fail-on: never", 1), e2eFiles(""))
		p.push(e2eFiles("zone: a"))
		w.gate.during(t, func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Method == "GET" {
				return false
			}
			respond(rw, 403, map[string]string{"message": "Unable to create comment because issue is locked."})
			return true
		})
		if !p.run(1) {
			t.Error("the job failed")
		}
		p.none()
		p.says("issue is locked", "OUTPUTS verdict=clean errors=1 comment=\n", "service-without-endpoints", "Summary - ")
	})

	t.Run("a fork is commented on by the second workflow alone", func(t *testing.T) { testFork(t, w) })
	t.Run("the README's workflow of many jobs makes one comment of their parts", func(t *testing.T) { testManyJobs(t, w) })
	t.Run("commands in what a pull request says are not obeyed", func(t *testing.T) { testLogCommands(t, w) })
	w.gate.check(t, "GET /repos/dev/infra/issues/#/comments", "POST /repos/dev/infra/issues/#/comments", "PATCH /repos/dev/infra/issues/comments/#",
		"DELETE /repos/dev/infra/issues/comments/#", "POST /repos/dev/infra/check-runs", "POST /repos/dev/infra/code-scanning/sarifs", "GET /repos/dev/infra/pulls")
}

// testFork runs the two workflows that prdiff init writes, as they are.
func testFork(t *testing.T, w *world) {
	w.fillToolCache(t)
	p := w.newPull(t, "mallory", "", e2eFiles(""))
	p.push(e2eFiles("zone: a"))
	p.token = e2eReadOnly
	if p.run(40) {
		t.Error("the fork's run did not fail by what it found")
	}
	p.none()
	p.says("comes from a fork", "service-without-endpoints")

	// What follows has rights, and no checkout.
	p.token = e2eToken
	payload := func(run int, sha string) string {
		data, err := json.Marshal(map[string]any{"action": "completed", "repository": map[string]any{"full_name": "dev/infra"}, "workflow_run": map[string]any{
			"id": run, "run_attempt": 1, "event": "pull_request", "conclusion": "failure", "head_sha": sha, "head_branch": strings.NewReplacer("/", "-", ",", "").Replace(t.Name()),
			"head_repository": map[string]any{"id": p.headRepoID, "full_name": p.headRepo}, "actor": map[string]any{"login": "mallory"}, "pull_requests": []any{}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	second := func(run int, sha string) bool {
		var ok bool
		p.lastLog, ok = p.act("workflow_run", payload(run, sha), "prdiff-comment.yml", run+1)
		return ok
	}
	if !second(40, p.head) {
		t.Errorf("the second workflow failed:\n%s", p.lastLog)
	}
	first := p.one()
	if !strings.Contains(first.Body, "zone=a") || !strings.Contains(first.Body, "run=40") || !strings.Contains(first.Body, "Found by a run of the fork") {
		t.Errorf("the comment: %s", first.Body)
	}

	// A run of a commit that the pull request is not at is not published.
	if !second(50, strings.Repeat("9", 40)) {
		t.Errorf("a pull request that moved on is no fault:\n%s", p.lastLog)
	}
	p.says("moved on")
	// Nor is a report that is none, and then the job says so.
	file := filepath.Join(w.artifacts, "prdiff-report/report.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, strings.Replace(string(data), "{", `{"number": 1, "markdown": "# all is well",`, 1))
	if second(60, p.head) {
		t.Errorf("a report with more than reports have was taken:\n%s", p.lastLog)
	}
	p.says("unknown field")
	if last := p.one(); last != first {
		t.Errorf("the comment became %+v", last)
	}
}

// workflowsOf gives the workflows in a Markdown file.
func workflowsOf(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, block := range strings.Split(string(data), "```yaml\n")[1:] {
		if text, _, ok := strings.Cut(block, "```"); ok && strings.Contains(text, "\njobs:\n") {
			out = append(out, text)
		}
	}
	return out
}

func testManyJobs(t *testing.T, w *world) {
	all := workflowsOf(t, "../../README.md")
	if len(all) != 2 {
		t.Fatalf("the README has %d workflows", len(all))
	}
	files := map[string]string{}
	for i := range 3 {
		files[fmt.Sprintf("team%d/all.yaml", i)] = fmt.Sprintf(e2eManifest, "")
	}
	w.fillToolCache(t)
	// act has no context strategy.
	const index = "${{ strategy.job-index }}"
	if !strings.Contains(all[1], index) {
		t.Fatal("the README's second workflow does not number its artifacts")
	}
	p := w.newPull(t, "dev", strings.Replace(all[1], index, "${{ matrix.shard == '1/3' && 'a' || matrix.shard == '2/3' && 'b' || 'c' }}", 1), files)
	for i := range 3 {
		files[fmt.Sprintf("team%d/all.yaml", i)] = fmt.Sprintf(e2eManifest, fmt.Sprintf(", zone: z%d", i))
	}
	p.push(files)
	if p.run(1) {
		t.Errorf("an error did not fail the job:\n%s", p.lastLog)
	}
	body := p.one().Body
	for i := range 3 {
		if !strings.Contains(body, fmt.Sprintf("zone=z%d", i)) {
			t.Errorf("the comment lacks the part of team%d: %s\n%s", i, body, p.lastLog)
		}
	}
	for _, part := range []string{"a", "b", "c"} {
		if _, err := os.Stat(filepath.Join(w.artifacts, "prdiff-part-"+part, "report.json")); err != nil {
			t.Error(err)
		}
	}

	// A part that is missing is an error, and no clean report. Here the jobs give
	// their artifacts one name.
	if err := os.RemoveAll(w.artifacts); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(p.fixture, ".github/workflows/pr.yml"), all[1])
	if p.run(2) {
		t.Errorf("missing parts did not fail the job:\n%s", p.lastLog)
	}
	if body := p.one().Body; !strings.Contains(body, "2 of 3 parts are missing") {
		t.Errorf("the comment does not tell of the missing parts: %s", body)
	}
}

// TestE2EWorkflows has actionlint read the workflows that the README and prdiff init give.
func TestE2EWorkflows(t *testing.T) {
	dir := t.TempDir()
	command(t, dir, "git", "init", "-q", ".")
	binary := buildByAction(t, t.TempDir())
	command(t, dir, binary, "init")
	for i, text := range workflowsOf(t, "../../README.md") {
		writeFile(t, filepath.Join(dir, fmt.Sprintf(".github/workflows/readme%d.yml", i)), text)
	}
	files, err := filepath.Glob(filepath.Join(dir, ".github/workflows/*.yml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	// An action that a workflow uses by its name is not read: the inputs are held
	// against action.yml as a local one.
	command(t, "../..", "cp", "action.yml", dir)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, file, strings.ReplaceAll(string(data), "prdiff/prdiff@v1", "./"))
	}
	command(t, dir, "actionlint")
	for _, file := range files {
		command(t, dir, "node", filepath.Join(os.Getenv("PRDIFF_E2E_TOOLS"), "npm/node_modules/@action-validator/cli/cli.mjs"), file)
	}
	text := command(t, dir, "cat", files[0])
	writeFile(t, files[0], strings.ReplaceAll(text, "uses: ./", "uses: ./\n        env: {X: \"${{ nonsense }}\"}"))
	cmd := exec.Command("actionlint")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("actionlint finds nothing in a workflow that is wrong: %s", out)
	}
}

// TestE2EInjections has GitHub's own parser read what is made of the injection
// texts (https://github.com/github/cmark-gfm): two parsers of Markdown seldom agree.
func TestE2EInjections(t *testing.T) {
	before := renderMarkdown
	defer func() { renderMarkdown = before }()
	renderMarkdown = func(md []byte) ([]byte, error) {
		cmd := exec.Command("cmark-gfm", "--unsafe", "--hardbreaks", "-e", "footnotes", "-e", "table", "-e", "strikethrough", "-e", "autolink", "-e", "tasklist", "-e", "tagfilter")
		cmd.Stdin = bytes.NewReader(md)
		return cmd.Output()
	}
	page, err := renderMarkdown([]byte("| a |\n|---|\n| www.evil.example |"))
	if err != nil || !strings.Contains(string(page), `<a href="http://www.evil.example">`) {
		t.Fatalf("cmark-gfm: %v, %s", err, page)
	}
	t.Run("fields", TestInjections)
	t.Run("names", TestInjectionsThroughNames)
}

// obeyed is a line in which act says that it has carried out a workflow command;
// what it only prints begins with "| ".
var obeyed = regexp.MustCompile(`^\[[^\]]*\]\s+(❗|🚧|💬|❓|⚙|💾)\s+(.*)$`)

// testLogCommands has the runner itself read a log full of commands: in every field
// of manifests, in names of files, in errors.
func testLogCommands(t *testing.T, w *world) {
	p := w.newPull(t, "dev", strings.Replace(e2eWorkflow, "check: true", "check: false", 1), e2eFiles(""))
	for n := 1; n <= 2; n++ {
		for i, text := range injections {
			writeInjected(t, filepath.Join(p.fixture, fmt.Sprint("in", i)), text, n)
		}
		if n == 1 {
			p.commit(nil)
			p.base = command(t, p.fixture, "git", "rev-parse", "HEAD")
			command(t, p.fixture, "git", "checkout", "-q", "-b", "feature")
		}
	}
	p.push(nil)
	p.run(1)
	p.says("OUTPUTS verdict=incomplete errors=")
	if !regexp.MustCompile(`(?m)^\[[^\]]*\]\s+\| .*CANARY`).MatchString(p.lastLog) {
		t.Fatalf("the log has none of the texts: the test tests nothing\n%s", p.lastLog)
	}
	ours := 0
	for line := range strings.Lines(p.lastLog) {
		m := obeyed.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		if ourCommand.MatchString(m[2]) {
			ours++
		} else if strings.Contains(line, "CANARY") || strings.HasSuffix(line, "⚙  ***\n") { // the latter is add-mask
			t.Errorf("the runner obeyed %q", line)
		}
	}
	if ours == 0 {
		t.Error("none of our own annotations was obeyed")
	}
	if body := p.one().Body; !strings.Contains(body, "CANARY") {
		t.Error("the comment has none of the texts")
	}
}
