package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/rule"
)

// SpreadHardened reports pods that need as many nodes or zones as there are of them.
var SpreadHardened = &rule.Rule{
	ID:       "spread-hardened",
	Title:    "Pods must be kept apart, and may not find a place",
	Subject:  "workloads",
	Severity: rule.Note,
	Doc: `
With required anti-affinity by node every pod needs a node of its own, and a rollout with a surge needs one more: old pods hold theirs
until the new ones are ready. Where there are not so many nodes the new pod stays Pending, the rollout stands still, and no rollout
comes through from then on. By zone there are mostly three places. It is a warning where the rollout must surge (maxUnavailable
comes to 0), or where there are more than three pods for zones.`,
	Advice: `Let the rollout take one away first (maxSurge 0, maxUnavailable 1), or use a topology spread with maxSkew 1, which lets pods share nodes
when there are more pods than nodes.`,
	Kinds:   servingKinds,
	Actions: updates,
	Check:   checkSpreadHardened,
}

func checkSpreadHardened(p *rule.Pass, c diff.Change) {
	if !touched(c, "ffinity") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || after.Ref.Kind == "DaemonSet" {
		return
	}
	was := spreads(before)
	for _, x := range spreads(after) {
		if x.kind != "anti-affinity" || !x.hard || slices.ContainsFunc(was, func(y spread) bool {
			return y.hard && y.kind == x.kind && scopeOf(y.topology) == scopeOf(x.topology)
		}) {
			continue
		}
		f := rule.Finding{
			Path:        x.path,
			Message:     fmt.Sprintf("%s is new", x),
			Consequence: fmt.Sprintf("each pod needs a %s of its own; one that finds none stays Pending", scopeText(x.topology)),
		}
		if n := after.Replicas; n.Known && n.Count > 0 {
			f.Message = fmt.Sprintf("%s is new, for %s", x, plural(n.Count, "pod"))
			r := rolloutOf(after)
			surges := r.Strategy == impact.RollingUpdate && r.MaxUnavailable.Of(n.Count, false) == 0
			if surges {
				f.Severity = rule.Warning
				f.Consequence = fmt.Sprintf("a rollout needs one %s more than there are pods: %d; without it the new pod stays Pending and every rollout stands still", scopeText(x.topology), n.Count+1)
			}
			if scopeOf(x.topology) == 2 && n.Count > 3 {
				f.Severity = rule.Warning
				f.Consequence = fmt.Sprintf("it takes %d zones for all of them", n.Count)
			}
		}
		p.Report(c, f)
	}
}
