package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// CronJobScheduleChanged reports a CronJob that runs much more or less often, or never.
var CronJobScheduleChanged = &rule.Rule{
	ID:       "cronjob-schedule-changed",
	Title:    "A CronJob runs at other times, much more or less often, or is left out",
	Subject:  "workloads",
	Severity: rule.Note,
	Doc: `
A schedule is five fields that nobody reads twice: ` + "`* 3 * * *`" + ` is not once at three but sixty times from three on. A run that comes ten times
as often meets its own end, and what it works on; one that comes rarely leaves backups, certificates and clean-ups undone without an error.
startingDeadlineSeconds below 10 seconds may leave every run out, because the controller looks every ten seconds
([Kubernetes](https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#starting-deadline)). Without a time zone the one of the controller
counts, UTC mostly.

Another time of the day is a note; four times as often or a quarter of it, and a deadline that is too short, are a warning.`,
	Advice:  `Write the schedule with a comment that says it in words, and a timeZone. Look at how long one run takes before it comes more often.`,
	Kinds:   []string{"CronJob.batch"},
	Actions: updates,
	Check:   checkCronJobScheduleChanged,
}

func checkCronJobScheduleChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "schedule", "timeZone", "startingDeadlineSeconds") {
		return
	}
	if n, ok := c.After.At("spec.startingDeadlineSeconds").Int(); ok && n < 10 {
		if was, ok := c.Before.At("spec.startingDeadlineSeconds").Int(); !ok || was >= 10 {
			p.Report(c, rule.Finding{
				Path:        "spec.startingDeadlineSeconds",
				Severity:    rule.Warning,
				Message:     fmt.Sprintf("a run may start no later than %d s after its time", n),
				Consequence: "the controller looks every 10 s, so that runs are left out, perhaps all of them",
			})
		}
	}
	was, now := c.Before.Text("spec.schedule"), c.After.Text("spec.schedule")
	if was == now {
		if b, a := c.Before.Text("spec.timeZone"), c.After.Text("spec.timeZone"); b != a {
			p.Report(c, rule.Finding{
				Path:        "spec.timeZone",
				Message:     fmt.Sprintf("the time zone goes from %s to %s", orController(b), orController(a)),
				Consequence: "it runs at another hour",
			})
		}
		return
	}
	f := rule.Finding{Path: "spec.schedule", Message: fmt.Sprintf("the schedule goes from %q to %q", was, now)}
	b, known := runsPerDay(was)
	a, alsoKnown := runsPerDay(now)
	if known && alsoKnown && a != b {
		f.Message += fmt.Sprintf(": %s in place of %s", runsText(a), runsText(b))
		if a >= 4*b {
			f.Severity = rule.Warning
			f.Consequence = "runs may meet each other, and what they work on bears them more often"
		} else if 4*a <= b {
			f.Severity = rule.Warning
			f.Consequence = "what it kept up (backups, certificates, clean-ups) waits longer"
		}
	}
	if f.Consequence == "" {
		f.Consequence = "what comes before or after it in the day (other jobs, peaks of load, backups) was made for the old times"
	}
	p.Report(c, f)
}

func orController(zone string) string {
	if zone == "" {
		return "the controller's own"
	}
	return zone
}

// runsText writes how often something runs: "60 times a day", "once in 7 days".
func runsText(n float64) string {
	switch {
	case n == 1:
		return "once a day"
	case n < 1:
		return fmt.Sprintf("once in %.0f days", 1/n)
	}
	return strconv.FormatFloat(n, 'g', 4, 64) + " times a day"
}

// runsPerDay gives how often a schedule is due, on average over the days that it
// names; ok is false for what cannot be read.
func runsPerDay(schedule string) (float64, bool) {
	switch strings.TrimSpace(schedule) {
	case "@hourly":
		return 24, true
	case "@daily", "@midnight":
		return 1, true
	case "@weekly":
		return 1.0 / 7, true
	case "@monthly":
		return 12.0 / 365, true
	case "@yearly", "@annually":
		return 1.0 / 365, true
	}
	fields := strings.Fields(schedule)
	if len(fields) == 6 && strings.Contains(fields[0], "TZ=") {
		fields = fields[1:]
	}
	if len(fields) != 5 {
		return 0, false
	}
	n := 1.0
	for i, spans := range [][2]int{{0, 59}, {0, 23}} {
		k, ok := cronCount(fields[i], spans[0], spans[1])
		if !ok {
			return 0, false
		}
		n *= float64(k)
	}
	days, daysOK := cronCount(fields[2], 1, 31)
	months, monthsOK := cronCount(fields[3], 1, 12)
	week, weekOK := cronCount(fields[4], 0, 6)
	if !daysOK || !monthsOK || !weekOK {
		return 0, false
	}
	share := 1.0
	switch byDay, byWeek := fields[2] != "*" && fields[2] != "?", fields[4] != "*" && fields[4] != "?"; {
	case byDay && byWeek: // either of both is enough
		share = min(1, float64(days)/30.4+float64(week)/7)
	case byDay:
		share = min(1, float64(days)/30.4)
	case byWeek:
		share = float64(week) / 7
	}
	return n * share * float64(months) / 12, true
}

// cronCount gives how many values of a span a field of a schedule names.
func cronCount(field string, least, most int) (int, bool) {
	named := map[int]bool{}
	for part := range strings.SplitSeq(field, ",") {
		span, every, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			n, err := strconv.Atoi(every)
			if err != nil || n <= 0 {
				return 0, false
			}
			step = n
		}
		from, to := least, most
		if span != "*" && span != "?" {
			first, last, ranged := strings.Cut(span, "-")
			a, ok := cronValue(first)
			if !ok {
				return 0, false
			}
			from, to = a, a
			if ranged {
				if to, ok = cronValue(last); !ok {
					return 0, false
				}
			} else if stepped {
				to = most
			}
		}
		if from < least || to > most+1 {
			return 0, false
		}
		for v := from; v <= to; v += step {
			if v == 7 && most == 6 {
				v = 0 // Sunday
				named[v] = true
				break
			}
			named[v] = true
		}
	}
	return len(named), len(named) > 0
}

func cronValue(s string) (int, bool) {
	if i := strings.Index("sunmontuewedthufrisat", strings.ToLower(s)); i >= 0 && len(s) == 3 && i%3 == 0 {
		return i / 3, true
	}
	if i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(s)); i >= 0 && len(s) == 3 && i%3 == 0 {
		return i/3 + 1, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n < 100
}
