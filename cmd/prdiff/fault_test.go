package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// first answers the first n requests that match with do.
func first(n int, match func(*http.Request) bool, do func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if n == 0 || !match(r) {
			return false
		}
		n--
		return do(w, r)
	}
}

func isMethod(methods ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.URL.Path != "/graphql" && strings.Contains(strings.Join(methods, " "), r.Method)
	}
}

func refuseWith(status int, message string, header ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		respond(w, status, map[string]string{"message": message})
		return true
	}
}

// cutInHalf ends the connection in the middle of an answer.
func cutInHalf(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Length", "1000")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, `[{"id": 1, "bo`)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// TestFaultsThatPassLoseNothing looks at what is delivered when GitHub fails for a
// while: everything, and the exit code is that of the findings.
func TestFaultsThatPassLoseNothing(t *testing.T) {
	moved := func(w http.ResponseWriter, r *http.Request) bool {
		rest, ok := strings.CutPrefix(r.URL.Path, "/repos/dev/infra/")
		if ok {
			// As GitHub answers for a repository that was renamed or transferred.
			http.Redirect(w, r, "http://"+r.Host+"/repos/org/infrastructure/"+rest+"?"+r.URL.RawQuery, map[bool]int{true: http.StatusMovedPermanently, false: http.StatusTemporaryRedirect}[r.Method == "GET"])
		}
		return ok
	}
	long := func(r *http.Request) bool { return isMethod("POST", "PATCH")(r) && r.ContentLength > 20000 }
	for _, c := range []struct {
		name  string
		fault func(http.ResponseWriter, *http.Request) bool
	}{
		{"429 with Retry-After", first(1, isMethod("POST"), refuseWith(429, "slow down", "Retry-After", "7"))},
		{"429 without Retry-After", first(2, isMethod("GET"), refuseWith(429, "slow down"))},
		{"403 for a secondary limit with Retry-After", first(1, isMethod("POST"), refuseWith(403, "You have exceeded a secondary rate limit", "Retry-After", "30"))},
		{"403 for a secondary limit without Retry-After", first(1, isMethod("GET"), refuseWith(403, "You have exceeded a secondary rate limit"))},
		{"500, 502, 503 and 504 on listing", first(4, isMethod("GET"), refuseWith(504, "Server Error"))},
		{"502 on making and editing", first(2, isMethod("POST", "PATCH"), refuseWith(502, "Server Error"))},
		{"connections that are cut", first(2, isMethod("GET"), func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })},
		{"a connection that is cut in the middle of the answer", first(1, isMethod("GET"), cutInHalf)},
		{"a body that is refused as too long", first(9, long, refuseWith(422, "Validation Failed: Body is too long (maximum is 65536 characters)"))},
		{"a repository that was renamed", moved},
	} {
		for _, existing := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, with a comment there: %v", c.name, existing), func(t *testing.T) {
				h := newHub(t)
				if existing {
					newStage(t, h, pullEvent).publish(dangerous("an earlier finding"), publishFlags{})
				}
				h.fault = c.fault
				s := newStage(t, h, pullEvent)
				s.vars["GITHUB_RUN_ID"] = "11"
				r := dangerous("4 of 4 pods lose it")
				if strings.Contains(c.name, "too long") {
					r.Changes[0].Diff = "@@ -1,3000 +1,3000 @@\n" + strings.Repeat("-a: 1\n+a: 2\n", 3000)
				}
				if code := s.publish(r, publishFlags{}); code != exitFound {
					t.Errorf("exit code %d, want that of the finding", code)
				}
				if len(h.comments) != 1 || !strings.Contains(h.comments[0].Body, "4 of 4 pods lose it") {
					t.Errorf("comments = %v, want the one with the finding\n%s", h.comments, s.stderr.String())
				}
				s.delivered(true)
			})
		}
	}
	t.Run("a comment that is deleted before it is edited is made again", func(t *testing.T) {
		h := newHub(t)
		newStage(t, h, pullEvent).publish(dangerous("an earlier finding"), publishFlags{})
		h.fault = first(1, isMethod("PATCH"), func(http.ResponseWriter, *http.Request) bool { h.comments = nil; return false })
		s := newStage(t, h, pullEvent)
		if code := s.publish(dangerous("4 of 4 pods lose it"), publishFlags{}); code != exitFound || len(h.comments) != 1 || !strings.Contains(h.comments[0].Body, "4 of 4 pods lose it") {
			t.Errorf("code %d, comments %v", code, h.comments)
		}
		s.delivered(true)
	})
	t.Run("a conversation that was locked after the comment was made", func(t *testing.T) {
		h := newHub(t)
		newStage(t, h, pullEvent).publish(dangerous("an earlier finding"), publishFlags{})
		h.fault = refuseAll(403, "Unable to create comment because issue is locked.", "POST", "PATCH")
		s := newStage(t, h, pullEvent)
		if code := s.publish(dangerous("4 of 4 pods lose it"), publishFlags{}); code != exitFound {
			t.Errorf("exit code %d", code)
		}
		s.delivered(false)
	})
	t.Run("a check run that fails leaves the comment, and the log has the annotations", func(t *testing.T) {
		h := newHub(t)
		h.fault = func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/check-runs") && refuseWith(500, "Server Error")(w, r)
		}
		s := newStage(t, h, pullEvent)
		if code := s.publish(dangerous("4 of 4 pods lose it"), publishFlags{places: []string{placeComment, placeSummary, placeAnnotations, placeCheck}}); code != exitFailed || len(h.comments) != 1 {
			t.Errorf("code %d, comments %v", code, h.comments)
		}
		s.delivered(true)
	})
	for _, c := range []struct {
		status  int
		message string
		code    int
	}{
		{403, "Advanced Security must be enabled for this repository to use code scanning.", exitFound},
		{403, notAccessibleToTheRun, exitFound},
		{413, "Payload Too Large", exitFailed},
		{503, "Service Unavailable", exitFailed},
	} {
		t.Run(fmt.Sprintf("code scanning that answers %d %s leaves all else", c.status, c.message), func(t *testing.T) {
			h := newHub(t)
			h.fault = func(w http.ResponseWriter, r *http.Request) bool {
				return strings.HasSuffix(r.URL.Path, "/sarifs") && refuseWith(c.status, c.message)(w, r)
			}
			s := newStage(t, h, pullEvent)
			if code := s.publish(dangerous("4 of 4 pods lose it"), publishFlags{places: []string{placeComment, placeSummary, placeAnnotations, placeScanning}}); code != c.code || len(h.comments) != 1 {
				t.Errorf("code %d, want %d; comments %v", code, c.code, h.comments)
			}
			s.delivered(true)
			if !strings.Contains(s.stderr.String(), c.message) {
				t.Errorf("the log does not say why: %s", s.stderr.String())
			}
		})
	}
}

const notAccessibleToTheRun = "Resource not accessible by integration"

// delivered looks at what needs no GitHub, and with commented at the output that
// names the comment.
func (s *stage) delivered(commented bool) {
	s.t.Helper()
	for where, text := range map[string]string{"log": s.stdout.String(), "job summary": s.file("summary")} {
		if !strings.Contains(text, "4 of 4 pods lose it") {
			s.t.Errorf("the finding is not in the %s", where)
		}
	}
	if !strings.Contains(s.stderr.String(), "::error file=prod/cart.yaml") {
		s.t.Errorf("the finding has no annotation:\n%s", s.stderr.String())
	}
	if out := s.file("output"); !strings.Contains(out, "errors<<") || strings.Contains(out, "https://github.com/dev/infra/pull/7#c") != commented {
		s.t.Errorf("the outputs: %s", out)
	}
	if strings.Contains(s.everything(), secretToken) {
		s.t.Error("the token is in the log")
	}
}

// A handlerTransport is a GitHub without a network. It never answers what hangs.
type handlerTransport struct {
	h     *hub
	hangs func(*http.Request) bool
	asked int
}

func (t *handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.hangs(r) {
		t.asked++
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	t.h.serve(w, r)
	return w.Result(), nil
}

// TestTimeouts runs on a clock that stands still but for waiting.
func TestTimeouts(t *testing.T) {
	for _, c := range []struct {
		name     string
		hangs    func(r *http.Request, asked int) bool
		code     int
		comments int
		say      string
	}{
		{"an answer that does not come once is asked for again", func(r *http.Request, asked int) bool { return asked == 0 && r.Method == "GET" }, exitFound, 1, "comment created"},
		{"a GitHub that never answers", func(*http.Request, int) bool { return true }, exitFailed, 0, "no answer within 30s"},
		{"a GitHub that never answers when a comment is made", func(r *http.Request, _ int) bool { return r.Method == "POST" && r.URL.Path != "/graphql" }, exitFailed, 0, "no comment"},
		{"GraphQL that never answers", func(r *http.Request, _ int) bool { return r.URL.Path == "/graphql" }, exitFound, 1, "comment created"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &hub{Server: &httptest.Server{URL: "http://github.invalid"}}
			s := newStage(t, h, pullEvent)
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				transport := &handlerTransport{h: h}
				transport.hangs = func(r *http.Request) bool { return c.hangs(r, transport.asked) }
				code := s.publishOver(dangerous("4 of 4 pods lose it"), publishFlags{places: []string{placeComment, placeSummary, placeAnnotations, placeScanning}}, func(p *publication) { p.transport = transport })
				if code != c.code || len(h.comments) != c.comments {
					t.Errorf("code %d with %d comments, want %d with %d", code, len(h.comments), c.code, c.comments)
				}
				if took := time.Since(start); took > publishTime+time.Second {
					t.Errorf("it took %s", took)
				}
			})
			s.delivered(c.comments > 0)
			if !strings.Contains(s.stderr.String(), c.say) {
				t.Errorf("the log does not say %q:\n%s", c.say, s.stderr.String())
			}
		})
	}
}

// TestPartialReport has a run that comes to the end of its time tell what it knows.
func TestPartialReport(t *testing.T) {
	h := newHub(t)
	s := newStage(t, h, pullEvent)
	for side, label := range map[string]string{"before": "a", "after": "b"} {
		for _, name := range []string{"one", "two"} {
			dir := filepath.Join(s.dir, side, name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: " + label + "}\n"
			if err := os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	e := s.env()
	e.stderr = &s.stderr
	code := run(context.Background(), e, []string{"diff", "before", "after", "--publish", "--time-limit=1ns", "--format=text", "--format=json=report.json"})
	if code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	const partial = "this report is partial"
	if len(h.comments) != 1 || !strings.Contains(h.comments[0].Body, partial) {
		t.Errorf("comments = %v", h.comments)
	}
	for where, text := range map[string]string{"log": s.stdout.String(), "job summary": s.file("summary"), "annotations": s.stderr.String(), "JSON": s.file("report.json")} {
		if !strings.Contains(text, partial) {
			t.Errorf("the %s does not say that it is partial: %.300s", where, text)
		}
	}
	if !strings.Contains(s.file("output"), "\nincomplete\n") {
		t.Errorf("outputs: %s", s.file("output"))
	}
}
