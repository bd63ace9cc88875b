package incident_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/incident"
)

var update = flag.Bool("update", false, "write library.json from data/*.yaml")

// readData gives the entries of the data files, in the order of the files.
func readData(t testing.TB) []incident.Incident {
	t.Helper()
	files, err := filepath.Glob("data/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob() = %v, %v, want the data files", files, err)
	}
	var entries []incident.Incident
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		more, err := incident.Parse(f, data)
		if err != nil {
			t.Error(err)
		}
		entries = append(entries, more...)
	}
	if t.Failed() {
		t.FailNow()
	}
	return entries
}

func TestLibraryIsMadeFromTheData(t *testing.T) {
	entries := readData(t)
	if _, err := incident.New(entries...); err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		entries[i].File, entries[i].Line = "", 0
	}
	slices.SortFunc(entries, func(a, b incident.Incident) int { return strings.Compare(a.ID, b.ID) })
	var want bytes.Buffer // one entry a line, so that a diff shows which changed
	for i, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0])
		want.Write(line)
	}
	want.WriteString("\n]\n")
	if *update {
		if err := os.WriteFile("library.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("library.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("library.json is stale: run `go test ./internal/incident -update`")
	}
}

func TestEveryEntryIsSound(t *testing.T) {
	entries := readData(t)
	if len(entries) < 90 {
		t.Errorf("%d entries, want at least 90", len(entries))
	}
	titles := map[string]string{}
	for _, e := range entries {
		bad := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%s:%d: %s: "+format, append([]any{e.File, e.Line, e.ID}, args...)...)
		}
		if e.URL == "" && !e.Founding {
			bad("no source: only a founding entry may have no url")
		}
		if e.Date == "" && e.Note == "" {
			bad("no date, and no note on why")
		}
		if e.Org == "" || e.Mechanism == "" || e.Impact == "" || e.Source == "" {
			bad("org, mechanism, impact and source must all be there")
		}
		if len(e.Rules)+len(e.Topics) == 0 {
			bad("neither a rule nor a topic: nothing would find it")
		}
		if e.Related == "" && len(e.Kinds) == 0 {
			bad("no kinds: say where a diff shows it, or in `related` why none does")
		}
		if len(e.Fields) > 0 && len(e.Kinds) == 0 {
			bad("fields without kinds")
		}
		if e.Trigger != nil {
			bad("a trigger belongs to a team's own entry")
		}
		if (e.IncidentLib == "") != (e.API == "") || e.API != "" && e.API != "https://incidentlib-api.benchlet.com/cases/"+e.IncidentLib {
			bad("api is %q for case %q", e.API, e.IncidentLib)
		}
		if first, ok := titles[e.Title]; ok {
			bad("the same title as %s", first)
		}
		titles[e.Title] = e.ID
		for field, text := range map[string]string{
			"title": e.Title, "change": e.Change, "mechanism": e.Mechanism, "impact": e.Impact,
			"lesson": e.Lesson, "related": e.Related, "note": e.Note,
		} {
			if field != "title" && text != "" && !strings.HasSuffix(text, ".") {
				bad("%s does not end with a full stop", field)
			}
			for sentence := range strings.SplitSeq(text, ". ") {
				if n := len(strings.Fields(sentence)); n > 45 {
					bad("%s has a sentence of %d words, at most 45 are read: %s", field, n, sentence)
				}
			}
		}
		if n := len(strings.Fields(e.Lesson)); n < 4 || n > 32 {
			bad("the lesson has %d words, want 4 to 32", n)
		}
		if n := len(strings.Fields(e.Title)); n < 4 || n > 24 {
			bad("the title has %d words, want 4 to 24", n)
		}
	}
}

func TestFoundingEntriesAreThere(t *testing.T) {
	l := incident.Embedded()
	for id, want := range map[string]string{
		"grafana-loki-selector-2022": "IL-0191", "datadog-grpc-reconnect-2021": "IL-0461", "buildkite-coredns": "",
	} {
		e, ok := l.Get(id)
		if !ok || !e.Founding || e.IncidentLib != want {
			t.Errorf("Get(%s) = %+v, %v, want a founding entry with case %q", id, e, ok, want)
		}
		if want == "" {
			continue
		}
		if byCase, ok := l.Get(want); !ok || byCase.ID != id {
			t.Errorf("Get(%s) = %s, want %s", want, byCase.ID, id)
		}
	}
}
