package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RolloutRecreate reports a Deployment that ends all pods before it starts new ones.
var RolloutRecreate = &rule.Rule{
	ID:       "rollout-recreate",
	Title:    "A Deployment ends all its pods before it starts new ones",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
With the strategy Recreate every change of the pods, an image or a variable, first ends all of them and then starts the new ones. In
between nothing serves, for as long as the slowest part takes: grace period, scheduling, image pull, start, readiness. If the new pods
do not come up there is no old one left. The strategy counts from this merge on, for a change of the pods that comes with it too.

It is right where two versions must not run at once, and the only way for one pod with a volume that one node can mount, which
is a note.`,
	Advice: `Keep RollingUpdate with maxSurge 1 and maxUnavailable 0. Where only one may be active, let the program elect a leader, or use a
StatefulSet. If it must be Recreate, pull images ahead and shorten start and shutdown, and deploy when nobody waits.`,
	Kinds:   []string{"Deployment.apps"},
	Actions: updates,
	Check:   checkRolloutRecreate,
}

func checkRolloutRecreate(p *rule.Pass, c diff.Change) {
	const path = "spec.strategy.type"
	if c.After.Text(path) != "Recreate" || c.Before.Text(path) == "Recreate" {
		return
	}
	w, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	f := rule.Finding{Path: path, Message: "the strategy becomes Recreate", Related: serving(p.After, w)}
	if was := c.Before.Text(path); was != "" {
		f.Message = fmt.Sprintf("the strategy becomes Recreate (%s before)", was)
	}
	what := "all its pods end"
	if n := w.Replicas; n.Known && n.Count == 1 {
		what = "its pod ends"
	} else if n.Known {
		what = fmt.Sprintf("all %d pods end", n.Count)
	}
	f.Consequence = fmt.Sprintf("at each rollout %s before a new one starts; nothing serves in between", what)
	if templateChanged(c, w) {
		f.Consequence += ", beginning with this change"
	}
	if w.Replicas.Known && w.Replicas.Count <= 1 {
		for _, r := range p.After.References(c.After) {
			if r.Use == object.UseClaim {
				f.Severity = rule.Note
				f.Consequence += fmt.Sprintf("; two pods could not mount %s from two nodes", r.To)
				break
			}
		}
	}
	p.Report(c, f)
}
