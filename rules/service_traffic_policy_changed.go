package rules

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceTrafficPolicyChanged reports a Service that sends its traffic to other
// pods than before by where they run, who asks, or whether they are ready.
var ServiceTrafficPolicyChanged = &rule.Rule{
	ID:       "service-traffic-policy-changed",
	Title:    "A Service spreads its traffic in another way",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
With externalTrafficPolicy Local a node without a pod of the Service drops what the load balancer sends it, and fails its health check
so that the balancer learns it: with fewer pods than nodes a part of the capacity goes, a drain or a rollout can leave none, and where
the balancer does not ask the health check, connections are lost. internalTrafficPolicy Local does the same to clients inside: a pod on
a node without an endpoint gets nothing, although the Service has endpoints elsewhere. Both suit a DaemonSet, which is quiet here.
Back from Local to Cluster, pods no longer see the addresses of clients, which allow lists and rate limits may live by.

publishNotReadyAddresses sends traffic to pods that are not ready; without it, peers of a StatefulSet that find each other by DNS
before they are ready no longer do. Session affinity that goes sends each request of a client anywhere.`,
	Advice: `Before a policy becomes Local, run a pod on every node that gets traffic (a DaemonSet, or spread constraints with enough replicas), and
keep a budget on them. Where the client's address is what is wanted, the PROXY protocol or X-Forwarded-For bring it without that.`,
	Incidents: []string{"devopshof-etp-2019"},
	Kinds:     []string{"Service"},
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkServiceTrafficPolicyChanged,
}

func checkServiceTrafficPolicyChanged(p *rule.Pass, c diff.Change) {
	if isExternalName(c) {
		return
	}
	running, _ := servicePods(p, c)
	changed := func(path, or string) (before, after string, ok bool) {
		before, after = orText(c.Before.Text(path), or), orText(c.After.Text(path), or)
		return before, after, before != after
	}
	outside := serviceType(c.After) == "LoadBalancer" || serviceType(c.After) == "NodePort"
	if before, after, ok := changed("spec.externalTrafficPolicy", "Cluster"); ok && outside && serviceType(c.Before) != "ClusterIP" {
		f := rule.Finding{Path: "spec.externalTrafficPolicy", Related: refs(running), Message: fmt.Sprintf("externalTrafficPolicy %s becomes %s", before, after)}
		f.Consequence = "pods see the addresses of nodes in place of those of clients"
		if after == "Local" {
			if everyNode(running) {
				f.Severity = rule.Note
			}
			f.Consequence = fmt.Sprintf("nodes without one of the %s drop outside traffic and fail the health check of the load balancer", runningPods(running))
		}
		p.Report(c, f)
	}
	if before, after, ok := changed("spec.internalTrafficPolicy", "Cluster"); ok && after == "Local" && !everyNode(running) {
		p.Report(c, rule.Finding{Path: "spec.internalTrafficPolicy", Severity: rule.Error, Related: refs(running),
			Message:     fmt.Sprintf("internalTrafficPolicy %s becomes %s", before, after),
			Consequence: fmt.Sprintf("clients on nodes without one of the %s get no answer", runningPods(running))})
	}
	if before, after, ok := changed("spec.sessionAffinity", "None"); ok {
		f := rule.Finding{Path: "spec.sessionAffinity", Message: fmt.Sprintf("sessionAffinity %s becomes %s", before, after)}
		if after == "None" {
			f.Consequence = "requests of one client go to any pod: what a pod keeps of a session is not found on the next"
		} else {
			f.Severity = rule.Note
			f.Consequence = "all clients behind one address go to one pod, such as those behind a proxy"
		}
		p.Report(c, f)
	}
	if before, after, ok := changed("spec.trafficDistribution", ""); ok && after != "" && !everyNode(running) {
		f := rule.Finding{Path: "spec.trafficDistribution", Severity: rule.Note, Related: refs(running), Message: change("trafficDistribution", before, after),
			Consequence: "clients of a zone keep to pods of the zone: where there are few pods and many clients, these carry all of it"}
		if after == "PreferSameNode" {
			f.Severity = 0
			f.Consequence = "clients of a node keep to pods of the node, one that carries many clients alone included"
		}
		p.Report(c, f)
	}
	checkWhoReaches(p, c)
	checkAppProtocol(p, c)
	was, _ := c.Before.At("spec.publishNotReadyAddresses").Bool()
	if is, _ := c.After.At("spec.publishNotReadyAddresses").Bool(); is != was {
		f := rule.Finding{Path: "spec.publishNotReadyAddresses", Related: refs(running)}
		if is {
			f.Message = "pods get traffic before they are ready and after they cease to be"
			f.Consequence = "readiness probes keep nobody away any more"
		} else {
			f.Message = "pods that are not ready are no longer published"
			f.Consequence = "peers that look for each other by DNS while they start no longer find each other"
		}
		p.Report(c, f)
	}
}

func orText(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// everyNode says whether a DaemonSet is among workloads.
func everyNode(workloads []object.Workload) bool {
	for _, w := range workloads {
		if w.Ref.Kind == "DaemonSet" {
			return true
		}
	}
	return false
}

// checkWhoReaches tells of addresses that a load balancer lets in, or no longer does.
func checkWhoReaches(p *rule.Pass, c diff.Change) {
	const path = "spec.loadBalancerSourceRanges"
	if serviceType(c.After) != "LoadBalancer" || serviceType(c.Before) != "LoadBalancer" {
		return
	}
	ranges := func(o *object.Object) []string {
		if r := o.At(path).Texts(); len(r) > 0 {
			return r
		}
		return []string{"0.0.0.0/0"} // https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
	}
	before, after := ranges(c.Before), ranges(c.After)
	open := func(all []string) bool { return slices.Contains(all, "0.0.0.0/0") || slices.Contains(all, "::/0") }
	var lost []string
	for _, r := range before {
		if !slices.ContainsFunc(after, func(a string) bool { return a == r || rangeHolds(a, r) }) {
			lost = append(lost, r)
		}
	}
	switch {
	case open(after) && !open(before):
		p.Report(c, rule.Finding{Path: path, Message: fmt.Sprintf("the load balancer lets everybody in, and only %s before", listed(before)), Consequence: "what counted on callers from there alone is open to the world"})
	case !open(after) && len(lost) > 0:
		p.Report(c, rule.Finding{Path: path, Message: fmt.Sprintf("the load balancer no longer lets %s in", listed(lost)), Consequence: "connections from there are dropped without an answer"})
	}
}

// rangeHolds says whether a range of addresses holds all of another one.
func rangeHolds(outer, inner string) bool {
	o, err := netip.ParsePrefix(outer)
	i, alsoErr := netip.ParsePrefix(inner)
	return err == nil && alsoErr == nil && o.Bits() <= i.Bits() && o.Contains(i.Addr())
}

// checkAppProtocol tells of ports whose protocol above TCP is said to be another one.
func checkAppProtocol(p *rule.Pass, c diff.Change) {
	for _, a := range servicePorts(c.After) {
		for _, b := range servicePorts(c.Before) {
			if a.number != b.number || a.protocol != b.protocol {
				continue
			}
			was, now := c.Before.At(string(b.path)).Field("appProtocol").Text(), c.After.At(string(a.path)).Field("appProtocol").Text()
			if was != now && was != "" {
				p.Report(c, rule.Finding{Path: a.path.Key("appProtocol"), Message: fmt.Sprintf("appProtocol of %s goes from %s to %s", a, was, orText(now, "none")),
					Consequence: "a mesh, gateway or ingress controller speaks another protocol with the pods: they refuse what they do not speak"})
			}
		}
	}
}
