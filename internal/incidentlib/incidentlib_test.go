package incidentlib

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
)

const (
	caseAnswer    = `{"id":"IL-0191","org":"Grafana Labs","date":"2022-09-01","title":"A selector","lessons":["Labels first."],"unknown":{"x":[1,2]}}`
	similarAnswer = `[{"id":"IL-0246","org":"Adyen","year":2026,"title":"No new pods","reason":["same root cause","shared Cilium"],"more":1}]`
)

var wantCase = Case{
	ID: "IL-0191", Org: "Grafana Labs", Date: "2022-09-01", Title: "A selector", Lesson: "Labels first.",
	Similar: []Similar{{ID: "IL-0246", Org: "Adyen", Date: "2026", Title: "No new pods", Reason: "same root cause, shared Cilium"}},
}

func jsonAnswer(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// sound answers as incidentlib does.
func sound(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/similar") {
		jsonAnswer(w, similarAnswer)
		return
	}
	jsonAnswer(w, caseAnswer)
}

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &Client{Base: s.URL}
}

func TestCases(t *testing.T) {
	c := serve(t, sound)
	got, err := c.Cases(t.Context(), []string{"IL-0191"})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]Case{"IL-0191": wantCase}; !reflect.DeepEqual(got, want) {
		t.Errorf("Cases() = %+v, want %+v", got, want)
	}
}

// TestRequests shows all that leaves the machine: case numbers, and words that are
// the same for everybody.
func TestRequests(t *testing.T) {
	var mu sync.Mutex
	var got []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) > 0 {
			t.Errorf("a body was sent: %q, %v", body, err)
		}
		headers := r.Header.Clone()
		headers.Del("Accept-Encoding")
		mu.Lock()
		got = append(got, fmt.Sprint(r.Method, " ", r.RequestURI, " ", headers))
		mu.Unlock()
		sound(w, r)
	})
	// What is no case number is not asked for, however it came here.
	ids := []string{"IL-0191", "IL-0191", "", "il-1", "IL-1234567", "IL-1/../../x", "IL-1?q=secret", "my-own-postmortem", "IL-1\n"}
	if _, err := c.Cases(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	const headers = " map[Accept:[application/json] User-Agent:[prdiff (https://github.com/prdiff/prdiff)]]"
	want := []string{"GET /cases/IL-0191" + headers, "GET /cases/IL-0191/similar" + headers}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("requests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFaults: whatever the other side does, there is an answer in time, and it is
// the one of a run that never asked. Clients whose server would keep them for
// long have a small budget here; that they return at all is what is tested.
func TestFaults(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect to another host was followed")
	}))
	t.Cleanup(elsewhere.Close)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	wait := func(r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, caseAnswer)
		}
	}
	body := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { jsonAnswer(w, text) }
	}
	for _, tt := range []struct {
		name  string
		h     http.HandlerFunc
		tries int // requests for each of the two documents; 0 for any number
		want  string
	}{
		{"it never answers", func(_ http.ResponseWriter, r *http.Request) { wait(r) }, 0, "deadline exceeded"},
		{"its body never ends", func(w http.ResponseWriter, r *http.Request) {
			jsonAnswer(w, caseAnswer[:20])
			w.(http.Flusher).Flush()
			wait(r)
		}, 0, "deadline exceeded"},
		{"it drips", func(w http.ResponseWriter, r *http.Request) {
			jsonAnswer(w, "")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		}, 0, "deadline exceeded"},
		{"it hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 2, "EOF"},
		{"it hangs up within the body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			jsonAnswer(w, caseAnswer)
		}, 2, "unexpected EOF"},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.6\r\n")
				_ = conn.Close()
			}
		}, 2, "malformed HTTP"},
		{"endless headers", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 100))
			}
			jsonAnswer(w, caseAnswer)
		}, 2, "exceeded"},
		{"garbage", body("\x00\xff<<"), 1, "not JSON"},
		{"JSON that ends too early", body(caseAnswer[:30]), 1, "not JSON"},
		{"JSON and more", body(caseAnswer + caseAnswer), 1, "not JSON"},
		{"another JSON", body(`{"ok":true}`), 1, "not what a case looks like"},
		{"JSON without a thing", body(`null`), 1, "not what a case looks like"},
		{"a number", body(`42`), 1, "not what a case looks like"},
		{"types that nobody expects", body(`{"title":{"en":"x"},"org":7,"similar":{"a":1},"cases":"x"}`), 1, "not what a case looks like"},
		{"a list of nonsense", body(`[1,"x",null,{},{"id":"IL-1"},{"id":"../x","title":"t"}]`), 1, "not what a case looks like"},
		{"a deep hole", body(strings.Repeat("[", 100_000)), 1, "not JSON"},
		{"an enormous answer", body(`{"title":"` + strings.Repeat("x", MaxAnswer) + `"}`), 1, "larger than"},
		{"HTML, called so", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, caseAnswer)
		}, 1, "not JSON"},
		{"a content type that is none", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", ";;;")
			_, _ = io.WriteString(w, caseAnswer)
		}, 1, "not JSON"},
		{"too many requests", status(429), 1, "429"},
		{"not allowed", status(403), 1, "403"},
		{"its own fault", status(500), 2, "500"},
		{"not now", status(503), 2, "503"},
		{"an empty success", status(204), 1, "204"},
		{"it leads to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		}, 1, "another host"},
		{"it leads to another scheme", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://"+r.Host+r.URL.Path, http.StatusMovedPermanently)
		}, 1, "another host"},
		{"it leads to a file", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, 1, "another host"},
		{"it leads in a circle", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, 3, "on and on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			tries := 0
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				tries++
				mu.Unlock()
				tt.h(w, r)
			})
			if tt.tries == 0 {
				c.Budget = 50 * time.Millisecond
			} else {
				c.Budget = time.Minute // a busy machine is no fault of the server
			}
			got, err := c.Cases(t.Context(), []string{"IL-0191"})
			if len(got) != 0 {
				t.Errorf("Cases() = %+v, want none", got)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want one with %q", err, tt.want)
			}
			mu.Lock()
			defer mu.Unlock()
			if tt.tries > 0 && tries != 2*tt.tries {
				t.Errorf("%d requests, want %d", tries, 2*tt.tries)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c := &Client{Base: address}
	if got, err := c.Cases(t.Context(), []string{"IL-0191"}); len(got) != 0 || err == nil {
		t.Errorf("Cases() = %v, %v; want nothing and an error", got, err)
	}
}

func TestUnknownCase(t *testing.T) {
	c := serve(t, http.NotFound)
	if got, err := c.Cases(t.Context(), []string{"IL-0191"}); len(got) != 0 || err != nil {
		t.Errorf("Cases() = %v, %v; want nothing", got, err)
	}
}

func TestSecondTry(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		again := seen[r.URL.Path]
		seen[r.URL.Path] = true
		mu.Unlock()
		if !again {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		sound(w, r)
	})
	c.Budget = time.Minute
	if got, err := c.Cases(t.Context(), []string{"IL-0191"}); err != nil || !reflect.DeepEqual(got["IL-0191"], wantCase) {
		t.Errorf("Cases() = %+v, %v; want the case at the second try", got, err)
	}
}

func TestOneHalf(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/similar") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		sound(w, r)
	})
	got, err := c.Cases(t.Context(), []string{"IL-0191"})
	if err == nil || got["IL-0191"].Title != "A selector" || got["IL-0191"].Similar != nil {
		t.Errorf("Cases() = %+v, %v; want the half that was answered and an error", got, err)
	}
}

func TestTheMost(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]bool{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[strings.TrimSuffix(r.URL.Path, "/similar")] = true
		mu.Unlock()
		http.NotFound(w, r)
	})
	c.Budget = time.Minute
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprintf("IL-%04d", i))
	}
	if _, err := c.Cases(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	if len(asked) != MaxCases {
		t.Errorf("%d cases were asked for, want %d", len(asked), MaxCases)
	}
}

func TestSameHostRedirect(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutPrefix(r.URL.Path, "/v2"); ok {
			r.URL.Path = path
			sound(w, r)
			return
		}
		http.Redirect(w, r, "/v2"+r.URL.Path, http.StatusPermanentRedirect)
	})
	if got, err := c.Cases(t.Context(), []string{"IL-0191"}); err != nil || !reflect.DeepEqual(got["IL-0191"], wantCase) {
		t.Errorf("Cases() = %+v, %v", got, err)
	}
}

func TestAddress(t *testing.T) {
	for _, tt := range []struct{ name, base, want string }{
		{"plain http to another machine", "http://incidentlib.example.org", "must be https"},
		{"a name that only begins like this machine", "http://localhost.example.org", "must be https"},
		{"a password", "https://u:p@example.org", "is not an address"},
		{"a query", "https://example.org/?a=b", "is not an address"},
		{"a file", "file:///etc", "is not an address"},
		{"no address", "::", "address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &Client{Base: tt.base}
			_, err := c.Cases(t.Context(), []string{"IL-1"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "u:p") {
				t.Errorf("the error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &Client{Base: "http://127.0.0.1:1"}
	if got, err := c.Cases(ctx, []string{"IL-1"}); len(got) != 0 || err == nil {
		t.Errorf("Cases() = %v, %v", got, err)
	}
}

// TestPromise holds the constants to what is promised: two seconds, all in all.
func TestPromise(t *testing.T) {
	if Budget+Grace >= 2*time.Second {
		t.Errorf("Budget and Grace are %s, want less than 2 s", Budget+Grace)
	}
	if 2*tryTimeout+retryAfter > Budget {
		t.Errorf("two tries take %s, more than the budget of %s", 2*tryTimeout+retryAfter, Budget)
	}
}

func TestDates(t *testing.T) {
	for in, want := range map[string]string{
		"2022": "2022", "2022-09": "2022-09", "2022-09-01": "2022-09-01", "2022-09-01T10:00:00Z": "2022-09-01", "2022-09-": "2022-09",
		"2022-9": "2022", "2022 (published)": "2022", "September 2022": "", "202": "", "": "", "20-2": "",
	} {
		if got := dateIn(in); got != want {
			t.Errorf("dateIn(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestInert(t *testing.T) {
	hostile := "a\x1b[31m\u202eb\u0000\r\n::error::c\u200b " + strings.Repeat("x ", 5000)
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/similar") {
			jsonAnswer(w, fmt.Sprintf(`{"similar":[{"case":{"id":"IL-2","title":%[1]s,"org":%[1]s,"date":%[1]s},"why":%[1]s}]}`, quoted))
			return
		}
		jsonAnswer(w, fmt.Sprintf(`{"data":{"title":%[1]s,"company":{"name":%[1]s},"lesson":%[1]s,"date":%[1]s,"year":1e300}}`, quoted))
	})
	got, err := c.Cases(t.Context(), []string{"IL-1"})
	if err != nil {
		t.Fatal(err)
	}
	k := got["IL-1"]
	if len(k.Similar) != 1 || k.Date != "" || k.Similar[0].Date != "" {
		t.Fatalf("Cases() = %+v", k)
	}
	for _, s := range []string{k.Title, k.Org, k.Lesson, k.Similar[0].Title, k.Similar[0].Org, k.Similar[0].Reason} {
		if !strings.HasPrefix(s, "a[31mb ::error::c x") || len([]rune(s)) > maxText {
			t.Errorf("a text of %d characters, want it cut and clean: %.60q", len([]rune(s)), s)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("a text that is not inert: %q", s)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{caseAnswer, similarAnswer, `{"case":` + caseAnswer + `}`, `{"similar":` + similarAnswer + `}`, `[[[]]]`, "{}", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := readCase("IL-1", data)
		if err == nil && (k.Title == "" || k.ID != "IL-1" || len([]rune(k.Title)) > maxText) {
			t.Errorf("readCase() = %+v", k)
		}
		list, err := readSimilar("IL-1", data)
		if err != nil {
			return
		}
		for _, s := range list {
			if !Valid(s.ID) || s.ID == "IL-1" || s.Title == "" || clean(s.Title) != s.Title {
				t.Errorf("readSimilar() = %+v", list)
			}
		}
	})
}
