package github

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testToken = "ghs_SeCrEt0123456789"
	headSHA   = "1111111111111111111111111111111111111111"
	otherSHA  = "2222222222222222222222222222222222222222"
)

// A server is as much of GitHub as we talk to, with state. Fault may answer a
// request instead.
type server struct {
	t *testing.T
	*httptest.Server
	client *Client

	mu       sync.Mutex
	comments []*storedComment
	nextID   int64
	viewer   string // the login of the token; "" makes GraphQL refuse
	me       user   // who writes
	limit    int    // bytes of a comment, 0 for CommentLimit
	pulls    []any  // answers of commits/SHA/pulls and of pulls
	requests []string
	bodies   map[string][]json.RawMessage
	slept    []time.Duration
	now      time.Time
	fault    func(w http.ResponseWriter, r *http.Request, n int) bool // n counts requests of this method and path, from 1
	onSleep  func(*server)
	counts   map[string]int
}

type user struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"`
}

type storedComment struct {
	ID      int64  `json:"id"`
	Body    string `json:"body"`
	User    user   `json:"user"`
	HTMLURL string `json:"html_url"`
}

var actionsBot = user{41898282, "github-actions[bot]", "Bot"}

func newServer(t *testing.T) *server {
	s := &server{
		t: t, viewer: actionsBot.Login, me: actionsBot, nextID: 100, counts: map[string]int{},
		bodies: map[string][]json.RawMessage{}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	s.client = s.newClient()
	return s
}

func (s *server) newClient() *Client {
	c, err := New(Options{
		API: s.URL, Token: testToken, Repository: "dev/infra",
		Now:    func() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return s.now },
		Jitter: func() float64 { return 0.5 },
		Sleep: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			s.slept = append(s.slept, d)
			s.now = s.now.Add(d)
			f := s.onSleep
			s.mu.Unlock()
			if f != nil {
				f(s)
			}
			return ctx.Err()
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// add puts a comment there.
func (s *server) add(u user, body string) *storedComment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addLocked(u, body)
}

func (s *server) addLocked(u user, body string) *storedComment {
	s.nextID++
	c := &storedComment{s.nextID, body, u, fmt.Sprintf("https://github.com/dev/infra/pull/7#issuecomment-%d", s.nextID)}
	s.comments = append(s.comments, c)
	return c
}

// marked gives the comments that begin with our marker.
func (s *server) marked() []*storedComment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*storedComment
	for _, c := range s.comments {
		if strings.HasPrefix(c.Body, markerStart) {
			out = append(out, c)
		}
	}
	return out
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + r.URL.Path
	data, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	s.counts[key]++
	n := s.counts[key]
	s.requests = append(s.requests, key)
	s.bodies[key] = append(s.bodies[key], data)
	fault := s.fault
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+testToken {
		s.t.Errorf("%s came with Authorization %q", key, r.Header.Get("Authorization"))
	}
	checkRequest(s.t, r, data)
	if fault != nil && fault(w, r, n) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	const comments = "/repos/dev/infra/issues/7/comments"
	switch {
	case key == "GET "+comments:
		page, per := max(1, atoi(r.URL.Query().Get("page"))), max(30, atoi(r.URL.Query().Get("per_page")))
		from, to := min((page-1)*per, len(s.comments)), min(page*per, len(s.comments))
		if to < len(s.comments) {
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=%d>; rel="next"`, s.URL, comments, page+1))
		}
		reply(w, 200, s.comments[from:to])
	case key == "POST "+comments:
		body, ok := s.body(w, data)
		if ok {
			reply(w, 201, s.addLocked(s.me, body))
		}
	case strings.HasPrefix(r.URL.Path, "/repos/dev/infra/issues/comments/"):
		id, _ := strconv.ParseInt(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], 10, 64)
		for i, c := range s.comments {
			if c.ID != id {
				continue
			}
			switch r.Method {
			case "GET":
				reply(w, 200, c)
			case "PATCH":
				if body, ok := s.body(w, data); ok {
					c.Body = body
					reply(w, 200, c)
				}
			case "DELETE":
				s.comments = append(s.comments[:i:i], s.comments[i+1:]...)
				w.WriteHeader(204)
			}
			return
		}
		refuse(w, 404, "Not Found")
	case key == "POST /graphql":
		if s.viewer == "" {
			refuse(w, 403, "Resource not accessible by integration")
			return
		}
		reply(w, 200, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": s.viewer}}})
	case key == "POST /repos/dev/infra/check-runs":
		reply(w, 201, map[string]any{"id": 9, "html_url": "https://github.com/dev/infra/runs/9"})
	case key == "PATCH /repos/dev/infra/check-runs/9":
		reply(w, 200, map[string]any{"id": 9})
	case key == "POST /repos/dev/infra/code-scanning/sarifs":
		reply(w, 202, map[string]any{"id": "x"})
	case r.Method == "GET" && (strings.HasSuffix(r.URL.Path, "/pulls")):
		reply(w, 200, s.pulls)
	default:
		s.t.Errorf("unexpected request %s", key)
		refuse(w, 404, "Not Found")
	}
}

func (s *server) body(w http.ResponseWriter, data []byte) (string, bool) {
	var in struct{ Body string }
	if err := json.Unmarshal(data, &in); err != nil {
		s.t.Errorf("body: %v", err)
	}
	limit := s.limit
	if limit == 0 {
		limit = CommentLimit
	}
	if len(in.Body) > limit {
		w.WriteHeader(422)
		fmt.Fprint(w, `{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"unprocessable","field":"data","message":"Body is too long (maximum is 65536 characters)"}]}`)
		return "", false
	}
	return in.Body, true
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if v == nil {
		v = []any{}
	}
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"message": message, "documentation_url": "https://docs.github.com/rest"})
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// comment publishes a body as run run.
func (s *server) comment(run int64, body string, worth bool) (CommentResult, error) {
	return s.client.Comment(context.Background(), Comment{Number: 7, Marker: Marker{Run: run, Attempt: 1, SHA: headSHA}, Bodies: []string{body}, Worth: worth})
}

func (s *server) mustComment(run int64, body string, worth bool) CommentResult {
	s.t.Helper()
	r, err := s.comment(run, body, worth)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}
