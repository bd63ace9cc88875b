package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// PDBBlocksEviction reports a disruption budget that lets no pod go any more.
var PDBBlocksEviction = &rule.Rule{
	ID:       "pdb-blocks-eviction",
	Title:    "A PodDisruptionBudget allows no eviction",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Draining a node asks for the eviction of its pods, and a budget that allows none refuses each time. Node upgrades, the cluster
autoscaler and the descheduler wait, for hours in a managed cluster, until somebody deletes pods by hand or the provider ends them
without asking. It comes with maxUnavailable 0, with minAvailable 100 %, and with a minAvailable that is not less than the number of
pods: often a budget that was right for three replicas and meets one.

The rule fires on the budget, and on a workload or an autoscaler whose smaller number turns a budget that was right into such a one.`,
	Advice: `Say maxUnavailable: 1, which stays right when the number of pods changes. A workload that must not lose its only pod needs a second
one first. If no eviction may happen for a time, do it for that time, and tell those who run the nodes.`,
	Incidents: []string{"nais-pdb-2021", "flagsmith-pdb-2024", "devopshof-etp-2019"},
	Kinds: []string{"PodDisruptionBudget.policy", "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "Rollout.argoproj.io",
		"HorizontalPodAutoscaler.autoscaling", "ScaledObject.keda.sh"},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkPDBBlocksEviction,
}

func checkPDBBlocksEviction(p *rule.Pass, c diff.Change) {
	if c.Ref.GroupKind() == "PodDisruptionBudget.policy" {
		if blocks(p.After, c.After) && (c.Before == nil || !blocks(p.Before, c.Before)) {
			reportBlock(p, c, c.After, budgetPath(c.After))
		}
		return
	}
	if c.Before == nil {
		return
	}
	target, path := c.After.Ref, object.Path("spec.replicas")
	if a, ok := object.AsAutoscaler(c.After); ok {
		target, path = a.Target, a.MinPath
	}
	before, ok := p.Before.Workload(target)
	after, alsoOK := p.After.Workload(target)
	if !ok || !alsoOK || before.Replicas == after.Replicas {
		return
	}
	if a := after.Replicas.Autoscaler; a != nil && a.Ref != c.Ref {
		if _, changed := changeOf(p.Unit, a.Ref); changed {
			return // the autoscaler's change tells it
		}
	}
	for _, budget := range p.After.BudgetsFor(target) {
		if was := p.Before.Get(budget.Ref); budgetUnchanged(p, budget) && blocks(p.After, budget) && !blocks(p.Before, was) {
			reportBlock(p, c, budget, path)
		}
	}
}

func budgetPath(budget *object.Object) object.Path {
	if budget.At("spec.maxUnavailable").Exists() {
		return "spec.maxUnavailable"
	}
	return "spec.minAvailable"
}

func reportBlock(p *rule.Pass, c diff.Change, budget *object.Object, path object.Path) {
	pods := budgetPods(p.After, budget)
	f := rule.Finding{Path: path, Related: refs(pods.Workloads)}
	what := "its pods"
	if n, known := pods.Count(); known && n > 0 {
		what = plural(n, "pod")
	}
	if len(pods.Workloads) > 0 {
		what += " of " + names(pods.Workloads)
	}
	f.Message = fmt.Sprintf("%s on %s allows no eviction", budgetText(budget), what)
	if budget.Ref != c.Ref {
		f.Message = fmt.Sprintf("%s asks for %s, and %s allow no eviction then", budget.Ref, budgetText(budget), what)
		f.Related = append([]object.Ref{budget.Ref}, f.Related...)
	}
	f.Consequence = "a node with one of these pods cannot be drained: upgrades and scale-down of nodes wait until somebody deletes the pod by hand"
	p.Report(c, f)
}
