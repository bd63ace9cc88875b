package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceRemoved reports a Service that goes, and who still names it.
var ServiceRemoved = &rule.Rule{
	ID:       "service-removed",
	Title:    "A Service is removed",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
Its name no longer resolves, and its address is given to somebody else some day. Who still names it in the same manifests makes it an
error: an Ingress or a route answers 503 from then on, a webhook refuses or lets pass what it should have checked, a StatefulSet's
pods lose their DNS names, a client in env, arguments or configuration fails at its next lookup. With a type LoadBalancer the
addresses go too. Where nothing names it, clients outside of these manifests remain.
One that another unit gains in the same change only moves, which is a note.`,
	Advice: `Look at the connections of its pods for a day before the merge; an ExternalName Service under the old name leads stragglers to the new
one. Remove what names it first, the Service afterwards.`,
	Kinds:   []string{"Service"},
	Actions: []diff.Action{diff.Delete},
	Check:   checkServiceRemoved,
}

func checkServiceRemoved(p *rule.Pass, c diff.Change) {
	if homes := p.MovedTo(c); len(homes) > 0 {
		p.Report(c, rule.Finding{Severity: rule.Note,
			Message:     fmt.Sprintf("it moves out of this unit, and %s has one of the same name now", listed(homes)),
			Consequence: "if both go to one cluster, name and address stay, unless the tool that prunes the old unit deletes what the new one has taken over"})
		return
	}
	var users []portUser
	for _, r := range p.After.ReferencesTo(c.Before.Ref) {
		users = append(users, portUser{r.From.Ref, r.Path})
	}
	for _, m := range p.After.Mentions(c.Before.Ref.Namespace, c.Before.Ref.Name) {
		users = append(users, portUser{m.From.Ref, m.Path})
	}
	f := rule.Finding{Message: fmt.Sprintf("%s no longer resolves", dnsName(c.Before.Ref))}
	text, related := named(users)
	switch {
	case text != "":
		f.Severity, f.Related = rule.Error, related
		f.Consequence = fmt.Sprintf("%s still names it", text)
	default:
		f.Consequence = "nothing in these manifests names it any more; clients outside of them may"
	}
	if serviceType(c.Before) == "LoadBalancer" {
		f.Consequence += "; its load balancer goes with it, and the addresses unless they are reserved"
	}
	if running, _ := reached(p.Before, c.Before.Ref.Namespace, c.Before.Strings("spec.selector")); len(running) > 0 {
		var left []object.Workload
		for _, w := range running {
			if _, stays := p.After.Workload(w.Ref); stays {
				left = append(left, w)
			}
		}
		if len(left) > 0 {
			f.Consequence += fmt.Sprintf("; %s stay without it", withCount(left))
		}
	}
	p.Report(c, f)
}
