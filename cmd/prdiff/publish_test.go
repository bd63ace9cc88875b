package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
)

const (
	secretToken = "ghs_ThisTokenMustNeverBeSeen"
	pullHead    = "1111111111111111111111111111111111111111"
)

// A hub is a small GitHub: comments, check runs and code scanning of one repository.
type hub struct {
	*httptest.Server
	mu       sync.Mutex
	comments []hubComment
	checks   []map[string]any
	sarifs   int
	pulls    any
	// fault may answer a request instead.
	fault func(w http.ResponseWriter, r *http.Request) bool
}

type hubComment struct {
	ID   int64          `json:"id"`
	Body string         `json:"body"`
	User map[string]any `json:"user"`
	URL  string         `json:"html_url"`
}

func newHub(t *testing.T) *hub {
	h := &hub{}
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.Close)
	return h
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault != nil && h.fault(w, r) {
		return
	}
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	bot := map[string]any{"id": 1, "login": "github-actions[bot]", "type": "Bot"}
	switch path := r.URL.Path; {
	case path == "/graphql":
		respond(w, 200, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": "github-actions[bot]"}}})
	case r.Method == "GET" && strings.HasSuffix(path, "/comments"):
		respond(w, 200, h.comments)
	case r.Method == "POST" && strings.HasSuffix(path, "/comments"):
		c := hubComment{ID: int64(len(h.comments) + 1), Body: in["body"].(string), User: bot, URL: fmt.Sprintf("https://github.com/dev/infra/pull/7#c%d", len(h.comments)+1)}
		h.comments = append(h.comments, c)
		respond(w, 201, c)
	case r.Method == "PATCH" && strings.Contains(path, "/issues/comments/"):
		for i := range h.comments {
			if strings.HasSuffix(path, fmt.Sprint("/", h.comments[i].ID)) {
				h.comments[i].Body = in["body"].(string)
				respond(w, 200, h.comments[i])
				return
			}
		}
		respond(w, 404, map[string]string{"message": "Not Found"})
	case strings.HasSuffix(path, "/check-runs"):
		h.checks = append(h.checks, in)
		respond(w, 201, map[string]any{"id": 1, "html_url": "https://github.com/dev/infra/runs/1"})
	case strings.HasSuffix(path, "/sarifs"):
		h.sarifs++
		respond(w, 202, map[string]any{"id": "x"})
	case strings.HasSuffix(path, "/pulls"):
		respond(w, 200, h.pulls)
	default:
		respond(w, 404, map[string]string{"message": "Not Found"})
	}
}

func respond(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// refuseAll answers every request of these methods with an error.
func refuseAll(status int, message string, methods ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/graphql" || len(methods) > 0 && !strings.Contains(strings.Join(methods, " "), r.Method) {
			return false
		}
		respond(w, status, map[string]string{"message": message})
		return true
	}
}

// A stage is a run of Actions: its environment, its files and its log.
type stage struct {
	t              *testing.T
	dir            string
	vars           map[string]string
	stdout, stderr bytes.Buffer
}

func newStage(t *testing.T, h *hub, event string) *stage {
	s := &stage{t: t, dir: t.TempDir()}
	file := filepath.Join(s.dir, "event.json")
	if err := os.WriteFile(file, []byte(event), 0o644); err != nil {
		t.Fatal(err)
	}
	s.vars = map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": file, "GITHUB_REPOSITORY": "dev/infra",
		"GITHUB_API_URL": h.URL, "GITHUB_SERVER_URL": "https://github.com", "GITHUB_RUN_ID": "10", "GITHUB_RUN_ATTEMPT": "1",
		"GITHUB_SHA": strings.Repeat("4", 40), "GITHUB_REF": "refs/pull/7/merge", "PRDIFF_TOKEN": secretToken,
		"GITHUB_STEP_SUMMARY": filepath.Join(s.dir, "summary"), "GITHUB_OUTPUT": filepath.Join(s.dir, "output"),
		"PATH": os.Getenv("PATH"), "HOME": s.dir, "CI": "true", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
	}
	return s
}

func (s *stage) env() env {
	return env{
		stdin: strings.NewReader(""), stdout: &s.stdout, stderr: &logFilter{w: &s.stderr},
		getenv: func(name string) string { return s.vars[name] }, dir: s.dir, now: time.Now,
	}
}

func (s *stage) file(name string) string {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return string(data)
}

// everything is all that the run printed and wrote.
func (s *stage) everything() string {
	return s.stdout.String() + s.stderr.String() + s.file("summary") + s.file("output")
}

const pullEvent = `{"action":"synchronize","number":7,"pull_request":{"number":7,"head":{"sha":"` + pullHead + `","repo":{"id":1,"full_name":"dev/infra"}},"base":{"ref":"main","sha":"` + pullHead + `"}}}`

// publish publishes a report, and gives the exit code. Waiting takes no time.
func (s *stage) publish(r *report.Report, flags publishFlags) int {
	return s.publishOver(r, flags, func(p *publication) {
		p.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	})
}

// publishOver is publish with a way to GitHub of the test's own.
func (s *stage) publishOver(r *report.Report, flags publishFlags, way func(*publication)) int {
	if flags.places == nil {
		flags.places = []string{placeComment, placeSummary, placeAnnotations}
	}
	if flags.comment == "" {
		flags.comment = "changes"
	}
	e := s.env()
	shown := &reportFlags{color: "never", formats: []string{"text"}}
	verdict := shown.publish(context.Background(), e, r)
	p := &publication{env: e, publishFlags: flags, shown: shown, report: r}
	way(p)
	p.prepare()
	return codeOf(p.everywhere(context.Background(), verdict))
}

func codeOf(err error) int {
	switch {
	case err == nil:
		return exitClean
	case errors.Is(err, errFound):
		return exitFound
	}
	return exitFailed
}

// dangerous is a report with one finding and one change.
func dangerous(message string) *report.Report {
	ref := object.Ref{Unit: "prod", Kind: "Service", Namespace: "shop", Name: "cart"}
	c := report.Change{Diff: "@@ -1 +1 @@\n-a\n+b\n"}
	c.Change = diff.Change{Action: diff.Update, Ref: ref, Fields: []diff.Field{{Path: "spec.selector", Op: diff.Set, Before: object.Of("a"), After: object.Of("b")}}}
	return &report.Report{
		Version: "test", Base: report.Side{Rev: "base"}, Head: report.Side{Rev: "head"},
		Units:   []report.Unit{{Name: "prod", Renderer: "plain", Status: report.Rendered}},
		Changes: []report.Change{c},
		Findings: []report.Finding{{Finding: rule.Finding{Rule: "service-selector-changed", Severity: rule.Error, Unit: "prod", Units: []string{"prod"},
			Ref: ref, Path: "spec.selector", Origin: object.Origin{Path: "prod/cart.yaml", Line: 3}, Message: message}}},
	}
}

func clean() *report.Report {
	return &report.Report{Version: "test", Units: []report.Unit{{Name: "prod", Renderer: "plain", Status: report.Unchanged}}}
}

func TestPublishedOnce(t *testing.T) {
	h := newHub(t)
	runAs := func(id string, r *report.Report) (*stage, int) {
		s := newStage(t, h, pullEvent)
		s.vars["GITHUB_RUN_ID"] = id
		return s, s.publish(r, publishFlags{})
	}
	if s, code := runAs("9", clean()); code != exitClean || len(h.comments) != 0 || !strings.Contains(s.stderr.String(), "comment not needed") {
		t.Fatalf("a clean first run: code %d, %d comments, log %s", code, len(h.comments), s.stderr.String())
	}
	s, code := runAs("10", dangerous("4 of 4 pods lose it"))
	if code != exitFound || len(h.comments) != 1 || !strings.Contains(h.comments[0].Body, "4 of 4 pods lose it") {
		t.Fatalf("the first finding: code %d, comments %v", code, h.comments)
	}
	if want := "<!-- prdiff:comment v1 key=default run=10 attempt=1 sha=" + pullHead + " -->\n"; !strings.HasPrefix(h.comments[0].Body, want) || strings.Count(h.comments[0].Body, "<!-- prdiff") != 1 {
		t.Errorf("the comment begins %.200q", h.comments[0].Body)
	}
	for _, want := range []string{"errors<<", "comment-url<<", "https://github.com/dev/infra/pull/7#c1", "verdict<<"} {
		if !strings.Contains(s.file("output"), want) {
			t.Errorf("the outputs lack %q: %s", want, s.file("output"))
		}
	}
	if !strings.Contains(s.stderr.String(), "\n::error file=prod/cart.yaml,line=3,title=prdiff%3A service-selector-changed::Service shop/cart: 4 of 4 pods lose it\n") {
		t.Errorf("no annotation in %s", s.stderr.String())
	}
	runAs("12", clean())
	if len(h.comments) != 1 || strings.Contains(h.comments[0].Body, "4 of 4 pods lose it") {
		t.Errorf("a clean later run: %v", h.comments)
	}
	if s, _ := runAs("11", dangerous("stale")); strings.Contains(h.comments[0].Body, "stale") || !strings.Contains(s.stderr.String(), "newer run") {
		t.Errorf("an older run won: %v, %s", h.comments, s.stderr.String())
	}
}

// TestFaultsLoseNoFinding looks at what is still delivered when GitHub fails, and
// at the exit code: that of the findings where the run has no right to write or the
// place is closed, and 2 after a fault, as something outdated may still stand there.
func TestFaultsLoseNoFinding(t *testing.T) {
	fork := strings.Replace(pullEvent, `"full_name":"dev/infra"`, `"full_name":"mallory/infra"`, 1)
	for _, c := range []struct {
		name, event, actor string
		fault              func(http.ResponseWriter, *http.Request) bool
		code               int
		say                string
	}{
		{"a fork", fork, "", refuseAll(403, "Resource not accessible by integration", "POST", "PATCH"), exitFound, "comes from a fork"},
		{"Dependabot", pullEvent, "dependabot[bot]", refuseAll(403, "Resource not accessible by integration", "POST", "PATCH"), exitFound, "Dependabot started the run"},
		{"a token without the right", pullEvent, "", refuseAll(403, "Resource not accessible by integration", "POST", "PATCH"), exitFound, "pull-requests: write"},
		{"a locked conversation", pullEvent, "", refuseAll(403, "Unable to create comment because issue is locked.", "POST"), exitFound, "locked"},
		{"issues disabled", pullEvent, "", refuseAll(410, "Issues are disabled for this repo"), exitFound, "disabled"},
		{"a pull request that is gone", pullEvent, "", refuseAll(404, "Not Found"), exitFound, "Not Found"},
		{"403 for the secondary limit for ever", pullEvent, "", refuseAll(403, "You have exceeded a secondary rate limit"), exitFailed, "secondary rate limit"},
		{"429 for ever", pullEvent, "", refuseAll(429, "slow down"), exitFailed, "slow down"},
		{"429 with Retry-After of an hour", pullEvent, "", func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Retry-After", "3600")
			return refuseAll(429, "slow down")(w, r)
		}, exitFailed, "asks to wait for 1h0m0s"},
		{"500 for ever", pullEvent, "", refuseAll(500, "Server Error"), exitFailed, "Server Error"},
		{"bad credentials", pullEvent, "", refuseAll(401, "Bad credentials"), exitFailed, "Bad credentials"},
		{"connections that are cut", pullEvent, "", func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, exitFailed, "no comment"},
		{"every body refused as too long", pullEvent, "", refuseAll(422, "Validation Failed: Body is too long (maximum is 65536 characters)", "POST"), exitFailed, "too long"},
		{"an answer that repeats the token", pullEvent, "", refuseAll(400, "bad token "+secretToken), exitFailed, "bad token ***"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t)
			h.fault = c.fault
			s := newStage(t, h, c.event)
			s.vars["GITHUB_ACTOR"] = c.actor
			code := s.publish(dangerous("4 of 4 pods lose it"), publishFlags{})
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(s.stdout.String(), "4 of 4 pods lose it") {
				t.Error("the finding is not in the log")
			}
			if !strings.Contains(s.file("summary"), "4 of 4 pods lose it") {
				t.Error("the finding is not in the job summary")
			}
			if !strings.Contains(s.stderr.String(), "::error file=prod/cart.yaml") {
				t.Error("the finding has no annotation")
			}
			if !strings.Contains(s.file("output"), "errors<<") {
				t.Error("the outputs are missing")
			}
			if !strings.Contains(s.stderr.String(), c.say) {
				t.Errorf("the log does not say %q:\n%s", c.say, s.stderr.String())
			}
			if strings.Contains(s.everything(), secretToken) {
				t.Error("the token is in the log")
			}
		})
	}
	t.Run("a fault without the summary asked for writes the summary", func(t *testing.T) {
		h := newHub(t)
		h.fault = refuseAll(500, "no")
		s := newStage(t, h, pullEvent)
		if code := s.publish(dangerous("4 of 4 pods lose it"), publishFlags{places: []string{placeComment}}); code != exitFailed || !strings.Contains(s.file("summary"), "4 of 4 pods lose it") {
			t.Errorf("code %d, summary %q", code, s.file("summary"))
		}
	})
	t.Run("a summary that is full is said to be, and the comment is made", func(t *testing.T) {
		h := newHub(t)
		s := newStage(t, h, pullEvent)
		if err := os.WriteFile(filepath.Join(s.dir, "summary"), bytes.Repeat([]byte("x"), 1<<20-100), 0o644); err != nil {
			t.Fatal(err)
		}
		if code := s.publish(dangerous("4 of 4 pods lose it"), publishFlags{}); code != exitFound || len(h.comments) != 1 || !strings.Contains(s.stderr.String(), "no job summary") {
			t.Errorf("code %d, %d comments, log %s", code, len(h.comments), s.stderr.String())
		}
	})
	t.Run("without a token all but the comment happens", func(t *testing.T) {
		h := newHub(t)
		s := newStage(t, h, pullEvent)
		s.vars["PRDIFF_TOKEN"] = ""
		if code := s.publish(dangerous("4 of 4 pods lose it"), publishFlags{}); code != exitFound || !strings.Contains(s.file("summary"), "4 of 4 pods lose it") || !strings.Contains(s.stderr.String(), "there is no token") {
			t.Errorf("code %d, log %s", code, s.stderr.String())
		}
	})
}

func TestCheckAndScanning(t *testing.T) {
	all := publishFlags{places: []string{placeComment, placeSummary, placeAnnotations, placeCheck, placeScanning}}
	t.Run("a check run holds the annotations, so the log does not repeat them", func(t *testing.T) {
		h := newHub(t)
		s := newStage(t, h, pullEvent)
		s.publish(dangerous("4 of 4 pods lose it"), all)
		if len(h.checks) != 1 || h.checks[0]["conclusion"] != "failure" || h.checks[0]["head_sha"] != pullHead {
			t.Fatalf("checks = %v", h.checks)
		}
		if strings.Contains(s.stderr.String(), "::error file=") {
			t.Error("the log repeats the annotations")
		}
	})
	t.Run("without the right to make one, the log has them", func(t *testing.T) {
		h := newHub(t)
		h.fault = func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/check-runs") && refuseAll(403, "Resource not accessible by integration")(w, r)
		}
		s := newStage(t, h, pullEvent)
		if code := s.publish(dangerous("4 of 4 pods lose it"), all); code == exitClean || !strings.Contains(s.stderr.String(), "::error file=prod/cart.yaml") || !strings.Contains(s.stderr.String(), "checks: write") {
			t.Errorf("code %d, log %s", code, s.stderr.String())
		}
	})
	t.Run("findings go to code scanning", func(t *testing.T) {
		h := newHub(t)
		s := newStage(t, h, pullEvent)
		s.publish(dangerous("4 of 4 pods lose it"), all)
		if h.sarifs != 1 {
			t.Errorf("%d uploads, want 1: %s", h.sarifs, s.stderr.String())
		}
	})
}

func TestFailureIsTold(t *testing.T) {
	h := newHub(t)
	s := newStage(t, h, pullEvent)
	s.publish(dangerous("9 of 9 pods were lost"), publishFlags{})
	flags := publishFlags{places: defaultPlaces, comment: "changes"}
	err := flags.publishFailure(context.Background(), s.env(), errors.New("the configuration is broken, "+secretToken))
	if codeOf(err) != exitFailed {
		t.Errorf("error = %v", err)
	}
	if len(h.comments) != 1 || strings.Contains(h.comments[0].Body, "9 of 9 pods were lost") || !strings.Contains(h.comments[0].Body, "the configuration is broken") {
		t.Errorf("comments = %v, want the failure in the place of the earlier finding", h.comments)
	}
	if !strings.Contains(s.file("summary"), "the configuration is broken") || strings.Contains(s.everything()+h.comments[0].Body, secretToken) {
		t.Error("the summary lacks the failure, or holds the token")
	}
}

func TestFromFork(t *testing.T) {
	event := `{"action":"completed","workflow_run":{"id":55,"run_attempt":1,"event":"pull_request","conclusion":"failure","head_sha":"` + pullHead + `",
		"head_branch":"feature","head_repository":{"id":12,"full_name":"mallory/infra"},"pull_requests":[]}}`
	pull := func(sha string, repo int64) []any {
		return []any{map[string]any{"number": 7, "state": "open", "head": map[string]any{"sha": sha, "repo": map[string]any{"id": repo}},
			"base": map[string]any{"ref": "main", "repo": map[string]any{"full_name": "dev/infra"}}}}
	}
	good := func() string {
		var b bytes.Buffer
		if err := report.JSON(&b, dangerous("4 of 4 pods lose it @org/team <img src=https://evil.example/x>"), report.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}()
	for _, c := range []struct {
		name     string
		json     string
		pulls    any
		code     int
		comments int
		say      string
	}{
		{"a good report is commented, and said to be a stranger's", good, pull(pullHead, 12), exitClean, 1, "comment created"},
		{"the pull request moved on", good, pull(strings.Repeat("2", 40), 12), exitClean, 0, "moved on"},
		{"another fork's commit of the same name", good, pull(pullHead, 13), exitClean, 0, "no open pull request"},
		{"a number in the file counts for nothing", strings.Replace(good, `"schema": 1`, `"schema": 1, "number": 1`, 1), pull(pullHead, 12), exitFailed, 0, "unknown field"},
		{"Markdown in the file is refused", strings.Replace(good, `"schema": 1`, `"schema": 1, "markdown": "# hi"`, 1), pull(pullHead, 12), exitFailed, 0, "unknown field"},
		{"what is no report", "{}", pull(pullHead, 12), exitFailed, 0, "not a prdiff report"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t)
			h.pulls = c.pulls
			s := newStage(t, h, event)
			s.vars["GITHUB_EVENT_NAME"], s.vars["GITHUB_RUN_ID"] = "workflow_run", "99"
			if err := os.Mkdir(filepath.Join(s.dir, "parts"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.dir, "parts", "report.json"), []byte(c.json), 0o644); err != nil {
				t.Fatal(err)
			}
			e := s.env()
			e.stderr = &s.stderr // run filters it itself
			code := run(context.Background(), e, []string{"report", "--from-fork", "--publish", "parts"})
			if code != c.code || len(h.comments) != c.comments || !strings.Contains(s.stderr.String(), c.say) {
				t.Fatalf("code %d, %d comments, want %d and %d with %q:\n%s", code, len(h.comments), c.code, c.comments, c.say, s.stderr.String())
			}
			if c.comments == 0 {
				return
			}
			body := h.comments[0].Body
			if !strings.HasPrefix(body, "<!-- prdiff:comment v1 key=default run=55 attempt=1 sha="+pullHead+" -->\n> [!NOTE]\n> Found by a run of the fork") {
				t.Errorf("the comment begins %.300q", body)
			}
			if strings.Contains(body, "<img") || !strings.Contains(body, "4 of 4 pods lose it") {
				t.Errorf("body = %s", body)
			}
		})
	}
	t.Run("links and events of another kind are refused", func(t *testing.T) {
		h := newHub(t)
		s := newStage(t, h, event)
		s.vars["GITHUB_EVENT_NAME"] = "workflow_run"
		if err := os.WriteFile(filepath.Join(s.dir, "real.json"), []byte(good), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real.json", filepath.Join(s.dir, "link.json")); err != nil {
			t.Fatal(err)
		}
		if code := run(context.Background(), s.env(), []string{"report", "--from-fork", "link.json"}); code != exitFailed || !strings.Contains(s.stderr.String(), "not a regular file") {
			t.Errorf("a link: code %d, %s", code, s.stderr.String())
		}
		s.vars["GITHUB_EVENT_NAME"] = "pull_request"
		if code := run(context.Background(), s.env(), []string{"report", "--from-fork", "real.json"}); code != exitFailed || !strings.Contains(s.stderr.String(), "is for a workflow_run") {
			t.Errorf("another event: code %d, %s", code, s.stderr.String())
		}
	})
}
