package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceSelectorWidened reports a Service whose selector asks for less than
// before, so that pods of other workloads join it.
var ServiceSelectorWidened = &rule.Rule{
	ID:       "service-selector-widened",
	Title:    "A Service selector reaches pods of other workloads",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A label that leaves a selector may have been what kept other pods out: a canary, a worker of the same application, a database
with the same app label. They get their share of requests at once, and answer what they can: a port that they do not listen
on refuses connections, a process of another kind answers with errors that no probe sees.

A selector that asks for less and still matches the same workloads is quiet.`,
	Advice: `Keep one label in the selector that only the pods meant for this traffic carry, such as the component. If the pods are meant to
join, make sure that they listen on every port of the Service and that their readiness probe says so.`,
	Kinds:   []string{"Service"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkServiceSelectorWidened,
}

func checkServiceSelectorWidened(p *rule.Pass, c diff.Change) {
	s := shiftOf(p, c)
	dropped := gains(s.after, s.before)
	if len(s.after) == 0 || len(dropped) == 0 || len(gains(s.before, s.after)) > 0 || isExternalName(c) {
		return
	}
	joining := s.gained
	for _, w := range s.coming {
		// Its own new pods are no strangers.
		if !has(s.running, w.Ref) {
			joining = append(joining, w)
		}
	}
	joining = withPods(joining)
	// Where no pods of its own are known, an operator makes them, and who the
	// strangers are cannot be told.
	if len(joining) == 0 || len(s.running) == 0 {
		return
	}
	p.Report(c, rule.Finding{
		Path:        "spec.selector",
		Message:     fmt.Sprintf("selector drops %s: %s join %s", labelText(dropped), withCount(joining), withCount(s.running)),
		Consequence: joinShare(s, joining),
		Related:     refs(joining, s.running),
	})
}
