package github

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestCommentLivesOnce(t *testing.T) {
	t.Run("a first run with nothing to say leaves no comment", func(t *testing.T) {
		s := newServer(t)
		if r := s.mustComment(1, "nothing", false); r.State != NotNeeded {
			t.Errorf("state = %q, want %q", r.State, NotNeeded)
		}
		if n := len(s.comments); n != 0 {
			t.Errorf("%d comments, want none", n)
		}
	})
	t.Run("the second run edits, a clean one says so, an equal one sends nothing", func(t *testing.T) {
		s := newServer(t)
		if r := s.mustComment(1, "one", true); r.State != Created || r.URL == "" {
			t.Errorf("first = %+v, want created with an address", r)
		}
		if r := s.mustComment(2, "two", true); r.State != Updated {
			t.Errorf("second = %+v, want updated", r)
		}
		if r := s.mustComment(3, "no changes", false); r.State != Updated {
			t.Errorf("third = %+v, want updated", r)
		}
		if r := s.mustComment(3, "no changes", false); r.State != Same {
			t.Errorf("fourth = %+v, want the same", r)
		}
		all := s.marked()
		if len(all) != 1 || !strings.HasSuffix(all[0].Body, "\nno changes") {
			t.Errorf("comments = %+v, want one that says no changes", all)
		}
	})
	t.Run("250 comments before it do not hide it", func(t *testing.T) {
		s := newServer(t)
		for i := range 250 {
			s.add(user{int64(i), "someone", "User"}, fmt.Sprint("words ", i))
		}
		s.mustComment(1, "one", true)
		for i := range 60 {
			s.add(user{int64(i), "someone", "User"}, fmt.Sprint("more words ", i))
		}
		s.mustComment(2, "two", true)
		if all := s.marked(); len(all) != 1 || !strings.HasSuffix(all[0].Body, "two") {
			t.Errorf("%d comments of ours, want one", len(all))
		}
	})
	t.Run("comments of other keys and other people are left alone", func(t *testing.T) {
		s := newServer(t)
		text := Marker{}.String() + "\nno danger here"
		forged := s.add(user{5, "mallory", "User"}, text)
		bot := s.add(user{6, "other[bot]", "Bot"}, text)
		quoted := s.add(actionsBot, "> "+text)
		later := s.add(actionsBot, "see\n"+text)
		key := s.add(actionsBot, Marker{Key: "staging"}.String()+"\nstaging")
		s.mustComment(1, "one", true)
		for _, c := range []*storedComment{forged, bot, quoted, later, key} {
			if strings.HasSuffix(c.Body, "one") {
				t.Errorf("comment %d of %s was edited", c.ID, c.User.Login)
			}
		}
		if n := len(s.comments); n != 6 {
			t.Errorf("%d comments, want the five and ours", n)
		}
	})
	t.Run("when GitHub does not tell who we are, bots' comments count and people's do not", func(t *testing.T) {
		s := newServer(t)
		s.viewer = ""
		forged := s.add(user{5, "mallory", "User"}, Marker{}.String()+"\nno danger here")
		ours := s.add(actionsBot, Marker{}.String()+"\nold")
		s.mustComment(1, "one", true)
		if !strings.HasSuffix(ours.Body, "one") || strings.HasSuffix(forged.Body, "one") {
			t.Errorf("ours = %q, forged = %q", ours.Body, forged.Body)
		}
	})
	t.Run("a person's token finds that person's comments", func(t *testing.T) {
		s := newServer(t)
		s.me, s.viewer = user{9, "Dev", "User"}, "dev"
		s.mustComment(1, "one", true)
		if r := s.mustComment(2, "two", true); r.State != Updated {
			t.Errorf("state = %q, want updated", r.State)
		}
	})
	t.Run("duplicates of an earlier race go, the oldest stays", func(t *testing.T) {
		s := newServer(t)
		first := s.add(actionsBot, Marker{Run: 1}.String()+"\na")
		s.add(actionsBot, Marker{Run: 2}.String()+"\nb")
		s.add(actionsBot, Marker{Run: 3}.String()+"\nc")
		r := s.mustComment(4, "d", true)
		if all := s.marked(); r.Removed != 2 || len(all) != 1 || all[0] != first || !strings.HasSuffix(first.Body, "\nd") {
			t.Errorf("result = %+v, comments = %+v", r, all)
		}
	})
	t.Run("a comment that a person wrote over our marker with other line ends is still ours", func(t *testing.T) {
		s := newServer(t)
		c := s.add(actionsBot, Marker{Run: 1}.String()+"\r\na\r\nb")
		s.mustComment(2, "c", true)
		if !strings.HasSuffix(c.Body, "\nc") {
			t.Errorf("body = %q", c.Body)
		}
	})
}

func TestOlderRunDoesNotWin(t *testing.T) {
	t.Run("a slow older run leaves the newer comment", func(t *testing.T) {
		s := newServer(t)
		s.mustComment(20, "newer", true)
		if r := s.mustComment(10, "older", true); r.State != Newer {
			t.Errorf("state = %q, want %q", r.State, Newer)
		}
		if !strings.HasSuffix(s.marked()[0].Body, "newer") {
			t.Error("the older run won")
		}
	})
	t.Run("a newer run that finds the same leaves its number, so that an older one cannot win later", func(t *testing.T) {
		s := newServer(t)
		s.mustComment(10, "same", true)
		s.mustComment(30, "same", true)
		if r := s.mustComment(20, "stale", true); r.State != Newer {
			t.Errorf("state = %q, want %q", r.State, Newer)
		}
	})
	t.Run("an older run that waits for a limit looks again", func(t *testing.T) {
		s := newServer(t)
		s.mustComment(5, "first", true)
		s.fault = failFirst("PATCH", 1, 429, "too many requests", "Retry-After", "5")
		s.onSleep = func(s *server) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.comments[0].Body = Marker{Run: 20, Attempt: 1, SHA: otherSHA}.String() + "\nnewer"
		}
		r := s.mustComment(10, "older", true)
		if body := s.marked()[0].Body; r.State != Newer || !strings.HasSuffix(body, "newer") {
			t.Errorf("state = %q, body = %q", r.State, body)
		}
	})
	for _, order := range [][2]int64{{10, 20}, {20, 10}} {
		t.Run(fmt.Sprintf("of two runs that race, the comment made by %d first, one comment with the newer text stays", order[0]), func(t *testing.T) {
			s := newServer(t)
			bodies := map[int64]string{10: "older", 20: "newer"}
			other := s.newClient()
			// Both have found no comment. The first makes its own; by the time that it
			// looks again, the second has made one too.
			s.fault = onSecond("GET", func() {
				s.add(actionsBot, Marker{Run: order[1], Attempt: 1, SHA: headSHA}.String()+"\n"+bodies[order[1]])
			})
			s.mustComment(order[0], bodies[order[0]], true)
			s.mu.Lock()
			s.fault = nil
			s.mu.Unlock()
			// Then the second looks again.
			second := Comment{Number: 7, Marker: Marker{Run: order[1], Attempt: 1, SHA: headSHA}, Bodies: []string{bodies[order[1]]}, Worth: true}
			ours, err := other.findOurs(context.Background(), second)
			if err != nil {
				t.Fatal(err)
			}
			if made := ours[len(ours)-1]; len(ours) == 2 {
				if _, err := other.settle(context.Background(), second, made, 0); err != nil {
					t.Fatal(err)
				}
			}
			all := s.marked()
			if len(all) != 1 || !strings.HasSuffix(all[0].Body, "newer") {
				t.Errorf("comments = %+v, want one with the newer text", all)
			}
		})
	}
	t.Run("many runs at once leave one comment", func(t *testing.T) {
		s := newServer(t)
		var group sync.WaitGroup
		for run := range int64(8) {
			c := s.newClient()
			group.Go(func() {
				_, err := c.Comment(context.Background(), Comment{Number: 7, Marker: Marker{Run: run + 1, Attempt: 1, SHA: headSHA}, Bodies: []string{fmt.Sprint("run ", run+1)}, Worth: true})
				if err != nil {
					t.Errorf("run %d: %v", run+1, err)
				}
			})
		}
		group.Wait()
		// What a race can leave is mended by the next run.
		s.mustComment(9, "run 9", true)
		if all := s.marked(); len(all) != 1 || !strings.HasSuffix(all[0].Body, "run 9") {
			t.Errorf("%d comments, want one of run 9", len(all))
		}
	})
}

func TestMarker(t *testing.T) {
	m := Marker{Key: "a b-->\n<x>", Run: 12, Attempt: 2, SHA: headSHA}
	line := m.String()
	if strings.Count(line, "-->") != 1 || strings.Contains(line, "\n") || strings.Count(line, "<") != 1 {
		t.Errorf("marker = %q", line)
	}
	back, ok := parseMarker(line + "\nrest")
	if !ok || back.Run != 12 || back.Attempt != 2 || back.SHA != headSHA || back.Key != cleanKey(m.Key) {
		t.Errorf("read back = %+v, %v", back, ok)
	}
	for _, bad := range []string{"", "x" + line, "<!-- prdiff:comment v1 key= -->", "<!-- prdiff:comment v1 key=a", " " + line} {
		if m, ok := parseMarker(bad); ok {
			t.Errorf("parseMarker(%q) = %+v, want none", bad, m)
		}
	}
	for _, c := range []struct {
		name         string
		mine, theirs Marker
		want         bool
	}{
		{"a later run does not yield", Marker{Run: 2}, Marker{Run: 1}, false},
		{"an earlier one does", Marker{Run: 1, SHA: headSHA}, Marker{Run: 2, SHA: otherSHA}, true},
		{"an earlier attempt does", Marker{Run: 1, Attempt: 1}, Marker{Run: 1, Attempt: 2}, true},
		{"a later attempt does not", Marker{Run: 1, Attempt: 2}, Marker{Run: 1, Attempt: 1}, false},
		{"an old run started again for the same commit does not", Marker{Run: 1, Attempt: 2, SHA: headSHA}, Marker{Run: 2, Attempt: 1, SHA: headSHA}, false},
		{"an old run started again for an older commit does", Marker{Run: 1, Attempt: 2, SHA: headSHA}, Marker{Run: 2, Attempt: 1, SHA: otherSHA}, true},
		{"outside of Actions nobody yields", Marker{}, Marker{Run: 2}, false},
	} {
		if got := c.mine.yields(c.theirs); got != c.want {
			t.Errorf("%s: yields = %v, want %v", c.name, got, c.want)
		}
	}
}
