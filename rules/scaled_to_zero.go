package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ScaledToZero reports a workload that is left without pods.
var ScaledToZero = &rule.Rule{
	ID:       "scaled-to-zero",
	Title:    "A workload is scaled to nothing",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
All pods end at once. The Service stays, its name resolves, and every request fails; the Deployment counts as healthy, with 0 of 0
pods ready, so that alerts on missing pods stay silent. An autoscaler does nothing for a target of 0 replicas: it is switched off until
somebody scales the target up by hand
([Kubernetes](https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#implicit-maintenance-mode-deactivation)).
With a route or a client that still names its Service it is an error.`,
	Advice: `If it is to be switched off: take routes and clients away first, and remove workload and Service together. If it is for a time (a
migration), say until when, and look for alerts that are silent on 0 of 0.`,
	Incidents: []string{"berkeley-autoscale-zero-2024"},
	Kinds:     scaledKinds,
	Actions:   updates,
	Check:     checkScaledToZero,
}

func checkScaledToZero(p *rule.Pass, c diff.Change) {
	before, _, ok := bothWorkloads(p, c)
	if !ok || before.Replicas.Known && before.Replicas.Count == 0 {
		return
	}
	if n, written := c.After.At("spec.replicas").Int(); !written || n != 0 {
		return
	}
	if n, written := c.Before.At("spec.replicas").Int(); written && n == 0 {
		return
	}
	f := rule.Finding{Path: "spec.replicas", Message: "replicas become 0"}
	switch written, ok := c.Before.At("spec.replicas").Int(); {
	case before.Replicas.Autoscaler != nil && ok && before.Replicas.Known:
		f.Message = fmt.Sprintf("replicas: %d becomes 0, where %s keeps at least %s", written, before.Replicas.Autoscaler.Ref, plural(before.Replicas.Count, "pod"))
	case before.Replicas.Autoscaler != nil && before.Replicas.Known:
		f.Message = fmt.Sprintf("replicas: 0 is set, where %s keeps at least %s", before.Replicas.Autoscaler.Ref, plural(before.Replicas.Count, "pod"))
	case before.Replicas.Known:
		f.Message = become(before.Replicas.Count, "pod", 0)
	}
	f.Consequence = "all its pods end at once"
	for _, a := range p.After.AutoscalersOf(c.After.Ref) {
		f.Related = append(f.Related, a.Ref)
		f.Consequence += fmt.Sprintf("; %s does nothing from then on, until somebody scales the target up by hand", a.Ref)
	}
	for _, s := range p.After.ServicesFor(c.After.Ref) {
		workloads, unknown := reached(p.After, s.Ref.Namespace, s.Strings("spec.selector"))
		if len(withPods(workloads))+len(unknown) > 0 {
			continue
		}
		says, related := stillNamed(p.Unit, s.Ref, nil, []object.Ref{s.Ref})
		f.Consequence += fmt.Sprintf("; %s has no endpoint", s.Ref)
		if len(says) > 0 {
			f.Severity = rule.Error
			f.Consequence += "; " + says[0]
		}
		f.Related = append(f.Related, related...)
	}
	p.Report(c, f)
}
