package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// JobResultDeleted reports a Job that is deleted as soon as it is done.
var JobResultDeleted = &rule.Rule{
	ID:       "job-result-deleted",
	Title:    "A Job is deleted as soon as it is done",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
ttlSecondsAfterFinished deletes a finished Job, with its pods, their logs and the word on whether it failed; at 0 that is in the same second
([Kubernetes](https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/)). Whoever waits for the Job (a pipeline, a hook, kubectl wait) may never see it done, alerts on failed Jobs have nothing to
count, and a tool that keeps the cluster like the repository finds the Job missing and makes it again: the work is done over and over.`,
	Advice: `Keep it for as long as somebody may look, an hour or a day. Let one-off work be a hook (Argo CD, Helm), so that it is not made again because it is gone.`,
	Kinds:  jobKinds, Actions: updates,
	Check: checkJobResultDeleted,
}

func checkJobResultDeleted(p *rule.Pass, c diff.Change) {
	if !touched(c, "ttlSecondsAfterFinished") {
		return
	}
	was, _ := jobSpec(c.Before)
	now, base := jobSpec(c.After)
	a, ok := now.Field("ttlSecondsAfterFinished").Int()
	b, had := was.Field("ttlSecondsAfterFinished").Int()
	if !ok || a >= 60 || had && b < 60 {
		return
	}
	f := rule.Finding{Path: base.Key("ttlSecondsAfterFinished"),
		Message:     fmt.Sprintf("it is deleted %s after it is done%s", plural(int(a), "second"), inPlaceOfKept(b, had)),
		Consequence: "its logs and whether it failed go with it"}
	if c.Ref.Kind == "Job" && !hooked(c.After) {
		f.Consequence += ", and a tool that syncs it makes and runs it again"
	}
	p.Report(c, f)
}

func inPlaceOfKept(n int64, known bool) string {
	if !known {
		return ", where it was kept"
	}
	return fmt.Sprintf(" in place of %d", n)
}
