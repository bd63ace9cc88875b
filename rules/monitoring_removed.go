package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MonitoringRemoved reports alerts and monitors that go while what they watch stays.
var MonitoringRemoved = &rule.Rule{
	ID:       "monitoring-removed",
	Title:    "Alerts or monitors are removed while what they watch stays",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
Nobody notices a missing alert before it is missed. When a ServiceMonitor or PodMonitor goes, its series end, and alerts on them fall silent, as an
expression over no series is true for nothing; only those with absent() fire. A recorded series that goes silences all alerts and dashboards
that are made from it.

An alert of the same name elsewhere in the change takes over. Monitors that go together with what they scrape are left alone.`,
	Advice:  "Look up who uses the series (dashboards, recording rules, autoscalers on Prometheus metrics) before the monitor goes. Write down in the pull request what now tells of the failure that the alert told of.",
	Kinds:   append([]string{ruleKind}, monitorKinds...),
	Actions: []diff.Action{diff.Delete, diff.Update, diff.Replace},
	Check:   checkMonitoringRemoved,
}

func checkMonitoringRemoved(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "PrometheusRule" {
		checkAlertsRemoved(p, c)
		return
	}
	if c.Action != diff.Delete {
		return
	}
	was := monitored(p.Before, c.Before)
	var left []object.Ref
	for _, ref := range was {
		if p.After.Get(ref) == nil {
			continue
		}
		if o := p.After.Get(ref); slices.ContainsFunc(p.After.Kind(c.Ref.GroupKind()), func(m *object.Object) bool {
			return o.Ref.Kind == "Service" && monitors(m, o) || o.Ref.Kind != "Service" && slices.Contains(monitored(p.After, m), ref)
		}) {
			continue // another monitor scrapes it
		}
		left = append(left, ref)
	}
	switch {
	case len(left) > 0:
		p.Report(c, rule.Finding{Message: fmt.Sprintf("%s is scraped by nothing here any more", roleNames(left)), Related: left,
			Consequence: "its series end, and alerts on them fall silent"})
	case len(was) == 0:
		p.Report(c, rule.Finding{Severity: rule.Note, Message: "the monitor is removed", Consequence: "what it scraped is not among these manifests; if it stays, its series end, and alerts on them fall silent"})
	}
}

func checkAlertsRemoved(p *rule.Pass, c diff.Change) {
	after := alertsOf(p.After)
	var gone, series []string
	var first object.Path
	var users []string
	for _, a := range alerts(c.Before) {
		if after[a.name] || slices.Contains(gone, a.name) || slices.Contains(series, a.name) {
			continue
		}
		if first == "" && c.After != nil {
			first = a.path
		}
		if !a.recorded {
			gone = append(gone, a.name)
			continue
		}
		series = append(series, a.name)
		for _, u := range usingSeries(p.After, a.name) {
			if !slices.Contains(users, u) {
				users = append(users, u)
			}
		}
	}
	f := rule.Finding{Path: first}
	switch {
	case len(gone) > 0 && len(series) > 0:
		f.Message = fmt.Sprintf("%s (%s) and %s (%s) go", plural(len(gone), "alert"), listed(gone), plural(len(series), "recorded series"), listed(series))
	case len(gone) > 0:
		f.Message = fmt.Sprintf("%s: %s", isAre(len(gone), "alert goes", "alerts go"), listed(gone))
	case len(series) > 0:
		f.Message = fmt.Sprintf("no longer recorded: %s", listed(series))
	default:
		return
	}
	f.Consequence = "nothing else in this unit tells of the same"
	if len(gone) == 0 {
		f.Severity = rule.Note
		f.Consequence = "dashboards and rules of other repositories may use them"
	}
	if len(users) > 0 {
		f.Severity = rule.Warning
		f.Consequence = fmt.Sprintf("%s still uses it, and falls silent", listed(users))
		if len(users) > 1 {
			f.Consequence = fmt.Sprintf("%s still use it, and fall silent", listed(users))
		}
	}
	p.Report(c, f)
}
