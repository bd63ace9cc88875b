package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ContainerWithoutResources reports containers that come without saying what they need.
var ContainerWithoutResources = &rule.Rule{
	ID:       "container-without-resources",
	Title:    "A container comes without requests and limits",
	Subject:  "workloads",
	Severity: rule.Note,
	Doc: `
A container that says nothing takes what it finds. The scheduler counts it as nothing and packs the node; when memory runs out, the kernel ends whatever is
largest, which is another team's pod or the node's own agents, and the node goes NotReady with all that is on it. Pods of nodes that went down
then fall on the next ones.

It is told of a container that joins others which have requests or limits, and of a new workload in production none of whose containers says anything. A note, and a
warning where more hangs on it: an autoscaler that works on a share of the request stops when one container of the pod has none, and pods that were Guaranteed are no
longer. A LimitRange of the namespace that fills in defaults is the answer, too, and quiet.`,
	Advice:    `Give each container a memory request and limit and a CPU request, sidecars and init containers too. Without a measurement begin high and lower it after a week.`,
	Incidents: []string{"dfds-prometheus-noresources-2022", "mybinder-build-nolimit-2017", "nunl-2019"},
	Kinds: []string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "ReplicationController",
		"Rollout.argoproj.io", "CronJob.batch"},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkContainerWithoutResources,
}

// unbounded says whether a container has neither a request nor a limit.
func unbounded(c object.Container) bool {
	return c.At("resources.requests").Len() == 0 && c.At("resources.limits").Len() == 0 && c.At("resources.claims").Len() == 0
}

func checkContainerWithoutResources(p *rule.Pass, c diff.Change) {
	if c.Before == nil {
		checkNewWorkloadBounds(p, c)
		return
	}
	if !touched(c) && !slices.ContainsFunc(c.Fields, func(f diff.Field) bool { return strings.HasSuffix(string(f.Path), "ontainers") }) {
		return // no container comes
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || givesRequests(p.After, c.After.Ref.Namespace, "memory") {
		return
	}
	bounded := false
	for _, b := range before.Running() {
		bounded = bounded || !unbounded(b)
	}
	if !bounded {
		return // nobody there says what it needs
	}
	paired := map[string]bool{}
	for _, pair := range pairContainers(before, after) {
		paired[pair.after.Name] = true
	}
	for _, a := range after.Running() {
		if paired[a.Name] || !unbounded(a) {
			continue
		}
		f := rule.Finding{Path: a.Path, Message: fmt.Sprintf("container %s comes without requests and limits", a.Name), After: a.At("resources")}
		effects := []string{"nothing bounds its memory but the node's, and the scheduler reserves nothing for it"}
		if was, now := qosClass(before), qosClass(after); was == "Guaranteed" && now != was {
			f.Severity = rule.Warning
			effects = append(effects, "the pods are no longer Guaranteed, so they are evicted earlier")
		}
		for _, scaler := range p.After.AutoscalersOf(c.After.Ref) {
			for _, resource := range []string{"cpu", "memory"} {
				if onUtilization(scaler.Object, resource) && !onContainer(scaler.Object, resource) {
					f.Severity = rule.Warning
					f.Related = append(f.Related, scaler.Ref)
					effects = append(effects, fmt.Sprintf("%s works on a share of the %s request of all containers, and stops scaling when one has none", scaler.Ref, resource))
				}
			}
		}
		f.Consequence = strings.Join(effects, "; ")
		p.Report(c, f)
	}
}

// onContainer says whether an autoscaler measures a resource of one container only.
func onContainer(scaler *object.Object, resource string) bool {
	for _, m := range scaler.At("spec.metrics").Items() {
		if m.At("containerResource.name").Text() == resource {
			return true
		}
	}
	return false
}

// checkNewWorkloadBounds tells of a workload that comes to a unit which was there before.
func checkNewWorkloadBounds(p *rule.Pass, c diff.Change) {
	w, ok := object.AsWorkload(c.After)
	if !ok || p.Before == nil || !p.InProduction(p.Name) || givesRequests(p.After, c.After.Ref.Namespace, "memory") {
		return
	}
	if _, moved := predecessor(p.Unit, w); moved || len(p.MovedFrom(c)) > 0 {
		return // it is as it was under another kind, or in another unit
	}
	running := w.Running()
	var names []string
	for _, box := range running {
		if !unbounded(box) {
			return
		}
		names = append(names, box.Name)
	}
	if len(running) == 0 {
		return
	}
	p.Report(c, rule.Finding{Path: running[0].Path.Key("resources"),
		Message:     fmt.Sprintf("the new workload comes without requests and limits (container %s)", listed(names)),
		Consequence: "a leak in it takes the memory of its node, and of the pods beside it"})
}

// predecessor finds the workload of another kind that a unit loses under the name of
// one that it gains.
func predecessor(u *rule.Unit, came object.Workload) (diff.Change, bool) {
	for _, groupKind := range servingKinds {
		ref := came.Ref
		ref.Kind, ref.Group, _ = strings.Cut(groupKind, ".")
		if c, ok := changeOf(u, ref); ok && c.Action == diff.Delete {
			return c, true
		}
	}
	return diff.Change{}, false
}
