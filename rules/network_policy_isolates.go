package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// NetworkPolicyIsolates reports pods that were open in a direction and are closed
// by a policy from now on.
var NetworkPolicyIsolates = &rule.Rule{
	ID:       "network-policy-isolates",
	Title:    "A network policy closes pods that were open",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
The first policy that selects a pod in a direction turns the direction round: from everything to nothing but what it allows. It counts
at once, for pods that run. What is forgotten fails: most of all DNS, without which a pod finds nobody (an error here when no rule
leaves port 53 open), then the API server, probes from outside, metrics, and whoever came over an Ingress. A policy that gets its first
egress rule, or Egress among its policyTypes, closes egress in the same way.

A policy of Cilium closes as well, one that only denies included, unless enableDefaultDeny says otherwise.`,
	Advice: `Allow DNS first (port 53, UDP and TCP, to kube-system), then what the flow logs of a week show, then close. Try it on one workload, in
audit mode where the network plugin has one, before a policy selects a whole namespace.`,
	Incidents: []string{"devantler-cilium-2026", "rwlove-lockdown-2026"},
	Kinds:     policyKinds,
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace},
	Check:     checkNetworkPolicyIsolates,
}

func checkNetworkPolicyIsolates(p *rule.Pass, c diff.Change) {
	for _, d := range []direction{ingressOf, egressOf} {
		if closes(c.After, d) {
			reportIsolation(p, c, d)
		}
	}
}

func reportIsolation(p *rule.Pass, c diff.Change, d direction) {
	var closed, nameless []object.Workload
	pods := policyPods(p.After, c.After)
	for _, w := range withPods(pods.Workloads) {
		// New pods come with their policy: nothing is taken from them.
		was, runs := p.Before.Workload(w.Ref)
		if !runs || len(closedBy(p.Before, was, d)) > 0 {
			continue
		}
		var open []opening
		for _, policy := range closedBy(p.After, w, d) {
			open = append(open, openings(policy, d)...)
		}
		if slices.Contains(open, anything) {
			continue
		}
		closed = append(closed, w)
		if d == egressOf && !allowsDNS(open) {
			nameless = append(nameless, w)
		}
	}
	f := rule.Finding{Path: object.Path("spec").Key(string(d)), Related: refs(closed)}
	open := openings(c.After, d)
	what := map[direction]string{ingressOf: "accept connections", egressOf: "open connections"}[d]
	switch {
	case len(closed) > 0:
		f.Message = fmt.Sprintf("%s may %s only as this policy allows, and were open before", withCount(closed), what)
	case len(pods.Workloads) == 0 && len(p.MovedFrom(c)) == 0 && !closes(c.Before, d) && p.Before != nil && !slices.Contains(open, anything):
		// Pods of an operator, of another unit, or of all namespaces.
		f.Message = fmt.Sprintf("pods that it selects may %s only as it allows; which these are is unknown, no workload here matches", what)
		if c.Ref.Kind == "CiliumClusterwideNetworkPolicy" {
			f.Message = fmt.Sprintf("pods of all namespaces that it selects may %s only as it allows", what)
		}
		if d == egressOf && !allowsDNS(open) {
			f.Severity = rule.Error
			f.Consequence = "DNS is not among it: they find no other pod by name unless another policy allows that"
			p.Report(c, f)
			return
		}
	default:
		return
	}
	f.Consequence = allowed(open, d)
	if len(nameless) > 0 {
		f.Severity = rule.Error
		f.Consequence += fmt.Sprintf("; port 53 is not open, so %s can resolve no name", names(nameless))
	}
	p.Report(c, f)
}

// allowed says what stays open.
func allowed(open []opening, d direction) string {
	if len(open) == 0 {
		return "it allows nothing"
	}
	var out []string
	for _, o := range open {
		if text := o.text(d); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return "it allows " + listed(out)
}
