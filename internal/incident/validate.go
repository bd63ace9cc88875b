package incident

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Problem is one thing that is wrong with an entry.
type Problem struct {
	Field string // the YAML key, such as "lesson"
	Text  string // what is wrong with it and what it should be; lower case
}

// String gives field and text.
func (p Problem) String() string { return p.Field + " " + p.Text }

// The lengths, in characters, that keep a table and a comment readable.
const (
	maxID     = 64
	maxTitle  = 140
	maxProse  = 900
	maxLesson = 240
	maxItems  = 32
	maxItem   = 120
)

var (
	kebab    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	dateForm = regexp.MustCompile(`^\d{4}(-\d{2}(-\d{2})?)?$`)
	kindForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(\.[a-z0-9][a-z0-9.-]*)?$`)
	caseForm = regexp.MustCompile(`^IL-\d{4,}$`)
	// sentenceEnd is a full stop with another sentence after it.
	sentenceEnd = regexp.MustCompile(`[.!?]["')]?\s+["'(]?\p{Lu}`)
)

// Validate gives all that is wrong with an entry, in the order of its keys; none
// when it is sound. Whether the rules that it names exist is for CheckRules.
func (i Incident) Validate() []Problem {
	var out []Problem
	add := func(field, format string, args ...any) {
		out = append(out, Problem{field, fmt.Sprintf(format, args...)})
	}
	text := func(field, s string, limit int, required bool) {
		switch n := utf8.RuneCountInString(s); {
		case s == "" && required:
			add(field, "is missing")
		case n > limit:
			add(field, "has %d characters, at most %d are shown well", n, limit)
		case !utf8.ValidString(s):
			add(field, "is not valid UTF-8")
		}
	}
	list := func(field string, items []string, form *regexp.Regexp, want string) {
		if len(items) > maxItems {
			add(field, "has %d items, at most %d are of use", len(items), maxItems)
		}
		for n, item := range items {
			switch {
			case item == "" || utf8.RuneCountInString(item) > maxItem:
				add(field, "holds %q: an item has 1 to %d characters", clip(item, 40), maxItem)
			case form != nil && !form.MatchString(item):
				add(field, "holds %q: want %s", item, want)
			case slices.Contains(items[:n], item):
				add(field, "holds %q twice", item)
			}
		}
	}

	switch {
	case i.ID == "":
		add("id", "is missing")
	case !kebab.MatchString(i.ID) || len(i.ID) > maxID:
		add("id", "is %q: want lower-case words with hyphens between them, at most %d characters", clip(i.ID, maxID), maxID)
	}
	text("org", i.Org, maxTitle, false)
	switch {
	case i.Date == "" && i.Founding: // the report has no year
	case i.Date == "":
		add("date", "is missing")
	case !isDate(i.Date):
		add("date", "is %q: want YYYY, YYYY-MM or YYYY-MM-DD", clip(i.Date, 40))
	}
	text("title", i.Title, maxTitle, true)
	if strings.HasSuffix(i.Title, ".") {
		add("title", "ends with a full stop: it is a headline")
	}
	text("change", i.Change, maxProse, true)
	text("mechanism", i.Mechanism, maxProse, false)
	text("impact", i.Impact, maxProse, false)
	text("lesson", i.Lesson, maxLesson, true)
	if i.Lesson != "" && !oneSentence(i.Lesson) {
		add("lesson", "is not one sentence with a full stop")
	}
	if i.URL != "" {
		if problem := badURL(i.URL); problem != "" {
			add("url", "is %q: %s", clip(i.URL, 80), problem)
		}
	}
	if i.Source != "" && !slices.Contains([]string{"report", "excerpt", "case", "thread", "summary"}, i.Source) {
		add("source", "is %q: want report, excerpt, case, thread or summary", clip(i.Source, 40))
	}
	text("related", i.Related, maxLesson, false)
	text("note", i.Note, maxProse, false)
	list("kinds", i.Kinds, kindForm, `a kind, such as "Service" or "Deployment.apps"`)
	list("fields", i.Fields, nil, "")
	for _, f := range i.Fields {
		if strings.Contains(f, "[]") || len(segments(f)) == 0 {
			add("fields", `holds %q: want a path without list items, such as "containers.resources.limits"`, clip(f, 40))
		}
	}
	list("software", i.Software, kebab, `a lower-case name, such as "ingress-nginx"`)
	list("symptoms", i.Symptoms, nil, "")
	list("rules", i.Rules, kebab, "the ID of a rule")
	list("topics", i.Topics, kebab, "lower-case words with hyphens between them")
	if i.IncidentLib != "" && !caseForm.MatchString(i.IncidentLib) {
		add("incidentlib", "is %q: want IL- and digits", clip(i.IncidentLib, 40))
	}
	if i.API != "" {
		if problem := badURL(i.API); problem != "" {
			add("api", "is %q: %s", clip(i.API, 80), problem)
		}
	}
	if t := i.Trigger; t != nil {
		out = append(out, t.validate()...)
	}
	return append(out, i.gaps()...)
}

func (t Trigger) validate() []Problem {
	var out []Problem
	add := func(field, format string, args ...any) {
		out = append(out, Problem{field, fmt.Sprintf(format, args...)})
	}
	switch {
	case t.Rule == "" && t.When == "":
		add("trigger", "needs a rule, or a CEL expression in `when`")
	case t.Rule != "" && t.When != "":
		add("trigger", "has both a rule and `when`: keep one")
	case t.Rule != "" && !kebab.MatchString(t.Rule):
		add("trigger.rule", "is %q: want the ID of a rule", clip(t.Rule, 40))
	}
	if t.Rule != "" && (len(t.Kinds) > 0 || t.Severity != "" || t.Message != "") {
		add("trigger", "has kinds, severity or message beside a rule, which has its own")
	}
	if utf8.RuneCountInString(t.When) > 4*maxProse {
		add("trigger.when", "has more than %d characters", 4*maxProse)
	}
	if utf8.RuneCountInString(t.Message) > maxLesson {
		add("trigger.message", "has more than %d characters", maxLesson)
	}
	if t.Severity != "" && !slices.Contains([]string{"note", "warning", "error"}, t.Severity) {
		add("trigger.severity", "is %q: want note, warning or error", clip(t.Severity, 40))
	}
	for _, k := range t.Kinds {
		if !kindForm.MatchString(k) {
			add("trigger.kinds", `holds %q: want a kind, such as "Service" or "Deployment.apps"`, clip(k, 40))
		}
	}
	return out
}

// CheckRules gives a problem for each rule that the entry names and known does
// not know.
func (i Incident) CheckRules(known func(id string) bool) []Problem {
	var out []Problem
	for _, id := range i.Rules {
		if !known(id) {
			out = append(out, Problem{"rules", fmt.Sprintf("holds %q: no rule has this ID (see `prdiff rules`)", id)})
		}
	}
	if i.Trigger != nil && i.Trigger.Rule != "" && !known(i.Trigger.Rule) {
		out = append(out, Problem{"trigger.rule", fmt.Sprintf("is %q: no rule has this ID (see `prdiff rules`)", i.Trigger.Rule)})
	}
	return out
}

// isDate says whether s is a day, a month or a year of the calendar.
func isDate(s string) bool {
	if !dateForm.MatchString(s) {
		return false
	}
	_, err := time.Parse("2006-01-02"[:len(s)], s)
	return err == nil
}

func oneSentence(s string) bool {
	return strings.HasSuffix(s, ".") && !sentenceEnd.MatchString(s)
}

// badURL says what is wrong with an address that readers will click on.
func badURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || strings.ContainsAny(s, " \t\n\"<>`\\"):
		return "not an address"
	case u.Scheme != "https" && u.Scheme != "http":
		return "want one that begins with https://"
	case u.Host == "":
		return "it has no host"
	case u.User != nil:
		return "it has a user name in it"
	case len(s) > 500:
		return "it is longer than 500 characters"
	}
	return ""
}

// clip shortens a text to n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}
