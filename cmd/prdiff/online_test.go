package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A librarian is a server in the place of incidentlib, and what it was asked.
type librarian struct {
	mu    sync.Mutex
	asked []string
}

func (l *librarian) serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		l.mu.Lock()
		l.asked = append(l.asked, fmt.Sprintf("%s %s %s %v %s %v", r.Method, r.RequestURI, body, err, r.Header.Get("User-Agent"), len(r.Header)))
		l.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func (l *librarian) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked)
}

// soundLibrary answers as incidentlib does, with a trap in every text.
func soundLibrary(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/similar") {
		_, _ = io.WriteString(w, `{"cases":[{"id":"IL-0246","org":"Adyen","date":"2026-02-01","title":"No new pods\n::error::x [a](https://evil.example) @team \u001b[31m","reason":"same root cause"}]}`)
		return
	}
	_, _ = io.WriteString(w, `{"id":"`+filepath.Base(r.URL.Path)+`","title":"A title","new":{"field":true}}`)
}

// reviewed makes two folders that repeat the incident at Grafana Labs, and gives a
// function that runs prdiff on them: its stdout, exit code and stderr.
func reviewed(t *testing.T, baseConfig, headConfig string) func(address string, args ...string) (string, int, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("demo/grafana")); err != nil {
		t.Fatal(err)
	}
	for side, text := range map[string]string{"before": baseConfig, "after": headConfig} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, side, ".prdiff.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	return func(address string, args ...string) (string, int, string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		getenv := func(name string) string {
			return map[string]string{incidentlibVariable: address, "HOME": home, "CI": "true", "PATH": os.Getenv("PATH")}[name]
		}
		e := env{strings.NewReader(""), &stdout, &stderr, getenv, dir, time.Now}
		code := run(t.Context(), e, append([]string{"diff", "before", "after", "--fail-on", "error"}, args...))
		return stdout.String(), code, stderr.String()
	}
}

const switchedOn = "incidents: {online: true}\n"

func TestOnline(t *testing.T) {
	var l librarian
	address := l.serve(t, soundLibrary)
	diff := reviewed(t, switchedOn, switchedOn)
	text, code, stderr := diff(address)
	if code != exitFound || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if flat := strings.Join(strings.Fields(text), " "); !strings.Contains(flat, "More like it on incidentlib: Adyen, 2026: No new pods ::error::x [a](https://evil.example) @team [31m (IL-0246)") || strings.Contains(text, "\x1b") {
		t.Errorf("the report is\n%s", text)
	}
	for _, asked := range l.asked {
		if asked != "GET /cases/IL-0191  <nil> prdiff (https://github.com/prdiff/prdiff) 3" && asked != "GET /cases/IL-0191/similar  <nil> prdiff (https://github.com/prdiff/prdiff) 3" {
			t.Errorf("asked %q, want nothing but the case number", asked)
		}
	}
	md, _, _ := diff(address, "--format", "markdown")
	if !strings.Contains(md, "**More like it on incidentlib.** Adyen, 2026: No new pods") || strings.Contains(md, "](https://evil.example)\n") || strings.Contains(md, " @team") || strings.Contains(md, " [a](https") {
		t.Errorf("the comment is\n%s", md)
	}
	json, _, _ := diff(address, "--format", "json")
	if !strings.Contains(json, `"incident": "grafana-loki-selector-2022"`) || !strings.Contains(json, `"IL-0246"`) {
		t.Errorf("the JSON is\n%s", json)
	}
}

// TestOnlineIsOff: nothing is asked unless the side before the change says so.
func TestOnlineIsOff(t *testing.T) {
	for _, tt := range []struct{ name, base, head string }{
		{"nobody asks for it", "", ""},
		{"it is switched off", "incidents: {online: false}\n", switchedOn},
		{"a pull request switches it on", "", switchedOn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l librarian
			address := l.serve(t, soundLibrary)
			diff := reviewed(t, tt.base, tt.head)
			if text, code, _ := diff(address); code != exitFound || strings.Contains(text, "incidentlib") || l.count() != 0 {
				t.Errorf("exit code %d, %d requests:\n%s", code, l.count(), text)
			}
		})
	}
}

// TestOnlineFaults: whatever the network and the server do, the report is the one
// of a run that never asked, byte by byte, and so is the exit code.
func TestOnlineFaults(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	wait := func(r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + refused.Addr().String()
	if err := refused.Close(); err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(soundLibrary))
	t.Cleanup(elsewhere.Close)
	answer := func(kind, text string, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}
	}
	var l librarian
	diff := reviewed(t, switchedOn, switchedOn)
	formats := [][]string{nil, {"--format", "markdown"}, {"--format", "json"}}
	// What a run gives that asks nobody: of the same files, online switched off by hand.
	off := filepath.Join(t.TempDir(), "off.yaml")
	if err := os.WriteFile(off, []byte("incidents: {online: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var want [3]string
	for i, f := range formats {
		text, code, _ := diff("", append(f, "--config", off)...)
		if code != exitFound || text == "" {
			t.Fatalf("exit code %d:\n%s", code, text)
		}
		want[i] = text
	}
	for _, tt := range []struct{ name, address string }{
		{"refused", gone},
		{"no such host", "https://incidentlib.invalid"},
		{"an address that is none", "ftp://x"},
		{"it never answers", l.serve(t, func(_ http.ResponseWriter, r *http.Request) { wait(r) })},
		{"a body without an end", l.serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"title":"`)
			w.(http.Flusher).Flush()
			wait(r)
		})},
		{"garbage", l.serve(t, answer("application/json", "\x00\xfe{{", 200))},
		{"another JSON", l.serve(t, answer("application/json", `{"hello":["world"]}`, 200))},
		{"huge", l.serve(t, answer("application/json", `{"title":"`+strings.Repeat("x", 8<<20)+`"}`, 200))},
		{"a page of a proxy", l.serve(t, answer("text/html", "<html>log in</html>", 200))},
		{"too many requests", l.serve(t, answer("application/json", `{}`, 429))},
		{"out of order", l.serve(t, answer("application/json", `{}`, 503))},
		{"led elsewhere", l.serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		})},
		{"unknown there", l.serve(t, http.NotFound)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for i, f := range formats {
				got, code, stderr := diff(tt.address, f...)
				if got != want[i] || code != exitFound || stderr != "" {
					t.Errorf("exit code %d, stderr %q, report\n%s\nwant\n%s", code, stderr, got, want[i])
				}
			}
		})
	}
	t.Run("with -v, why is said", func(t *testing.T) {
		if _, _, stderr := diff(gone, "-v", "--format", "json="+filepath.Join(t.TempDir(), "x")); !strings.Contains(stderr, "prdiff: incidentlib: IL-0191: ") {
			t.Errorf("stderr is %q", stderr)
		}
	})
}

// TestOnlineCache: a developer who runs prdiff again asks once a day.
func TestOnlineCache(t *testing.T) {
	var l librarian
	address := l.serve(t, soundLibrary)
	diff := reviewed(t, switchedOn, switchedOn)
	cache := t.TempDir()
	first, _, _ := diff(address, "--cache", cache)
	again, _, _ := diff(address, "--cache", cache)
	if l.count() != 2 || first != again || !strings.Contains(first, "incidentlib") {
		t.Errorf("%d requests, want 2, and the same report", l.count())
	}
	if _, err := os.Stat(filepath.Join(cache, "incidentlib", "IL-0191.json")); err != nil {
		t.Error(err)
	}
}
