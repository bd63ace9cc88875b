package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it pairs the ports of a Service before and after, for the
// rules that ask what became of one, and finds who names it.

// A servicePort is one port of a Service.
type servicePort struct {
	name, protocol, number string
	target                 object.Value // its own number where none is written
	path                   object.Path
}

func servicePorts(o *object.Object) []servicePort {
	var out []servicePort
	for _, v := range o.At("spec.ports").Items() {
		p := servicePort{name: v.Field("name").Text(), protocol: v.Field("protocol").Text(), number: v.Field("port").String(), target: v.Field("targetPort")}
		if p.protocol == "" {
			p.protocol = "TCP"
		}
		if !p.target.Exists() {
			p.target = v.Field("port")
		}
		p.path = object.Path("spec.ports").Select("port", p.number, "protocol", p.protocol)
		out = append(out, p)
	}
	return out
}

// String gives "port 80 (http)", with the protocol where it is not TCP.
func (p servicePort) String() string {
	s := "port " + p.number
	if p.protocol != "TCP" {
		s += "/" + p.protocol
	}
	if p.name != "" {
		s += " (" + p.name + ")"
	}
	return s
}

// A portPair is a port on both sides of a change; after is nil for one that goes.
type portPair struct{ before, after *servicePort }

// pairPorts pairs the ports by number and protocol, what is left of them by name,
// and two that are left alone with each other by what they lead to.
func pairPorts(c diff.Change) []portPair {
	before, after := servicePorts(c.Before), servicePorts(c.After)
	pairs := make([]portPair, len(before))
	taken := make([]bool, len(after))
	match := func(same func(b, a servicePort) bool) {
		for i := range before {
			pairs[i].before = &before[i]
			for j := range after {
				if pairs[i].after == nil && !taken[j] && same(before[i], after[j]) {
					pairs[i].after, taken[j] = &after[j], true
				}
			}
		}
	}
	match(func(b, a servicePort) bool { return b.number == a.number && b.protocol == a.protocol })
	match(func(b, a servicePort) bool { return b.name != "" && b.name == a.name })
	if len(before) == 1 && len(after) == 1 {
		match(func(b, a servicePort) bool { return true })
	}
	match(func(b, a servicePort) bool { return b.protocol == a.protocol && b.target.String() == a.target.String() })
	return pairs
}

// A portUser is an object that names a port of a Service.
type portUser struct {
	ref  object.Ref
	path object.Path
}

// usersOf gives who names the Service by one of the given ports, a number or a
// name: routes, webhooks and the like, Prometheus monitors, and DNS names with the
// port in env, arguments and configuration.
func usersOf(set *object.Set, service *object.Object, ports ...string) []portUser {
	var out []portUser
	for _, r := range set.ReferencesTo(service.Ref) {
		port := r.Port
		if port == "" && r.Use == object.UseWebhook {
			port = "443" // what the API server calls unless told otherwise
		}
		if port != "" && slices.Contains(ports, port) {
			out = append(out, portUser{r.From.Ref, r.Path})
		}
	}
	for _, m := range set.Kind("ServiceMonitor.monitoring.coreos.com") {
		if !monitors(m, service) {
			continue
		}
		for i, e := range m.At("spec.endpoints").Items() {
			if port := e.Field("port").Text(); port != "" && slices.Contains(ports, port) {
				out = append(out, portUser{m.Ref, object.Path("spec.endpoints").Index(i)})
			}
		}
	}
	for _, m := range set.Mentions(service.Ref.Namespace, service.Ref.Name) {
		if m.Port != "" && slices.Contains(ports, m.Port) {
			out = append(out, portUser{m.From.Ref, m.Path})
		}
	}
	return out
}

// monitors says whether a ServiceMonitor selects a Service: by the labels of the
// Service itself, in its own namespace or those that it names.
func monitors(m, service *object.Object) bool {
	namespaces := m.At("spec.namespaceSelector.matchNames").Texts()
	everywhere, _ := m.At("spec.namespaceSelector.any").Bool()
	here := m.Ref.Namespace == service.Ref.Namespace && len(namespaces) == 0
	return (everywhere || here || slices.Contains(namespaces, service.Ref.Namespace)) &&
		m.SelectorAt("spec.selector").Matches(service.Labels())
}

// named says who still names something, and gives their refs: "Ingress prod/web
// (spec.rules[0]...)".
func named(users []portUser) (text string, related []object.Ref) {
	var texts []string
	for _, u := range users {
		texts = append(texts, fmt.Sprintf("%s (%s)", u.ref, u.path))
		if !slices.Contains(related, u.ref) {
			related = append(related, u.ref)
		}
	}
	return listed(texts), related
}

// servicePods gives the workloads that a Service reaches before and after.
func servicePods(p *rule.Pass, c diff.Change) (before, after []object.Workload) {
	before, _ = reached(p.Before, c.Before.Ref.Namespace, c.Before.Strings("spec.selector"))
	after, _ = reached(p.After, c.After.Ref.Namespace, c.After.Strings("spec.selector"))
	return withPods(before), withPods(after)
}
