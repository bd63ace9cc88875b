package rules

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads the objects of the Prometheus operator, for the
// rules about monitoring.

// monitorKinds say what is scraped.
var monitorKinds = []string{"ServiceMonitor.monitoring.coreos.com", "PodMonitor.monitoring.coreos.com", "Probe.monitoring.coreos.com", "ScrapeConfig.monitoring.coreos.com"}

const ruleKind = "PrometheusRule.monitoring.coreos.com"

// An alert is one rule of a PrometheusRule: an alert, or a recorded series.
type alert struct {
	name, expr string
	recorded   bool
	path       object.Path
}

// alerts gives the rules of a PrometheusRule in their order.
func alerts(o *object.Object) []alert {
	var out []alert
	for i, g := range o.At("spec.groups").Items() {
		group := object.Path("spec.groups").Index(i)
		if name := g.Field("name").Text(); name != "" {
			group = object.Path("spec.groups").Select("name", name)
		}
		for j, r := range g.Field("rules").Items() {
			a := alert{name: r.Field("alert").Text(), expr: r.Field("expr").String(), path: group.Key("rules").Index(j)}
			if a.name == "" {
				a.name, a.recorded = r.Field("record").Text(), true
			}
			if a.name != "" {
				out = append(out, a)
			}
		}
	}
	return out
}

// alertsOf gives the names of all rules of a set.
func alertsOf(set *object.Set) map[string]bool {
	out := map[string]bool{}
	for _, o := range set.Kind(ruleKind) {
		for _, a := range alerts(o) {
			out[a.name] = true
		}
	}
	return out
}

// usingSeries gives the rules of a set whose expression names a series.
func usingSeries(set *object.Set, series string) []string {
	var out []string
	for _, o := range set.Kind(ruleKind) {
		for _, a := range alerts(o) {
			if namesSeries(a.expr, series) && !slices.Contains(out, a.name) {
				out = append(out, a.name)
			}
		}
	}
	return out
}

func namesSeries(expr, series string) bool {
	for rest := expr; ; {
		i := strings.Index(rest, series)
		if i < 0 {
			return false
		}
		end := i + len(series)
		if (i == 0 || !seriesByte(rest[i-1])) && (end == len(rest) || !seriesByte(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
}

func seriesByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == ':'
}

// selectorField is the field of a Prometheus that selects objects of a kind.
var selectorField = map[string]string{
	"ServiceMonitor": "serviceMonitorSelector", "PodMonitor": "podMonitorSelector", "Probe": "probeSelector", "ScrapeConfig": "scrapeConfigSelector", "PrometheusRule": "ruleSelector",
}

// watchers gives the Prometheus and ThanosRuler objects of a set that select an
// object by its labels. Whether they look into its namespace is not known.
func watchers(set *object.Set, o *object.Object) []*object.Object {
	var out []*object.Object
	for _, kind := range []string{"Prometheus.monitoring.coreos.com", "PrometheusAgent.monitoring.coreos.com", "ThanosRuler.monitoring.coreos.com"} {
		for _, w := range set.Kind(kind) {
			if w.SelectorAt("spec." + selectorField[o.Ref.Kind]).Matches(o.Labels()) {
				out = append(out, w)
			}
		}
	}
	return out
}

// monitored gives what a ServiceMonitor or PodMonitor scrapes in a set: Services or
// workloads.
func monitored(set *object.Set, m *object.Object) []object.Ref {
	var out []object.Ref
	switch m.Ref.Kind {
	case "ServiceMonitor":
		for _, s := range set.Kind("Service") {
			if monitors(m, s) {
				out = append(out, s.Ref)
			}
		}
	case "PodMonitor":
		out = refs(set.PodsOf(m.SelectorAt("spec.selector"), m.Ref.Namespace).Workloads)
	}
	return out
}
