package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GitOpsTargetChanged reports an object that deploys something else, or to another
// place.
var GitOpsTargetChanged = &rule.Rule{
	ID:       "gitops-target-changed",
	Title:    "A GitOps object deploys other manifests, or to another place",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
With another path, chart, repository, namespace or cluster, the tool takes everything that it deployed for left-overs: it prunes all that the new place does
not have under the same names. In another namespace or cluster nothing has the same name, so that all of it is made anew, with empty volumes,
and the old is deleted. The manifests at the new place are not part of this change, and nobody reviews them here.

dependsOn is the order in which Flux applies what depends on each other ([Flux](https://fluxcd.io/flux/components/kustomize/kustomizations/#dependencies)). Taken out, nothing happens to what runs, and the next cluster or the next upgrade of both comes up in any order.

A HelmRelease with another releaseName, targetNamespace or storageNamespace is uninstalled and installed again.`,
	Advice: `Turn pruning off (or suspend it) for the time of the move, compare what both places render (` + "`argocd app diff`" + `, ` + "`flux diff kustomization`" + `), move data by hand, and
turn it on again when both are the same. For another namespace or cluster make a second object beside the first.`,
	Incidents: []string{"cloudplane-flux-2022"},
	Kinds:     deployKinds,
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkGitOpsTargetChanged,
}

func checkGitOpsTargetChanged(p *rule.Pass, c diff.Change) {
	for _, d := range c.Before.At("spec.dependsOn").Items() {
		same := func(x object.Value) bool {
			return x.Field("name").Equal(d.Field("name")) && orText(x.Field("namespace").Text(), c.Ref.Namespace) == orText(d.Field("namespace").Text(), c.Ref.Namespace)
		}
		other := object.Ref{Unit: c.Ref.Unit, Group: c.Ref.Group, Kind: c.Ref.Kind, Namespace: orText(d.Field("namespace").Text(), c.Ref.Namespace), Name: d.Field("name").Text()}
		if slices.ContainsFunc(itemsOf(c.After.At("spec.dependsOn")), same) || p.After.Get(other) == nil {
			continue
		}
		p.Report(c, rule.Finding{Path: "spec.dependsOn", Severity: rule.Note, Message: fmt.Sprintf("it no longer waits for %s", other), Related: []object.Ref{other},
			Consequence: "both are applied at the same time: where it needs kinds, webhooks or secrets of the other one, a new cluster and an upgrade of both fail, and a webhook that is not ready refuses its objects"})
	}
	was, now := deploysFrom(c.Before), deploysFrom(c.After)
	for _, path := range slices.Sorted(maps.Keys(was)) {
		before, after := was[path], now[path]
		if before.Equal(after) || !before.Exists() && !after.Exists() || samePlace(before.Text(), after.Text()) {
			continue
		}
		f := rule.Finding{Path: path, Message: change(string(path[strings.LastIndexByte(string(path), '.')+1:]), before.Text(), after.Text())}
		key := string(path)
		switch {
		case strings.HasSuffix(key, "project"):
			f.Severity = rule.Note
			f.Consequence = "other repositories, clusters and kinds are allowed, or none"
		case strings.Contains(key, "amespace") || strings.Contains(key, "destination") || strings.Contains(key, "kubeConfig") || strings.Contains(key, "releaseName"):
			f.Consequence = "everything is made anew there"
			if prunes(c.Before) {
				f.Consequence += ", and what it deployed before is deleted, with its volumes"
			} else {
				f.Consequence += "; what it deployed before stays, and nobody updates it"
			}
		default:
			f.Consequence = "what it deploys from now on is not part of this change"
			if prunes(c.Before) {
				f.Consequence += "; what the new place does not have under the same names is deleted"
			}
		}
		p.Report(c, f)
	}
}

// samePlace says whether two paths or addresses lead to the same place.
func samePlace(a, b string) bool {
	clean := func(s string) string {
		return strings.TrimSuffix(strings.Trim(strings.TrimPrefix(s, "./"), "/"), ".git")
	}
	return a != "" && b != "" && clean(a) == clean(b)
}
