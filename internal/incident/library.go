package incident

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed library.json
var libraryJSON []byte

// A Library is a set of incidents that can be listed, searched and ranked. It
// never changes after it is made, and may be used from several goroutines.
type Library struct {
	entries []Incident // newest first, see compare
	byID    map[string]int
	index   func() *index // made at the first search

	// Made when first asked for.
	software func() []spelling
	fields   func() [][][]string
}

// Embedded gives the library that is compiled in. It is decoded at the first
// call and shared from then on; a program that never asks pays nothing.
func Embedded() *Library { return embedded() }

var embedded = sync.OnceValue(decode)

func decode() *Library {
	var entries []Incident
	if err := json.Unmarshal(libraryJSON, &entries); err != nil {
		panic("incident: library.json: " + err.Error()) // generated, and read by every test
	}
	return newLibrary(entries)
}

// New makes a library of entries that Parse or ParseMarkdown gave. It fails when
// two of them have the same ID.
func New(entries ...Incident) (*Library, error) {
	own := make([]Incident, len(entries))
	seen := make(map[string]Incident, len(entries))
	for i, e := range entries {
		if first, ok := seen[e.ID]; ok {
			return nil, fmt.Errorf("%sincident %q is there twice: also %s", e.place(), e.ID, first.where())
		}
		seen[e.ID] = e
		own[i] = e.clone()
	}
	return newLibrary(own), nil
}

// With gives a library that has the entries of l and the extra ones, such as a
// team's own postmortems. It fails when an ID is taken. l is not changed.
func (l *Library) With(extra ...Incident) (*Library, error) {
	if len(extra) == 0 {
		return l, nil
	}
	return New(append(slices.Clone(l.entries), extra...)...)
}

func newLibrary(entries []Incident) *Library {
	slices.SortStableFunc(entries, compare)
	l := &Library{entries: entries, byID: make(map[string]int, len(entries))}
	for i, e := range entries {
		l.byID[e.ID] = i
	}
	l.index = sync.OnceValue(func() *index { return newIndex(l.entries) })
	l.software = sync.OnceValue(l.spellings)
	l.fields = sync.OnceValue(l.splitFields)
	return l
}

// compare orders entries newest first, then by ID; those without a date come last.
func compare(a, b Incident) int {
	if c := strings.Compare(b.Date, a.Date); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// Len gives the number of entries.
func (l *Library) Len() int { return len(l.entries) }

// All gives every entry, newest first, then by ID.
func (l *Library) All() []Incident {
	out := make([]Incident, len(l.entries))
	for i, e := range l.entries {
		out[i] = e.clone()
	}
	return out
}

// Get gives the entry with the ID, or with the incidentlib case number.
func (l *Library) Get(id string) (Incident, bool) {
	if i, ok := l.byID[id]; ok {
		return l.entries[i].clone(), true
	}
	// Several entries may tell of parts of one case: the founding one tells the whole.
	found := -1
	for i, e := range l.entries {
		if e.IncidentLib != "" && strings.EqualFold(e.IncidentLib, id) && (found < 0 || e.Founding) {
			found = i
		}
	}
	if found < 0 {
		return Incident{}, false
	}
	return l.entries[found].clone(), true
}

// place is where an entry of a team's own stands, as errors begin with it.
func (i Incident) place() string {
	switch {
	case i.File == "":
		return ""
	case i.Line == 0:
		return i.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", i.File, i.Line)
}

func (i Incident) where() string {
	if i.File == "" {
		return "in the library that prdiff carries"
	}
	return strings.TrimSuffix(i.place(), ": ")
}
