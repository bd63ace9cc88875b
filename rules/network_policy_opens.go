package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// NetworkPolicyOpens reports pods that no policy closes any more.
var NetworkPolicyOpens = &rule.Rule{
	ID:       "network-policy-opens",
	Title:    "The last network policy of running pods goes, and everything may reach them",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
Policies only ever allow: a pod is closed because at least one of them selects it. When the last one of a direction goes, or selects other pods, the pod is open in that direction, to all pods of all
namespaces and, where nodes are reachable, to more ([Kubernetes](https://kubernetes.io/docs/concepts/services-networking/network-policies/)). Nothing breaks, so nobody sees it: a database without a password, an admin port
and the metadata address of the cloud are reached from the next pod that is taken over. It often happens by accident, when a chart is turned over or a label changes.

Pods that other policies still close, and pods that go with their policy, are quiet.`,
	Advice: `Keep a policy that denies by default in the namespace, and change what is allowed beside it. If the pods are meant to be open, say so in a policy that allows everything.`,
	Kinds:  policyKinds, Actions: []diff.Action{diff.Delete, diff.Update, diff.Replace},
	Check: checkNetworkPolicyOpens,
}

func checkNetworkPolicyOpens(p *rule.Pass, c diff.Change) {
	if p.After == nil || keptBehind(c.Before) != "" {
		return
	}
	for _, d := range []direction{ingressOf, egressOf} {
		if !closes(c.Before, d) || slices.Contains(openings(c.Before, d), anything) {
			continue // it closed nothing
		}
		var opened []object.Workload
		for _, w := range withPods(policyPods(p.Before, c.Before).Workloads) {
			after, stays := p.After.Workload(w.Ref)
			if stays && len(closedBy(p.Before, w, d)) > 0 && len(closedBy(p.After, after, d)) == 0 {
				opened = append(opened, after)
			}
		}
		if len(opened) == 0 {
			continue
		}
		f := rule.Finding{Path: object.Path("spec").Key(string(d)), Related: refs(opened)}
		f.Message = fmt.Sprintf("no policy closes %s any more", withCount(opened))
		f.Consequence = map[direction]string{ingressOf: "every pod of the cluster may connect to them", egressOf: "they may connect to everything"}[d]
		p.Report(c, f)
	}
}
