package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MassRestart reports one edit that restarts most of what a change touches.
var MassRestart = &rule.Rule{
	ID:       "mass-restart",
	Title:    "One edit restarts many workloads at once",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
A common label, a shared annotation, a sidecar or a base image looks like one line in review and is a rollout of everything. All pods start in the same
minutes: the registry, cluster DNS, databases and the API server take the connections of all of them at once, volumes wait for their rate limits,
surge pods need room that the nodes do not have, and a mistake is everywhere before the first alert.

It looks for the same edit of pod templates in at least ten workloads that are half of all in the units that change. The same program in many
environments at once, five or more, is a note.`,
	Advice:     "Take the edit through the units in waves, test and staging first, one region after another, with time to look in between. Leave labels that change with every release off pod templates.",
	Incidents:  []string{"render-restart-2024", "datadog-systemd-2023"},
	Parameters: []rule.Parameter{massRestartWorkloads},
	CheckAll:   checkMassRestart,
}

var massRestartWorkloads = rule.Parameter{Name: "workloads", Default: 10, Doc: "workloads of different names that one edit restarts"}

const manyEnvironments = 5

// An edit is what happens to one field of a pod template, wherever that is.
type edit struct {
	field         string // the path with names of containers left out
	before, after string
}

// A restart is one workload that an edit restarts.
type restart struct {
	unit   *rule.Unit
	change diff.Change
	path   object.Path
}

func checkMassRestart(l *rule.Fleet) {
	restarts := map[edit][]restart{}
	all := 0
	for _, u := range l.Units {
		for _, w := range u.After.Workloads() {
			if w.Ref.Kind != "Job" && w.Ref.Kind != "CronJob" {
				all++
			}
		}
		for _, c := range u.Changes {
			for _, e := range c.Effects {
				if e.Kind != diff.Rolling && e.Kind != diff.Restart || c.After == nil || c.Before == nil {
					continue
				}
				for _, path := range e.Paths {
					key := edit{withoutNames(path), c.Before.At(string(path)).String(), c.After.At(string(path)).String()}
					restarts[key] = append(restarts[key], restart{u, c, path})
				}
			}
		}
	}
	var most edit
	for _, key := range slices.SortedFunc(maps.Keys(restarts), compareEdits) {
		if len(restarts[key]) > len(restarts[most]) {
			most = key
		}
	}
	found := restarts[most]
	if len(found) == 0 {
		return
	}
	distinct, units := map[string]bool{}, map[string]bool{}
	told := map[object.Ref]bool{}
	var related []object.Ref
	for _, r := range found {
		distinct[r.change.Ref.Kind+" "+r.change.Ref.Name] = true
		units[r.unit.Name] = true
		if other := withoutUnit(r.change.Ref); len(related) < 10 && other != withoutUnit(found[0].change.Ref) && !told[other] {
			told[other] = true
			related = append(related, r.change.Ref)
		}
	}
	f := rule.Finding{Path: found[0].path, Related: related}
	f.Message = fmt.Sprintf("one edit restarts %d of %d workloads", len(found), all)
	if len(units) > 1 {
		f.Message += fmt.Sprintf(" in %d units", len(units))
	}
	if count := int64(len(distinct)); count >= l.Int(massRestartWorkloads) && 2*len(found) >= all {
		f.Consequence = "all of them start new pods in the same minutes: registry, DNS, databases and nodes take that at once, and a mistake is everywhere before it is seen"
	} else if len(units) >= manyEnvironments && len(found) >= manyEnvironments {
		f.Severity = rule.Note
		f.Consequence = "every environment gets it at once, so none can show a mistake to the others"
	} else {
		return
	}
	l.Report(found[0].unit, found[0].change, f)
}

func compareEdits(a, b edit) int {
	return cmp.Or(strings.Compare(a.field, b.field), strings.Compare(a.before, b.before), strings.Compare(a.after, b.after))
}

// withoutNames gives a path without the names of list items.
func withoutNames(path object.Path) string {
	var b strings.Builder
	for _, s := range path.Segments() {
		if s.Select == nil && s.Index < 0 {
			b.WriteByte('.')
			b.WriteString(s.Key)
		}
	}
	return b.String()
}
