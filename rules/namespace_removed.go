package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// NamespaceRemoved reports a Namespace that goes with everything in it.
var NamespaceRemoved = &rule.Rule{
	ID:       "namespace-removed",
	Title:    "A Namespace is removed, and everything in it",
	Subject:  "cluster",
	Severity: rule.Error,
	Doc: `
Deleting a namespace deletes all that is in it, whoever made it: the workloads of other repositories, claims with their volumes, Secrets
that were made by hand. It cannot be stopped once it has begun. Often only the manifest was to go, because the tool creates the namespace by itself
(CreateNamespace in Argo CD and Helm): pruning deletes it all the same, and the tool makes it again, empty.

A namespace that is marked to be kept is a note; one that another unit of the same change gains is a warning.`,
	Advice:    "Mark it first (`argocd.argoproj.io/sync-options: Prune=false`, `kustomize.toolkit.fluxcd.io/prune: disabled`, `helm.sh/resource-policy: keep`), let that sync, and remove the manifest in a second pull request. If it is to go: look at `kubectl get all,pvc,secret -n NAME` before.",
	Incidents: []string{"argocd-namespace-2024", "rhtap-overlay-2024"},
	CheckAll:  checkNamespaceRemoved,
}

func checkNamespaceRemoved(l *rule.Fleet) {
	for _, u := range l.Units {
		for _, c := range u.Changes {
			if c.Before != nil && c.Before.Ref.GroupKind() == "Namespace" && (c.Action == diff.Delete || c.Action == diff.Rename) {
				reportNamespaceRemoved(l, u, c)
			}
		}
	}
}

func reportNamespaceRemoved(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	name := c.Before.Ref.Name
	here := inNamespace(u.Before, name)
	left := inNamespace(u.After, name)
	f := rule.Finding{Ref: c.Before.Ref, Message: "the namespace is removed", Consequence: "everything in it is deleted, what others made there too, and volumes by their reclaim policy"}
	if len(here) > 0 {
		f.Message = fmt.Sprintf("the namespace is removed, in which this unit has %s", plural(len(here), "object"))
	}
	if len(left) > 0 {
		f.Message += fmt.Sprintf(", %d of them still rendered", len(left))
		f.Consequence += "; what stays in the render is deleted with it, and made again only if something makes the namespace again"
		f.Related = objectRefs(left)
	}
	if mark := keptBehind(c.Before); mark != "" {
		f.Severity = rule.Note
		f.Consequence = fmt.Sprintf("%s leaves it in the cluster", mark)
	} else if homes := newHomes(l.Units, u, c.Before.Ref); len(homes) > 0 {
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("the namespace moves out of this unit, and %s has it now", strings.Join(homes, ", "))
		f.Consequence = "if both go to one cluster and the old unit is pruned after the new one is applied, everything in it is deleted"
	}
	l.Report(u, c, f)
}
