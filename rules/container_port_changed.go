package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ContainerPortChanged reports a container port that moves or goes while others go
// by its number or name.
var ContainerPortChanged = &rule.Rule{
	ID:       "container-port-changed",
	Title:    "A container port changes its number or name, or goes, while others go by it",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A declared port is but information: what listens is the program. Yet others go by it. A Service with a number for its targetPort sends
to that number in old and new pods alike, so that during the rollout one half of them does not answer, whichever number it has. A
Service, a PodMonitor or a network policy that goes by the name follows each pod, and loses those that have no such name.
Policies and monitors that go by the number keep the old one and close or miss the new.

A Service by name, which follows, is quiet; so is a port that nobody in the unit goes by. A name that a Service still asks for in vain is
told by service-target-port-broken.`,
	Advice: `Let Services go by the port's name: then number and name change safely with the rollout. With numbers, let the program listen on both
for one rollout, move the Service, and drop the old one afterwards.`,
	Kinds:   servingKinds,
	Actions: updates,
	Check:   checkContainerPortChanged,
}

// A containerPort is a port that a running container declares.
type containerPort struct {
	name, number, protocol string
	path                   object.Path
}

func containerPorts(w object.Workload) []containerPort {
	var out []containerPort
	for _, box := range w.Running() {
		for _, v := range box.At("ports").Items() {
			p := containerPort{v.Field("name").Text(), v.Field("containerPort").String(), v.Field("protocol").Text(), ""}
			if p.protocol == "" {
				p.protocol = "TCP"
			}
			p.path = box.Path.Key("ports").Select("containerPort", p.number, "protocol", p.protocol)
			out = append(out, p)
		}
	}
	return out
}

func checkContainerPortChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, ".ports") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	olds, news := containerPorts(before), containerPorts(after)
	for _, old := range olds {
		same := func(x containerPort) bool { return x.number == old.number && x.protocol == old.protocol }
		if slices.ContainsFunc(news, func(x containerPort) bool { return same(x) && (x.name == old.name || old.name == "") }) {
			continue
		}
		f := rule.Finding{Path: old.path}
		numberStays := slices.ContainsFunc(news, same)
		i := slices.IndexFunc(news, func(x containerPort) bool {
			return x.protocol == old.protocol && (x.name == old.name && old.name != "" || same(x))
		})
		var users []portUser
		switch {
		case numberStays && i >= 0:
			f.Message = fmt.Sprintf("container port %s is named %s in place of %s", old.number, orNone(news[i].name), old.name)
			users = byName(p, after, old.name)
		case i >= 0:
			f.Path = news[i].path
			f.Message = fmt.Sprintf("container port %s goes from %s to %s", old.name, old.number, news[i].number)
			users = byNumber(p, before, after, old, news[i].number)
		default:
			f.Message = fmt.Sprintf("container port %s goes", strings.TrimSuffix(old.number+" ("+old.name+")", " ()"))
			users = append(byNumber(p, before, after, old, ""), byName(p, after, old.name)...)
		}
		if len(users) == 0 {
			continue
		}
		text, related := named(users)
		f.Related = related
		f.Consequence = fmt.Sprintf("%s goes by it: %s", text, leadsNowhere(related))
		p.Report(c, f)
	}
}

// leadsNowhere says what becomes of those who go by a port.
func leadsNowhere(users []object.Ref) string {
	var says []string
	for _, r := range users {
		say := "the monitor finds nothing to scrape on new pods"
		switch r.Kind {
		case "Service":
			say = "the number holds for old and new pods alike, and until the rollout is done one half of them does not answer there"
		case "NetworkPolicy":
			say = "the policy lets in what nobody listens on, and closes the new port"
		}
		if !slices.Contains(says, say) {
			says = append(says, say)
		}
	}
	return strings.Join(says, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// byNumber gives the Services that send to the old number of a port, before the
// merge or after it, or to its new one, and monitors and policies that name it.
func byNumber(p *rule.Pass, before, after object.Workload, old containerPort, now string) []portUser {
	var out []portUser
	seen := map[object.Ref]bool{}
	services := func(set *object.Set, w object.Workload, number string) {
		for _, s := range set.ServicesFor(w.Ref) {
			for _, port := range servicePorts(s) {
				if port.target.String() == number && isNumber(port.target) && port.protocol == old.protocol && !seen[s.Ref] {
					seen[s.Ref] = true
					out = append(out, portUser{s.Ref, port.path.Key("targetPort")})
				}
			}
		}
	}
	services(p.After, after, old.number)
	if now != "" {
		services(p.After, after, now)
	}
	for _, policy := range p.After.PoliciesFor(after.Ref) {
		if path, ok := policyPort(policy, old.number); ok {
			out = append(out, portUser{policy.Ref, path})
		}
	}
	return out
}

// byName gives the monitors and policies that name a port; Services have a rule of
// their own.
func byName(p *rule.Pass, w object.Workload, name string) []portUser {
	if name == "" {
		return nil
	}
	var out []portUser
	for _, m := range p.After.Kind("PodMonitor.monitoring.coreos.com") {
		if m.Ref.Namespace != w.Ref.Namespace || !m.SelectorAt("spec.selector").Matches(w.PodLabels) {
			continue
		}
		for i, e := range m.At("spec.podMetricsEndpoints").Items() {
			if e.Field("port").Text() == name {
				out = append(out, portUser{m.Ref, object.Path("spec.podMetricsEndpoints").Index(i).Key("port")})
			}
		}
	}
	for _, policy := range p.After.PoliciesFor(w.Ref) {
		if path, ok := policyPort(policy, name); ok {
			out = append(out, portUser{policy.Ref, path})
		}
	}
	return out
}

// policyPort finds the ingress rule of a network policy that lets a port in.
func policyPort(policy *object.Object, port string) (object.Path, bool) {
	for i, in := range policy.At("spec.ingress").Items() {
		for j, v := range in.Field("ports").Items() {
			if v.Field("port").String() == port {
				return object.Path("spec.ingress").Index(i).Key("ports").Index(j).Key("port"), true
			}
		}
	}
	return "", false
}
