package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceLosesWorkload reports a workload whose new pods one of its Services no longer reaches,
// while others stay behind it.
var ServiceLosesWorkload = &rule.Rule{
	ID:       "service-loses-workload",
	Title:    "New pods leave a Service that keeps its other workloads",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A Service goes by the labels of pods, and several workloads may stand behind one: a canary beside the stable version, zones, members of a ring that find each other by a headless Service. When the template of one of
them loses a label that the selector asks for, nothing is refused and the Service still works: but as the rollout goes on, its share falls on those that remain, and members that are found by that name are not found any more. Without
any other workload it is service-without-endpoints; where the selector changes, service-selector-narrowed.

Where the workload keeps another Service that reaches its new pods and has the same ports, it may be meant: that is still told, since callers of the first one see fewer pods.`,
	Advice: `Add the label back to the template, or take the workload out on purpose: first scale up those that stay, then move callers.`,
	Kinds:  scaledKinds, Actions: updates,
	Check: checkServiceLosesWorkload,
}

func checkServiceLosesWorkload(p *rule.Pass, c diff.Change) {
	if !touched(c, "labels") || c.Before.Ref.Namespace != c.After.Ref.Namespace {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || len(withPods([]object.Workload{before, after})) < 2 {
		return
	}
	for _, was := range p.Before.ServicesFor(before.Ref) {
		service := p.After.Get(was.Ref)
		if service == nil || service.Text("spec.type") == "ExternalName" || !service.At("spec.selector").Equal(was.At("spec.selector")) {
			continue
		}
		selector := service.Strings("spec.selector")
		lost := gains(after.PodLabels, selector)
		if len(lost) == 0 {
			continue
		}
		later, _ := reached(p.After, service.Ref.Namespace, selector)
		later = withPods(later)
		if len(later) == 0 || has(later, after.Ref) || arrives(p, later) {
			continue
		}
		f := rule.Finding{Path: after.Template.Key("metadata").Key("labels"), Related: append([]object.Ref{service.Ref}, refs(later)...),
			Message:     fmt.Sprintf("new pods do not carry %s, which %s asks for", labelText(lost), service.Ref),
			Consequence: fmt.Sprintf("they leave the Service as the rollout goes on; what is left behind it is %s", withCount(later))}
		if service.Text("spec.clusterIP") == "None" {
			f.Consequence += "; who looks members up by its name no longer finds them"
		}
		p.Report(c, f)
	}
}

// arrives says whether a workload comes to the unit in this change: one is exchanged for another.
func arrives(p *rule.Pass, all []object.Workload) bool {
	for _, w := range all {
		if !wasThere(p.Before, w.Ref) {
			return true
		}
	}
	return false
}
