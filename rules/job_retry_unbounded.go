package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// JobRetryUnbounded reports a Job that may try again, or run, without end.
var JobRetryUnbounded = &rule.Rule{
	ID:       "job-retry-unbounded",
	Title:    "A Job may try many more times, run without end, or many at once",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A Job that fails is tried again, with all that it did before it failed: rows written twice, mails sent again, a node filled up, one after
the other. What bounds it is backoffLimit (6 when it is not written), activeDeadlineSeconds (none when it is not written) and the number of
pods at once. A CronJob makes new ones on top. A Job that runs out of its bound is marked as failed and somebody sees it; without one it
goes on at night.

The other way round, fewer tries or a shorter deadline end work that used to get done: a deadline of half the time or less is told as well.`,
	Advice: `Keep a backoffLimit that fits (0 for what must not run twice) and an activeDeadlineSeconds a few times the usual run. Make the work
idempotent before you let it try more often.`,
	Incidents: []string{"universe-job-2017"},
	Kinds:     jobKinds,
	Actions:   updates,
	Check:     checkJobRetryUnbounded,
}

func checkJobRetryUnbounded(p *rule.Pass, c diff.Change) {
	if !touched(c, "backoffLimit", "activeDeadlineSeconds", "parallelism", "completions", "restartPolicy") {
		return
	}
	was, _ := jobSpec(c.Before)
	now, base := jobSpec(c.After)
	f := rule.Finding{}
	var parts, says []string
	add := func(field, part, effect string) {
		if f.Path == "" {
			f.Path = base + object.Path("."+field)
		}
		parts, says = append(parts, part), append(says, effect)
	}
	if b, a := numberOr(was.Field("backoffLimit"), 6), numberOr(now.Field("backoffLimit"), 6); a > b && (b == 0 || a >= 2*b && a > 10) {
		add("backoffLimit", fmt.Sprintf("it may fail %s in place of %d", plural(int(a+1), "time"), b+1), "what it does before it fails is done again each time")
	}
	b, bounded := was.Field("activeDeadlineSeconds").Int()
	a, stays := now.Field("activeDeadlineSeconds").Int()
	switch {
	case bounded && !stays:
		add("activeDeadlineSeconds", fmt.Sprintf("its deadline of %d s goes", b), "a run that hangs stays until somebody ends it")
	case stays && (bounded && 2*a <= b || !bounded && a < 60):
		add("activeDeadlineSeconds", fmt.Sprintf("it gets %d s to be done%s", a, inPlaceOfSeconds(b, bounded)), "a run that takes longer is ended in the middle and counts as failed")
	}
	if b, a := numberOr(was.Field("parallelism"), 1), numberOr(now.Field("parallelism"), 1); a >= 3*b && a-b >= 10 {
		add("parallelism", fmt.Sprintf("%d pods run at once in place of %d", a, b), "what they share, databases and nodes, bears them all")
	}
	if len(parts) == 0 {
		return
	}
	f.Message = strings.Join(parts, "; ")
	f.Consequence = strings.Join(says, "; ")
	p.Report(c, f)
}

func inPlaceOfSeconds(n int64, known bool) string {
	if !known {
		return ", where it had no deadline"
	}
	return fmt.Sprintf(" in place of %d", n)
}
