package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MassRemoval reports a unit of which a good part is no longer rendered.
var MassRemoval = &rule.Rule{
	ID:       "mass-removal",
	Title:    "A good part of a unit is no longer rendered",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
With pruning, what is not rendered is deleted. When many objects go at once it is more often a mistake than a wish: a line that was lost in a
kustomization.yaml, a value that turns a whole part of a chart off, a condition on a value that is not set everywhere, a branch that is behind.

It looks for ten objects at least that are a third of the unit. Objects that another unit of this change gains, Jobs, bare pods and hooks do not count.`,
	Advice:     "See in the list of changes that each of them is to go. If the unit moves, let the old one release its objects first (prune off, or kept marks).",
	Incidents:  []string{"rhtap-overlay-2024"},
	Parameters: []rule.Parameter{massRemovalObjects},
	CheckAll:   checkMassRemoval,
}

var massRemovalObjects = rule.Parameter{Name: "objects", Default: 10, Doc: "objects of one unit that go"}

func checkMassRemoval(l *rule.Fleet) {
	for _, u := range l.Units {
		var removed []diff.Change
		for _, c := range u.Changes {
			if c.Action == diff.Delete && c.Ref.Kind != "Job" && c.Ref.Kind != "Pod" && !remadeEachTime(c.Before) && keptBehind(c.Before) == "" {
				removed = append(removed, c)
			}
		}
		if int64(len(removed)) < l.Int(massRemovalObjects) || 3*len(removed) < u.Before.Len() {
			continue
		}
		removed = slices.DeleteFunc(removed, func(c diff.Change) bool { return len(newHomes(l.Units, u, c.Ref)) > 0 })
		if int64(len(removed)) < l.Int(massRemovalObjects) || 3*len(removed) < u.Before.Len() {
			continue
		}
		kinds := map[string]int{}
		for _, c := range removed {
			kinds[c.Ref.Kind]++
		}
		var counts []string
		for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return kinds[b]*1000 - kinds[a]*1000 + compareText(a, b) }) {
			counts = append(counts, fmt.Sprintf("%d %s", kinds[kind], kind))
		}
		var related []object.Ref
		for _, c := range removed[1:min(len(removed), 10)] {
			related = append(related, c.Ref)
		}
		f := rule.Finding{Related: related,
			Message:     fmt.Sprintf("%d of the %d objects of the unit are no longer rendered (%s), this one among them", len(removed), u.Before.Len(), listed(counts)),
			Consequence: "a tool that prunes deletes all of them"}
		if u.After.Len() == 0 {
			f.Message = fmt.Sprintf("the unit renders nothing any more: all its %d objects go (%s)", len(removed), listed(counts))
		}
		l.Report(u, removed[0], f)
	}
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
