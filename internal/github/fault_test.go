package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// failFirst answers the first n requests of a method with an error.
func failFirst(method string, n, status int, message string, header ...string) func(http.ResponseWriter, *http.Request, int) bool {
	left := n
	return func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method != method || r.URL.Path == "/graphql" || left == 0 {
			return false
		}
		left--
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		refuse(w, status, message)
		return true
	}
}

// onSecond does something before the second request of a method is served.
func onSecond(method string, do func()) func(http.ResponseWriter, *http.Request, int) bool {
	count := 0
	return func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == method {
			if count++; count == 2 {
				do()
			}
		}
		return false
	}
}

// cut ends the connection without an answer; with half, in the middle of one.
func cut(w http.ResponseWriter, half bool) {
	if half {
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(200)
		fmt.Fprint(w, `[{"id": 1, "bo`)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	panic(http.ErrAbortHandler)
}

func TestFaultsThatPass(t *testing.T) {
	in30 := fmt.Sprint(time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC).Unix())
	for _, c := range []struct {
		name  string
		fault func(*server) func(http.ResponseWriter, *http.Request, int) bool
		waits time.Duration // at least
	}{
		{"429 with Retry-After", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return failFirst("POST", 1, 429, "too many requests", "Retry-After", "7")
		}, 7 * time.Second},
		{"429 without Retry-After", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return failFirst("POST", 2, 429, "too many requests")
		}, 2 * unnamedLimit},
		{"403 with Retry-After", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return failFirst("POST", 1, 403, "You have exceeded a secondary rate limit", "Retry-After", "3")
		}, 3 * time.Second},
		{"403 for the secondary limit without Retry-After", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return failFirst("GET", 1, 403, "You have exceeded a secondary rate limit. Please wait a few minutes")
		}, unnamedLimit},
		{"403 for the primary limit that is reset in 30 s", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return failFirst("GET", 1, 403, "API rate limit exceeded", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", in30)
		}, 30 * time.Second},
		{"502 on listing", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return failFirst("GET", 3, 502, "Server Error")
		}, time.Second},
		{"502 on creating, which was not carried out", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return failFirst("POST", 2, 502, "Server Error")
		}, 0},
		{"503 with Retry-After", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return failFirst("GET", 1, 503, "unicorn", "Retry-After", "4")
		}, 4 * time.Second},
		{"a connection cut before the answer", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return func(w http.ResponseWriter, r *http.Request, n int) bool {
				if r.Method == "GET" && n == 1 {
					cut(w, false)
				}
				return false
			}
		}, 0},
		{"a connection cut in the middle of the list", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return func(w http.ResponseWriter, r *http.Request, n int) bool {
				if r.Method == "GET" && n == 1 {
					cut(w, true)
				}
				return false
			}
		}, 0},
		{"a connection cut after the comment was made", func(s *server) func(http.ResponseWriter, *http.Request, int) bool {
			return func(w http.ResponseWriter, r *http.Request, n int) bool {
				if r.Method == "POST" && r.URL.Path != "/graphql" && n == 1 {
					s.add(actionsBot, Marker{Run: 1, Attempt: 1, SHA: headSHA}.String()+"\ntext")
					cut(w, false)
				}
				return false
			}
		}, 0},
		{"GraphQL that does not answer", func(*server) func(http.ResponseWriter, *http.Request, int) bool {
			return func(w http.ResponseWriter, r *http.Request, _ int) bool {
				if r.URL.Path == "/graphql" {
					refuse(w, 500, "no")
					return true
				}
				return false
			}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.fault = c.fault(s)
			r, err := s.comment(1, "text", true)
			if err != nil {
				t.Fatal(err)
			}
			if all := s.marked(); len(all) != 1 || r.State != Created || r.URL != all[0].HTMLURL {
				t.Errorf("result = %+v with %d comments, want the one created", r, len(all))
			}
			var slept time.Duration
			for _, d := range s.slept {
				slept += d
			}
			if slept < c.waits || slept > 3*time.Minute {
				t.Errorf("waited %s, want at least %s and not for ever", slept, c.waits)
			}
		})
	}
}

func TestFaultsThatStay(t *testing.T) {
	inAnHour := fmt.Sprint(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC).Unix())
	const always = 1 << 20
	for _, c := range []struct {
		name    string
		fault   func(http.ResponseWriter, *http.Request, int) bool
		refusal Refusal
		say     string
		most    int // requests
	}{
		{"a limit that is reset in an hour is not waited for", failFirst("GET", always, 403, "API rate limit exceeded", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", inAnHour), Fault, "asks to wait for 1h0m0s", 1},
		{"a limit without an end", failFirst("POST", always, 429, "slow down"), Fault, "slow down", 8},
		{"5xx for ever", failFirst("GET", always, 500, "Server Error"), Fault, "500", 5},
		{"5xx on creating for ever", failFirst("POST", always, 500, "Server Error"), Fault, "500", 12},
		{"a fork's token", failFirst("POST", always, 403, "Resource not accessible by integration"), Forbidden, "not accessible", 3},
		{"a locked conversation", failFirst("POST", always, 403, "Unable to create comment because issue is locked."), Closed, "locked", 3},
		{"issues disabled", failFirst("GET", always, 410, "Issues are disabled for this repo"), Closed, "disabled", 1},
		{"a pull request that is gone", failFirst("GET", always, 404, "Not Found"), Closed, "Not Found", 1},
		{"bad credentials", failFirst("GET", always, 401, "Bad credentials"), Fault, "Bad credentials", 1},
		{"an answer that is no JSON", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			fmt.Fprint(w, "<html>proxy</html>")
			return true
		}, Fault, "not JSON", 1},
		{"connections that are always cut", func(w http.ResponseWriter, r *http.Request, _ int) bool {
			cut(w, false)
			return true
		}, Fault, "list the comments", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(t)
			s.fault = c.fault
			_, err := s.comment(1, "text", true)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error = %v, want an *Error", err)
			}
			if e.Refusal != c.refusal || !strings.Contains(e.Error(), c.say) {
				t.Errorf("refusal = %v, %q; want %v, with %q", e.Refusal, e, c.refusal, c.say)
			}
			if strings.Contains(e.Error(), testToken) {
				t.Errorf("the token is in %q", e)
			}
			s.Close() // a connection that was cut may still be served
			if n := len(s.requests); n > c.most {
				t.Errorf("%d requests, want at most %d: %v", n, c.most, s.requests)
			}
			for _, d := range s.slept {
				if d > longestWait {
					t.Errorf("waited %s", d)
				}
			}
		})
	}
	t.Run("after a limit that ends late, nothing more is asked", func(t *testing.T) {
		s := newServer(t)
		s.fault = failFirst("GET", always, 429, "no", "Retry-After", "3600")
		if _, err := s.comment(1, "text", true); err == nil {
			t.Fatal("no error")
		}
		before := len(s.requests)
		if _, err := s.client.Check(context.Background(), Check{Name: "prdiff", SHA: headSHA}); err == nil {
			t.Error("a check run was made against GitHub's wish")
		}
		if len(s.requests) != before {
			t.Error("GitHub was asked again")
		}
	})
	t.Run("a run that ends while it waits says so", func(t *testing.T) {
		s := newServer(t)
		s.fault = failFirst("GET", always, 500, "no")
		ctx, cancel := context.WithCancel(context.Background())
		s.onSleep = func(*server) { cancel() }
		_, err := s.client.Comment(ctx, Comment{Number: 7, Bodies: []string{"x"}, Worth: true})
		if err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("error = %v, want that the run was ended", err)
		}
	})
}

func TestCommentDeletedMeanwhile(t *testing.T) {
	s := newServer(t)
	s.mustComment(1, "one", true)
	s.fault = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == "PATCH" {
			s.mu.Lock()
			s.comments = nil
			s.mu.Unlock()
		}
		return false
	}
	if r := s.mustComment(2, "two", true); r.State != Created {
		t.Errorf("state = %q, want created", r.State)
	}
	s.fault = func(_ http.ResponseWriter, r *http.Request, _ int) bool {
		if r.Method == "PATCH" {
			s.mu.Lock()
			s.comments = nil
			s.mu.Unlock()
		}
		return false
	}
	if r := s.mustComment(3, "nothing any more", false); r.State != NotNeeded || len(s.comments) != 0 {
		t.Errorf("state = %q, want that none is needed", r.State)
	}
}

func TestBodyTooLong(t *testing.T) {
	long, short := strings.Repeat("x", 60000), "short"
	for _, existing := range []bool{false, true} {
		s := newServer(t)
		if existing {
			s.mustComment(1, "old", true)
		}
		s.limit = 30000
		r, err := s.client.Comment(context.Background(), Comment{Number: 7, Marker: Marker{Run: 2}, Bodies: []string{long, short}, Worth: true})
		if err != nil {
			t.Fatal(err)
		}
		if all := s.marked(); len(all) != 1 || !strings.HasSuffix(all[0].Body, "\nshort") || r.Shorter != 1 {
			t.Errorf("existing %v: result = %+v, body of %d bytes", existing, r, len(all[0].Body))
		}
		s.limit = 3
		_, err = s.client.Comment(context.Background(), Comment{Number: 7, Marker: Marker{Run: 3}, Bodies: []string{long, short}, Worth: true})
		if refusalOf(err) != TooLong {
			t.Errorf("existing %v: error = %v, want too long", existing, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Run("a renamed repository is followed", func(t *testing.T) {
		s := newServer(t)
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if rest, ok := strings.CutPrefix(r.URL.Path, "/repos/old/name/"); ok {
				http.Redirect(w, r, s.URL+"/repos/dev/infra/"+rest+"?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
				return true
			}
			return false
		}
		s.client.owner, s.client.repo = "old", "name"
		if r := s.mustComment(1, "one", true); r.State != Created {
			t.Errorf("state = %q, want created", r.State)
		}
	})
	t.Run("a redirect that would turn creating into listing is no success", func(t *testing.T) {
		s := newServer(t)
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.Method == "POST" && r.URL.Path != "/graphql" {
				w.Header().Set("Location", s.URL+"/repos/dev/infra/issues/7/comments")
				refuse(w, 301, "Moved Permanently")
				return true
			}
			return false
		}
		if _, err := s.comment(1, "one", true); statusOf(err) != 301 {
			t.Errorf("error = %v, want 301", err)
		}
	})
	t.Run("another host does not get the token", func(t *testing.T) {
		asked := 0
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			for name, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), testToken) {
					t.Errorf("the token went to another host in %s", name)
				}
			}
			fmt.Fprint(w, "[]")
		}))
		defer elsewhere.Close()
		s := newServer(t)
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
			return true
		}
		_, _ = s.comment(1, "one", true)
		if asked == 0 {
			t.Error("the other host was never asked")
		}
	})
}

func TestNewRefusesAddressesThatAreNone(t *testing.T) {
	for _, o := range []Options{
		{Repository: "dev"}, {Repository: "dev/../x"}, {Repository: "dev/.."}, {Repository: "a/b/c"}, {Repository: "dev/in fra"},
		{Repository: "dev/infra", API: "ftp://x"}, {Repository: "dev/infra", API: "https://user:pw@x"}, {Repository: "dev/infra", API: "x"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) is no error", o)
		}
	}
	c, err := New(Options{Repository: "dev/infra", API: "https://ghe.example/api/v3"})
	if err != nil || c.rest.BaseURL.String() != "https://ghe.example/api/v3/" || c.graphql != "https://ghe.example/api/graphql" {
		t.Errorf("Enterprise: %v, %v, %v", c.rest.BaseURL, c.graphql, err)
	}
	if c, err = New(Options{Repository: "dev/infra"}); err != nil || c.graphql != "https://api.github.com/graphql" {
		t.Errorf("github.com: %v, %v", c.graphql, err)
	}
}
