package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// AutoscalerTargetMissing reports an autoscaler that has nothing to scale, and a
// workload that loses its autoscaler.
var AutoscalerTargetMissing = &rule.Rule{
	ID:       "autoscaler-target-missing",
	Title:    "An autoscaler scales nothing, or a workload loses its autoscaler",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
An autoscaler names its workload by kind and name. Where these do not fit it does nothing, and says so in a condition that nobody looks at; the workload keeps its count
of that moment through every peak. It comes from renames, from a move between Deployment and StatefulSet or Rollout, and from a typing error in a new autoscaler.

When an autoscaler goes while its workload stays, the count stays too, until the next apply sets what the manifest says: without spec.replicas that
is one pod at the next creation; with it, the number that somebody wrote years ago, in the middle of the day.

Targets whose kind the unit has nothing of are unknown, and left alone.`,
	Advice:  "Rename workload and autoscaler together. Before an autoscaler goes, write the replicas of today's peak into the workload.",
	Kinds:   []string{"HorizontalPodAutoscaler.autoscaling", "ScaledObject.keda.sh"},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename, diff.Delete},
	Check:   checkAutoscalerTargetMissing,
}

func checkAutoscalerTargetMissing(p *rule.Pass, c diff.Change) {
	if c.Action == diff.Delete {
		checkAutoscalerRemoved(p, c)
		return
	}
	now, ok := object.AsAutoscaler(c.After)
	if !ok || now.Target.Name == "" {
		return
	}
	if _, there := targetOf(p.After, now.Target); there {
		return
	}
	was, had := object.AsAutoscaler(c.Before)
	if had && sameTarget(was.Target, now.Target) {
		return // told of where its target goes
	}
	// A workload of the same name and another kind, or a kind of which the unit has
	// others in the namespace, shows that it would be here.
	other, here := "", false
	for _, w := range p.After.Workloads() {
		if w.Ref.Namespace != now.Target.Namespace {
			continue
		}
		if w.Ref.Name == now.Target.Name && w.Ref.Kind != "Job" && w.Ref.Kind != "CronJob" {
			other = w.Ref.String()
		}
		here = here || w.Ref.Kind == now.Target.Kind
	}
	if had {
		_, scaled := targetOf(p.Before, was.Target)
		here = here && scaled
	}
	if other == "" && !here || othersDeploy(p.After, now.Target.Namespace) {
		return
	}
	f := rule.Finding{Path: "spec.scaleTargetRef", Message: fmt.Sprintf("it is to scale %s, which is not among these manifests", now.Target), Consequence: "it scales nothing"}
	if other != "" {
		f.Message += "; " + other + " is"
	}
	p.Report(c, f)
}

// targetOf finds the workload that an autoscaler names: by any version of its group.
func targetOf(set *object.Set, ref object.Ref) (object.Workload, bool) {
	if w, ok := set.Workload(ref); ok {
		return w, true
	}
	if o := set.Get(ref); o != nil {
		return object.Workload{Object: o}, true // a custom resource with a scale
	}
	for _, group := range []string{"apps", "extensions"} {
		ref.Group = group
		if w, ok := set.Workload(ref); ok {
			return w, true
		}
	}
	return object.Workload{}, false
}

func sameTarget(a, b object.Ref) bool {
	return a.Kind == b.Kind && a.Name == b.Name && a.Namespace == b.Namespace
}

func checkAutoscalerRemoved(p *rule.Pass, c diff.Change) {
	was, ok := object.AsAutoscaler(c.Before)
	if !ok {
		return
	}
	w, stays := targetOf(p.After, was.Target)
	if !stays || slices.ContainsFunc(p.After.Autoscalers(), func(a object.Autoscaler) bool { return sameTarget(a.Target, was.Target) }) {
		return
	}
	f := rule.Finding{Related: []object.Ref{w.Ref}, Message: fmt.Sprintf("the autoscaler of %s goes, which kept it between %d and %d pods", w.Ref, was.Min, was.Max)}
	switch n, written := w.At("spec.replicas").Int(); {
	case written && n < was.Min:
		f.Severity = rule.Error
		f.Consequence = fmt.Sprintf("the next apply sets it to %d, fewer than the autoscaler's minimum", n)
	case written:
		f.Consequence = fmt.Sprintf("it has %s from now on, at any load", plural(int(n), "pod"))
	default:
		f.Consequence = "it keeps its count of that moment, at any load; made anew, it has one pod"
	}
	p.Report(c, f)
}
