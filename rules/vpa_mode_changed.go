package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// VPAModeChanged reports vertical autoscalers that begin to change running pods.
var VPAModeChanged = &rule.Rule{
	ID:       "vpa-mode-changed",
	Title:    "A vertical autoscaler begins to restart pods with other requests",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
With updateMode Off a VerticalPodAutoscaler only recommends. With Auto or Recreate it evicts pods whose requests are far from what it recommends, one after the other as budgets allow, and gives
the new ones its own requests, whatever the manifest says; limits are raised or cut in proportion. A recommendation from quiet days is too small for a busy one, one from a
single peak fits on no node. On the same resource as a horizontal autoscaler the two work against each other
([VPA](https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/docs/known-limitations.md)). Where no mode is written it is Recreate, or Auto in older versions, which does the same.`,
	Advice:  `Look at the recommendations of a week first (kubectl describe vpa), set minAllowed and maxAllowed for each container, keep a budget on the pods, and begin with updateMode Initial.`,
	Kinds:   []string{"VerticalPodAutoscaler.autoscaling.k8s.io"},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace},
	Check:   checkVPAModeChanged,
}

// evicts says whether a vertical autoscaler changes running pods.
func evicts(o *object.Object) bool {
	if o == nil {
		return false
	}
	mode := o.Text("spec.updatePolicy.updateMode")
	return mode != "Off" && mode != "Initial"
}

func checkVPAModeChanged(p *rule.Pass, c diff.Change) {
	if !evicts(c.After) || evicts(c.Before) {
		return
	}
	target := object.Ref{Unit: c.Ref.Unit, Group: "apps", Kind: c.After.Text("spec.targetRef.kind"), Namespace: c.After.Ref.Namespace, Name: c.After.Text("spec.targetRef.name")}
	const path = "spec.updatePolicy.updateMode"
	f := rule.Finding{Path: path, Message: fmt.Sprintf("updateMode is %s: it may evict the pods of %s", orText(c.After.Text(path), "Recreate, by default"), target),
		Consequence: "they end one after the other, and come back with its requests in place of those of the manifest"}
	if _, ok := p.After.Workload(target); ok {
		f.Related = []object.Ref{target}
	}
	if c.Before == nil && c.After.At("spec.resourcePolicy").Exists() {
		f.Severity = rule.Note
	}
	for _, scaler := range p.After.AutoscalersOf(target) {
		for _, resource := range []string{"cpu", "memory"} {
			if onUtilization(scaler.Object, resource) {
				f.Severity = rule.Warning
				f.Related = append(f.Related, scaler.Ref)
				f.Consequence += fmt.Sprintf("; %s works on a share of the same %s request, and the two work against each other", scaler.Ref, resource)
			}
		}
	}
	p.Report(c, f)
}
