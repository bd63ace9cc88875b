package rules_test

import (
	"testing"

	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/rules"
)

// TestRulesAndIncidentsKnowEachOther holds both ends of every link: a rule cites
// only incidents that are in the library, and an incident names only rules that
// are in the catalogue. What an incident is about without having a rule stands in
// its topics, which nothing checks.
func TestRulesAndIncidentsKnowEachOther(t *testing.T) {
	library := incident.Embedded()
	known := map[string]bool{}
	links := 0
	for _, r := range rules.All {
		known[r.ID] = true
		seen := map[string]bool{}
		for _, id := range r.Incidents {
			links++
			if e, ok := library.Get(id); !ok || e.ID != id {
				t.Errorf("rule %s cites incident %q, which is not in internal/incident/data", r.ID, id)
			}
			if seen[id] {
				t.Errorf("rule %s cites incident %q twice", r.ID, id)
			}
			seen[id] = true
		}
	}
	for _, e := range library.All() {
		links += len(e.Rules)
		for _, p := range e.CheckRules(func(id string) bool { return known[id] }) {
			t.Errorf("incident %s: %s; move the word from rules to topics until there is one", e.ID, p)
		}
	}
	if links == 0 {
		t.Error("no rule cites an incident and no incident names a rule")
	}
}
