package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceAccountRemoved reports a service account that goes while pods run as it.
var ServiceAccountRemoved = &rule.Rule{
	ID:       "service-account-removed",
	Title:    "A service account goes, and pods still run as it",
	Subject:  "cluster",
	Severity: rule.Error,
	Doc: `
Tokens are bound to their account: with it they end, and the API server, Vault and the cloud answer running pods with 401 within minutes. New pods are not made at all; the
controller says so in an event (serviceaccount not found), and the workload shrinks with each pod that goes. An account of the same name that is made later has another uid, which old tokens do not fit
([Kubernetes](https://kubernetes.io/docs/concepts/security/service-accounts/)).`,
	Advice: `Let the workloads name another account first, with the same roles, pull secrets and cloud identity, and remove the old one when their rollout is done.`,
	Kinds:  []string{"ServiceAccount"}, Actions: []diff.Action{diff.Delete, diff.Rename},
	Check: checkServiceAccountRemoved,
}

func checkServiceAccountRemoved(p *rule.Pass, c diff.Change) {
	ref := c.Before.Ref
	if ref.Name == "default" || p.After.Get(ref) != nil || keptBehind(c.Before) != "" {
		return
	}
	var still []object.Workload
	for _, w := range withPods(runningAs(p.After, ref)) {
		if len(othersMakeAccount(p.After, ref)) == 0 {
			still = append(still, w)
		}
	}
	if len(still) == 0 {
		return
	}
	f := rule.Finding{Ref: ref, Related: refs(still),
		Message:     fmt.Sprintf("it goes, and %s still runs as it", withCount(still)),
		Consequence: "no new pod is made, and the tokens of those that run are refused"}
	if c.Action == diff.Rename {
		f.Message = fmt.Sprintf("it gets another name, %s, and %s still runs as the old one", c.After.Ref.Name, withCount(still))
	}
	p.Report(c, f)
}

// othersMakeAccount gives the releases that may make an account of the name.
func othersMakeAccount(set *object.Set, account object.Ref) []*object.Object {
	var out []*object.Object
	for _, o := range set.Kind("HelmRelease.helm.toolkit.fluxcd.io") {
		if o.Ref.Namespace == account.Namespace || o.Text("spec.targetNamespace") == account.Namespace {
			out = append(out, o)
		}
	}
	return out
}
