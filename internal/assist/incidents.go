package assist

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/prdiff/prdiff/internal/incident"
)

// number gives a pointer for a bound of a schema.
func number(n float64) *float64 { return &n }

func limits(s *jsonschema.Schema, field string, least, most int, fallback string) {
	p := s.Properties[field]
	p.Minimum, p.Maximum, p.Default = number(float64(least)), number(float64(most)), []byte(fallback)
}

func short(s *jsonschema.Schema, fields ...string) {
	for _, f := range fields {
		most := maxWords
		s.Properties[f].MaxLength = &most
	}
}

// inRange reads a number that may be left out.
func inRange(field string, n *int, least, most, fallback int) (int, error) {
	switch {
	case n == nil:
		return fallback, nil
	case *n < least || *n > most:
		return 0, fmt.Errorf("%s must be from %d to %d", field, least, most)
	}
	return *n, nil
}

func checkLength(field, s string) error {
	if utf8.RuneCountInString(s) > maxWords {
		return fmt.Errorf("%s is longer than %d characters", field, maxWords)
	}
	return nil
}

// A brief is an incident in a list.
type brief struct {
	ID     string `json:"id"`
	Org    string `json:"org"`
	Date   string `json:"date" jsonschema:"as exact as it is known; empty when it is not"`
	Title  string `json:"title"`
	Lesson string `json:"lesson"`
	URL    string `json:"url,omitempty" jsonschema:"its source"`
	File   string `json:"file,omitempty" jsonschema:"where a team's own postmortem stands"`
	Reason string `json:"reason,omitempty" jsonschema:"why it was found"`
}

func briefs(matches []incident.Match) []brief {
	out := []brief{}
	for _, m := range matches {
		out = append(out, brief{m.ID, m.Org, m.Date, m.Title, m.Lesson, m.URL, m.File, m.Reason})
	}
	return out
}

type searchInput struct {
	Words string `json:"words" jsonschema:"what to look for"`
	Limit *int   `json:"limit,omitempty" jsonschema:"how many to give"`
}

func (searchInput) bounds(s *jsonschema.Schema) {
	short(s, "words")
	limits(s, "limit", 1, 20, "5")
	s.Properties["limit"].Types, s.Properties["limit"].Type = nil, "integer"
}

type listOutput struct {
	Total     int     `json:"total" jsonschema:"how many there are, of which these are some"`
	Incidents []brief `json:"incidents"`
	Problem   string  `json:"problem,omitempty" jsonschema:"what is missing, because it could not be read"`
	Next      int     `json:"nextOffset,omitempty" jsonschema:"the offset with which to go on, when there are more"`
}

func (listOutput) bounds(s *jsonschema.Schema) { array(s, "incidents") }

// array says that a list is never null.
func array(s *jsonschema.Schema, fields ...string) {
	for _, f := range fields {
		s.Properties[f].Types, s.Properties[f].Type = nil, "array"
	}
}

func (t Tools) search(ctx context.Context, in searchInput) (listOutput, error) {
	limit, err := inRange("limit", in.Limit, 1, 20, 5)
	if err != nil {
		return listOutput{}, err
	}
	if strings.TrimSpace(in.Words) == "" {
		return listOutput{}, fmt.Errorf("words is empty: say what to look for")
	}
	if err := checkLength("words", in.Words); err != nil {
		return listOutput{}, err
	}
	library, problem := t.Library(ctx)
	found := library.Search(in.Words, 0)
	return listOutput{Problem: cut(problem, maxError), Total: len(found), Incidents: briefs(found[:min(limit, len(found))])}, nil
}

type listInput struct {
	Org      string `json:"org,omitempty" jsonschema:"only those of this organisation, such as Datadog"`
	Software string `json:"software,omitempty" jsonschema:"only those with this software, such as coredns"`
	Kind     string `json:"kind,omitempty" jsonschema:"only those that a change of this kind of object shows, such as Service"`
	Rule     string `json:"rule,omitempty" jsonschema:"only those that this rule would have warned of"`
	Year     string `json:"year,omitempty" jsonschema:"only those of this year, such as 2022"`
	Limit    *int   `json:"limit,omitempty" jsonschema:"how many to give"`
	Offset   *int   `json:"offset,omitempty" jsonschema:"how many to pass over"`
}

func (listInput) bounds(s *jsonschema.Schema) {
	short(s, "org", "software", "kind", "rule", "year")
	for _, f := range []string{"limit", "offset"} {
		s.Properties[f].Types, s.Properties[f].Type = nil, "integer"
	}
	limits(s, "limit", 1, 100, "25")
	limits(s, "offset", 0, 100_000, "0")
}

func (t Tools) list(ctx context.Context, in listInput) (listOutput, error) {
	limit, err := inRange("limit", in.Limit, 1, 100, 25)
	if err != nil {
		return listOutput{}, err
	}
	offset, err := inRange("offset", in.Offset, 0, 100_000, 0)
	if err != nil {
		return listOutput{}, err
	}
	for field, s := range map[string]string{"org": in.Org, "software": in.Software, "kind": in.Kind, "rule": in.Rule, "year": in.Year} {
		if err := checkLength(field, s); err != nil {
			return listOutput{}, err
		}
	}
	library, problem := t.Library(ctx)
	has := func(list []string, want string) bool {
		return want == "" || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, want) })
	}
	all := slices.DeleteFunc(library.All(), func(i incident.Incident) bool {
		return in.Org != "" && !strings.Contains(strings.ToLower(i.Org), strings.ToLower(in.Org)) ||
			!has(i.Software, in.Software) || !has(i.Kinds, in.Kind) || !has(i.Rules, in.Rule) ||
			!strings.HasPrefix(i.Date, in.Year)
	})
	from := min(offset, len(all))
	to := min(from+limit, len(all))
	out := listOutput{Problem: cut(problem, maxError), Total: len(all), Incidents: briefs(incident.Listed(all[from:to]))}
	if to < len(all) {
		out.Next = to
	}
	return out, nil
}

type getInput struct {
	ID string `json:"id" jsonschema:"the incident's id, or its number at incidentlib, such as IL-0461"`
}

func (getInput) bounds(s *jsonschema.Schema) { short(s, "id") }

type getOutput struct {
	ID        string   `json:"id"`
	Org       string   `json:"org"`
	Date      string   `json:"date" jsonschema:"as exact as it is known; empty when it is not"`
	Title     string   `json:"title"`
	Change    string   `json:"change" jsonschema:"what was changed"`
	Mechanism string   `json:"mechanism" jsonschema:"how that led to the outage"`
	Impact    string   `json:"impact"`
	Lesson    string   `json:"lesson"`
	Related   string   `json:"related,omitempty" jsonschema:"why a diff of manifests would not have shown it"`
	Note      string   `json:"note,omitempty" jsonschema:"what is an assumption, or not known"`
	URL       string   `json:"url,omitempty" jsonschema:"its source"`
	Kinds     []string `json:"kinds,omitempty"`
	Fields    []string `json:"fields,omitempty"`
	Software  []string `json:"software,omitempty"`
	Symptoms  []string `json:"symptoms,omitempty"`
	Rules     []string `json:"rules,omitempty" jsonschema:"that would have warned of it"`
	Case      string   `json:"incidentlib,omitempty" jsonschema:"its number at incidentlib"`
	File      string   `json:"file,omitempty" jsonschema:"where a team's own postmortem stands"`
	Similar   []brief  `json:"similar"`
	Problem   string   `json:"problem,omitempty" jsonschema:"what is missing, because it could not be read"`
}

func (getOutput) bounds(s *jsonschema.Schema) { array(s, "similar") }

func (t Tools) get(ctx context.Context, in getInput) (getOutput, error) {
	if err := checkLength("id", in.ID); err != nil {
		return getOutput{}, err
	}
	library, problem := t.Library(ctx)
	i, ok := library.Get(strings.TrimSpace(in.ID))
	if !ok {
		if problem != "" {
			problem = "\n" + problem
		}
		return getOutput{}, fmt.Errorf("there is no incident %q: search_incidents and list_incidents give their ids%s", cut(in.ID, 80), problem)
	}
	similar, err := library.Similar(i.ID, 3)
	if err != nil {
		return getOutput{}, err
	}
	return getOutput{
		ID: i.ID, Org: i.Org, Date: i.Date, Title: i.Title, Change: i.Change, Mechanism: i.Mechanism, Impact: i.Impact, Lesson: i.Lesson,
		Related: i.Related, Note: i.Note, URL: i.URL, Kinds: i.Kinds, Fields: i.Fields, Software: i.Software, Symptoms: i.Symptoms,
		Rules: i.Rules, Case: i.IncidentLib, File: i.File, Similar: briefs(similar), Problem: cut(problem, maxError),
	}, nil
}
