package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MeshPolicyChanged reports a mesh that refuses what it took, or keeps on asking what is
// broken.
var MeshPolicyChanged = &rule.Rule{
	ID:       "mesh-policy-changed",
	Title:    "The mesh refuses requests that it took, or no longer looks after broken pods",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
Policies of a mesh count at once, for pods that run, without a rollout. The first AuthorizationPolicy with ALLOW that reaches a pod turns it round: from everybody to nobody but those it
lists, probes of the mesh aside; one without any rule refuses all
([Istio](https://istio.io/latest/docs/concepts/security/#implicit-enablement)). PeerAuthentication STRICT refuses whoever comes without a sidecar: Jobs, Prometheus, pods of other namespaces,
a load balancer. The tls mode of a DestinationRule has to fit what the server speaks, on both sides at the same moment: with ISTIO_MUTUAL to pods without a sidecar,
or DISABLE to strict ones, each connection is reset, and callers see 503.

A policy that loses its selector counts for every pod of its namespace, or of the mesh in the root namespace. A Sidecar object is the list of what the proxies know: a host that leaves its egress
([Istio](https://istio.io/latest/docs/reference/config/networking/sidecar/)) is not found any more, and its requests are answered with 502 or go through unrouted, by the outbound policy of the mesh.

The mesh's own ConfigMap with outboundTrafficPolicy REGISTRY_ONLY does it for all pods and all hosts outside.

Outlier detection takes a pod that only answers with errors out for a while. Without it the pod keeps its share of the requests, until somebody looks.`,
	Advice: `Watch the dry run first (the annotation istio.io/dry-run on the policy; PERMISSIVE and the metric by connection_security_policy), list who comes without a certificate, then close one
workload at a time, and the namespace last.`,
	Kinds:   []string{"AuthorizationPolicy.security.istio.io", "PeerAuthentication.security.istio.io", "Sidecar.networking.istio.io", destinationRuleKind, "ConfigMap"},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename, diff.Delete},
	Check:   checkMeshPolicyChanged,
}

func checkMeshPolicyChanged(p *rule.Pass, c diff.Change) {
	switch c.Ref.Kind {
	case "AuthorizationPolicy":
		if c.After != nil {
			checkAuthorization(p, c)
		}
	case "PeerAuthentication":
		checkPeerAuthentication(p, c)
	case "ConfigMap":
		if c.Before != nil && c.After != nil {
			checkOutboundPolicy(p, c)
		}
	case "Sidecar":
		if c.Before != nil && c.After != nil {
			checkSidecarEgress(p, c)
		}
	default:
		if c.Before != nil && c.After != nil {
			checkTrafficPolicy(p, c)
		}
	}
}

// checkOutboundPolicy tells of a mesh that lets nobody out to hosts that it does not know
// (https://istio.io/latest/docs/tasks/traffic-management/egress/egress-control/; ALLOW_ANY by default).
func checkOutboundPolicy(p *rule.Pass, c diff.Change) {
	if !hasAnyWord(c, "registry_only") {
		return
	}
	mode := func(o *object.Object) (string, object.Path) {
		for _, s := range clientparam.Settings(o) {
			if s.Known && namesSetting(s.Name, "outboundtrafficpolicy_mode") {
				return s.Value, s.Path
			}
		}
		return "ALLOW_ANY", ""
	}
	was, _ := mode(c.Before)
	now, path := mode(c.After)
	if was == now || now != "REGISTRY_ONLY" {
		return
	}
	p.Report(c, rule.Finding{Path: path, Before: object.TextOf(was), After: object.TextOf(now), Message: "the mesh lets requests out to hosts that it knows, and to no others",
		Consequence: "each host outside that no ServiceEntry names is answered with 502 or a reset connection, for all pods with a sidecar at once"})
}

// meshRoot is the root namespace where nobody chose another one
// (https://istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/#MeshConfig-root_namespace).
const meshRoot = "istio-system"

// whomMesh names what a policy of Istio reaches.
func whomMesh(set *object.Set, o *object.Object) (text string, pods []object.Workload) {
	selector := o.Strings("spec.selector.matchLabels")
	switch {
	case len(selector) > 0:
		pods, _ = reached(set, o.Ref.Namespace, selector)
		return orText(withCount(pods), "pods with "+labelText(selector)), pods
	case o.At("spec.targetRefs").Len() > 0 || o.At("spec.targetRef").Exists():
		return "its targets", nil
	case o.Ref.Namespace == meshRoot:
		return "every pod of the mesh", nil
	}
	return "every pod of namespace " + o.Ref.Namespace, nil
}

// allowing says whether a policy is one that allows, and is in force.
func allowing(o *object.Object) bool {
	return o != nil && orText(o.Text("spec.action"), "ALLOW") == "ALLOW" && o.Annotation("istio.io/dry-run") != "true"
}

// denying says the same of one that denies.
func denying(o *object.Object) bool {
	return o.Text("spec.action") == "DENY" && o.Annotation("istio.io/dry-run") != "true"
}

func checkAuthorization(p *rule.Pass, c diff.Change) {
	whom, pods := whomMesh(p.After, c.After)
	f := rule.Finding{Path: "spec", Related: refs(pods)}
	dry := c.After.Annotation("istio.io/dry-run") == "true"
	wasRules, rules := c.Before.At("spec.rules"), c.After.At("spec.rules")
	switch action := orText(c.After.Text("spec.action"), "ALLOW"); {
	case dry:
		return
	case action == "DENY" && rules.Len() > 0 && (c.Before == nil || !denying(c.Before) || len(uncoveredRules(rules, wasRules)) > 0):
		f.Message = fmt.Sprintf("%s refuses more than before", whom)
		if c.Before == nil {
			f.Message = fmt.Sprintf("a policy refuses requests to %s", whom)
		}
		f.Consequence = "it counts at once, before any policy that allows"
	case action != "ALLOW":
		return
	case rules.Len() == 0 && (c.Before == nil || !allowing(c.Before) || wasRules.Len() > 0):
		f.Severity = rule.Error
		f.Message = fmt.Sprintf("nobody is allowed to reach %s: the policy has no rule", strings.Replace(whom, "every pod", "any pod", 1))
		f.Consequence = "every request is refused with 403, unless another policy allows it"
	case !allowing(c.Before):
		if allowedElsewhere(p.Before, c.After) {
			return // it was closed already, and this one opens more
		}
		f.Message = fmt.Sprintf("only what the policy lists may reach %s from now on", whom)
		f.Consequence = "whoever is not listed is refused with 403 at once: metrics, jobs and callers of other namespaces among them"
	case c.Before.At("spec.selector").Len() > 0 && c.After.At("spec.selector").Len() == 0 && !c.After.At("spec.targetRefs").Exists() && !c.After.At("spec.targetRef").Exists():
		before, _ := whomMesh(p.Before, c.Before)
		if allowedElsewhere(p.Before, c.After) {
			return // all of them were closed already
		}
		f.Path = "spec.selector"
		f.Message = fmt.Sprintf("the policy counts for %s from now on, for %s before", whom, before)
		f.Consequence = "all of them refuse whoever it does not list with 403 at once: metrics, jobs and callers of other namespaces among them"
	default:
		lost := uncoveredRules(wasRules, rules)
		if len(lost) == 0 || wasRules.Len() == 0 {
			return
		}
		f.Path = "spec.rules"
		f.Message = fmt.Sprintf("whom %s of the policy let in may no longer reach %s", plural(len(lost), "rule"), whom)
		f.Consequence = "those callers are refused with 403 at once, unless another policy allows them"
	}
	p.Report(c, f)
}

// uncoveredRules gives the rules of a list that match something which no rule of
// another list matches.
func uncoveredRules(before, after object.Value) []object.Value {
	var out []object.Value
	for _, b := range before.Items() {
		if !slices.ContainsFunc(itemsOf(after), func(a object.Value) bool { return allowsAll(a, b) }) {
			out = append(out, b)
		}
	}
	return out
}

// allowsAll says whether a rule of a policy allows all that another one allows
// (https://istio.io/latest/docs/reference/config/security/authorization-policy/#Rule):
// what is not written is not asked for.
func allowsAll(a, b object.Value) bool {
	if a.Field("when").Len() > 0 && !a.Field("when").Equal(b.Field("when")) {
		return false
	}
	for list, inner := range map[string]string{"from": "source", "to": "operation"} {
		if a.Field(list).Len() == 0 {
			continue
		}
		if b.Field(list).Len() == 0 {
			return false
		}
		for _, x := range b.Field(list).Items() {
			if !slices.ContainsFunc(itemsOf(a.Field(list)), func(y object.Value) bool { return takesAll(y.Field(inner), x.Field(inner)) }) {
				return false
			}
		}
	}
	return true
}

// takesAll says whether each condition of a lists all that b lists.
func takesAll(a, b object.Value) bool {
	for key, list := range a.Fields() {
		has := list.Texts()
		if strings.HasPrefix(key, "not") {
			if !list.Equal(b.Field(key)) {
				return false
			}
			continue
		}
		if b.Field(key).Len() == 0 || slices.ContainsFunc(b.Field(key).Texts(), func(s string) bool { return !slices.Contains(has, s) && !slices.Contains(has, "*") }) {
			return false
		}
	}
	return true
}

func itemsOf(list object.Value) []object.Value {
	var out []object.Value
	for _, v := range list.Items() {
		out = append(out, v)
	}
	return out
}

// allowedElsewhere says whether a policy with the same reach allowed already, so that all
// else was closed.
func allowedElsewhere(set *object.Set, o *object.Object) bool {
	return slices.ContainsFunc(set.Kind("AuthorizationPolicy.security.istio.io"), func(x *object.Object) bool {
		same := x.Ref.Namespace == o.Ref.Namespace && x.At("spec.selector").Equal(o.At("spec.selector")) && x.At("spec.targetRefs").Equal(o.At("spec.targetRefs"))
		// Those of the root namespace, which is mostly this one, count for the whole mesh.
		wide := (x.Ref.Namespace == o.Ref.Namespace || x.Ref.Namespace == meshRoot) && !x.At("spec.selector").Exists() && !x.At("spec.targetRefs").Exists()
		return allowing(x) && (same || wide)
	})
}

func checkPeerAuthentication(p *rule.Pass, c diff.Change) {
	const path = "spec.mtls.mode"
	mode := func(o *object.Object) string {
		if m := o.At(path).Text(); m != "" && m != "UNSET" {
			return m
		}
		return "that of what is above it"
	}
	was, now := mode(c.Before), mode(c.After)
	if was == now || now != "STRICT" && was != "STRICT" {
		return
	}
	o := c.Object()
	whom, pods := whomMesh(p.After, o)
	f := rule.Finding{Path: path, Related: refs(pods), Message: fmt.Sprintf("mutual TLS for %s goes from %s to %s", whom, was, now)}
	if c.Before == nil {
		f.Message = fmt.Sprintf("%s takes mutual TLS only from now on (STRICT)", whom)
	}
	if c.After == nil {
		f.Path = ""
	}
	if now == "STRICT" {
		f.Consequence = "callers without a sidecar are refused at once: jobs, Prometheus, load balancers, namespaces outside of the mesh"
	} else {
		f.Severity = rule.Note
		f.Consequence = "plain text is taken, too, as far as nothing above it refuses that"
	}
	p.Report(c, f)
}

// checkSidecarEgress looks at the hosts that proxies know. Those of a listener of its own, with a
// port or an address, are left alone.
func checkSidecarEgress(p *rule.Pass, c diff.Change) {
	hosts := func(o *object.Object) (out []string) {
		for _, e := range o.At("spec.egress").Items() {
			if !e.Field("port").Exists() {
				out = append(out, e.Field("hosts").Texts()...)
			}
		}
		return out
	}
	was, now := hosts(c.Before), hosts(c.After)
	if len(now) == 0 {
		return // all that the mesh has
	}
	takes := func(x, host string) bool {
		ns, name, _ := strings.Cut(x, "/")
		wantNS, wantName, _ := strings.Cut(host, "/")
		here := wantNS == "." && ns == c.After.Ref.Namespace || ns == "." && wantNS == c.After.Ref.Namespace
		return (ns == "*" || ns == wantNS || here) && (name == "*" || name == wantName || wildcardTakes(name, wantName))
	}
	var lost []string
	for _, host := range was {
		if !slices.ContainsFunc(now, func(x string) bool { return takes(x, host) }) {
			lost = append(lost, host)
		}
	}
	if len(was) == 0 {
		lost = []string{"what is not listed"}
	}
	if len(lost) == 0 {
		return
	}
	whom := "every pod of namespace " + c.After.Ref.Namespace
	selector := c.After.Strings("spec.workloadSelector.labels")
	var pods []object.Workload
	if len(selector) > 0 {
		pods, _ = reached(p.After, c.After.Ref.Namespace, selector)
		whom = orText(withCount(pods), "pods with "+labelText(selector))
	}
	p.Report(c, rule.Finding{Path: "spec.egress", Related: refs(pods), Message: fmt.Sprintf("the proxies of %s no longer know %s", whom, listed(lost)),
		Consequence: "requests to it lose their routes, retries and TLS, and are answered with 502 where the mesh lets nothing unknown out"})
}

func checkTrafficPolicy(p *rule.Pass, c diff.Change) {
	host := c.After.Text("spec.host")
	const tls, outlier = "spec.trafficPolicy.tls.mode", "spec.trafficPolicy.outlierDetection"
	if was, now := c.Before.Text(tls), c.After.Text(tls); was != now {
		f := rule.Finding{Path: tls, Message: fmt.Sprintf("the TLS mode towards %s becomes %s, %s before", host, orText(now, "the automatic one"), orText(was, "the automatic one"))}
		switch now {
		case "ISTIO_MUTUAL":
			f.Consequence = "pods behind it that have no sidecar reset each connection: callers see 503"
		case "DISABLE":
			f.Consequence = "pods behind it that take mutual TLS only reset each connection: callers see 503"
		case "":
			f.Severity = rule.Note
			f.Consequence = "the mesh chooses by what each pod can do"
		default:
			f.Consequence = "a server that does not speak it resets each connection: callers see 503"
		}
		p.Report(c, f)
	}
	if b, a := c.Before.At(outlier), c.After.At(outlier); b.Len() > 0 && a.Len() == 0 {
		var kept []string
		for _, key := range []string{"consecutive5xxErrors", "consecutiveGatewayErrors", "consecutiveErrors"} {
			if v := b.Field(key); v.Exists() {
				kept = append(kept, fmt.Sprintf("%s %s", key, v))
			}
		}
		f := rule.Finding{Path: outlier, Message: fmt.Sprintf("outlier detection for %s goes", host),
			Consequence: "a pod that answers every request with an error keeps its share of them"}
		if len(kept) > 0 {
			f.Message += " (" + strings.Join(kept, ", ") + ")"
		}
		p.Report(c, f)
	}
}
