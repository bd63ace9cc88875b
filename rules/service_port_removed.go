package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServicePortRemoved reports a port that a Service no longer has.
var ServicePortRemoved = &rule.Rule{
	ID:       "service-port-removed",
	Title:    "A Service loses a port",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A cluster IP that does not serve a port drops or refuses connections to it at once. Who names the port in the same manifests, by
number or by name, is told and makes it an error: an Ingress backend, a route, a webhook, a Prometheus monitor, a host and port in
env, arguments or configuration. A metrics port that goes takes its metrics and alerts with it, which nobody sees: an alert on
missing data is rarely there.`,
	Advice: `Find who uses the port first (connection metrics of the pods, or a log on the port), move them, then remove it. Where monitoring
scrapes by the Service, switch it to the pods (PodMonitor) before.`,
	Kinds:   []string{"Service"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkServicePortRemoved,
}

func checkServicePortRemoved(p *rule.Pass, c diff.Change) {
	if isExternalName(c) {
		return
	}
	for _, pair := range pairPorts(c) {
		if pair.after != nil {
			continue
		}
		b := pair.before
		f := rule.Finding{Path: b.path, Message: fmt.Sprintf("%s is removed", b)}
		ports := []string{b.number}
		if b.name != "" {
			ports = append(ports, b.name)
		}
		users, related := named(usersOf(p.After, c.After, ports...))
		if users != "" {
			f.Severity, f.Related = rule.Error, related
			f.Consequence = fmt.Sprintf("%s still asks for it and is refused", users)
		} else {
			f.Consequence = "connections to it fail from the moment of the merge; nothing in these manifests names it, clients outside of them may"
		}
		p.Report(c, f)
	}
}
