package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ImmutableFieldChanged reports an update that the API server refuses.
var ImmutableFieldChanged = &rule.Rule{
	ID:       "immutable-field-changed",
	Title:    "The API server refuses the update: a field of the object cannot change",
	Subject:  "workloads",
	Severity: rule.Error,
	Doc: `
Some fields are fixed when an object is created. A merge that changes one is refused with 422, after review and outside of the pull
request. What then happens depends on the tool: kubectl and Tanka apply the rest and exit with an error, Helm stops in the middle and
marks the release failed, Argo CD stays out of sync and tries again, Flux holds back everything that comes after. The rest of the
change may be live without its other half: a Service with a selector for pods that never come.

A tool that is told to force deletes the object and creates it again. What goes with it depends on the kind: all pods of a
Deployment at once, the data of a claim, the bound permissions of a role binding. Services have a story of their own, in
service-recreated.`,
	Advice: `Leave the field and find another way, or replace the object on purpose: create it under a new name beside the old one, move what uses
it, remove the old one in a second pull request. For a StatefulSet or a Deployment the pods can be kept while the object is made
anew: ` + "`kubectl delete --cascade=orphan`" + `, then apply; with a changed selector the orphans stay unmanaged and must be removed by hand.`,
	Incidents: []string{"wikimedia-eventgate-2021"},
	Actions:   []diff.Action{diff.Replace},
	Check:     checkImmutableFieldChanged,
}

func checkImmutableFieldChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "Service" && c.Ref.Group == "" {
		return
	}
	var reasons []string
	var first *diff.Field
	for i, f := range c.Fields {
		if f.Immutable == "" {
			continue
		}
		if first == nil {
			first = &c.Fields[i]
		}
		if !slices.Contains(reasons, f.Immutable) {
			reasons = append(reasons, f.Immutable)
		}
	}
	if first == nil {
		return
	}
	f := rule.Finding{Path: first.Path, Before: first.Before, After: first.After, Message: listed(reasons)}
	if c.Ref.Kind == "Job" {
		if remadeEachTime(c.After) {
			return
		}
		// A Job that is done holds nothing up but its own next run.
		f.Severity = rule.Note
	}
	f.Consequence, f.Related = remade(p, c)
	p.Report(c, f)
}

// remadeEachTime says whether a tool deletes an object and makes it anew as a
// matter of course: hooks, forced syncs, and Jobs that go some time after they are done.
func remadeEachTime(o *object.Object) bool {
	if o.Annotation("helm.sh/hook") != "" || o.Annotation("argocd.argoproj.io/hook") != "" {
		return true
	}
	if options := o.Annotation("argocd.argoproj.io/sync-options"); strings.Contains(options, "Force=true") && strings.Contains(options, "Replace=true") {
		return true
	}
	return strings.EqualFold(o.Annotation("kustomize.toolkit.fluxcd.io/force"), "enabled") || o.At("spec.ttlSecondsAfterFinished").Exists()
}

// remade says what goes when the object is deleted and created again.
func remade(p *rule.Pass, c diff.Change) (string, []object.Ref) {
	const refused = "nothing of this object is applied"
	if w, ok := p.Before.Workload(c.Before.Ref); ok {
		pods := "its pods end"
		if n, known := podCount([]object.Workload{w}); known && w.Ref.Kind != "Job" && w.Ref.Kind != "CronJob" {
			pods = "all " + plural(n, "pod") + " end"
			if n == 1 {
				pods = "its pod ends"
			}
		}
		var related []object.Ref
		for _, s := range p.After.ServicesFor(c.After.Ref) {
			related = append(related, s.Ref)
		}
		switch w.Ref.Kind {
		case "StatefulSet":
			return fmt.Sprintf("%s; made anew by force, %s at once; claims stay and are taken again under the same names", refused, pods), related
		case "Job":
			return refused + "; made anew by force, a Job that is running ends and starts from the beginning, and one that is done runs again", related
		}
		return fmt.Sprintf("%s; made anew by force, %s at once, before any new one is ready", refused, pods), related
	}
	switch c.Ref.GroupKind() {
	case "PersistentVolumeClaim":
		return refused + "; made anew, the claim gets an empty volume, and the old one is deleted with its data unless its reclaim policy is Retain", nil
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return refused + "; made anew, its subjects have no permission in between", nil
	case "Secret", "ConfigMap":
		return refused + "; made anew, running pods keep the old values until they restart", nil
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return refused + "; made anew, every object of the kind is deleted with it", nil
	}
	return refused + " until it is deleted and created again", nil
}
