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

// NodeSelectorChanged reports pods that ask for other nodes than before.
var NodeSelectorChanged = &rule.Rule{
	ID:       "node-selector-changed",
	Title:    "Pods ask for other nodes than before",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A pod that asks for a label which no node has stays Pending. The rollout stands still with what is left of the old pods; a StatefulSet has
lost its highest ordinal by then, whose volume may besides be bound to a zone that the new nodes are not in. A DaemonSet is worse:
its pods on nodes that no longer match are deleted at once, on all of them, not rolled.

A requirement that only goes away is a note: pods may now land on nodes that were kept from them, of another architecture or with
special hardware. The same requirement in a newer label (beta.kubernetes.io/os as kubernetes.io/os) or in another form is quiet, and so
is kubernetes.io/os: linux, since an image of Linux runs nowhere else anyway.`,
	Advice: `See that enough nodes of each zone carry the label (` + "`kubectl get nodes -l KEY=VALUE`" + `) and have room, before the merge. For a DaemonSet move
in two steps: label all nodes first, then change the selector.`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkNodeSelectorChanged,
}

// renamedLabels are node labels that bear another name today
// (https://kubernetes.io/docs/reference/labels-annotations-taints/).
var renamedLabels = map[string]string{
	"beta.kubernetes.io/os":                    "kubernetes.io/os",
	"beta.kubernetes.io/arch":                  "kubernetes.io/arch",
	"beta.kubernetes.io/instance-type":         "node.kubernetes.io/instance-type",
	"failure-domain.beta.kubernetes.io/zone":   "topology.kubernetes.io/zone",
	"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
	"node-role.kubernetes.io/master":           "node-role.kubernetes.io/control-plane",
}

// nodeDemands gives what pods require of their node: "disk=ssd", an expression of
// node affinity, or a pod that must be there. Terms that are alternatives stand as one demand.
func nodeDemands(w object.Workload) map[string]object.Path {
	out := map[string]object.Path{}
	base := w.SpecPath().Key("nodeSelector")
	for k, v := range w.PodSpec.Field("nodeSelector").Fields() {
		out[demand(k, "In", []string{v.Text()})] = base.Key(k)
	}
	terms := w.PodSpec.At("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms")
	at := w.SpecPath().Key("affinity").Key("nodeAffinity").Key("requiredDuringSchedulingIgnoredDuringExecution").Key("nodeSelectorTerms")
	var alternatives []string
	for i, t := range terms.Items() {
		var all []string
		for _, e := range t.Field("matchExpressions").Items() {
			d := demand(e.Field("key").Text(), e.Field("operator").Text(), e.Field("values").Texts())
			all = append(all, d)
			if terms.Len() == 1 {
				out[d] = at.Index(i)
			}
		}
		slices.Sort(all)
		alternatives = append(alternatives, strings.Join(all, " and "))
	}
	near := w.SpecPath().Key("affinity").Key("podAffinity").Key("requiredDuringSchedulingIgnoredDuringExecution")
	for i, t := range w.PodSpec.At("affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution").Items() {
		who := labelText(t.At("labelSelector.matchLabels").Strings())
		if rest := t.At("labelSelector.matchExpressions"); rest.Len() > 0 {
			who = strings.TrimPrefix(who+","+rest.String(), ",")
		}
		out[fmt.Sprintf("a pod of %s on the same %s", who, scopeText(t.Field("topologyKey").Text()))] = near.Index(i)
	}
	delete(out, "kubernetes.io/os=linux") // an image of Linux runs nowhere else anyway
	if terms.Len() > 1 {
		slices.Sort(alternatives)
		out[strings.Join(slices.Compact(alternatives), " or ")] = at
	}
	return out
}

func demand(key, operator string, values []string) string {
	if today, ok := renamedLabels[key]; ok {
		key = today
	}
	values = slices.Clone(values)
	slices.Sort(values)
	switch {
	case operator == "In" && len(values) == 1:
		return key + "=" + values[0]
	case operator == "Exists" || operator == "DoesNotExist":
		return key + " " + operator
	}
	return fmt.Sprintf("%s %s (%s)", key, operator, strings.Join(values, ", "))
}

func checkNodeSelectorChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "nodeSelector", "affinity", "nodeName") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	was, now := nodeDemands(before), nodeDemands(after)
	var more, less []string
	f := rule.Finding{}
	for _, d := range slices.Sorted(maps.Keys(now)) {
		if _, ok := was[d]; !ok {
			more = append(more, d)
			if f.Path == "" {
				f.Path = now[d]
			}
		}
	}
	for _, d := range slices.Sorted(maps.Keys(was)) {
		if _, ok := now[d]; !ok {
			less = append(less, d)
			if f.Path == "" {
				f.Path = was[d]
			}
		}
	}
	if n := after.PodSpec.Field("nodeName").Text(); n != "" && n != before.PodSpec.Field("nodeName").Text() {
		more = append(more, "the one node "+n)
		f.Path = after.SpecPath().Key("nodeName")
	}
	switch {
	case len(more) == 0 && len(less) == 0:
		return
	case len(more) == 0:
		f.Severity = rule.Note
		f.Message = fmt.Sprintf("pods no longer ask for nodes with %s", listed(less))
		f.Consequence = "they may land on nodes that they were kept from"
	case len(less) > 0:
		f.Message = fmt.Sprintf("pods ask for nodes with %s in place of %s", listed(more), listed(less))
	default:
		f.Message = fmt.Sprintf("pods ask for nodes with %s", listed(more))
	}
	if len(more) > 0 {
		f.Consequence = "new pods stay Pending if too few nodes are so, and the rollout stands still"
		if after.Ref.Kind == "DaemonSet" {
			f.Consequence = "its pods on all other nodes are deleted at once"
		}
		if after.Ref.Kind == "StatefulSet" && after.At("spec.volumeClaimTemplates").Len() > 0 {
			f.Consequence += "; a volume that is bound to another zone does not follow"
		}
	}
	p.Report(c, f)
}
