package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ResourcesRemoved reports a container that no longer says what it needs, or how
// much it may take.
var ResourcesRemoved = &rule.Rule{
	ID:       "resources-removed",
	Title:    "A container loses its requests or limits",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Requests reserve a place on a node, limits keep a container in its bounds. Without a memory limit a leak takes the node's memory, and
the kernel ends whatever it finds; without requests the scheduler takes the pod for free and packs the node until it is short. Both
decide the quality-of-service class, by which the kubelet evicts: BestEffort first, Guaranteed last. An autoscaler that works on
utilization divides by the request; without one it does nothing at all.

A CPU limit that goes while the request stays is a matter of taste and a note. A request that goes while the limit stays
changes nothing: the API server takes the limit for it. A namespace's LimitRange may fill in defaults; it is looked for.`,
	Advice: `Keep a memory request and a memory limit on every container, sidecars too, and a CPU request. If the values were wrong, measure and set
others. Where they were lost in a move to another template or library, bring them back there.`,
	Incidents: []string{"bluematador-oom-2019"},
	Kinds: []string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "ReplicationController",
		"Rollout.argoproj.io", "Job.batch", "CronJob.batch"},
	Actions: []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:   checkResourcesRemoved,
}

func checkResourcesRemoved(p *rule.Pass, c diff.Change) {
	before, ok := object.AsWorkload(c.Before)
	after, alsoOK := object.AsWorkload(c.After)
	if !ok || !alsoOK {
		return
	}
	for _, b := range before.Containers() {
		a, found := after.Container(b.Name)
		if !found || b.Kind == object.EphemeralContainer {
			continue
		}
		limits := lostResources(b, a, "limits")
		requests := lostResources(b, a, "requests")
		requests = slices.DeleteFunc(requests, func(name string) bool { return a.At("resources.limits").Field(name).Exists() })
		if len(limits)+len(requests) == 0 {
			continue
		}
		f := rule.Finding{Path: a.Path.Key("resources"), Severity: rule.Note}
		var lost []string
		if len(requests) > 0 {
			lost = append(lost, "requests ("+amounts(b, "requests", requests)+")")
		}
		if len(limits) > 0 {
			lost = append(lost, "limits ("+amounts(b, "limits", limits)+")")
		}
		f.Message = fmt.Sprintf("container %s loses its %s", b.Name, strings.Join(lost, " and "))
		var effects []string
		if was, now := qosClass(before), qosClass(after); was != now {
			f.Severity = rule.Warning
			effects = append(effects, fmt.Sprintf("the pods fall from %s to %s, so they are evicted earlier", was, now))
		}
		if slices.Contains(limits, "memory") {
			f.Severity = rule.Warning
			effects = append(effects, "nothing bounds its memory but the node's")
		}
		if slices.Contains(requests, "memory") || slices.Contains(requests, "cpu") {
			f.Severity = rule.Warning
			effects = append(effects, "the scheduler reserves nothing for it")
		}
		if len(effects) == 0 && slices.Contains(limits, "cpu") {
			effects = append(effects, "it may use whatever CPU is idle on its node")
		}
		for _, name := range requests {
			for _, scaler := range p.After.AutoscalersOf(c.After.Ref) {
				if onUtilization(scaler.Object, name) {
					f.Severity = rule.Error
					f.Related = append(f.Related, scaler.Ref)
					effects = append(effects, fmt.Sprintf("%s works on a part of the %s request and stops scaling", scaler.Ref, name))
				}
			}
		}
		for _, limitRange := range p.After.Kind("LimitRange") {
			if limitRange.Ref.Namespace == c.After.Ref.Namespace {
				f.Related = append(f.Related, limitRange.Ref)
				effects = append(effects, fmt.Sprintf("%s may fill in its defaults", limitRange.Ref))
			}
		}
		f.Consequence = strings.Join(effects, "; ")
		p.Report(c, f)
	}
}

// lostResources names the resources that a container had in requests or limits and has no more.
func lostResources(before, after object.Container, what string) []string {
	var out []string
	now := after.At("resources." + what)
	for name := range before.At("resources." + what).Fields() {
		if !now.Field(name).Exists() {
			out = append(out, name)
		}
	}
	return out
}

// amounts writes resources with their values: "cpu 500m, memory 250Mi".
func amounts(c object.Container, what string, names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, name+" "+c.At("resources."+what).Field(name).String())
	}
	return strings.Join(out, ", ")
}

// qosClass is the quality-of-service class of a workload's pods
// (https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/): Guaranteed when
// each container has CPU and memory limits that equal its requests, BestEffort when
// none has any of the four.
func qosClass(w object.Workload) string {
	any, all := false, true
	for _, c := range w.Containers() {
		if c.Kind == object.EphemeralContainer {
			continue
		}
		for _, name := range []string{"cpu", "memory"} {
			limit, request := c.At("resources.limits").Field(name), c.At("resources.requests").Field(name)
			if limit.Exists() || request.Exists() {
				any = true
			}
			// A request that is not written is the limit.
			if !limit.Exists() || request.Exists() && request.String() != limit.String() {
				all = false
			}
		}
	}
	switch {
	case !any:
		return "BestEffort"
	case all:
		return "Guaranteed"
	}
	return "Burstable"
}

// onUtilization says whether an autoscaler works on a part of the request of a resource.
func onUtilization(scaler *object.Object, resource string) bool {
	if resource == "cpu" && scaler.At("spec.targetCPUUtilizationPercentage").Exists() {
		return true
	}
	for _, m := range scaler.At("spec.metrics").Items() {
		for _, kind := range []string{"resource", "containerResource"} {
			r := m.Field(kind)
			if r.Field("name").Text() == resource && (r.At("target.averageUtilization").Exists() || r.Field("targetAverageUtilization").Exists()) {
				return true
			}
		}
	}
	for _, t := range scaler.At("spec.triggers").Items() { // KEDA's
		if t.Field("type").Text() == resource && (t.Field("metricType").Text() == "Utilization" || t.At("metadata.type").Text() == "Utilization") {
			return true
		}
	}
	return false
}
