package incidentlib

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// incidentlib publishes no schema that could be held to. An answer is therefore
// read by what its keys mean, with the usual spellings of each, as an object or
// within one of the usual envelopes; keys that are not known are passed over,
// and what has another type than expected counts as not there.

// maxText is how many characters of a text are kept.
const maxText = 300

var (
	envelopes = []string{"case", "data", "incident", "result"}
	lists     = []string{"similar", "cases", "results", "items", "incidents", "related", "related_cases", "data"}
	idKeys    = []string{"id", "case_id", "caseId"}
	orgKeys   = []string{"org", "organisation", "organization", "company"}
	titleKeys = []string{"title", "headline", "name"}
	dateKeys  = []string{"date", "incident_date", "occurred_at", "started_at", "published", "published_at", "year"}
	reasons   = []string{"reason", "reasons", "why", "shared", "shared_topics"}
	lessons   = []string{"lesson", "lessons", "takeaway", "takeaways"}
)

var errOdd = errors.New("the answer is not what a case looks like")

// readCase reads the answer for one case.
func readCase(id string, data []byte) (Case, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return Case{}, fmt.Errorf("the answer is not JSON: %w", err)
	}
	m, ok := unwrap(v)
	if !ok {
		return Case{}, errOdd
	}
	if given := text(m, idKeys); given != "" && given != id {
		return Case{}, fmt.Errorf("the answer is about %.20q", given)
	}
	c := Case{ID: id, Org: text(m, orgKeys), Date: date(m), Title: text(m, titleKeys), Lesson: text(m, lessons)}
	if c.Title == "" {
		return Case{}, errOdd
	}
	return c, nil
}

// readSimilar reads the answer for the cases that are most like one.
func readSimilar(id string, data []byte) ([]Similar, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	items, ok := v.([]any)
	if m, isMap := v.(map[string]any); isMap {
		for _, key := range lists {
			if items, ok = m[key].([]any); ok {
				break
			}
		}
	}
	if !ok {
		return nil, errOdd
	}
	var out []Similar
	seen := map[string]bool{id: true}
	for _, item := range items {
		outer, _ := item.(map[string]any)
		m, ok := unwrap(item)
		if !ok {
			continue
		}
		s := Similar{ID: text(m, idKeys), Org: text(m, orgKeys), Date: date(m), Title: text(m, titleKeys), Reason: text(m, reasons)}
		if s.Reason == "" {
			s.Reason = text(outer, reasons)
		}
		if !Valid(s.ID) || seen[s.ID] || s.Title == "" {
			continue
		}
		seen[s.ID] = true
		if out = append(out, s); len(out) == MaxSimilar {
			break
		}
	}
	if len(out) == 0 && len(items) > 0 {
		return nil, errOdd
	}
	return out, nil
}

// unwrap gives the object that is meant.
func unwrap(v any) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	for _, key := range envelopes {
		if inner, ok := m[key].(map[string]any); ok {
			return inner, true
		}
	}
	return m, true
}

// text gives the first of some keys that holds a text: a string, an object with a
// name, or a list of these, joined by commas.
func text(m map[string]any, keys []string) string {
	for _, key := range keys {
		if s := textOf(m[key], 1); s != "" {
			return s
		}
	}
	return ""
}

func textOf(v any, depth int) string {
	switch v := v.(type) {
	case string:
		return clean(v)
	case map[string]any:
		name, _ := v["name"].(string)
		return clean(name)
	case []any:
		if depth == 0 {
			return ""
		}
		var parts []string
		for _, item := range v[:min(len(v), 8)] {
			if s := textOf(item, depth-1); s != "" {
				parts = append(parts, s)
			}
		}
		return clean(strings.Join(parts, ", "))
	}
	return ""
}

// dateIn gives the date at the beginning of a text, as exact as it is: YYYY,
// YYYY-MM or YYYY-MM-DD; "" when there is none.
func dateIn(s string) string {
	const form = "0000-00-00"
	n := 0
	for n < min(len(s), len(form)) && (s[n] == '-') == (form[n] == '-') && (s[n] == '-' || s[n] >= '0' && s[n] <= '9') {
		n++
	}
	switch {
	case n == len(form):
		return s[:n]
	case n >= len("0000-00"):
		return s[:len("0000-00")]
	case n >= len("0000"):
		return s[:len("0000")]
	}
	return ""
}

func date(m map[string]any) string {
	for _, key := range dateKeys {
		switch v := m[key].(type) {
		case string:
			if d := dateIn(v); d != "" {
				return d
			}
		case float64:
			if v >= 1970 && v < 2200 {
				return strconv.Itoa(int(v))
			}
		}
	}
	return ""
}

// clean makes one line of a text, without characters that drive a terminal or turn
// the direction of writing, and of a bounded length. What it means in Markdown is
// for those who write Markdown.
func clean(s string) string {
	const enough = 16 * maxText // before the work is done, not after
	s = strings.ToValidUTF8(s[:min(len(s), enough)], "")
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) {
			return -1
		}
		return r
	}, s)
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > maxText {
		runes = append(runes[:maxText-1], '…')
	}
	return string(runes)
}
