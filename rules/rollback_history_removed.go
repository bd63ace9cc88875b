package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// RollbackHistoryRemoved reports workloads that keep no version to go back to.
var RollbackHistoryRemoved = &rule.Rule{
	ID:       "rollback-history-removed",
	Title:    "A workload keeps no earlier version to go back to",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
revisionHistoryLimit is how many earlier versions stay beside the one that runs. At 0 they are deleted at once, and kubectl rollout undo, and the rollback of tools that use it, have
nothing to go back to: when the next version is bad, the way back is a revert through the whole pipeline
([Kubernetes](https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#clean-up-policy)).`,
	Advice: `Keep at least two; an old ReplicaSet without pods costs next to nothing.`,
	Kinds:  []string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Rollout.argoproj.io", "CloneSet.apps.kruise.io"}, Actions: updates,
	Check: checkRollbackHistoryRemoved,
}

func checkRollbackHistoryRemoved(p *rule.Pass, c diff.Change) {
	if !touched(c, "revisionHistoryLimit") {
		return
	}
	was := numberOr(c.Before.At("spec.revisionHistoryLimit"), 10)
	if now := numberOr(c.After.At("spec.revisionHistoryLimit"), 10); now == 0 && was > 0 {
		p.Report(c, rule.Finding{Path: "spec.revisionHistoryLimit", Message: fmt.Sprintf("revisionHistoryLimit goes from %d to 0", was),
			Consequence: "earlier versions are deleted, and a rollout cannot be undone"})
	}
}
