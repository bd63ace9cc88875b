package assist

import (
	"context"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

type ruleInput struct {
	ID string `json:"id,omitempty" jsonschema:"the rule's id, as findings name it; leave it out for the list of all"`
}

func (ruleInput) bounds(s *jsonschema.Schema) { short(s, "id") }

type ruleOutput struct {
	Rule      *Rule   `json:"rule,omitempty"`
	Incidents []brief `json:"incidents,omitempty" jsonschema:"that the rule would have warned of, the closest first"`
	Rules     []Rule  `json:"rules,omitempty" jsonschema:"all of them, when no id was given"`
	Problem   string  `json:"problem,omitempty" jsonschema:"what is missing, because it could not be read"`
}

func (ruleOutput) bounds(s *jsonschema.Schema) {
	s.Properties["rule"].Types, s.Properties["rule"].Type = nil, "object"
	array(s, "incidents", "rules")
}

func (t Tools) explain(ctx context.Context, in ruleInput) (ruleOutput, error) {
	if err := checkLength("id", in.ID); err != nil {
		return ruleOutput{}, err
	}
	id := strings.TrimSpace(in.ID)
	if id == "" {
		list, problem := t.Rules(ctx)
		return ruleOutput{Rules: list, Problem: cut(problem, maxError)}, nil
	}
	r, err := t.Rule(ctx, id)
	if err != nil {
		return ruleOutput{}, err
	}
	r.Story = clip(r.Story, maxStory)
	return ruleOutput{Rule: &r, Incidents: briefs(r.Incidents)}, nil
}

// clip shortens a text to whole lines of n bytes in all, and says what it took off.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	kept := s[:strings.LastIndexByte(s[:n], '\n')+1]
	return kept + "(" + plural(strings.Count(s[len(kept):], "\n")+1, "more line") + ")\n"
}
