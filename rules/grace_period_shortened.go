package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GracePeriodShortened reports pods that are killed sooner when they end.
var GracePeriodShortened = &rule.Rule{
	ID:       "grace-period-shortened",
	Title:    "Pods have less time to end before they are killed",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
When a pod ends, its preStop hooks run, then it gets SIGTERM, and when terminationGracePeriodSeconds are over, counted from the beginning,
SIGKILL. What is not done by then is lost: open requests and streams, uploads, messages that were taken and not acknowledged, an
orderly hand-over of a leader, a shard or a lock, a flush of what is in memory. A field that is taken away means 30 seconds. Zero
means at once, and a StatefulSet may then run two pods of one name.

Half of the time or less is a warning, as is anything that brings it below what a preStop hook sleeps; raised is fine.`,
	Advice: `Keep it above the sleep of preStop, plus the longest request, plus what flushing takes. Shorten the shutdown itself instead; pods that
end quickly do not use the rest.`,
	Incidents: []string{"ravelin-502-2019"},
	Kinds:     servingKinds,
	Actions:   updates,
	Check:     checkGracePeriodShortened,
}

func checkGracePeriodShortened(p *rule.Pass, c diff.Change) {
	if !touched(c, "terminationGracePeriodSeconds") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	was, now := grace(before), grace(after)
	if now >= was {
		return
	}
	f := rule.Finding{
		Path:        after.SpecPath().Key("terminationGracePeriodSeconds"),
		Message:     fmt.Sprintf("the grace period goes from %d s to %d s", was, now),
		Consequence: "what is not done by then when a pod ends is cut off: open requests, hand-over, flush",
		Related:     serving(p.After, after),
	}
	switch {
	case now == 0:
		f.Severity = rule.Error
		f.Consequence = "pods are deleted by force: their processes get two seconds at most, and their names are free before these are known to be gone"
	case 2*now > was:
		f.Severity = rule.Note
	}
	p.Report(c, f)
}

// grace gives the termination grace period with its default
// (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination).
func grace(w object.Workload) int64 {
	if n, ok := w.PodSpec.Field("terminationGracePeriodSeconds").Int(); ok {
		return n
	}
	return 30
}
