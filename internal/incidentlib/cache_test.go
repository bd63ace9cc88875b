package incidentlib

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// counted gives a client with a cache whose server counts what it is asked.
func counted(t *testing.T, h http.HandlerFunc) (*Client, *atomic.Int64, *time.Time) {
	t.Helper()
	var n atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		h(w, r)
	})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c.Cache = NewCache(filepath.Join(t.TempDir(), "a", "b"))
	c.Now = func() time.Time { return now }
	c.Budget = time.Minute
	return c, &n, &now
}

func TestCacheKeepsAnswersForADay(t *testing.T) {
	c, n, now := counted(t, sound)
	ask := func(want int64) {
		t.Helper()
		got, err := c.Cases(t.Context(), []string{"IL-0191"})
		if err != nil || !reflect.DeepEqual(got, map[string]Case{"IL-0191": wantCase}) {
			t.Errorf("Cases() = %+v, %v", got, err)
		}
		if n.Load() != want {
			t.Errorf("%d requests, want %d", n.Load(), want)
		}
	}
	ask(2)
	ask(2)
	*now = now.Add(fresh - time.Second)
	ask(2)
	*now = now.Add(time.Second)
	ask(4)
	*now = now.Add(-time.Hour) // a clock that was wrong
	ask(6)
	other := serve(t, sound) // who answers elsewhere is asked anew
	other.Cache, other.Now, other.Budget = c.Cache, c.Now, c.Budget
	c, n = other, new(atomic.Int64)
	ask(0)
}

func TestCacheKeepsThatThereIsNoCase(t *testing.T) {
	c, n, _ := counted(t, http.NotFound)
	for range 2 {
		if got, err := c.Cases(t.Context(), []string{"IL-0191"}); len(got) != 0 || err != nil {
			t.Errorf("Cases() = %v, %v", got, err)
		}
	}
	if n.Load() != 2 {
		t.Errorf("%d requests, want 2", n.Load())
	}
}

func TestCacheKeepsForMinutesThatThereWasNoAnswer(t *testing.T) {
	fail := true
	c, n, now := counted(t, func(w http.ResponseWriter, r *http.Request) {
		if fail {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		sound(w, r)
	})
	for range 3 {
		if got, err := c.Cases(t.Context(), []string{"IL-0191"}); len(got) != 0 || err == nil {
			t.Errorf("Cases() = %v, %v; want nothing and an error", got, err)
		}
	}
	if n.Load() != 2 {
		t.Errorf("%d requests, want 2", n.Load())
	}
	fail = false
	*now = now.Add(pause)
	if got, err := c.Cases(t.Context(), []string{"IL-0191"}); err != nil || len(got) != 1 {
		t.Errorf("Cases() = %v, %v; want the case, after a while", got, err)
	}
}

func TestCacheHasALimit(t *testing.T) {
	dir := t.TempDir()
	c := NewCache(dir)
	own := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(own, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 3 * maxFiles {
		id := fmt.Sprintf("IL-%04d", i)
		c.put("b", now, map[string]answer{id: {Case: Case{ID: id, Title: "t"}, whole: true}}, false)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != maxFiles+1 {
		t.Errorf("%d files, want %d and the one that is another's", len(list), maxFiles)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}

func TestCacheOfAnyContent(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sound := `{"version":1,"base":"b","at":"2026-01-01T00:00:00Z","case":{"id":"IL-1","title":"t\u001b[31m","lesson":"` + strings.Repeat("x", 400) + `","similar":[{"id":"x","title":"t"},{"id":"IL-2","title":"u\u202e"}]}}`
	for _, tt := range []struct {
		name, data string
		want       bool
	}{
		{"an entry", sound, true},
		{"nothing", "", false},
		{"garbage", "\x00{", false},
		{"another case", strings.Replace(sound, `"id":"IL-1"`, `"id":"IL-3"`, 1), false},
		{"another version", strings.Replace(sound, `"version":1`, `"version":2`, 1), false},
		{"something enormous", sound + strings.Repeat(" ", maxEntry), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "IL-1.json"), []byte(tt.data), 0o600); err != nil {
				t.Fatal(err)
			}
			got, ok := NewCache(dir).get("b", "IL-1", now)
			if ok != tt.want {
				t.Fatalf("get() = %+v, %v; want %v", got, ok, tt.want)
			}
			if ok && (got.Title != "t[31m" || len([]rune(got.Lesson)) != maxText || len(got.Similar) != 1 || got.Similar[0].Title != "u") {
				t.Errorf("get() = %+v", got)
			}
		})
	}
	t.Run("a link to another file", func(t *testing.T) {
		dir := t.TempDir()
		outside := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(outside, []byte(sound), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(dir, "IL-1.json")); err != nil {
			t.Fatal(err)
		}
		if got, ok := NewCache(dir).get("b", "IL-1", now); ok {
			t.Errorf("get() = %+v, want nothing", got)
		}
	})
	t.Run("a file in the place of the folder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c := NewCache(file)
		c.put("b", now, map[string]answer{"IL-1": {Case: Case{ID: "IL-1", Title: "t"}, whole: true}}, false)
		if _, ok := c.get("b", "IL-1", now); ok {
			t.Error("get() gives what cannot be there")
		}
	})
}
