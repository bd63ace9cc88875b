package rules

import (
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it says how many pods a PodDisruptionBudget lets go, for
// the rules that ask before and after.

// budgetPods gives what a budget protects.
func budgetPods(set *object.Set, budget *object.Object) object.Pods {
	selector := budget.SelectorAt("spec.selector")
	if budget.APIVersion() == "policy/v1beta1" && selector.Empty() {
		return object.Pods{} // an empty selector is nothing there, and everything in policy/v1
	}
	return set.PodsOf(selector, budget.Ref.Namespace)
}

// allowance is how many pods a budget lets be evicted while all are healthy.
// known is false when it depends on pods whose number the manifests do not tell.
// Percentages are rounded up
// (https://kubernetes.io/docs/tasks/run-application/configure-pdb/#rounding-logic-when-specifying-percentages).
func allowance(set *object.Set, budget *object.Object) (allowed int64, known bool) {
	pods := budgetPods(set, budget)
	n, counted := pods.Count()
	counted = counted && len(pods.Workloads) > 0
	if most, ok := budget.At("spec.maxUnavailable").IntOrString(); ok {
		return max(most.Of(int64(n), true), 0), counted || most.Number <= 0
	}
	least, ok := budget.At("spec.minAvailable").IntOrString()
	if !ok {
		least = object.IntOrString{Number: 1} // the API server's default when neither is written
	}
	if least.Percent && least.Number >= 100 {
		return 0, true
	}
	return int64(n) - least.Of(int64(n), true), counted
}

// blocks says whether a budget lets no pod go, as far as is known. One on workloads
// that are scaled to nothing holds nothing up.
func blocks(set *object.Set, budget *object.Object) bool {
	pods := budgetPods(set, budget)
	if len(pods.Workloads) > 0 && len(withPods(pods.Workloads)) == 0 {
		return false
	}
	allowed, known := allowance(set, budget)
	return known && allowed <= 0
}

// budgetText writes what a budget asks for, as it stands in the manifest.
func budgetText(budget *object.Object) string {
	for _, field := range []string{"maxUnavailable", "minAvailable"} {
		if v := budget.At("spec." + field); v.Exists() {
			return field + " " + v.String()
		}
	}
	return "minAvailable 1"
}

// budgetUnchanged says whether a budget is the same on both sides, so that a
// workload's own change tells what comes of it.
func budgetUnchanged(p *rule.Pass, budget *object.Object) bool {
	_, changed := changeOf(p.Unit, budget.Ref)
	return !changed && p.Before.Get(budget.Ref) != nil
}

// protected gives the workloads with more than one pod that a budget protects.
func protected(set *object.Set, c diff.Change) []object.Workload {
	var out []object.Workload
	for _, w := range budgetPods(set, c.Before).Workloads {
		if !w.Replicas.Known || w.Replicas.Count > 1 {
			out = append(out, w)
		}
	}
	return out
}
