package main

import (
	"strings"
	"testing"
)

func TestPublishedFooterTellsTheTime(t *testing.T) {
	h := newHub(t)
	s := newStage(t, h, pullEvent)
	r := dangerous("4 of 4 pods lose it")
	r.Units[0].Ms = 1520
	s.publish(r, publishFlags{})
	if len(h.comments) != 1 {
		t.Fatalf("%d comments, want 1: %s", len(h.comments), s.stderr.String())
	}
	const want = "1 rendered, 0 unchanged, 0 skipped, 0 failed · prdiff test, 1.5 s of rendering</sub>\n"
	for where, text := range map[string]string{"comment": h.comments[0].Body, "summary": s.file("summary")} {
		if !strings.HasSuffix(strings.TrimRight(text, "\n")+"\n", want) {
			t.Errorf("the %s ends with %q, want %q", where, text[max(0, len(text)-200):], want)
		}
	}
}
