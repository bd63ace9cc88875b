package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// WorkloadKindChanged reports a workload that comes back under its name as another kind.
var WorkloadKindChanged = &rule.Rule{
	ID:       "workload-kind-changed",
	Title:    "A workload becomes another kind under the same name",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A Deployment that becomes a StatefulSet is not updated: one object is created and another one is left over. A tool that prunes ends
all old pods at once, mostly after the new ones were created but not after they are ready; two copies may hold one lock, lease or
volume at the same time. A tool that does not prune lets both run for good. Whatever names the workload by its kind (autoscalers,
scaling scripts, alerts on its metrics) still means the old one.`,
	Advice: `Do it in steps: create the new kind under another name beside the old one, or with the old one scaled to nothing where only one may run;
let the Service select both; wait until it is ready; then remove the old one. Move autoscalers and alerts with it.`,
	Incidents: []string{"wikimedia-eventgate-2021", "dfds-vpccni-replace-2021"},
	Kinds:     servingKinds,
	Actions:   []diff.Action{diff.Delete},
	Check:     checkWorkloadKindChanged,
}

func checkWorkloadKindChanged(p *rule.Pass, c diff.Change) {
	w, ok := p.Before.Workload(c.Before.Ref)
	if !ok {
		return
	}
	next, ok := successor(p.Unit, c.Ref)
	if !ok {
		return
	}
	f := rule.Finding{
		Message: fmt.Sprintf("it goes, and %s comes in its place", next.Ref),
		Related: []object.Ref{next.Ref},
	}
	says := []string{fmt.Sprintf("where the tool prunes, %s end at once, ready or not the new ones; where it does not, both run at the same time", podsOf(w))}
	if w.Replicas.Known && w.Replicas.Count == 1 {
		says[0] = "where the tool prunes, its pod ends, ready or not the new one; where it does not, both run at the same time"
	}
	for _, a := range p.After.AutoscalersOf(w.Ref) {
		says = append(says, fmt.Sprintf("%s still scales the old one", a.Ref))
		f.Related = append(f.Related, a.Ref)
	}
	f.Related = append(f.Related, serving(p.After, next)...)
	f.Consequence = strings.Join(says, "; ")
	p.Report(c, f)
}
