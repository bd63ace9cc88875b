// Package report shows what a run found, one file a format. Reporters are pure:
// the same report gives the same bytes.
package report

import (
	"io"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/rule"
)

// A Reporter writes one format. It touches no network and no files.
type Reporter func(w io.Writer, r *Report) error

// A Report is all that a run found. Its lists are in the order in which they
// are shown.
type Report struct {
	Version    string // prdiff's own
	Base, Head Side
	Units      []Unit
	Changes    []Change
	Findings   []Finding
	Incidents  []incident.Incident // the ones that the findings cite, once each
	Hidden     []Hidden
	Skipped    []Skipped // what looked like a unit and was left out, with the reason
}

// A Side is one of the two states compared.
type Side struct {
	Rev string // what the user asked for
	SHA string // the commit; "" for folders and the working tree
}

// A Status is what became of a unit.
type Status string

// The statuses, in the words of the report.
const (
	Rendered  Status = "rendered"
	Unchanged Status = "unchanged" // equal inputs on both sides: not rendered
	Omitted   Status = "skipped"
	Failed    Status = "failed"
)

// A Unit is one thing that renders, and how that went.
type Unit struct {
	Name, Renderer string
	Status         Status
	Error          string   // for Failed: file, line and cause
	Notes          []string // what a reader must know beside the status
	Before, After  int      // objects on each side
	Ms             int64    // milliseconds of rendering and comparing
}

// A Change is a diff.Change as it is shown.
type Change struct {
	diff.Change
	Diff  string // unified text of the YAML of both sides, secrets masked, without file headers
	Group string // the same for identical changes in several units; "" when there is just one
}

// A Finding is a rule.Finding as it is shown.
type Finding struct {
	rule.Finding
	Suppressed *Suppression // nil when it counts
}

// A Suppression says who silenced a finding, and why.
type Suppression struct {
	By      string `json:"by"` // "config" or "annotation", with its place
	Reason  string `json:"reason"`
	Expires string `json:"expires,omitempty"` // YYYY-MM-DD
}

// Hidden is how much one noise filter took out.
type Hidden struct {
	Filter          string
	Fields, Objects int
}

// A Skipped is something that was left out on purpose.
type Skipped struct{ Path, Reason string }
