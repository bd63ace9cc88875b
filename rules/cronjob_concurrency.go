package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// CronJobConcurrency reports a CronJob of which several runs may meet.
var CronJobConcurrency = &rule.Rule{
	ID:       "cronjob-concurrency",
	Title:    "Runs of a CronJob may overlap, pile up or cut each other off",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
With concurrencyPolicy Allow, the default, the next run starts whether the last one is done or not. Runs that hang, or whose pods cannot start (an
image that cannot be pulled, no room), are joined by new ones minute after minute, until the namespace's quota, the nodes or the API server
are full of them. Two backups, migrations or clean-ups at a time spoil each other's work. With Replace, a run that is late is ended in
the middle by the next.

A new CronJob with Allow that runs at least every five minutes and has no deadline is a note.`,
	Advice:    `Use Forbid, with an activeDeadlineSeconds for runs that hang and a startingDeadlineSeconds of a few minutes.`,
	Incidents: []string{"zalando-cronjob-2019"},
	Kinds:     []string{"CronJob.batch"},
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:     checkCronJobConcurrency,
}

func checkCronJobConcurrency(p *rule.Pass, c diff.Change) {
	policy := func(s string) string {
		if s == "" {
			return "Allow"
		}
		return s
	}
	const path = "spec.concurrencyPolicy"
	now := policy(c.After.Text(path))
	if c.Before == nil {
		runs, ok := runsPerDay(c.After.Text("spec.schedule"))
		if now == "Allow" && ok && runs >= 288 && !c.After.At("spec.jobTemplate.spec.activeDeadlineSeconds").Exists() {
			p.Report(c, rule.Finding{
				Path:        path,
				Severity:    rule.Note,
				Message:     fmt.Sprintf("it runs %s a day, may overlap, and no run has a deadline", times(float64(runs))),
				Consequence: "runs that hang or cannot start pile up",
			})
		}
		return
	}
	was := policy(c.Before.Text(path))
	if was == now {
		return
	}
	f := rule.Finding{Path: path, Message: fmt.Sprintf("concurrencyPolicy goes from %s to %s", was, now)}
	switch now {
	case "Allow":
		f.Consequence = "a run starts while the last one is not done: they meet in what they work on, and runs that hang pile up"
	case "Replace":
		f.Consequence = "a run that is not done when the next is due is ended in the middle; if all take that long, none is ever done"
	default:
		f.Severity = rule.Note
		f.Consequence = "a run that is due while the last one is not done is left out; one that hangs stops all later ones"
	}
	p.Report(c, f)
}
