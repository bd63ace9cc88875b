package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// AlertWeakened reports alerts that wake nobody any more, or much later.
var AlertWeakened = &rule.Rule{
	ID:       "alert-weakened",
	Title:    "An alert goes to somebody else, or waits much longer",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
Alertmanager sends an alert where its labels lead it. One whose severity goes from page to info is still there, still fires, and wakes nobody; the same
holds for a label by which a team is found. With a longer ` + "`for`" + ` an alert tells of an outage after it has lasted that long, and never of one that comes and goes, as each
evaluation that is false begins the count anew.

Labels are told where their value changes or they go. A ` + "`for`" + ` is told when it is at least three times as long and fifteen minutes or more. Thresholds and expressions are left
alone: whether they are right cannot be seen here.`,
	Advice:  "Say in the pull request who is woken by the failure from now on. Against noise raise the threshold or use a ratio over a longer window in the expression, and keep `for` short.",
	Kinds:   []string{ruleKind},
	Actions: updates,
	Check:   checkAlertWeakened,
}

func checkAlertWeakened(p *rule.Pass, c diff.Change) {
	before, after := alertRules(c.Before), alertRules(c.After)
	var what []string
	f := rule.Finding{}
	follows := map[string]bool{}
	for _, now := range after {
		i := slices.IndexFunc(before, func(a alertRule) bool { return a.name == now.name })
		if i < 0 || countNamed(before, now.name) > 1 || countNamed(after, now.name) > 1 {
			continue // not the same alert for certain: names may come twice, with other severities
		}
		was := before[i]
		tell := func(path object.Path, text, then string) {
			if f.Path == "" {
				f.Path = path
			}
			what = append(what, text)
			follows[then] = true
		}
		for _, key := range slices.Sorted(maps.Keys(was.labels)) {
			if b, a := was.labels[key], now.labels[key]; b != a && !strings.Contains(b+a, "{{") {
				tell(now.path.Key("labels").Key(key), fmt.Sprintf("%s: label %s", now.name, change(key, b, a)), "it is sent to whoever gets alerts with these labels, or to nobody")
			}
		}
		if now.wait >= 15*time.Minute && now.wait >= 3*was.wait {
			tell(now.path.Key("for"), fmt.Sprintf("%s waits %s, %s before", now.name, promDuration(now.wait), promDuration(was.wait)), "an outage is told of after it has lasted that long, one that comes and goes never")
		}
	}
	if len(what) == 0 {
		return
	}
	f.Message = listed(what)
	f.Consequence = strings.Join(slices.Sorted(maps.Keys(follows)), "; ")
	p.Report(c, f)
}

// An alertRule is an alert with what decides when it fires and where it goes.
type alertRule struct {
	alert
	labels map[string]string
	wait   time.Duration
}

func alertRules(o *object.Object) []alertRule {
	var out []alertRule
	for _, a := range alerts(o) {
		if a.recorded {
			continue
		}
		v := o.At(string(a.path))
		wait, _ := parsePromDuration(v.Field("for").Text())
		out = append(out, alertRule{a, v.Field("labels").Strings(), wait})
	}
	return out
}

func countNamed(all []alertRule, name string) (n int) {
	for _, a := range all {
		if a.name == name {
			n++
		}
	}
	return n
}

// promUnits are the units of a duration as Prometheus writes it: 1d12h
// (https://prometheus.io/docs/prometheus/latest/querying/basics/#float-literals-and-time-durations).
var promUnits = []struct {
	unit string
	d    time.Duration
}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}, {"y", 365 * 24 * time.Hour}}

// parsePromDuration reads a duration of Prometheus; ok is false for another text.
func parsePromDuration(s string) (total time.Duration, ok bool) {
	for s != "" {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		if digits == 0 || digits > 9 {
			return 0, false
		}
		n := time.Duration(0)
		for _, c := range s[:digits] {
			n = n*10 + time.Duration(c-'0')
		}
		s = s[digits:]
		end := len(s) - len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz"))
		i := slices.IndexFunc(promUnits, func(u struct {
			unit string
			d    time.Duration
		}) bool {
			return u.unit == s[:end]
		})
		if i < 0 || n > time.Duration(1<<62)/promUnits[i].d {
			return 0, false
		}
		total += n * promUnits[i].d
		s = s[end:]
		ok = true
	}
	return total, ok
}

// promDuration writes a duration in its largest whole unit: "5 min".
func promDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "not at all"
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.String()
}
