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
budgets cannot be evicted at all.`,
	Advice: `Use the labels of the workload's own selector for the budget: these cannot change under it. When labels move, let the pods carry both for
one rollout.`,
	Kinds:   []string{"PodDisruptionBudget.policy"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkPDBSelectorChanged,
}

func checkPDBSelectorChanged(p *rule.Pass, c diff.Change) {
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
