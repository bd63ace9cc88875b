package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServicePortRenamed reports a port of a Service that keeps its number and gets
// another name.
var ServicePortRenamed = &rule.Rule{
	ID:       "service-port-renamed",
	Title:    "A Service port gets another name",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
The number stays, so clients that connect by number notice nothing. But Ingress backends, routes and Prometheus monitors name
ports by name, and so do SRV records (_http._tcp.web.prod.svc) and service meshes, which take the protocol from the prefix of the
name: a port renamed from grpc to server is plain TCP to Istio from then on. What still names the old name in the same manifests
loses the Service at once: an error. Where nothing does, those outside of them remain to be asked.`,
	Advice: `Change whoever names the port in the same pull request, or better name it by number there first. Ask other teams' monitors and
routes before; when in doubt, add a second port with the new name and take the old one away later.`,
	Kinds:   []string{"Service"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkServicePortRenamed,
}

func checkServicePortRenamed(p *rule.Pass, c diff.Change) {
	for _, pair := range pairPorts(c) {
		b, a := pair.before, pair.after
		if a == nil || b.number != a.number || b.protocol != a.protocol || b.name == a.name {
			continue
		}
		f := rule.Finding{Path: a.path.Key("name")}
		switch {
		case b.name == "":
			f.Message = fmt.Sprintf("port %s, which had no name, is now named %s; number and target are the same", b.number, a.name)
			f.Consequence = "clients by number notice nothing; a service mesh may take another protocol from the name"
		case a.name == "":
			f.Message = fmt.Sprintf("port %s loses its name %s", b.number, b.name)
		default:
			f.Message = fmt.Sprintf("port %s is renamed from %s to %s", b.number, b.name, a.name)
		}
		if b.name != "" {
			users, related := named(usersOf(p.After, c.After, b.name))
			if users != "" {
				f.Severity = rule.Error
				f.Related = related
				f.Consequence = fmt.Sprintf("%s still asks for %s and no longer finds it", users, b.name)
			} else {
				f.Consequence = "nothing in these manifests asks for the old name; routes, monitors and SRV lookups outside of them would no longer find it"
			}
		}
		p.Report(c, f)
	}
}
