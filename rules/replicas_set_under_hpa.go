package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ReplicasSetUnderHPA reports a count that the manifests and an autoscaler both write.
var ReplicasSetUnderHPA = &rule.Rule{
	ID:       "replicas-set-under-hpa",
	Title:    "The number of replicas is written down while an autoscaler owns it",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Two write one field: the autoscaler by load, and every apply by the manifest. At each deploy the count jumps to the manifest's
number, in the busiest hour too, and the autoscaler needs minutes to bring it back: pods end at the moment when a rollout already takes
some away. With a GitOps tool that heals drift the two fight without end. It comes from an autoscaler that is added to a workload
with a count, and from a count that is added or changed under an autoscaler; one that was there and is raised is a note.`,
	Advice: `Leave replicas out of the manifest of an autoscaled workload, and set the autoscaler's minimum. In a chart render the field only when
the autoscaler is off; in Argo CD let it ignore the difference in /spec/replicas. Hand the field over first, see
replicas-field-removed.`,
	Incidents: []string{"tekton-hpa-replicas-2022", "pega-hpa-replicas-2025"},
	Kinds: []string{"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "Rollout.argoproj.io", "CloneSet.apps.kruise.io",
		"HorizontalPodAutoscaler.autoscaling", "ScaledObject.keda.sh"},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkReplicasSetUnderHPA,
}

func checkReplicasSetUnderHPA(p *rule.Pass, c diff.Change) {
	if a, ok := object.AsAutoscaler(c.After); ok {
		target := p.After.Get(a.Target)
		n, written := target.At("spec.replicas").Int()
		if !written || n == 0 || c.Before != nil && autoscales(c.Before, a.Target) {
			return
		}
		if p.Before.Get(a.Target) == nil || len(p.Before.AutoscalersOf(a.Target)) > 0 {
			return // the workload is new too and starts with its count, or another autoscaler hands over
		}
		p.Report(c, rule.Finding{
			Path:        "spec.scaleTargetRef",
			Message:     fmt.Sprintf("it scales %s, whose manifest says replicas: %d", a.Target, n),
			Consequence: fight(n, a),
			Related:     []object.Ref{a.Target},
		})
		return
	}
	n, written := c.After.At("spec.replicas").Int()
	if !written || n == 0 || c.Before == nil {
		return
	}
	scalers := p.After.AutoscalersOf(c.After.Ref)
	if len(scalers) == 0 {
		return
	}
	was, ok := c.Before.At("spec.replicas").Int()
	if ok && was == n {
		return
	}
	severity := rule.Warning
	if before := p.Before.AutoscalersOf(c.Before.Ref); ok && was < n && len(before) > 0 && n >= scalers[0].Min {
		severity = rule.Note // they fought before, by a lower count
	}
	p.Report(c, rule.Finding{
		Severity:    severity,
		Path:        "spec.replicas",
		Message:     fmt.Sprintf("replicas: %d is written down, and %s owns the count", n, scalers[0].Ref),
		Consequence: fight(n, scalers[0]),
		Related:     []object.Ref{scalers[0].Ref},
	})
}

func autoscales(o *object.Object, target object.Ref) bool {
	a, ok := object.AsAutoscaler(o)
	return ok && a.Target == target
}

func fight(n int64, a object.Autoscaler) string {
	if n < a.Min {
		return fmt.Sprintf("each apply sets the count to %d, below the minimum of %d, until the autoscaler raises it again", n, a.Min)
	}
	return fmt.Sprintf("each apply sets the count to %d, whatever the load, until the autoscaler (%d to %d) sets it again", n, a.Min, a.Max)
}
