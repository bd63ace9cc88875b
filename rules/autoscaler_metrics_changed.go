package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// AutoscalerMetricsChanged reports an autoscaler that reacts to less, later, or not
// at all.
var AutoscalerMetricsChanged = &rule.Rule{
	ID:       "autoscaler-metrics-changed",
	Title:    "An autoscaler loses a metric, or scales up later or not at all",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
An autoscaler takes the highest count that any of its metrics asks for. When one goes, the load that only it saw (queue length, connections) scales nothing any more. A
target that is higher leaves less room for what comes while new pods start: at 90 % of the request one more burst is above what the pods have. With
selectPolicy Disabled for scaleUp it only ever gets smaller. A percentage of the request needs a request: without one the metric is unknown, and an unknown metric
keeps the count as it is. A KEDA fallback is the count for the time in which its source of metrics is down; without it the count of that moment stays.`,
	Advice:  "Keep the metric that follows the real bottleneck. Change one target at a time by small steps, and look at the count and the latency of a whole day.",
	Kinds:   []string{"HorizontalPodAutoscaler.autoscaling", "ScaledObject.keda.sh"},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace},
	Check:   checkAutoscalerMetricsChanged,
}

// A metric is one thing by which an autoscaler scales.
type metric struct {
	name   string
	target object.Value
	unit   string // "%" for a share of the request
	path   object.Path
}

func metricsOf(o *object.Object) []metric {
	var out []metric
	if o == nil {
		return nil
	}
	if v := o.At("spec.targetCPUUtilizationPercentage"); v.Exists() {
		out = append(out, metric{"cpu", v, "%", "spec.targetCPUUtilizationPercentage"})
	}
	for i, m := range o.At("spec.metrics").Items() {
		at := object.Path("spec.metrics").Index(i)
		kind := m.Field("type").Text()
		key := strings.ToLower(kind[:min(len(kind), 1)]) + kind[min(len(kind), 1):]
		inner := m.Field(key)
		name := inner.Field("name").Text()
		if name == "" {
			name = inner.At("metric.name").Text()
		}
		if name == "" {
			name = orText(inner.Field("metricName").Text(), kind)
		}
		x := metric{name: name, path: at.Key(key).Key("target")}
		target := inner.Field("target")
		for _, field := range []string{"averageUtilization", "averageValue", "value"} {
			if v := target.Field(field); v.Exists() {
				x.target, x.path = v, x.path.Key(field)
				if field == "averageUtilization" {
					x.unit = "%"
				}
				break
			}
		}
		if v := inner.Field("targetAverageUtilization"); v.Exists() { // as v2beta1 writes it
			x.target, x.unit, x.path = v, "%", at.Key(key).Key("targetAverageUtilization")
		}
		out = append(out, x)
	}
	for i, t := range o.At("spec.triggers").Items() {
		name := t.Field("type").Text()
		for _, k := range []string{"metricName", "queueName", "topic", "query"} {
			if v := t.At("metadata." + k).Text(); v != "" {
				name += " " + clipped(v, 40)
				break
			}
		}
		x := metric{name: name, path: object.Path("spec.triggers").Index(i)}
		for _, k := range []string{"threshold", "value", "lagThreshold", "targetValue", "listLength", "queueLength"} {
			if v := t.At("metadata." + k); v.Exists() {
				x.target, x.path = v, x.path.Key("metadata").Key(k)
				break
			}
		}
		out = append(out, x)
	}
	return out
}

func checkAutoscalerMetricsChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "ScaledObject" && c.Before != nil {
		checkFallback(p, c)
	}
	now := metricsOf(c.After)
	if c.Before != nil {
		was := metricsOf(c.Before)
		for _, m := range was {
			i := slices.IndexFunc(now, func(x metric) bool { return x.name == m.name })
			switch {
			case i < 0 && len(was) > len(now):
				p.Report(c, rule.Finding{Path: m.path, Message: fmt.Sprintf("it no longer scales by %s", m.name), Consequence: "load that only this showed scales nothing any more"})
			case i < 0 && len(now) > 0:
				p.Report(c, rule.Finding{Path: now[0].path, Severity: rule.Note, Message: fmt.Sprintf("it scales by %s, by %s before", metricNames(now), metricNames(was)),
					Consequence: "it follows another signal, by another number"})
				return
			case i >= 0:
				reportTarget(p, c, m, now[i])
			}
		}
		const up = "spec.behavior.scaleUp.selectPolicy"
		if c.After.Text(up) == "Disabled" && c.Before.Text(up) != "Disabled" {
			p.Report(c, rule.Finding{Path: up, Severity: rule.Error, Message: "it no longer scales up (selectPolicy Disabled)", Consequence: "the count only goes down, at any load"})
		}
		// 300 s by default (https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#default-behavior).
		const calm = "spec.behavior.scaleDown.stabilizationWindowSeconds"
		calmness := func(o *object.Object) int64 {
			if n, ok := o.At(calm).Int(); ok {
				return n
			}
			return 300
		}
		if was, now := calmness(c.Before), calmness(c.After); was >= 60 && 5*now <= was {
			p.Report(c, rule.Finding{Path: calm, Message: fmt.Sprintf("it waits %d s before it scales down, %d s before", now, was), Consequence: "each dip of the load ends pods, and the next rise waits until new ones are ready"})
		}
		const wait = "spec.behavior.scaleUp.stabilizationWindowSeconds"
		b, _ := c.Before.At(wait).Int()
		if a, _ := c.After.At(wait).Int(); a >= b+60 {
			p.Report(c, rule.Finding{Path: wait, Severity: rule.Note, Message: fmt.Sprintf("it waits %d s before it scales up, %d s before", a, b), Consequence: "a burst is met by the pods that are there for that long"})
		}
	}
	checkUtilization(p, c, now)
}

func metricNames(all []metric) string {
	var out []string
	for _, m := range all {
		out = append(out, m.name)
	}
	if len(out) == 0 {
		return "nothing"
	}
	return listed(out)
}

func reportTarget(p *rule.Pass, c diff.Change, was, now metric) {
	b, err := was.target.Quantity()
	a, alsoErr := now.target.Quantity()
	if err != nil || alsoErr != nil || was.unit != now.unit || a.Cmp(b) <= 0 {
		return
	}
	f := rule.Finding{Path: now.path, Before: was.target, After: now.target, Severity: rule.Note,
		Message: fmt.Sprintf("its target for %s goes from %s%s to %s%s", now.name, was.target, was.unit, now.target, now.unit), Consequence: "it scales up later"}
	if n, _ := now.target.Int(); now.unit == "%" && n >= 90 {
		f.Severity = rule.Warning
		f.Consequence = "it scales up when the pods have almost nothing left, and new ones take a minute or more"
		if n > 100 {
			f.Consequence = "it scales up only when pods use more than they request"
		}
	}
	if before, after := b.Millis(), a.Millis(); now.unit == "" && before > 0 && after >= 10*before {
		f.Severity = rule.Warning
		f.Consequence = "ten times as much has to pile up, or more, before it scales up"
	}
	p.Report(c, f)
}

// checkUtilization looks for shares of a request that the target does not have.
func checkUtilization(p *rule.Pass, c diff.Change, now []metric) {
	a, ok := object.AsAutoscaler(c.After)
	if !ok || a.Ref.Kind != "HorizontalPodAutoscaler" {
		return
	}
	w, ok := targetOf(p.After, a.Target)
	if !ok || !w.PodSpec.Exists() {
		return
	}
	for _, m := range now {
		if m.unit != "%" || m.name != "cpu" && m.name != "memory" || slices.ContainsFunc(metricsOf(c.Before), func(b metric) bool { return b.name == m.name && b.unit == "%" }) {
			continue
		}
		var without []string
		for _, box := range w.Running() {
			if !box.At("resources.requests").Field(m.name).Exists() && !box.At("resources.limits").Field(m.name).Exists() {
				without = append(without, box.Name)
			}
		}
		if len(without) == 0 || givesRequests(p.After, w.Ref.Namespace, m.name) {
			continue
		}
		p.Report(c, rule.Finding{Path: m.path, Related: []object.Ref{w.Ref},
			Message:     fmt.Sprintf("it scales by a share of the %s request, and container %s of %s requests none", m.name, listed(without), w.Ref),
			Consequence: "the metric cannot be computed, and the count stays as it is"})
	}
}

// checkFallback tells of a ScaledObject that no longer knows how many pods to have when its
// source of metrics is down (https://keda.sh/docs/latest/reference/scaledobject-spec/#fallback).
func checkFallback(p *rule.Pass, c diff.Change) {
	was, had := c.Before.At("spec.fallback.replicas").Int()
	if !had {
		return
	}
	now, has := c.After.At("spec.fallback.replicas").Int()
	f := rule.Finding{Path: "spec.fallback"}
	switch {
	case !has:
		f.Message = fmt.Sprintf("the fallback to %s goes", plural(int(was), "pod"))
		f.Consequence = "when the source of its metrics does not answer, the count stays where it is, be it the lowest, while load grows"
	case 2*now <= was:
		f.Path = "spec.fallback.replicas"
		f.Message = fmt.Sprintf("the fallback goes from %d to %s", was, plural(int(now), "pod"))
		f.Consequence = "when the source of its metrics does not answer, it scales down to that, whatever the load"
	default:
		return
	}
	p.Report(c, f)
}

// givesRequests says whether a LimitRange fills in requests in a namespace.
func givesRequests(set *object.Set, namespace, resource string) bool {
	for _, o := range set.Kind("LimitRange") {
		if o.Ref.Namespace != namespace {
			continue
		}
		for _, l := range o.At("spec.limits").Items() {
			if l.Field("defaultRequest").Field(resource).Exists() || l.Field("default").Field(resource).Exists() {
				return true
			}
		}
	}
	return false
}
