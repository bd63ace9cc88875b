package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// IngressTLSChanged reports a host that is served with another certificate, or with none.
var IngressTLSChanged = &rule.Rule{
	ID:       "ingress-tls-changed",
	Title:    "A host gets another certificate, or none",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A host without an entry under tls is served with the controller's default certificate, which no client accepts for it, and browsers that
have seen HSTS refuse to go on. A Secret under another name has to be there, in the namespace of the Ingress, at the moment of the
merge: until cert-manager has issued it, the default certificate is served. Where the Secret, or a Certificate that makes it, is in the
same manifests and was there before, it is a note.`,
	Advice:    `Create the new Secret or Certificate in one pull request, wait until it is ready, and let the Ingress name it in the next one.`,
	Incidents: []string{"moj-default-cert-2021"},
	Kinds:     []string{"Ingress.networking.k8s.io"},
	Actions:   routeActions,
	Check:     checkIngressTLSChanged,
}

func checkIngressTLSChanged(p *rule.Pass, c diff.Change) {
	before, after := tlsSecrets(c.Before), tlsSecrets(c.After)
	hosts := make(map[string]bool)
	for _, r := range routesOf(c.After) {
		hosts[r.host] = true
	}
	for _, host := range slices.Sorted(maps.Keys(before)) {
		now, still := after[host]
		was := before[host]
		f := rule.Finding{Path: "spec.tls"}
		switch {
		case !still && (hosts[host] || host == "*"):
			f.Severity = rule.Error
			f.Message = fmt.Sprintf("%s is no longer under tls, with Secret %s before", host, orText(was, "(none)"))
			f.Consequence = "it is served with the controller's default certificate, or over plain HTTP only"
		case still && now != was:
			f.Message = fmt.Sprintf("%s is served with Secret %s, before with %s", host, orText(now, "(none)"), orText(was, "(none)"))
			f.Consequence = "if the Secret is not there at the moment of the merge, the controller's default certificate is served"
			if secretThere(p.Before, c.Ref.Namespace, now) {
				f.Severity = rule.Note
				f.Consequence = "the Secret was there before"
			}
		default:
			continue
		}
		p.Report(c, f)
	}
}

// tlsSecrets gives the Secret of each host; "*" stands for an entry without hosts.
func tlsSecrets(o *object.Object) map[string]string {
	out := make(map[string]string)
	for _, t := range o.At("spec.tls").Items() {
		hosts := t.Field("hosts").Texts()
		if len(hosts) == 0 {
			hosts = []string{"*"}
		}
		for _, host := range hosts {
			out[host] = t.Field("secretName").Text()
		}
	}
	return out
}

// secretThere says whether a Secret, or a Certificate that makes it, is in a set.
func secretThere(set *object.Set, namespace, name string) bool {
	for _, o := range set.Kind("Secret") {
		if o.Ref.Namespace == namespace && o.Ref.Name == name {
			return true
		}
	}
	for _, o := range set.Kind("Certificate.cert-manager.io") {
		if o.Ref.Namespace == namespace && o.Text("spec.secretName") == name {
			return true
		}
	}
	return false
}
