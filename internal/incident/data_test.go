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
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(entries); err != nil {
		t.Fatal(err)
	}
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
