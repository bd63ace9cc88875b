package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RolloutWatchedLess reports a rollout that counts as failed too early, or as good too early.
var RolloutWatchedLess = &rule.Rule{
	ID:       "rollout-watched-less",
	Title:    "A rollout is given up, or taken for good, too early",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
minReadySeconds is how long a new pod must stay ready before the rollout goes on to the next: without it a version that crashes after
ten seconds is on all pods before anybody sees it. progressDeadlineSeconds is how long a Deployment may make no progress: below the
time that its pods need to start, every rollout is reported as failed, and tools that wait for it roll back or stop the pipeline. The
API server refuses a deadline that is not greater than minReadySeconds.

Of an Argo Rollout the steps are looked at, too: a canary that no longer waits, and one that no analysis judges any more, is a rolling update by another name.`,
	Advice: `Keep minReadySeconds above the time in which a bad version shows itself, 10 to 30 seconds for most, and the deadline above
minReadySeconds plus what the startup probe allows, with room for scheduling and image pull.`,
	Kinds:   []string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Rollout.argoproj.io"},
	Actions: updates,
	Check:   checkRolloutWatchedLess,
}

// checkCanary tells of steps in which a canary waited, or was judged, and does no longer
// (https://argo-rollouts.readthedocs.io/en/stable/features/canary/).
func checkCanary(p *rule.Pass, c diff.Change) {
	const canary = "spec.strategy.canary"
	if !c.Before.At(canary).Exists() || !c.After.At(canary).Exists() {
		return
	}
	judged := func(o *object.Object) bool {
		return o.At(canary+".analysis").Exists() || slices.ContainsFunc(itemsOf(o.At(canary+".steps")), func(s object.Value) bool { return s.Field("analysis").Exists() || s.Field("experiment").Exists() })
	}
	pauses := func(o *object.Object) (timed, manual int) {
		for _, s := range o.At(canary + ".steps").Items() {
			switch pause := s.Field("pause"); {
			case pause.Exists() && pause.Field("duration").Exists():
				timed++
			case pause.Exists():
				manual++
			}
		}
		return timed, manual
	}
	if judged(c.Before) && !judged(c.After) {
		p.Report(c, rule.Finding{Path: canary, Message: "no analysis judges the canary any more", Consequence: "a bad version goes on to all pods unless somebody sees it and stops it"})
	}
	wasTimed, wasManual := pauses(c.Before)
	timed, manual := pauses(c.After)
	switch {
	case wasTimed+wasManual > 0 && timed+manual == 0:
		p.Report(c, rule.Finding{Path: canary + ".steps", Message: "the canary no longer waits at any step", Consequence: "a new version takes all requests as fast as its pods start"})
	case wasManual > 0 && manual == 0:
		p.Report(c, rule.Finding{Path: canary + ".steps", Severity: rule.Note, Message: "the canary no longer waits until somebody lets it go on", Consequence: "it goes on by the clock, whether anybody looks or not"})
	}
}

func checkRolloutWatchedLess(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "Rollout" {
		checkCanary(p, c)
	}
	if !touched(c, "progressDeadlineSeconds", "minReadySeconds") {
		return
	}
	_, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	was, _ := c.Before.At("spec.minReadySeconds").Int()
	ready, _ := c.After.At("spec.minReadySeconds").Int()
	if was >= 5 && 4*ready <= was {
		p.Report(c, rule.Finding{
			Path:        "spec.minReadySeconds",
			Severity:    rule.Note,
			Message:     fmt.Sprintf("minReadySeconds goes from %d to %d", was, ready),
			Consequence: "the rollout goes on as soon as a pod is ready: a version that fails after a few seconds reaches all of them",
		})
	}
	if after.Ref.Kind != "Deployment" {
		return
	}
	before := deadline(c.Before.At("spec.progressDeadlineSeconds").Int())
	now := deadline(c.After.At("spec.progressDeadlineSeconds").Int())
	if now >= before {
		return
	}
	var needs int64
	for _, box := range after.Running() {
		seconds, _ := startup(box)
		needs = max(needs, seconds)
	}
	f := rule.Finding{Path: "spec.progressDeadlineSeconds"}
	switch {
	case now <= ready:
		f.Severity = rule.Error
		f.Message = fmt.Sprintf("the progress deadline of %d s is not greater than minReadySeconds of %d", now, ready)
		f.Consequence = "the API server refuses the update"
	case now < ready+needs:
		f.Message = fmt.Sprintf("the progress deadline goes from %d s to %d s, and a pod may take %d s to start and be taken for ready", before, now, ready+needs)
		f.Consequence = "a rollout that goes well counts as failed, and tools that wait for it stop or roll back"
	case now < 60:
		f.Message = fmt.Sprintf("the progress deadline goes from %d s to %d s", before, now)
		f.Consequence = "an image pull or a new node takes longer, and the rollout counts as failed"
	default:
		return
	}
	p.Report(c, f)
}

// deadline gives the progress deadline with its default
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#progress-deadline-seconds).
func deadline(n int64, written bool) int64 {
	if !written {
		return 600
	}
	return n
}
