package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// CRDRemoved reports a CustomResourceDefinition that goes, and all objects of its
// kind with it.
var CRDRemoved = &rule.Rule{
	ID:       "crd-removed",
	Title:    "A CustomResourceDefinition is removed, and every object of its kind with it",
	Subject:  "cluster",
	Severity: rule.Error,
	Doc: `
Deleting a definition deletes all objects of its kind in the whole cluster, those of other teams included, and what their operator made for
them: databases, certificates, DNS records. There is no way back but a backup. It mostly happens by accident: a chart moves its definitions
from its templates to its crds folder, or another tool takes over, and the tool that applied them prunes what it no longer renders.

A definition that is marked to be kept is a note; one that another unit of the same change gains is a warning, because the tool of the old
unit may delete what the new one has just taken over.`,
	Advice: `First let the tool forget the definition without deleting it: annotate it with ` + "`helm.sh/resource-policy: keep`" + `, ` +
		"`argocd.argoproj.io/sync-options: Prune=false`" + ` or ` + "`kustomize.toolkit.fluxcd.io/prune: disabled`" + `, roll that out, and remove it from
the render in a second pull request. If it is to go for good, delete its objects first and see their operator clean up.`,
	Incidents: []string{"vault-operator-crd-2021", "lws-crd-2026", "posit-crd-2026", "cloudplane-flux-2022", "dfds-flux-unpinned-2021"},
	CheckAll:  checkCRDRemoved,
}

func checkCRDRemoved(l *rule.Fleet) {
	for _, u := range l.Units {
		for _, c := range u.Changes {
			if c.Before == nil || c.Before.Ref.GroupKind() != crdKind || c.Action != diff.Delete && c.Action != diff.Rename {
				continue
			}
			reportCRDRemoved(l, u, c)
		}
	}
}

func reportCRDRemoved(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	crd := c.Before
	kind := crd.Text("spec.names.kind")
	here := instances(u.Before, crd, "")
	f := rule.Finding{Ref: crd.Ref, Message: fmt.Sprintf("the definition of %s goes", kind), Related: objectRefs(here)}
	f.Consequence = fmt.Sprintf("every %s in the cluster is deleted with it", kind)
	if len(here) > 0 {
		f.Message += fmt.Sprintf(", of which %s", isAre(len(here), "object is in this unit", "objects are in this unit"))
	}
	if left := instances(u.After, crd, ""); len(left) > 0 {
		f.Consequence += fmt.Sprintf("; %s stay in the render, and applying them fails: no matches for kind", objectNames(left))
	}
	if mark := keptBehind(crd); mark != "" {
		f.Severity = rule.Note
		f.Consequence = fmt.Sprintf("%s leaves it in the cluster, where nobody updates it any more", mark)
	} else if homes := newHomes(l.Units, u, crd.Ref); len(homes) > 0 {
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("the definition of %s moves out of this unit, and %s has it now", kind, strings.Join(homes, ", "))
		f.Consequence = fmt.Sprintf("if both go to one cluster and the old unit is pruned after the new one is applied, every %s is deleted", kind)
	}
	l.Report(u, c, f)
}

// isAre writes a count with the right verb: "1 object is", "2 objects are".
func isAre(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
