package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// NetworkPolicyTightened reports a policy that no longer allows what it allowed.
var NetworkPolicyTightened = &rule.Rule{
	ID:       "network-policy-tightened",
	Title:    "A network policy no longer allows what it allowed",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
Policies only add up: what none of them allows is dropped, without an answer, so that clients wait for timeouts. A peer or a port that
leaves a policy is closed for new connections at once; open ones last or not by the network plugin. Where another policy for the same
pods still allows it, nothing is lost. When what goes is DNS, it is an error: the pods find nobody any more.

A policy of Cilium that allows names (toFQDNs) learns their addresses from the answers of DNS that its proxy sees, and it sees only what a rule with rules.dns leads through it
([Cilium](https://docs.cilium.io/en/stable/security/policy/language/#dns-based)): without that rule no name has an address, and all of them are closed.

A policy that is removed while others still close the same pods takes its allowances with it, and is told in the same way.`,
	Advice:  `Look at the flow logs for the peer or port first. When labels of a peer move, allow the old and the new ones until its rollout is done.`,
	Kinds:   policyKinds,
	Actions: []diff.Action{diff.Update, diff.Replace, diff.Delete},
	Check:   checkNetworkPolicyTightened,
}

func checkNetworkPolicyTightened(p *rule.Pass, c diff.Change) {
	checkFQDNsWithoutDNS(p, c)
	for _, d := range []direction{ingressOf, egressOf} {
		if !closes(c.Before, d) {
			continue
		}
		if c.After != nil && !closes(c.After, d) {
			continue // it opens
		}
		before, after := openings(c.Before, d), openings(c.After, d)
		pods := policyPods(p.Before, c.Before)
		var closedStill []object.Workload
		for _, w := range withPods(pods.Workloads) {
			now, stays := p.After.Workload(w.Ref)
			if !stays {
				continue
			}
			policies := closedBy(p.After, now, d)
			if len(policies) == 0 {
				continue
			}
			closedStill = append(closedStill, w)
			for _, policy := range policies {
				after = append(after, openings(policy, d)...)
			}
		}
		if c.After == nil && len(closedStill) == 0 || len(pods.Workloads) > 0 && len(closedStill) == 0 {
			continue
		}
		var lost []string
		for _, o := range before {
			if !o.coveredBy(after) {
				lost = append(lost, o.text(d))
			}
		}
		if len(lost) == 0 {
			continue
		}
		slices.Sort(lost)
		f := rule.Finding{Path: object.Path("spec").Key(string(d)), Related: refs(closedStill)}
		f.Message = fmt.Sprintf("no longer allowed: %s", listed(slices.Compact(lost)))
		f.Consequence = "new connections are dropped without an answer"
		if len(closedStill) > 0 {
			f.Consequence = fmt.Sprintf("new connections of %s are dropped without an answer", withCount(closedStill))
			if d == ingressOf {
				f.Consequence = fmt.Sprintf("new connections to %s are dropped without an answer", withCount(closedStill))
			}
		}
		if d == egressOf && allowsDNS(before) && !allowsDNS(after) {
			f.Severity = rule.Error
			f.Consequence += "; port 53 is open no more, so they can resolve no name"
		}
		p.Report(c, f)
	}
}

// ciliumKinds are policies of Cilium.
var ciliumKinds = []string{"CiliumNetworkPolicy.cilium.io", "CiliumClusterwideNetworkPolicy.cilium.io"}

// checkFQDNsWithoutDNS reports names of a policy of Cilium whose addresses nobody learns any more.
func checkFQDNsWithoutDNS(p *rule.Pass, c diff.Change) {
	if c.Ref.Group != "cilium.io" || c.After == nil || !seesDNS(c.Before) || seesDNS(c.After) {
		return
	}
	names := 0
	for _, r := range c.After.At("spec.egress").Items() {
		names += r.Field("toFQDNs").Len()
	}
	if names == 0 {
		return
	}
	for _, kind := range ciliumKinds {
		for _, o := range p.After.Kind(kind) {
			if (o.Ref.Namespace == c.After.Ref.Namespace || o.Ref.Namespace == "") && seesDNS(o) {
				return // it may lead the same pods' queries through the proxy
			}
		}
	}
	p.Report(c, rule.Finding{Path: "spec.egress", Severity: rule.Error, Message: fmt.Sprintf("no rule leads DNS through the proxy any more (rules.dns), and toFQDNs allows %s", plural(names, "name")),
		Consequence: "Cilium learns no address for them: connections to them are dropped without an answer, as soon as what it knows has expired"})
}

// seesDNS says whether a policy of Cilium shows answers of DNS to its proxy.
func seesDNS(o *object.Object) bool {
	for _, r := range o.At("spec.egress").Items() {
		for _, ports := range r.Field("toPorts").Items() {
			if ports.At("rules.dns").Len() > 0 {
				return true
			}
		}
	}
	return false
}

// text words an opening: "port 9090 from namespaces name=monitoring".
func (o opening) text(d direction) string {
	port, word := "port "+o.port, " from "
	if o.port == "*" {
		port = "any port"
	}
	if d == egressOf {
		word = " to "
	}
	return port + word + peerText(o.peer)
}

// peerText words a peer of a NetworkPolicy. Others are left as they stand.
func peerText(peer string) string {
	if peer == "*" {
		return "anywhere"
	}
	var v struct {
		NamespaceSelector, PodSelector *labelSelector
		IPBlock                        *struct{ CIDR string }
	}
	if json.Unmarshal([]byte(peer), &v) != nil {
		return peer
	}
	switch {
	case v.IPBlock != nil:
		return v.IPBlock.CIDR
	case v.PodSelector != nil && v.NamespaceSelector != nil:
		return v.PodSelector.text("pods") + " in " + v.NamespaceSelector.text("namespaces")
	case v.PodSelector != nil:
		return v.PodSelector.text("pods")
	case v.NamespaceSelector != nil:
		return v.NamespaceSelector.text("namespaces")
	}
	return peer
}

type labelSelector struct {
	MatchLabels      map[string]string
	MatchExpressions []struct {
		Key, Operator string
		Values        []string
	}
}

func (s *labelSelector) text(what string) string {
	parts := []string{labelText(s.MatchLabels)}
	if parts[0] == "" {
		parts = nil
	}
	for _, e := range s.MatchExpressions {
		parts = append(parts, strings.TrimSpace(e.Key+" "+e.Operator+" "+strings.Join(e.Values, "|")))
	}
	if len(parts) == 0 {
		return "all " + what
	}
	return what + " " + strings.Join(parts, ",")
}
