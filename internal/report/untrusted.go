package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/rule"
)

// Limits of a report that a stranger may have written. One of 2,000 changed
// objects has some 10 MB.
const (
	UntrustedLimit  = 32 << 20 // bytes
	untrustedDepth  = 64
	untrustedText   = 1 << 20 // bytes of one string
	untrustedValues = 2_000_000
	untrustedUnits  = 20_000
	untrustedItems  = 50_000 // changes, and findings
)

var (
	ruleID   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,99}$`)
	commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})?$`)
)

// ParseUntrusted reads a report that the run of a fork wrote, and that its author
// may have written by hand. It is strict where ParseJSON is not: nothing but the
// known fields, each at most once, within limits of size and depth. What makes
// links, pictures or text of authority is not taken from it: incidents are looked
// up in library by their ids, rules in known, and answers of other services,
// which anybody can make up, are left out.
//
// That a finding is missing from it proves nothing, and it must not be told as proof.
func ParseUntrusted(data []byte, library *incident.Library, known []*rule.Rule) (*Report, error) {
	if len(data) > UntrustedLimit {
		return nil, fmt.Errorf("not a prdiff report: longer than %d bytes", UntrustedLimit)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("not a prdiff report: not UTF-8")
	}
	if err := checkTokens(data); err != nil {
		return nil, fmt.Errorf("not a prdiff report: %w", err)
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&jsonReport{}); err != nil {
		return nil, fmt.Errorf("not a prdiff report: %w", err)
	}
	r, err := ParseJSON(data)
	if err != nil {
		return nil, err
	}
	if len(r.Units) > untrustedUnits || len(r.Changes) > untrustedItems || len(r.Findings) > untrustedItems {
		return nil, fmt.Errorf("not a prdiff report: %d units, %d changes and %d findings are too many", len(r.Units), len(r.Changes), len(r.Findings))
	}
	for _, s := range []Side{r.Base, r.Head} {
		if !commitID.MatchString(s.SHA) {
			return nil, fmt.Errorf("not a prdiff report: %.80q is not the id of a commit", s.SHA)
		}
	}
	cited, told := map[string]bool{}, map[string]bool{}
	for i, f := range r.Findings {
		if !ruleID.MatchString(f.Rule) {
			return nil, fmt.Errorf("findings[%d]: %.80q is not the id of a rule", i, f.Rule)
		}
		told[f.Rule] = true
		for _, id := range f.Incidents {
			cited[id] = true
		}
	}
	r.Cases, r.Incidents, r.Rules = nil, nil, nil
	for _, inc := range library.All() {
		if cited[inc.ID] {
			r.Incidents = append(r.Incidents, inc)
		}
	}
	for _, k := range known {
		if told[k.ID] {
			r.Rules = append(r.Rules, Rule{ID: k.ID, Title: k.Title, Severity: k.Severity, Doc: k.Doc})
		}
	}
	return r, nil
}

// checkTokens walks the JSON without building anything of it.
func checkTokens(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	type level struct {
		keys map[string]bool // of an object, nil for a list
		key  bool            // whether a key comes next
	}
	var open []level
	for n := 0; ; n++ {
		token, err := dec.Token()
		if err == io.EOF {
			if len(open) > 0 || n == 0 {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		if err != nil {
			return err
		}
		if n > untrustedValues {
			return fmt.Errorf("more than %d values", untrustedValues)
		}
		if n > 0 && len(open) == 0 {
			return errors.New("more than one value")
		}
		top := len(open) - 1
		if text, ok := token.(string); ok {
			if len(text) > untrustedText {
				return fmt.Errorf("a text of %d bytes", len(text))
			}
			if top >= 0 && open[top].key {
				if open[top].keys[text] {
					return fmt.Errorf("the field %.80q twice", text)
				}
				open[top].keys[text] = true
				open[top].key = false
				continue
			}
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if len(open) == untrustedDepth {
				return fmt.Errorf("more than %d levels", untrustedDepth)
			}
			l := level{}
			if token == json.Delim('{') {
				l = level{map[string]bool{}, true}
			}
			open = append(open, l)
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:top]
			top--
		}
		if top >= 0 && open[top].keys != nil {
			open[top].key = true
		}
	}
}
