package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RolloutBoundsWidened reports a rolling update that may take more pods away at once.
var RolloutBoundsWidened = &rule.Rule{
	ID:       "rollout-bounds-widened",
	Title:    "A rolling update may take more pods away at once",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
maxUnavailable is how many pods a rollout may be short of at any time. It is what stops a bad version: pods that do not become ready
use it up, and the rest stays. With 100 % a rollout is as good as Recreate, and on a DaemonSet an agent, a CNI plugin or a DNS cache
restarts on all nodes in the same minute, with all that they ask of the API server when they start. A disruption budget does not
hold a rollout back.

It is a warning from half of the pods on, and for a DaemonSet from a third of the nodes or ten of them; less is a note, as is a maxSurge
that doubles the pods.`,
	Advice: `Keep maxUnavailable small (0 with a surge for what serves, 1 or 10 % for a DaemonSet) and shorten readiness instead if rollouts
are slow.`,
	Incidents:  []string{"kindling-2023"},
	Kinds:      []string{"Deployment.apps", "DaemonSet.apps", "StatefulSet.apps", "Rollout.argoproj.io"},
	Actions:    updates,
	Parameters: []rule.Parameter{nodesAtOnce},
	Check:      checkRolloutBoundsWidened,
}

var nodesAtOnce = rule.Parameter{Name: "nodes", Default: 10, Doc: "from how many nodes at once on it is a warning for a DaemonSet"}

func checkRolloutBoundsWidened(p *rule.Pass, c diff.Change) {
	if !touched(c, "trategy") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	was, now := rolloutOf(before), rolloutOf(after)
	if was.Strategy != now.Strategy {
		return // another rule's
	}
	n := after.Replicas.Count
	if !after.Replicas.Known {
		n = 100 // nodes or autoscaled pods: only the proportion is told
	}
	up := after.Ref.Kind == "DaemonSet" // all others round down
	lost := func(r impact.Rollout) int { return min(r.MaxUnavailable.Of(n, up), n) }
	base := boundsPath(after)
	if b, a := lost(was), lost(now); a > b {
		f := rule.Finding{
			Path:    base.Key("maxUnavailable"),
			Message: fmt.Sprintf("maxUnavailable goes from %s to %s", was.MaxUnavailable, now.MaxUnavailable),
			Related: serving(p.After, after),
		}
		switch {
		case after.Replicas.Known && n > 0:
			f.Consequence = fmt.Sprintf("a rollout may leave %d of %d pods ready, in place of %d", n-a, n, n-b)
		case a >= n:
			f.Consequence = "a rollout may take all of them at once"
		default:
			f.Consequence = fmt.Sprintf("a rollout may take %s of them at once, in place of %s", now.MaxUnavailable, was.MaxUnavailable)
		}
		if after.Ref.Kind == "DaemonSet" {
			f.Consequence += "; a version that does not start is on as many nodes before the rollout stops"
		}
		wide := 2*a >= n
		if after.Ref.Kind == "DaemonSet" {
			wide = 3*a >= n || !now.MaxUnavailable.Percent && int64(a) >= p.Int(nodesAtOnce)
		}
		if !wide {
			f.Severity = rule.Note
		}
		if !after.Replicas.Known || n > 0 {
			p.Report(c, f)
		}
		return
	}
	if b, a := was.MaxSurge.Of(n, true), now.MaxSurge.Of(n, true); after.Ref.Kind != "StatefulSet" && n > 1 && a >= n && b < n {
		p.Report(c, rule.Finding{
			Path:        base.Key("maxSurge"),
			Severity:    rule.Note,
			Message:     fmt.Sprintf("maxSurge goes from %s to %s", was.MaxSurge, now.MaxSurge),
			Consequence: "a rollout may run twice the pods for a while: nodes, quotas and connection limits must bear them",
		})
	}
}

func boundsPath(w object.Workload) object.Path {
	switch w.Ref.Kind {
	case "Deployment":
		return "spec.strategy.rollingUpdate"
	case "Rollout":
		return "spec.strategy.canary"
	}
	return "spec.updateStrategy.rollingUpdate"
}
