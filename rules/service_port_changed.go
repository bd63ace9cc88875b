package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServicePortChanged reports a port of a Service that gets another number or protocol.
var ServicePortChanged = &rule.Rule{
	ID:       "service-port-changed",
	Title:    "A Service port gets another number or protocol",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
The number is what clients connect to. It changes for all of them in the same moment, while they change one by one: until the last
of them is rolled out, connections to the old number fail. Pods that were given the old number in env or arguments keep it until
they restart, and pods outside of these manifests keep it for good. A change of protocol is a removal and an addition as well.

It stays a warning where the change follows a correction on the side of the clients, that is where nothing in these manifests names
the old number and something names the new one.`,
	Advice: `Let the Service serve both numbers with the same targetPort, move the clients, and remove the old number in a later pull request.
Only the Service has to change for that: the pods listen where they listened.`,
	Kinds:   []string{"Service"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkServicePortChanged,
}

func checkServicePortChanged(p *rule.Pass, c diff.Change) {
	if isExternalName(c) {
		return
	}
	for _, pair := range pairPorts(c) {
		b, a := pair.before, pair.after
		if a == nil || b.number == a.number && b.protocol == a.protocol {
			continue
		}
		f := rule.Finding{Path: a.path.Key("port"), Before: c.Before.At(string(b.path.Key("port"))), After: c.After.At(string(a.path.Key("port")))}
		f.Message = fmt.Sprintf("port %s becomes %s", b.number, a.number)
		if b.number == a.number {
			f.Path, f.Before, f.After = a.path.Key("protocol"), c.Before.At(string(b.path.Key("protocol"))), c.After.At(string(a.path.Key("protocol")))
			f.Message = fmt.Sprintf("port %s changes its protocol from %s to %s", b.number, b.protocol, a.protocol)
		} else if a.name != "" && a.name == b.name {
			f.Message = fmt.Sprintf("port %s (%s) becomes %s", b.number, b.name, a.number)
		}
		users, related := named(usersOf(p.After, c.After, b.number))
		now := usersOf(p.After, c.After, a.number)
		switch {
		case users != "" && b.number != a.number:
			f.Related = related
			f.Consequence = fmt.Sprintf("%s still names %s and is refused from the moment of the merge", users, b.number)
		case len(now) > 0:
			f.Severity = rule.Warning
			_, f.Related = named(now)
			f.Consequence = fmt.Sprintf("%s names the new number; pods that were started with the old one fail until they restart", f.Related[0])
		default:
			f.Consequence = "connections to the old number fail from the moment of the merge, for every client that has not changed by then"
		}
		p.Report(c, f)
	}
}
