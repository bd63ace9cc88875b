package rules

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads what NetworkPolicies and Cilium's policies close
// and what they leave open, for the rules that compare both sides.

// A direction is one way of traffic that a policy may close.
type direction string

const (
	ingressOf direction = "ingress"
	egressOf  direction = "egress"
)

// policyKinds are the kinds that closes and allowances can read.
var policyKinds = []string{"NetworkPolicy.networking.k8s.io", "CiliumNetworkPolicy.cilium.io", "CiliumClusterwideNetworkPolicy.cilium.io"}

func isCilium(o *object.Object) bool { return o.Ref.Group == "cilium.io" }

// closes says whether a policy closes a direction for the pods that it selects, but
// for what it allows. A NetworkPolicy does by policyTypes, where absent for ingress
// and, when it has egress rules, for egress
// (https://kubernetes.io/docs/concepts/services-networking/network-policies/); one of
// Cilium by having rules of the direction, those that deny included, unless
// enableDefaultDeny says otherwise
// (https://docs.cilium.io/en/stable/security/policy/intro/).
func closes(policy *object.Object, d direction) bool {
	if policy == nil {
		return false
	}
	if isCilium(policy) {
		if deny, ok := policy.At("spec.enableDefaultDeny." + string(d)).Bool(); ok {
			return deny
		}
		return policy.At("spec."+string(d)).Exists() || policy.At("spec."+string(d)+"Deny").Exists()
	}
	types := policy.At("spec.policyTypes").Texts()
	if len(types) == 0 {
		return d == ingressOf || policy.At("spec.egress").Len() > 0
	}
	return slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(t, string(d)) })
}

// policyPods gives the pods that a policy selects.
func policyPods(set *object.Set, policy *object.Object) object.Pods {
	switch {
	case policy.Ref.Kind == "CiliumClusterwideNetworkPolicy":
		return object.Pods{} // of all namespaces: too many to name
	case isCilium(policy):
		return set.PodsOf(ciliumSelector(policy), policy.Ref.Namespace)
	}
	selector := policy.At("spec.podSelector")
	if !selector.Exists() {
		selector = object.Of(map[string]any{})
	}
	return set.PodsOf(selector.Selector(), policy.Ref.Namespace)
}

// ciliumSelector reads an endpointSelector, whose labels may say where they come
// from: k8s:app, any:app.
func ciliumSelector(policy *object.Object) object.LabelSelector {
	labels := make(map[string]any)
	for k, v := range policy.At("spec.endpointSelector.matchLabels").Strings() {
		k = strings.TrimPrefix(strings.TrimPrefix(k, "k8s:"), "any:")
		if !strings.HasPrefix(k, "io.kubernetes.pod.namespace") {
			labels[k] = v
		}
	}
	selector := map[string]any{"matchLabels": labels}
	return object.Of(selector).Selector()
}

// closedBy gives the policies of set that close a direction for a workload.
func closedBy(set *object.Set, w object.Workload, d direction) []*object.Object {
	var out []*object.Object
	for _, policy := range set.PoliciesFor(w.Ref) {
		if closes(policy, d) {
			out = append(out, policy)
		}
	}
	for _, policy := range set.Kind("CiliumNetworkPolicy.cilium.io") {
		if policy.Ref.Namespace == w.Ref.Namespace && closes(policy, d) && ciliumSelector(policy).Matches(w.PodLabels) {
			out = append(out, policy)
		}
	}
	return out
}

// An opening is what a policy allows: a peer as its manifest has it, and a port, "*"
// for any.
type opening struct{ peer, port string }

var anything = opening{"*", "*"}

// openings gives what a policy allows in a direction.
func openings(policy *object.Object, d direction) []opening {
	if policy == nil {
		return nil
	}
	var out []opening
	for _, rule := range policy.At("spec." + string(d)).Items() {
		peers, ports := plainPeers(rule, d), plainPorts(rule)
		if isCilium(policy) {
			peers, ports = ciliumPeers(rule), ciliumPorts(rule)
		}
		for _, peer := range peers {
			for _, port := range ports {
				out = append(out, opening{peer, port})
			}
		}
	}
	return out
}

func plainPeers(rule object.Value, d direction) []string {
	key := "from"
	if d == egressOf {
		key = "to"
	}
	var out []string
	for _, peer := range rule.Field(key).Items() {
		out = append(out, peer.String())
	}
	if len(out) == 0 {
		return []string{"*"}
	}
	return out
}

func plainPorts(rule object.Value) []string {
	var out []string
	for _, port := range rule.Field("ports").Items() {
		if !port.Field("port").Exists() {
			return []string{"*"}
		}
		text := port.Field("port").String()
		if end := port.Field("endPort"); end.Exists() {
			text += "-" + end.String()
		}
		protocol := orText(port.Field("protocol").Text(), "TCP")
		if protocol != "TCP" {
			text += "/" + protocol
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return []string{"*"}
	}
	return out
}

// ciliumPeers gives the peers of a rule. One without any allows nothing, and only
// closes.
func ciliumPeers(rule object.Value) []string {
	var out []string
	for key, list := range rule.Fields() {
		if !strings.HasPrefix(key, "to") && !strings.HasPrefix(key, "from") || key == "toPorts" {
			continue
		}
		for _, peer := range list.Items() {
			if text := peer.String(); text == "all" || text == "{}" {
				return []string{"*"}
			} else {
				out = append(out, key+" "+text)
			}
		}
	}
	if len(out) == 0 && rule.Field("toPorts").Len() > 0 {
		return []string{"*"}
	}
	return out
}

func ciliumPorts(rule object.Value) []string {
	var out []string
	for _, group := range rule.Field("toPorts").Items() {
		for _, port := range group.Field("ports").Items() {
			text := port.Field("port").String()
			if protocol := port.Field("protocol").Text(); protocol != "" && protocol != "TCP" && protocol != "ANY" {
				text += "/" + protocol
			}
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return []string{"*"}
	}
	return out
}

// coveredBy says whether what o allows is also allowed by one of others.
func (o opening) coveredBy(others []opening) bool {
	return slices.ContainsFunc(others, func(x opening) bool {
		return (x.peer == "*" || x.peer == o.peer) && (x.port == "*" || x.port == o.port)
	})
}

// allowsDNS says whether pods may ask for names: over port 53 to anywhere, or
// to anything on any port. Which pods answer is not looked into: where a peer is
// named at all, it is taken for the right one.
func allowsDNS(openings []opening) bool {
	return slices.ContainsFunc(openings, func(o opening) bool {
		switch port, _, _ := strings.Cut(o.port, "/"); port {
		case "53", "dns", "domain", "dns-udp", "5353", "0":
			return true
		case "*":
			// Any port of pods that carry some label is hardly DNS.
			return o.peer == "*" || strings.Contains(o.peer, "namespace") || strings.Contains(o.peer, "ipBlock") ||
				strings.Contains(o.peer, "kube-dns") || strings.Contains(o.peer, "Entities cluster")
		default:
			low, high, ranged := strings.Cut(port, "-")
			return ranged && len(low) <= 2 && low <= "53" && len(high) >= 2
		}
	})
}
