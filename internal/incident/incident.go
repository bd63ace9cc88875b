// Package incident is the library of public incidents: what changed, what
// happened, and what it teaches, each with its source. It is compiled in from
// the data files beside this one, can be searched, and finds for a risky change
// the incidents that it repeats. A team's own postmortems join it with Parse,
// ParseMarkdown and Library.With.
//
// # The data files
//
// data/*.yaml hold the entries, one file a subject, in the shape of Incident.
// library.json is made from them with
//
//	go test ./internal/incident -update
//
// and is what the program carries, because it decodes in a tenth of the time.
// A test fails while it is stale.
//
// # To link a rule and an entry
//
// Either end will do, and Library.Rank honours both. A rule cites an entry by
// its ID in rule.Rule.Incidents. An entry names a rule in its `rules`, which may
// hold only rules that exist: a test in package rules looks each one up. What an
// entry is about beyond that stands in `topics`, in free kebab-case words such as
// webhook-fail-closed. A topic that is spelt like a rule links the two as well,
// so a rule that is written later finds the entries that wait for it; move the
// word from `topics` to `rules` then.
package incident

import "slices"

// An Incident is one account of an outage, public or a team's own.
type Incident struct {
	ID        string `json:"id" yaml:"id"` // kebab-case, never reused
	Org       string `json:"org" yaml:"org"`
	Date      string `json:"date" yaml:"date"` // YYYY, YYYY-MM or YYYY-MM-DD; "" only for a founding entry whose report gives no year
	Title     string `json:"title" yaml:"title"`
	Change    string `json:"change" yaml:"change"`       // what was changed
	Mechanism string `json:"mechanism" yaml:"mechanism"` // how that led to the outage
	Impact    string `json:"impact" yaml:"impact"`       // for whom, how long, how much
	Lesson    string `json:"lesson" yaml:"lesson"`       // one sentence
	URL       string `json:"url,omitempty" yaml:"url,omitempty"`
	// Source says what of the account was read for this entry: "report" (all of
	// it), "excerpt" (a part), "case" (its incidentlib case), "thread" (an issue
	// or pull request), "summary" (somebody else's). "" for a team's own.
	Source string `json:"source,omitempty" yaml:"source,omitempty"`
	// Related says why a manifest diff would not have shown this change; the
	// entry is in the library for its mechanism. "" when a diff would.
	Related string `json:"related,omitempty" yaml:"related,omitempty"`
	// Note says what is our assumption, or not known.
	Note     string   `json:"note,omitempty" yaml:"note,omitempty"`
	Kinds    []string `json:"kinds,omitempty" yaml:"kinds,omitempty"`       // kinds whose diff shows it, such as "Service"
	Fields   []string `json:"fields,omitempty" yaml:"fields,omitempty"`     // and their fields, without list items, such as "containers.resources.limits.memory"
	Software []string `json:"software,omitempty" yaml:"software,omitempty"` // lower case, such as "coredns"
	Symptoms []string `json:"symptoms,omitempty" yaml:"symptoms,omitempty"`
	Rules    []string `json:"rules,omitempty" yaml:"rules,omitempty"`   // IDs of rules that say so
	Topics   []string `json:"topics,omitempty" yaml:"topics,omitempty"` // mechanisms in kebab-case
	// Founding marks the incidents that prdiff was started for.
	Founding    bool   `json:"founding,omitempty" yaml:"founding,omitempty"`
	IncidentLib string `json:"incidentlib,omitempty" yaml:"incidentlib,omitempty"` // case number there, such as IL-0461
	API         string `json:"api,omitempty" yaml:"api,omitempty"`                 // the same case as JSON

	// Trigger makes a rule of a team's own postmortem; nil when it has none.
	Trigger *Trigger `json:"trigger,omitempty" yaml:"trigger,omitempty"`
	// File and Line say where a team's own entry stands in its repository, with
	// forward slashes; "" and 0 for the entries that are compiled in.
	File string `json:"file,omitempty" yaml:"-"`
	Line int    `json:"line,omitempty" yaml:"-"`
}

// A Trigger says which change a postmortem warns of: one that rule Rule reports,
// or one for which the CEL expression When is true. Exactly one of the two is set.
type Trigger struct {
	Rule     string   `json:"rule,omitempty" yaml:"rule,omitempty"`
	When     string   `json:"when,omitempty" yaml:"when,omitempty"`
	Kinds    []string `json:"kinds,omitempty" yaml:"kinds,omitempty"`       // with When: the kinds it is asked about; empty means all
	Severity string   `json:"severity,omitempty" yaml:"severity,omitempty"` // with When: note, warning or error; "" means warning
	Message  string   `json:"message,omitempty" yaml:"message,omitempty"`   // with When: what the finding says; "" means the entry's lesson
}

// Own says whether the entry is a team's own. Such entries are private: they are
// shown in the team's reports and sent nowhere.
func (i Incident) Own() bool { return i.File != "" }

// clone gives a copy that shares nothing that can be changed.
func (i Incident) clone() Incident {
	i.Kinds = slices.Clone(i.Kinds)
	i.Fields = slices.Clone(i.Fields)
	i.Software = slices.Clone(i.Software)
	i.Symptoms = slices.Clone(i.Symptoms)
	i.Rules = slices.Clone(i.Rules)
	i.Topics = slices.Clone(i.Topics)
	if i.Trigger != nil {
		t := *i.Trigger
		t.Kinds = slices.Clone(t.Kinds)
		i.Trigger = &t
	}
	return i
}
