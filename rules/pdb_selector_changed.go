package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// PDBSelectorChanged reports a disruption budget that no longer protects what it
// protected.
var PDBSelectorChanged = &rule.Rule{
	ID:       "pdb-selector-changed",
	Title:    "A PodDisruptionBudget no longer covers pods that it covered",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A budget counts the pods that its selector matches now. One that matches nothing protects nothing and says so nowhere: its status has
no error, and drains go through. While labels move by a rollout, old pods fall out of the budget one by one; and pods under two
budgets cannot be evicted at all. It comes from the budget's side, and from the workload's, when its pods get other labels.`,
	Advice: `Use the labels of the workload's own selector for the budget: these cannot change under it. When labels move, let the pods carry both for
one rollout.`,
	Kinds:   append([]string{"PodDisruptionBudget.policy"}, scaledKinds...),
	Actions: updates,
	Check:   checkPDBSelectorChanged,
}

func checkPDBSelectorChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.GroupKind() != "PodDisruptionBudget.policy" {
		checkWorkloadLeavesBudget(p, c)
		return
	}
	if c.Action == diff.Rename {
		return
	}
	if c.Before.At("spec.selector").Equal(c.After.At("spec.selector")) {
		return
	}
	before := budgetPods(p.Before, c.Before)
	now := budgetPods(p.Before, c.After) // the pods that run at the moment of the merge
	after := budgetPods(p.After, c.After)
	f := rule.Finding{Path: "spec.selector"}
	var lost []object.Workload
	for _, w := range withPods(before.Workloads) {
		_, stays := p.After.Workload(w.Ref)
		if stays && !has(now.Workloads, w.Ref) {
			lost = append(lost, w)
		}
	}
	f.Related = refs(lost)
	switch {
	case len(lost) > 0 && !slices.ContainsFunc(lost, func(w object.Workload) bool { return !has(after.Workloads, w.Ref) }):
		f.Message = fmt.Sprintf("running pods of %s do not match the new selector", names(lost))
		f.Consequence = "they are without budget until a rollout has given them their new labels"
	case len(lost) > 0:
		f.Message = fmt.Sprintf("%s no longer match", withCount(lost))
		f.Consequence = "they are without budget: a drain of several nodes may end all of them at once"
	case len(before.Workloads) == 0 && len(after.Workloads) == 0:
		f.Message = "the selector changes, and whether pods match it is unknown: no workload here makes pods for it"
		for _, o := range after.Unknown {
			f.Related = append(f.Related, o.Ref)
		}
		f.Consequence = "a budget that matches nothing protects nothing, and says so nowhere"
	default:
		return
	}
	p.Report(c, f)
}

// checkWorkloadLeavesBudget reports a workload of which the new pods do not carry what
// a budget, which stays as it is, asks for.
func checkWorkloadLeavesBudget(p *rule.Pass, c diff.Change) {
	if !touched(c, "labels", "namespace") {
		return
	}
	_, after, ok := bothWorkloads(p, c)
	if !ok || len(p.After.BudgetsFor(after.Ref)) > 0 {
		return
	}
	if n := after.Replicas; n.Known && n.Count < 2 {
		return
	}
	for _, budget := range p.Before.BudgetsFor(c.Before.Ref) {
		if !budgetUnchanged(p, budget) || p.After.Get(budget.Ref) == nil {
			continue
		}
		f := rule.Finding{
			Path:        after.Template.Key("metadata").Key("labels"),
			Message:     fmt.Sprintf("new pods do not match %s any more", budget.Ref),
			Consequence: "they are without budget: a drain of several nodes may end all of them at once",
			Related:     []object.Ref{budget.Ref},
		}
		if c.Before.Ref.Namespace != c.After.Ref.Namespace {
			f.Path = "metadata.namespace"
			f.Message = fmt.Sprintf("the pods move to namespace %s, and %s stays without them", c.After.Ref.Namespace, budget.Ref)
		}
		p.Report(c, f)
	}
}
