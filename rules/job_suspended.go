package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// JobSuspended reports a Job or CronJob that stops running.
var JobSuspended = &rule.Rule{
	ID:       "job-suspended",
	Title:    "A Job or CronJob is suspended, or let go again",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A suspended CronJob starts nothing, and nothing reports what did not run: backups, certificates, reports and clean-ups are missing weeks later.
Suspending a Job ends its running pods; when it is resumed they start from the beginning. Letting a CronJob go again may start a missed
run at once, unless its startingDeadlineSeconds have passed; that is a note.`,
	Advice:  `Say until when in an annotation, and watch the age of the last success (kube_cronjob_status_last_successful_time), not failures.`,
	Kinds:   jobKinds,
	Actions: updates,
	Check:   checkJobSuspended,
}

func checkJobSuspended(p *rule.Pass, c diff.Change) {
	const path = "spec.suspend"
	was, now := isTrue(c.Before.At(path)), isTrue(c.After.At(path))
	if was == now {
		return
	}
	f := rule.Finding{Path: path, Message: fmt.Sprintf("the %s is suspended", c.Ref.Kind)}
	switch {
	case !now:
		f.Severity = rule.Note
		f.Message = fmt.Sprintf("the %s is suspended no longer", c.Ref.Kind)
		f.Consequence = "a run that was missed may start at once"
	case c.Ref.Kind == "Job":
		f.Consequence = "its running pods end, and start from the beginning when it is resumed"
	default:
		f.Consequence = "it runs no more, and nothing reports what did not run"
		if schedule := c.After.Text("spec.schedule"); schedule != "" {
			f.Consequence = fmt.Sprintf("what was due by %q does not run any more, and nothing reports it", schedule)
		}
	}
	p.Report(c, f)
}
