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

// NodeLabelObsolete reports pods that begin to go by a node label that clusters no
// longer have.
var NodeLabelObsolete = &rule.Rule{
	ID:       "node-label-obsolete",
	Title:    "Pods go by a node label that newer clusters do not have",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Node labels are an interface, and some of them are gone. node-role.kubernetes.io/master was removed with Kubernetes 1.24 as a label and with 1.25
as a taint, in favour of control-plane
([kubeadm](https://kubernetes.io/docs/reference/labels-annotations-taints/#node-role-kubernetes-io-control-plane)); the beta.kubernetes.io
and failure-domain labels are deprecated since 1.14 and 1.17, and distributions drop them one by one. A selector that names one matches
no node after the upgrade, and a DaemonSet loses its pods without an error: it wants zero of them.

Only what this change brings is told.`,
	Advice: `Use kubernetes.io/os, kubernetes.io/arch, node.kubernetes.io/instance-type, topology.kubernetes.io/zone and node-role.kubernetes.io/control-plane.
For a time of both, list both labels as alternatives of a node affinity.`,
	Incidents: []string{"reddit-piday-2023", "rancher-monitoring-label-2026"},
	Kinds:     podKinds,
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:     checkNodeLabelObsolete,
}

func checkNodeLabelObsolete(p *rule.Pass, c diff.Change) {
	if c.Before != nil && !touched(c, "nodeSelector", "ffinity", "topologySpreadConstraints", "tolerations") {
		return
	}
	after, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	var was map[string]object.Path
	if c.Before != nil {
		if before, ok := p.Before.Workload(c.Before.Ref); ok {
			was = obsoleteLabels(before)
		}
	}
	now := obsoleteLabels(after)
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if _, ok := was[key]; ok {
			continue
		}
		f := rule.Finding{
			Path:        now[key],
			Message:     fmt.Sprintf("pods go by the node label %s, which is %s today", key, renamedLabels[key]),
			Consequence: "on a cluster that no longer has it no node matches",
		}
		if !strings.HasPrefix(key, "node-role.") {
			f.Severity = rule.Note
		}
		p.Report(c, f)
	}
}

// obsoleteLabels gives the obsolete labels that the pods of w require, with places.
// Alternatives of a node affinity that also have today's label are left out.
func obsoleteLabels(w object.Workload) map[string]object.Path {
	out := map[string]object.Path{}
	note := func(key string, path object.Path) {
		if _, ok := renamedLabels[key]; ok {
			out[key] = path
		}
	}
	base := w.SpecPath().Key("nodeSelector")
	for k := range w.PodSpec.Field("nodeSelector").Fields() {
		note(k, base.Key(k))
	}
	terms := w.PodSpec.At("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms")
	at := w.SpecPath().Key("affinity").Key("nodeAffinity").Key("requiredDuringSchedulingIgnoredDuringExecution").Key("nodeSelectorTerms")
	asked := map[string]bool{}
	for _, t := range terms.Items() {
		for _, e := range t.Field("matchExpressions").Items() {
			asked[e.Field("key").Text()] = true
		}
	}
	for i, t := range terms.Items() {
		for _, e := range t.Field("matchExpressions").Items() {
			key := e.Field("key").Text()
			if op := e.Field("operator").Text(); (op == "In" || op == "Exists") && !asked[renamedLabels[key]] {
				note(key, at.Index(i))
			}
		}
	}
	spread := w.SpecPath().Key("topologySpreadConstraints")
	for i, t := range w.PodSpec.Field("topologySpreadConstraints").Items() {
		note(t.Field("topologyKey").Text(), spread.Index(i).Key("topologyKey"))
	}
	return out
}
