package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MonitoringLabelsChanged reports monitors and rules that Prometheus no longer
// selects, and series that get other labels.
var MonitoringLabelsChanged = &rule.Rule{
	ID:       "monitoring-labels-changed",
	Title:    "Prometheus no longer selects a monitor or rule, or series get other labels",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
Prometheus takes monitors and rules by their labels, often by one that names the Helm release. Without it they are ignored: no series, no
alerts, and no error anywhere.

A series is its name and all its labels. When jobLabel, targetLabels or a relabeling changes one, alerts and dashboards that ask for the old one find
nothing, and rates start anew. A relabeling that drops or keeps takes whole series away. Alerts of this unit that ask for a value of job that changes
with the monitor are not looked into.`,
	Advice: `Keep the label by which Prometheus selects (its serviceMonitorSelector, podMonitorSelector, ruleSelector). Before a label of series changes, find the
alerts and dashboards that ask for it, and let both labels exist for as long as the longest range that they look back.`,
	Incidents: []string{"dfds-ksm-labels-2024"},
	Kinds:     append([]string{ruleKind, "Prometheus.monitoring.coreos.com", "PrometheusAgent.monitoring.coreos.com", "ThanosRuler.monitoring.coreos.com"}, monitorKinds...),
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:     checkMonitoringLabelsChanged,
}

func checkMonitoringLabelsChanged(p *rule.Pass, c diff.Change) {
	if _, ok := selectorField[c.Ref.Kind]; ok {
		checkSelectedLabels(p, c)
		checkSeriesLabels(p, c)
		checkMonitoredPort(p, c)
		return
	}
	checkPrometheusSelectors(p, c)
}

// releaseLabels are those that Prometheus commonly selects by: that of
// kube-prometheus-stack, and those of kube-prometheus.
var releaseLabels = []string{"release", "prometheus", "role"}

func checkSelectedLabels(p *rule.Pass, c diff.Change) {
	if _, ok := shownField(c, "metadata.labels"); !ok {
		return
	}
	var lost []*object.Object
	for _, w := range watchers(p.Before, c.Before) {
		now := p.After.Get(w.Ref)
		if now != nil && !slices.Contains(watchers(p.After, c.After), now) {
			lost = append(lost, now)
		}
	}
	if len(lost) > 0 {
		p.Report(c, rule.Finding{Path: "metadata.labels", Severity: rule.Error, Related: objectRefs(lost),
			Message:     fmt.Sprintf("%s no longer selects it by its labels", objectNames(lost)),
			Consequence: ignored(c)})
		return
	}
	if len(p.After.Kind("Prometheus.monitoring.coreos.com"))+len(p.After.Kind("PrometheusAgent.monitoring.coreos.com")) > 0 {
		return // those here select it as before
	}
	before, after := c.Before.Labels(), c.After.Labels()
	for _, key := range releaseLabels {
		if was, now := before[key], after[key]; was != "" && was != now {
			p.Report(c, rule.Finding{Path: object.Path("metadata.labels").Key(key), Message: "its label " + change(key, was, now),
				Consequence: "which Prometheus selects it is not among these manifests; one that goes by this label will find it no more: " + ignored(c)})
		}
	}
}

func ignored(c diff.Change) string {
	if c.Ref.Kind == "PrometheusRule" {
		return "none of its alerts fires"
	}
	return "nothing of it is scraped, and alerts on its series fall silent"
}

func checkPrometheusSelectors(p *rule.Pass, c diff.Change) {
	for kind, field := range selectorField {
		path := "spec." + field
		if c.Before.At(path).Equal(c.After.At(path)) || !c.Before.At(path).Exists() {
			continue
		}
		var lost []*object.Object
		for _, o := range p.After.Kind(kind + ".monitoring.coreos.com") {
			if c.Before.SelectorAt(path).Matches(o.Labels()) && !c.After.SelectorAt(path).Matches(o.Labels()) {
				lost = append(lost, o)
			}
		}
		f := rule.Finding{Path: object.Path(path), Related: objectRefs(lost), Severity: rule.Note,
			Message: fmt.Sprintf("it selects each %s by other labels", kind), Consequence: "those of other repositories may not carry them"}
		if len(lost) > 0 {
			f.Severity = rule.Error
			f.Message = fmt.Sprintf("it no longer selects %s", objectNames(lost))
			f.Consequence = "series and alerts of these end"
		}
		p.Report(c, f)
	}
}

func checkSeriesLabels(p *rule.Pass, c diff.Change) {
	for _, f := range c.Fields {
		if f.Hidden != "" {
			continue
		}
		path := string(f.Path)
		x := rule.Finding{Path: f.Path, Before: f.Before, After: f.After}
		switch {
		case path == "spec.jobLabel":
			x.Message = fmt.Sprintf("the job label of its series is taken from another place: %s", change("jobLabel", f.Before.Text(), f.After.Text()))
			x.Consequence = "alerts and dashboards that ask for the old job find nothing"
		case strings.HasPrefix(path, "spec.targetLabels"), strings.HasPrefix(path, "spec.podTargetLabels"):
			if f.Op == diff.Add {
				continue
			}
			x.Message = "its series lose a label that came from the Service or pod"
			x.Consequence = "alerts and dashboards that ask for it find nothing"
		case strings.Contains(path, "elabelings") || strings.Contains(path, "elabelConfigs"):
			x.Severity = rule.Note
			x.Message = "its series are relabelled in another way"
			x.Consequence = "alerts and dashboards that ask for the old labels find nothing"
			for _, v := range relabelings(c.After, f) {
				if action := v.Field("action").Text(); strings.EqualFold(action, "drop") || strings.EqualFold(action, "keep") {
					x.Message = fmt.Sprintf("its series are filtered in another way (%s %s)", action, v.Field("regex").Text())
					x.Consequence = "series that alerts use may be gone"
				}
			}
			p.Report(c, x)
			return
		default:
			continue
		}
		p.Report(c, x)
	}
}

// checkMonitoredPort tells of a ServiceMonitor that begins to ask for a port which none of
// the Services that it selects has.
func checkMonitoredPort(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind != "ServiceMonitor" {
		return
	}
	asked := map[string]bool{}
	for _, e := range c.Before.At("spec.endpoints").Items() {
		asked[e.Field("port").Text()] = true
	}
	services := monitored(p.After, c.After)
	for i, e := range c.After.At("spec.endpoints").Items() {
		port := e.Field("port").Text()
		if port == "" || asked[port] || len(services) == 0 || slices.ContainsFunc(services, func(ref object.Ref) bool {
			return slices.ContainsFunc(servicePorts(p.After.Get(ref)), func(s servicePort) bool { return s.name == port })
		}) {
			continue
		}
		p.Report(c, rule.Finding{Path: object.Path("spec.endpoints").Index(i).Key("port"), Severity: rule.Error, Related: services,
			Message:     fmt.Sprintf("it asks for port %s, which %s does not have", port, refNames(services)),
			Consequence: "nothing is scraped, and alerts on these series fall silent"})
	}
}

// relabelings gives the relabelings that a difference brings or is part of.
func relabelings(o *object.Object, f diff.Field) []object.Value {
	if f.After.Type() == object.List {
		var out []object.Value
		for _, v := range f.After.Items() {
			out = append(out, v)
		}
		return out
	}
	v := o.Root()
	inside := false
	for _, s := range f.Path.Segments() {
		switch {
		case s.Select != nil:
			v = v.At(string(object.Path("").Select(flat(s.Select)...)))
		case s.Index >= 0:
			v = v.Item(s.Index)
			if inside {
				return []object.Value{v}
			}
		default:
			v = v.Field(s.Key)
			inside = strings.Contains(s.Key, "elabel")
		}
	}
	return nil
}

func flat(pairs [][2]string) []string {
	var out []string
	for _, p := range pairs {
		out = append(out, p[0], p[1])
	}
	return out
}
