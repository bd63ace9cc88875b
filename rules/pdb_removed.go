package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// PDBRemoved reports a disruption budget that goes while what it protects stays.
var PDBRemoved = &rule.Rule{
	ID:       "pdb-removed",
	Title:    "A PodDisruptionBudget is removed while its pods stay",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Without a budget an eviction asks nobody. A drain of several nodes, as in an upgrade of the cluster, may end all pods of a workload
at the same time; for members of a quorum or of a hash ring that is a loss of data or of service, not just of capacity. A workload with
one pod had nothing to lose, and is quiet, as is a budget that another one takes over from.`,
	Advice: `Keep a budget as long as there is more than one pod. Where another controller takes over (a rollout operator, a custom resource), make
sure that it is installed everywhere and answers evictions before the budget goes.`,
	Incidents: []string{"moj-node-recycle-2023"},
	Kinds:     []string{"PodDisruptionBudget.policy"},
	Actions:   []diff.Action{diff.Delete},
	Check:     checkPDBRemoved,
}

func checkPDBRemoved(p *rule.Pass, c diff.Change) {
	var left []string
	f := rule.Finding{Message: fmt.Sprintf("the budget (%s) is removed", budgetText(c.Before))}
	for _, w := range protected(p.Before, c) {
		after, ok := p.After.Workload(w.Ref)
		if !ok || len(p.After.BudgetsFor(w.Ref)) > 0 || after.Replicas.Known && after.Replicas.Count < 2 {
			continue
		}
		f.Related = append(f.Related, w.Ref)
		left = append(left, withCount([]object.Workload{after}))
	}
	pods := budgetPods(p.Before, c.Before)
	switch {
	case len(left) > 0:
		f.Message += fmt.Sprintf(", which protected %s", listed(left))
		f.Consequence = "a drain of several nodes may end all of them at once"
	case len(pods.Workloads) == 0 && p.After != nil:
		// An operator makes the pods, or another unit: whether they stay is not known.
		f.Consequence = "whether its pods stay is unknown, no workload here makes them; if they do, a drain may end all of them at once"
	default:
		return
	}
	p.Report(c, f)
}
