package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceAddressWrong reports clients that are given the address of a Service, or a port
// of it, which is not there.
var ServiceAddressWrong = &rule.Rule{
	ID:       "service-address-wrong",
	Title:    "A client is given an address that no Service here has",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
An address in a variable, an argument or a file is text, and nothing checks it. With a slip in the name the lookup fails; with a port that the Service does not serve, connections
run into a timeout or are refused, by the plugin that carries the network. Programs that connect late come up, become ready, and fail at the first request.

Told when an address that this change brings names a Service of the unit with a port that it does not have, or a name that no Service of the namespace has where the
same place named one before. A headless Service serves every port of its pods, and is quiet, as are names of other namespaces and units of which nothing is here.`,
	Advice:  "Write the address by the Service's own name and port, in one place that clients share (a ConfigMap, a helper of the library), and let readiness ask for what a program cannot do without at its start.",
	Kinds:   append([]string{"ConfigMap"}, podKinds...),
	Actions: updates,
	Check:   checkServiceAddressWrong,
}

func checkServiceAddressWrong(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind != "ConfigMap" && !touched(c, ".env", ".args", ".command", "nnotations") {
		return
	}
	before, after := object.MentionsIn(c.Before), object.MentionsIn(c.After)
	var told []string
	for _, ref := range sortedRefs(after) {
		service := p.After.Get(ref)
		for _, m := range after[ref] {
			if slices.ContainsFunc(before[ref], func(b object.Mention) bool { return b.Port == m.Port }) {
				continue // it named it before
			}
			f := rule.Finding{Path: m.Path}
			switch {
			case service != nil && m.Port != "":
				ports := servicePorts(service)
				if service.Text("spec.clusterIP") == "None" || service.Text("spec.type") == "ExternalName" || len(ports) == 0 || !allDigits(m.Port) ||
					slices.ContainsFunc(ports, func(x servicePort) bool { return x.number == m.Port }) {
					continue
				}
				var has []string
				for _, x := range ports {
					has = append(has, x.String())
				}
				f.Severity = rule.Error
				f.Message = fmt.Sprintf("it names %s:%s, and %s has no port %s: it has %s", m.Host, m.Port, ref, m.Port, listed(has))
				f.Consequence = "connections to it are refused, or run into a timeout"
				f.Related = []object.Ref{ref}
			case service == nil && p.Before.Get(ref) == nil:
				was, ok := namedThere(p, before, m.Path)
				if !ok || was.Namespace != ref.Namespace || was == ref {
					continue
				}
				f.Message = fmt.Sprintf("it names %s, and no Service %s is here; it named %s before", m.Host, ref.Name, was)
				f.Consequence = "unless something outside of these manifests makes it, the name does not resolve"
				f.Severity = rule.Note
				if near := nearest(p, ref); near != "" {
					f.Severity = rule.Warning
					f.Message += fmt.Sprintf(" (a slip of %s?)", near)
				}
				f.Related = []object.Ref{was}
			default:
				continue
			}
			if !slices.Contains(told, f.Message) {
				told = append(told, f.Message)
				p.Report(c, f)
			}
		}
	}
}

func sortedRefs(m map[object.Ref][]object.Mention) []object.Ref {
	out := make([]object.Ref, 0, len(m))
	for ref := range m {
		out = append(out, ref)
	}
	slices.SortFunc(out, object.Ref.Compare)
	return out
}

// namedThere gives the Service that a place named before, if it is still there.
func namedThere(p *rule.Pass, before map[object.Ref][]object.Mention, path object.Path) (object.Ref, bool) {
	for _, ref := range sortedRefs(before) {
		if p.After.Get(ref) != nil && slices.ContainsFunc(before[ref], func(m object.Mention) bool { return m.Path == path }) {
			return ref, true
		}
	}
	return object.Ref{}, false
}

// nearest gives the Service of the namespace whose name is a slip away, "" for none.
func nearest(p *rule.Pass, ref object.Ref) string {
	for _, s := range p.After.Kind("Service") {
		if s.Ref.Namespace == ref.Namespace && oneSlip(s.Ref.Name, ref.Name) {
			return s.Ref.Name
		}
	}
	return ""
}

// oneSlip says whether two names differ by one letter that was left out, added, changed or
// swapped with its neighbour.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < 3 || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	return i < len(a) && (a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:])
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
