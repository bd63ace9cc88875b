package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RolloutHeldBack reports a workload whose changes no longer reach its pods, or reach
// all of them again.
var RolloutHeldBack = &rule.Rule{
	ID:       "rollout-held-back",
	Title:    "Changes no longer reach the pods of a workload by themselves",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A paused Deployment, a StatefulSet with a partition and the update strategy OnDelete accept every change and do nothing with it. Merges
look deployed and are not; pods that restart for another reason, a drain or a crash, come up with a template that nobody watched,
weeks later and one by one. Half of a fleet on one version and half on another is the usual end.

A Deployment that may neither make a pod more nor take one away, with both bounds at 0, is refused by the API server, which is an error.

The way back is a note: it releases at once what has piled up since.`,
	Advice: `Where a rollout must be watched, keep RollingUpdate with small steps, or a tool that takes steps (Argo Rollouts, a rollout operator).
A partition is for the time of one canary: take it back in the next pull request.`,
	Incidents: []string{"prow-statefulset-2019"},
	Kinds:     []string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps"},
	Actions:   updates,
	Check:     checkRolloutHeldBack,
}

// held says how many pods a workload keeps old; what is "" when it keeps none.
func held(w object.Workload) (path object.Path, what string, pods int64) {
	if paused, _ := w.At("spec.paused").Bool(); paused && w.Ref.Kind == "Deployment" {
		return "spec.paused", "the Deployment is paused", 1 << 31
	}
	if w.Ref.Kind == "Deployment" {
		return "spec.paused", "", 0
	}
	if w.Text("spec.updateStrategy.type") == "OnDelete" {
		return "spec.updateStrategy.type", "the update strategy is OnDelete", 1 << 31
	}
	const path2 = "spec.updateStrategy.rollingUpdate.partition"
	n, _ := w.At(path2).Int()
	if w.Ref.Kind != "StatefulSet" || n <= 0 {
		return "spec.updateStrategy.type", "", 0
	}
	if w.Replicas.Known && n >= int64(w.Replicas.Count) {
		return path2, fmt.Sprintf("the partition of %d keeps all %s old", n, plural(w.Replicas.Count, "pod")), n
	}
	return path2, fmt.Sprintf("the partition keeps the pods below ordinal %d old", n), n
}

// stuckBounds says whether a Deployment may neither make a pod more nor take one away,
// which the API server refuses
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#max-unavailable).
func stuckBounds(o *object.Object) bool {
	zero := func(path string) bool {
		v := strings.TrimSuffix(o.At(path).String(), "%")
		return v == "0"
	}
	return zero("spec.strategy.rollingUpdate.maxSurge") && zero("spec.strategy.rollingUpdate.maxUnavailable")
}

func checkRolloutHeldBack(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "Deployment" && stuckBounds(c.After) && !stuckBounds(c.Before) {
		p.Report(c, rule.Finding{Path: "spec.strategy.rollingUpdate", Severity: rule.Error, Message: "maxSurge and maxUnavailable are both 0",
			Consequence: "the API server refuses it: nothing of this Deployment is applied, the rest of the change is"})
	}
	if !touched(c, "paused", "updateStrategy") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || before.APIVersion() != after.APIVersion() { // older versions have other defaults
		return
	}
	pathBefore, what, was := held(before)
	path, now, pods := held(after)
	switch {
	case pods > was:
		f := rule.Finding{Path: path, Message: now, Consequence: "changes of its pods are accepted and reach none of these until somebody acts"}
		if templateChanged(c, after) {
			f.Consequence = "the new template of this very change does not reach them, and later ones do not either, until somebody acts"
		}
		p.Report(c, f)
	case pods < was:
		p.Report(c, rule.Finding{
			Path:        pathBefore,
			Severity:    rule.Note,
			Message:     what + ", and is no longer",
			Consequence: "what was changed in the meantime is rolled out with this merge",
		})
	}
}
