package incident_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prdiff/prdiff/internal/incident"
)

// hostile is an entry of a team's own whose texts try to get out of their place.
var hostile = incident.Incident{
	ID: "own-2026", Org: "@everyone | <b>team</b>", Date: "2026-03-04",
	Title:  "A \x1b[31mred\x1b[0m title with [a link](https://evil.example) and | a column",
	Change: "1. See https://evil.example and www.evil.example, fixed in #12 by @someone.\n\n# Not a heading",
	Lesson: "Never trust `code` <script>alert(1)</script> or \u202ereversed\u202c text.",
	File:   "docs/own-2026.md", Line: 2,
	Trigger: &incident.Trigger{When: "object.spec.replicas < 2 && true"},
}

func TestWritersAgreeWithTheirGoldens(t *testing.T) {
	data, err := os.ReadFile("testdata/entries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := incident.Parse("", data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		entries[i].File, entries[i].Line = "", 0 // as those that are compiled in
	}
	l, err := incident.New(entries...)
	if err != nil {
		t.Fatal(err)
	}
	loki, _ := l.Get("grafana-loki-selector-2022")
	buildkite, _ := l.Get("buildkite-coredns")
	q := incident.Query{Cited: []string{"buildkite-coredns"}, Rule: "service-selector-narrowed", Kind: "Service", Path: "spec.selector.x"}
	list := incident.Listed([]incident.Incident{loki, buildkite, hostile})
	tests := []struct {
		golden string
		write  func(io.Writer) error
	}{
		{"table.txt", func(w io.Writer) error { return incident.WriteTable(w, list, 100) }},
		{"table_narrow.txt", func(w io.Writer) error { return incident.WriteTable(w, list, 60) }},
		{"table.md", func(w io.Writer) error { return incident.WriteTableMarkdown(w, list) }},
		{"page.txt", func(w io.Writer) error { return incident.WritePage(w, loki, 80) }},
		{"page.md", func(w io.Writer) error { return incident.WritePageMarkdown(w, loki) }},
		{"page_undated.txt", func(w io.Writer) error { return incident.WritePage(w, buildkite, 80) }},
		{"page_own.txt", func(w io.Writer) error { return incident.WritePage(w, hostile, 60) }},
		{"page_own.md", func(w io.Writer) error { return incident.WritePageMarkdown(w, hostile) }},
		{"matches.txt", func(w io.Writer) error { return incident.WriteMatches(w, l.Rank(q), 80) }},
		{"matches.json", func(w io.Writer) error { return incident.WriteJSON(w, l.Rank(q)[1:]) }},
		{"none.txt", func(w io.Writer) error { return incident.WriteMatches(w, nil, 80) }},
		{"none.json", func(w io.Writer) error { return incident.WriteJSON(w, nil) }},
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			var got bytes.Buffer
			if err := tt.write(&got); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "golden", tt.golden)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got:\n%s\nwant:\n%s", got.Bytes(), want)
			}
		})
	}
}

func TestATableWithoutAWidthIsWhole(t *testing.T) {
	all := incident.Embedded().All()
	var b bytes.Buffer
	if err := incident.WriteTable(&b, incident.Listed(all), 0); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if !strings.Contains(b.String(), e.ID+" ") || !strings.Contains(b.String(), " "+e.Org+" ") || !strings.Contains(b.String(), " "+e.Title+"\n") {
			t.Errorf("%s is cut", e.ID)
		}
	}
}

func TestLinesKeepToTheirWidth(t *testing.T) {
	all := incident.Listed(incident.Embedded().All())
	for _, width := range []int{1, 40, 60, 80, 120} {
		var b bytes.Buffer
		if err := incident.WriteTable(&b, all, width); err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if err := incident.WritePage(&b, m.Incident, width); err != nil {
				t.Fatal(err)
			}
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimRight(line, "\n")
			words := strings.Fields(line)
			if n := utf8.RuneCountInString(line); n <= max(width, 40) {
				continue
			}
			// A word that is longer than the line, such as an address, stays whole.
			const label = 13
			if last := words[len(words)-1]; label+utf8.RuneCountInString(last) <= max(width, 40) {
				t.Errorf("at %d columns a line is longer: %s", width, line)
			}
		}
	}
}

func TestJSONOfTheLibraryReadsBack(t *testing.T) {
	var b bytes.Buffer
	if err := incident.WriteJSON(&b, incident.Listed(incident.Embedded().All())); err != nil {
		t.Fatal(err)
	}
	var got struct{ Incidents []incident.Incident }
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Incidents) != incident.Embedded().Len() {
		t.Errorf("%d incidents, want %d", len(got.Incidents), incident.Embedded().Len())
	}
}
