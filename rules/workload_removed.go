package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// WorkloadRemoved reports a workload that goes, with who still counts on it.
var WorkloadRemoved = &rule.Rule{
	ID:       "workload-removed",
	Title:    "A workload is removed, or moves to another unit",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
An object that is no longer rendered is deleted where the tool prunes, and its pods end with it; where the tool does not prune, it
stays behind and nobody updates it any more. Often it goes by accident: a condition in a chart, an overlay that lost a line, a
list that got another key. The finding says whose traffic it served, and who still names its Service.

A workload that moves from one unit to another is deleted by the tool that syncs the old unit, after the new one has taken it over
or before: Argo CD and Flux prune by what they applied, and Helm refuses to adopt what another release owns.

Jobs and bare pods are left alone. A workload that was scaled to nothing, a CronJob, and one whose Services are served by others
afterwards, such as a canary, are notes.`,
	Advice: `If it is to go: take it out of routes and clients first, see that its traffic is gone, then remove workload, Service, autoscaler and budget
together. To move it between units, let the old one release it first (Argo CD: ` + "`Prune=false`" + ` on the object; Flux: ` +
		"`kustomize.toolkit.fluxcd.io/prune: disabled`" + `; Helm: ` + "`helm.sh/resource-policy: keep`" + ` and the new release's ownership labels), then let the new one take it.`,
	Incidents: []string{"moj-wrong-cluster-apply-2020", "dfds-vpccni-replace-2021"},
	CheckAll:  checkWorkloadRemoved,
}

func checkWorkloadRemoved(l *rule.Fleet) {
	var homes map[object.Ref][]string // units that gain a workload, by its ref without unit
	for _, u := range l.Units {
		var gone []diff.Change
		for _, c := range u.Changes {
			if c.Action == diff.Delete && endsForGood(u, c) {
				gone = append(gone, c)
			}
		}
		if len(gone) == 0 {
			continue
		}
		if homes == nil {
			homes = gainedWorkloads(l.Units)
		}
		var moved, left []diff.Change
		for _, c := range gone {
			if len(homes[withoutUnit(c.Ref)]) > 0 {
				moved = append(moved, c)
			} else {
				left = append(left, c)
			}
		}
		if u.After.Len() == 0 && len(left) > 1 {
			reportUnitRemoved(l, u, left)
			left = nil
		}
		for _, c := range left {
			reportWorkloadRemoved(l, u, c)
		}
		for _, c := range moved {
			reportWorkloadMoved(l, u, c, homes[withoutUnit(c.Ref)])
		}
	}
}

// endsForGood says whether a deleted object is a workload that was there to stay,
// and that no object of another kind takes over from under its name.
func endsForGood(u *rule.Unit, c diff.Change) bool {
	if c.Ref.Kind == "Job" || c.Ref.Kind == "Pod" {
		return false
	}
	if _, ok := u.Before.Workload(c.Before.Ref); !ok || remadeEachTime(c.Before) {
		return false
	}
	_, replaced := successor(u, c.Ref)
	return !replaced
}

func withoutUnit(ref object.Ref) object.Ref {
	ref.Unit = ""
	return ref
}

func gainedWorkloads(units []*rule.Unit) map[object.Ref][]string {
	homes := map[object.Ref][]string{}
	for _, u := range units {
		for _, c := range u.Changes {
			if c.Action != diff.Create {
				continue
			}
			if _, ok := object.AsWorkload(c.After); ok {
				homes[withoutUnit(c.Ref)] = append(homes[withoutUnit(c.Ref)], u.Name)
			}
		}
	}
	return homes
}

func reportUnitRemoved(l *rule.Fleet, u *rule.Unit, gone []diff.Change) {
	var all []object.Workload
	for _, c := range gone {
		w, _ := u.Before.Workload(c.Before.Ref)
		all = append(all, w)
	}
	l.Report(u, gone[0], rule.Finding{
		Message:     fmt.Sprintf("the unit renders nothing any more: all its %d workloads go, among them %s", len(all), withCount(all)),
		Consequence: "a tool that prunes ends all of them, and deletes what they kept with them",
		Related:     refs(all)[1:],
	})
}

func reportWorkloadMoved(l *rule.Fleet, u *rule.Unit, c diff.Change, homes []string) {
	w, _ := u.Before.Workload(c.Before.Ref)
	l.Report(u, c, rule.Finding{
		Message: fmt.Sprintf("it moves out of this unit, and %s has one of the same name now", strings.Join(homes, ", ")),
		Consequence: fmt.Sprintf("if both go to one cluster, the tool that prunes the old unit may delete what the new one has just taken over, and %s end",
			podsOf(w)),
	})
}

func reportWorkloadRemoved(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	w, _ := u.Before.Workload(c.Before.Ref)
	f := rule.Finding{Message: "the workload is removed"}
	if w.Replicas.Known && w.Replicas.Count > 0 && w.Ref.Kind != "CronJob" {
		f.Message = fmt.Sprintf("the workload is removed with its %s", plural(w.Replicas.Count, "pod"))
	}
	var says []string
	served, others := false, true
	for _, s := range u.Before.ServicesFor(w.Ref) {
		served = true
		after := u.After.Get(s.Ref)
		if after != nil {
			if pods := u.After.PodsOfService(after); !pods.None() {
				continue
			}
			says = append(says, fmt.Sprintf("%s stays and has no endpoint", s.Ref))
			f.Related = append(f.Related, s.Ref)
		}
		others = false
		says, f.Related = stillNamed(u, s.Ref, says, f.Related)
	}
	for _, a := range u.After.AutoscalersOf(w.Ref) {
		says = append(says, fmt.Sprintf("%s scales nothing", a.Ref))
		f.Related = append(f.Related, a.Ref)
	}
	switch {
	case w.Ref.Kind == "CronJob":
		f.Severity = rule.Note
		says = append(says, "its Jobs run no more")
	case w.Replicas.Known && w.Replicas.Count == 0 && w.Replicas.Autoscaler == nil:
		f.Severity = rule.Note
		says = append(says, "nothing of it runs now")
	case served && others:
		f.Severity = rule.Note
		says = append(says, "other pods go on serving its Services")
	case len(says) == 0:
		says = append(says, "what it did ends with it, where the tool prunes; otherwise it runs on, and nobody updates it")
	}
	f.Consequence = strings.Join(says, "; ")
	l.Report(u, c, f)
}
