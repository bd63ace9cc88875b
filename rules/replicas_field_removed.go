package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ReplicasFieldRemoved reports a count that is no longer written down.
var ReplicasFieldRemoved = &rule.Rule{
	ID:       "replicas-field-removed",
	Title:    "The number of replicas is no longer written down",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Without the field the API server's default counts, which is 1. Whoever applied the field takes it away: kubectl apply, Helm and most
tools set the count to 1 in that moment, and an autoscaler has to find its way up again from there
([Kubernetes](https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#migrating-deployments-and-statefulsets-to-horizontal-autoscaling)).
Where it said 0, something that was switched off starts. With server-side apply the count stays only if somebody else owns the field.
With an autoscaler it is what the documentation asks for, done in the right order, and a note.`,
	Advice: `Hand the field over before it goes: ` + "`kubectl apply edit-last-applied`" + ` and take it out there, or let the autoscaler write it once under
server-side apply; then remove it. Without an autoscaler keep the number.`,
	Kinds:   scaledKinds,
	Actions: updates,
	Check:   checkReplicasFieldRemoved,
}

func checkReplicasFieldRemoved(p *rule.Pass, c diff.Change) {
	was, ok := c.Before.At("spec.replicas").Int()
	if !ok || was == 1 || c.After.At("spec.replicas").Exists() {
		return
	}
	after, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	f := rule.Finding{Path: "spec.replicas", Message: fmt.Sprintf("replicas: %d goes, and the default is 1", was)}
	switch owner := after.Replicas.Autoscaler; {
	case owner != nil:
		f.Severity = rule.Note
		f.Related = []object.Ref{owner.Ref}
		f.Consequence = fmt.Sprintf("unless the field is handed over first, there is one pod until %s has scaled up again", owner.Ref)
	case was == 0:
		f.Consequence = "one pod of what was switched off starts"
	default:
		f.Consequence = fmt.Sprintf("%d of %d pods end, unless somebody else owns the field under server-side apply", was-1, was)
	}
	if !after.Replicas.Known && after.Replicas.Autoscaler == nil && after.Replicas.From != "" {
		f.Consequence += fmt.Sprintf("; then the count is what %s says", after.Replicas.From)
	}
	p.Report(c, f)
}
