package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// PreStopOutlastsGrace reports a preStop hook that uses up the whole grace period.
var PreStopOutlastsGrace = &rule.Rule{
	ID:       "prestop-outlasts-grace",
	Title:    "A preStop hook sleeps longer than the grace period lasts",
	Subject:  "workloads",
	Severity: rule.Error,
	Doc: `
The grace period begins before the preStop hook, not after it. A hook that sleeps as long as the grace period leaves nothing: the program
gets SIGTERM two seconds before SIGKILL, or not at all, and every end of a pod is a crash, although all looks as if it were
orderly. It comes from either side: a hook that sleeps longer, or a shorter grace period. Less than 5 seconds left are a
warning.`,
	Advice:    `Set terminationGracePeriodSeconds to the sleep plus what the program needs after SIGTERM.`,
	Incidents: []string{"ravelin-502-2019"},
	Kinds:     servingKinds,
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:     checkPreStopOutlastsGrace,
}

func checkPreStopOutlastsGrace(p *rule.Pass, c diff.Change) {
	if c.Before != nil && !touched(c, "terminationGracePeriodSeconds", "lifecycle") {
		return
	}
	after, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	var before object.Workload
	if c.Before != nil {
		before, _ = p.Before.Workload(c.Before.Ref)
	}
	for _, box := range after.Running() {
		left, sleeps := timeLeft(after, box)
		if !sleeps || left >= 5 {
			continue
		}
		if was, found := before.Container(box.Name); found {
			if old, slept := timeLeft(before, was); slept && old <= left {
				continue
			}
		}
		seconds, _ := preStopSleep(box.At("lifecycle.preStop"))
		f := rule.Finding{
			Path:        box.Path.Key("lifecycle").Key("preStop"),
			Message:     fmt.Sprintf("container %s sleeps %d s before it stops, and the grace period is %d s", box.Name, seconds, grace(after)),
			Consequence: "it is killed before it could end: open requests are cut off, and nothing is handed over or flushed",
		}
		if c.Before != nil && grace(before) != grace(after) {
			f.Path = after.SpecPath().Key("terminationGracePeriodSeconds")
		}
		if left > 0 {
			f.Severity = rule.Warning
			f.Consequence = fmt.Sprintf("%d s are left for everything else: what is not done by then is cut off", left)
		}
		p.Report(c, f)
	}
}

// timeLeft is what the preStop sleep of a container leaves of the grace period.
func timeLeft(w object.Workload, box object.Container) (seconds int64, sleeps bool) {
	n, ok := preStopSleep(box.At("lifecycle.preStop"))
	return grace(w) - n, ok
}
