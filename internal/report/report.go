// Package report shows what a run found, one file a format. Reporters are pure:
// the same report gives the same bytes.
package report

import (
	"io"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// A Reporter writes one format. It touches no network and no files.
type Reporter func(w io.Writer, r *Report, o Options) error

// Options tunes a reporter; the zero value is the default.
type Options struct {
	Color      bool   // ANSI colours, for text
	Links      bool   // hyperlinks that a terminal opens (OSC 8), for text
	Width      int    // columns of the terminal that text is for; 0 for a log: nothing is shortened
	Height     int    // rows of that terminal, when no pager stands before it: a longer text ends with its verdict
	ShowHidden bool   // print what the noise filters hide
	Quiet      bool   // verdict, failures and findings only, for text
	Times      bool   // say how long it took: the bytes then differ from run to run
	Key        string // tells comments of several workflows apart; "" is "default"
	Elsewhere  string // where the whole report is when this one drops detail; "" names the JSON format
	Budget     int    // bytes that Markdown may take; 0 is CommentBudget

	portable bool // Markdown that is not for GitHub alone
}

// A Report is all that a run found. Its lists are in the order in which they
// are shown.
type Report struct {
	Version    string // prdiff's own
	Part       string // "I/N" of a run whose units were divided; "" for a whole one
	Base, Head Side
	Units      []Unit
	Changes    []Change
	Findings   []Finding
	Incidents  []incident.Incident // the ones that the findings cite, once each
	Cases      []Case              // what incidentlib says of these; nil unless it was asked and answered
	Hidden     []Hidden
	Rules      []Rule // those that findings name, once each, by ID
	Numbers    Numbers
	Silencers  []Silencer // suppressions of the configuration, in the order of the file
	Off        []string   // rules that are switched off, sorted
}

// A Rule is what a reader is told of a rule.
type Rule struct {
	ID, Title string
	Severity  rule.Severity // unless a finding says otherwise
	Doc       string        // Markdown
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
	Skipped   Status = "skipped"   // left out on purpose, for the reason in Error
	Failed    Status = "failed"
)

// A Unit is one thing that renders, and how that went.
type Unit struct {
	Name, Renderer string // Renderer may be "" for something skipped
	Status         Status
	Error          string   // for Failed: file, line and cause; for Skipped: the reason
	Notes          []string // what a reader must know beside the status
	Before, After  int      // objects on each side
	Ms             int64    // milliseconds of rendering and comparing
	// Sources are the files that differ between both sides and that the unit reads,
	// in byte order; nil when that is not known.
	Sources []string
}

// A Change is a diff.Change as it is shown. One that was read from JSON has no
// Before and After objects: reporters use only what is spelled out here.
type Change struct {
	diff.Change
	APIVersion string // after the merge, or before it for Delete
	Origin     object.Origin
	Diff       string // unified text of the YAML of both sides, secrets masked, without file headers
	Group      string // the same for identical changes in several units; "" when there is just one
}

// A Finding is a rule.Finding as it is shown.
type Finding struct {
	rule.Finding
	APIVersion      string       // of the object
	RelatedVersions []string     // of Related, in its order; "" where not known
	Reasons         []string     // why each of Incidents is shown, in its order, such as "same field, same software"
	Suppressed      *Suppression // nil when it counts
}

// A Suppression says who silenced a finding, and why.
type Suppression struct {
	By      string `json:"by"` // a place such as ".prdiff.yaml:12", or the annotation's name
	Reason  string `json:"reason"`
	Expires string `json:"expires,omitempty"` // YYYY-MM-DD
}

// Hidden is how much one noise filter took out.
type Hidden struct {
	Filter  string `json:"filter"`
	Fields  int    `json:"fields"`
	Objects int    `json:"objects"`
	Reason  string `json:"reason,omitempty"` // of a filter of the users' own
}

// NewChange gives c as it is shown, its diff made.
func NewChange(c diff.Change) Change {
	out := Change{Change: c, Diff: Unified(c, false)}
	if o := c.Object(); o != nil {
		out.APIVersion, out.Origin = o.APIVersion(), o.Origin
	}
	return out
}

// Count counts the units of one status.
func (r *Report) Count(s Status) int {
	n := 0
	for _, u := range r.Units {
		if u.Status == s {
			n++
		}
	}
	return n
}

// CountFindings counts the findings of one severity that nobody silenced.
func (r *Report) CountFindings(s rule.Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s && f.Suppressed == nil {
			n++
		}
	}
	return n
}

// Worst gives the highest severity among the findings that nobody silenced, 0
// when there is none.
func (r *Report) Worst() rule.Severity {
	var worst rule.Severity
	for _, f := range r.Findings {
		if f.Suppressed == nil {
			worst = max(worst, f.Severity)
		}
	}
	return worst
}

// Visible gives the changes of which something is left once noise is hidden.
func (r *Report) Visible() []Change {
	var out []Change
	for _, c := range r.Changes {
		if c.Visible() {
			out = append(out, c)
		}
	}
	return out
}
