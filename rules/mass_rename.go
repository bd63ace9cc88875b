package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MassRename reports many objects that get other names, or another namespace, at once.
var MassRename = &rule.Rule{
	ID:       "mass-rename",
	Title:    "Many objects get other names at once",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
A rename is a delete and a create. A prefix, a release name or a namespace that changes for a whole unit deletes everything and makes it again: for a while
both are there or none, controllers do all their work twice, and names that are held elsewhere (DNS, dashboards, alerts, roles in the cloud) are
those of nothing. Hundreds at a time overload the API server and whoever watches the kind.

Names that differ in a hash of the content only are left alone.`,
	Advice:     "Do it in batches, or make the new ones beside the old ones, move what uses them, and remove the old ones later. If the names change by accident (another release name, namePrefix), undo that.",
	Incidents:  []string{"wikimedia-kyverno-2024"},
	Parameters: []rule.Parameter{massRenameObjects},
	CheckAll:   checkMassRename,
}

var massRenameObjects = rule.Parameter{Name: "objects", Default: 10, Doc: "objects of one unit that get other names"}

func checkMassRename(l *rule.Fleet) {
	for _, u := range l.Units {
		var renamed []diff.Change
		kinds := map[string]int{}
		_, whole := movesWhole(u) // WorkloadRenamed tells of that, once
		for _, c := range u.Changes {
			if whole && keepsName(c) {
				continue
			}
			if c.Action != diff.Rename || (c.Ref.Kind == "ConfigMap" || c.Ref.Kind == "Secret") && len(c.Effects) == 0 {
				continue
			}
			renamed = append(renamed, c)
			kinds[c.Ref.Kind]++
		}
		if len(renamed) == 0 || int64(len(renamed)) < l.Int(massRenameObjects) {
			continue
		}
		first := renamed[0]
		path, example := object.Path("metadata.name"), fmt.Sprintf("%s becomes %s", first.RenamedFrom.Name, first.Ref.Name)
		if first.RenamedFrom.Name == first.Ref.Name {
			path, example = "metadata.namespace", fmt.Sprintf("%s becomes %s", first.RenamedFrom, first.Ref)
		}
		var counts []string
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			counts = append(counts, fmt.Sprintf("%d %s", kinds[kind], kind))
		}
		var related []object.Ref
		for _, c := range renamed[1:min(len(renamed), 10)] {
			related = append(related, c.Ref)
		}
		l.Report(u, first, rule.Finding{Path: path, Related: related,
			Message:     fmt.Sprintf("%d objects of the unit get other names (%s), as %s", len(renamed), listed(counts), example),
			Consequence: "each is deleted under the old name and made anew under the other one, and what names the old ones finds nothing"})
	}
}
