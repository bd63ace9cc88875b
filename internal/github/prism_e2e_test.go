//go:build e2e

package github

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startPrism puts Prism before a server: it answers every request that GitHub's
// own OpenAPI description does not allow with what is wrong in it.
func startPrism(t *testing.T, upstream string) string {
	tools := os.Getenv("PRDIFF_E2E_TOOLS")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	listener.Close()
	cmd := exec.Command("node", filepath.Join(tools, "npm/node_modules/@stoplight/prism-cli/dist/index.js"),
		"proxy", "--errors", "--host", "127.0.0.1", "--port", port, filepath.Join(tools, "github.json"), upstream)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 600 {
		if resp, err := http.Get("http://127.0.0.1:" + port); err == nil {
			resp.Body.Close()
			return "http://127.0.0.1:" + port
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("Prism does not answer")
	return ""
}

// TestE2EPrism makes every request that the package can make, and has Prism look at it.
func TestE2EPrism(t *testing.T) {
	s := newServer(t)
	prism := startPrism(t, s.URL)
	var problems []string
	client, err := New(Options{API: prism, Token: testToken, Repository: "dev/infra",
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/graphql" { // has no part in the description of REST
				r.URL.Host = strings.TrimPrefix(s.URL, "http://")
			}
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") {
				body, _ := io.ReadAll(resp.Body)
				problems = append(problems, fmt.Sprintf("%s %s: %s", r.Method, r.URL, body))
				resp.Body = http.NoBody
			}
			return resp, err
		})})
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	for range 130 {
		s.add(user{1, "someone", "User"}, "words")
	}
	s.mustComment(1, "one", true)
	s.mustComment(2, strings.Repeat("ü\n", 20000), true)
	s.add(actionsBot, Marker{Run: 1}.String()+"\na duplicate")
	s.fault = failFirst("PATCH", 1, 502, "Server Error") // so that the comment is read again
	if r := s.mustComment(3, "three", true); r.Removed != 1 {
		t.Errorf("result = %+v, want a duplicate removed", r)
	}
	check := Check{Name: "prdiff", SHA: headSHA, Conclusion: Neutral, Title: strings.Repeat("t", 400), Summary: "s", DetailsURL: "https://github.com/dev/infra/actions/runs/1", ExternalID: "1"}
	for i := range 120 {
		check.Annotations = append(check.Annotations, Annotation{Level: []Level{LevelError, LevelWarning, LevelNotice}[i%3], Path: "a.yaml", Line: i, Title: "t", Message: strings.Repeat("m", 1000*(i%3))})
	}
	if _, err := client.Check(context.Background(), check); err != nil {
		t.Error(err)
	}
	if err := client.UploadSARIF(context.Background(), []byte(`{"version":"2.1.0"}`), headSHA, "refs/pull/7/merge"); err != nil {
		t.Error(err)
	}
	if _, err := client.PullOf(context.Background(), Event{HeadSHA: headSHA, HeadRepo: "mallory/infra", HeadRepoID: 12, HeadBranch: "feature/x#1"}); refusalOf(err) != Closed {
		t.Errorf("error = %v, want that there is none", err)
	}
	for _, p := range problems {
		t.Errorf("GitHub's description does not allow %s", p)
	}
	s.mu.Lock()
	all := strings.Join(s.requests, "\n")
	s.mu.Unlock()
	for _, want := range []string{"GET /repos/dev/infra/issues/comments/", "DELETE ", "POST /repos/dev/infra/check-runs", "PATCH /repos/dev/infra/check-runs/9", "POST /repos/dev/infra/code-scanning/sarifs", "/commits/" + headSHA + "/pulls", "GET /repos/dev/infra/pulls"} {
		if !strings.Contains(all, want) {
			t.Errorf("no request %s came through", want)
		}
	}
	// And it does look.
	check.Conclusion = "excellent"
	if _, err := client.Check(context.Background(), check); err == nil || len(problems) == 0 {
		t.Errorf("a conclusion that GitHub does not have: %v, %v", err, problems)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
