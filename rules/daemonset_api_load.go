package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// DaemonSetAPILoad reports a program on every node that may read whole collections
// from the API server.
var DaemonSetAPILoad = &rule.Rule{
	ID:       "daemonset-api-load",
	Title:    "A DaemonSet may read whole collections from the API server, from every node",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
What one pod asks of the API server is asked once per node by a DaemonSet. A list of all pods, endpoints or events grows with the cluster
as well, so that the load grows with its square: harmless on the test cluster with five nodes, the end of the control plane on the one with a
thousand. It comes when they start together: at the first rollout, after an outage, on a version that restarts all of them.
Without the API server the data plane lives on until what depends on it runs out, cluster DNS first.

Told when a DaemonSet is new, or its account gains list or watch in the whole cluster, on pods, endpoints, events, Services, Secrets,
ConfigMaps or all resources. Where the whole unit is new, it is a note.`,
	Advice: `Let one Deployment read and pass it on, or let each pod read its own node only (field selector spec.nodeName, the kubelet's API). Watch from
a cache (resourceVersion=0), raise the number of nodes in steps, and give the account a FlowSchema of its own.`,
	Incidents: []string{"openai-telemetry-2024", "kindling-2023"},
	Kinds: []string{"DaemonSet.apps", "DaemonSet.apps.kruise.io", "ClusterRole.rbac.authorization.k8s.io",
		"ClusterRoleBinding.rbac.authorization.k8s.io"},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkDaemonSetAPILoad,
}

func checkDaemonSetAPILoad(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "DaemonSet" {
		if c.Before != nil && !touched(c, "serviceAccount") {
			return
		}
		w, ok := p.After.Workload(c.After.Ref)
		if !ok {
			return
		}
		now, roles := readsAll(p.After, account(w))
		if c.Before != nil {
			if before, ok := p.Before.Workload(c.Before.Ref); ok {
				was, _ := readsAll(p.Before, account(before))
				now = slices.DeleteFunc(now, func(s string) bool { return slices.Contains(was, s) })
			}
		}
		reportReads(p, c, w.SpecPath().Key("serviceAccountName"), now, c.After.Ref, roles)
		return
	}
	// A role or binding: does the account of a DaemonSet that was there gain by it?
	for _, d := range p.After.Kind("DaemonSet.apps") {
		if p.Before.Get(d.Ref) == nil {
			continue
		}
		w, ok := p.After.Workload(d.Ref)
		if !ok {
			continue
		}
		who := account(w)
		now, roles := readsAll(p.After, who)
		if !slices.Contains(roles, c.Ref) {
			continue
		}
		was, _ := readsAll(p.Before, who)
		now = slices.DeleteFunc(now, func(s string) bool { return slices.Contains(was, s) })
		path := object.Path("rules")
		if c.Ref.Kind == "ClusterRoleBinding" {
			path = "subjects"
		}
		reportReads(p, c, path, now, d.Ref, []object.Ref{d.Ref})
	}
}

func reportReads(p *rule.Pass, c diff.Change, path object.Path, what []string, daemons object.Ref, related []object.Ref) {
	if len(what) == 0 {
		return
	}
	f := rule.Finding{
		Path:        path,
		Message:     fmt.Sprintf("%s may list and watch %s of the whole cluster, from every node", daemons, listed(what)),
		Consequence: "what it asks of the API server grows with nodes times objects, most of all when all its pods start together",
		Related:     related,
	}
	if c.Ref == daemons {
		f.Message = fmt.Sprintf("its pods may list and watch %s of the whole cluster, from every node", listed(what))
	}
	if p.Before.Len() == 0 {
		f.Severity = rule.Note
	}
	p.Report(c, f)
}

// large are collections that grow with the cluster.
var large = []string{"pods", "endpoints", "endpointslices", "events", "services", "secrets", "configmaps", "replicasets", "*"}

// readsAll gives the collections that an account may list or watch in all
// namespaces, and the roles and bindings that let it.
func readsAll(set *object.Set, who object.Ref) (what []string, by []object.Ref) {
	for _, r := range set.ReferencesTo(who) {
		if r.Use != object.UseSubject || r.From.Ref.Kind != "ClusterRoleBinding" {
			continue
		}
		for _, to := range set.References(r.From) {
			role := set.Get(to.To)
			if to.Use != object.UseRole || role == nil {
				continue
			}
			found := false
			for _, v := range role.At("rules").Items() {
				verbs := v.Field("verbs").Texts()
				if v.Field("resourceNames").Len() > 0 || !slices.Contains(verbs, "list") && !slices.Contains(verbs, "watch") && !slices.Contains(verbs, "*") {
					continue
				}
				for _, resource := range v.Field("resources").Texts() {
					if !slices.Contains(large, resource) {
						continue
					}
					found = true
					if resource == "*" {
						resource = "everything"
					}
					if !slices.Contains(what, resource) {
						what = append(what, resource)
					}
				}
			}
			if found {
				by = append(by, r.From.Ref, role.Ref)
			}
		}
	}
	slices.Sort(what)
	return what, by
}
