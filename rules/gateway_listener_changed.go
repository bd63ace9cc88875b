package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GatewayListenerChanged reports gateways that no longer listen where they did, or for whom.
var GatewayListenerChanged = &rule.Rule{
	ID:       "gateway-listener-changed",
	Title:    "A gateway no longer listens where it did, or no longer takes routes that it took",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
All routes of a Gateway go through its listeners. Another port, protocol or host name, or one that goes, cuts all of them off at once, of every
team that hangs on it; routes that name the listener by its section are detached and say so in a status that few read. Fewer namespaces in allowedRoutes detach the routes of the others in the
same way ([Gateway API](https://gateway-api.sigs.k8s.io/concepts/security-model/)). An Istio Gateway's servers are the same thing under another name.`,
	Advice:  `Add the new listener beside the old one, move routes and DNS to it, and remove the old one when its log is empty. Ask who has routes on it (kubectl get httproutes -A) before namespaces are closed out.`,
	Kinds:   []string{"Gateway.gateway.networking.k8s.io", "Gateway.networking.istio.io"},
	Actions: updates,
	Check:   checkGatewayListenerChanged,
}

// A listener is one place where a gateway takes requests.
type listener struct {
	name, port, protocol string
	hosts                []string
	from                 string // whose routes it takes
	path                 object.Path
}

func listenersOf(o *object.Object) []listener {
	var out []listener
	for i, v := range o.At("spec.listeners").Items() {
		l := listener{name: v.Field("name").Text(), port: v.Field("port").String(), protocol: v.Field("protocol").Text(), path: object.Path("spec.listeners").Index(i)}
		if h := v.Field("hostname").Text(); h != "" {
			l.hosts = []string{h}
		}
		l.from = orText(v.At("allowedRoutes.namespaces.from").Text(), "Same")
		if l.from == "Selector" {
			l.from = "Selector " + v.At("allowedRoutes.namespaces.selector").String()
		}
		out = append(out, l)
	}
	for i, v := range o.At("spec.servers").Items() {
		out = append(out, listener{name: v.At("port.name").Text(), port: v.At("port.number").String(), protocol: v.At("port.protocol").Text(),
			hosts: v.Field("hosts").Texts(), path: object.Path("spec.servers").Index(i)})
	}
	return out
}

// checkIstioGateway looks at which pods serve a Gateway of Istio, and with which certificate
// (https://istio.io/latest/docs/reference/config/networking/gateway/).
func checkIstioGateway(p *rule.Pass, c diff.Change) {
	const selector = "spec.selector"
	if b, a := c.Before.At(selector), c.After.At(selector); b.Len() > 0 && !b.Equal(a) {
		f := rule.Finding{Path: selector, Message: fmt.Sprintf("pods with %s serve it, those with %s before", orText(labelText(a.Strings()), "any labels"), labelText(b.Strings())),
			Consequence: "the proxies of before drop its listeners at once: connections to them are refused, unless the others already get the traffic"}
		p.Report(c, f)
	}
	after := c.After.At("spec.servers")
	for i, b := range c.Before.At("spec.servers").Items() {
		was := b.At("tls.credentialName").Text()
		j := slices.IndexFunc(itemsOf(after), func(a object.Value) bool {
			return a.At("port.number").Equal(b.At("port.number")) && a.Field("hosts").Equal(b.Field("hosts"))
		})
		if was == "" || j < 0 {
			continue
		}
		now := after.Item(j).At("tls.credentialName").Text()
		if now == "" || now == was || secretThere(p.After, c.After.Ref.Namespace, now) || madeHere(p.After, c.After.Ref.Namespace, now) {
			continue
		}
		p.Report(c, rule.Finding{Severity: rule.Warning, Path: object.Path("spec.servers").Index(j).Key("tls").Key("credentialName"), Before: object.TextOf(was), After: object.TextOf(now),
			Message:     fmt.Sprintf("listener %s serves with Secret %s, with %s before", orText(b.At("port.name").Text(), fmt.Sprint(i)), now, was),
			Consequence: "nothing of this unit makes that Secret beside the gateway: without it the listener answers no TLS connection"})
	}
}

// madeHere says whether a Certificate of a namespace makes a Secret.
func madeHere(set *object.Set, namespace, name string) bool {
	return slices.ContainsFunc(set.Kind(certificateKind), func(o *object.Object) bool {
		return o.Ref.Namespace == namespace && o.Text("spec.secretName") == name
	})
}

func checkGatewayListenerChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Group == "networking.istio.io" && c.Before != nil && c.After != nil {
		checkIstioGateway(p, c)
	}
	after := listenersOf(c.After)
	for _, b := range listenersOf(c.Before) {
		f := rule.Finding{Path: b.path}
		i := slices.IndexFunc(after, func(a listener) bool { return a.name == b.name && a.port == b.port })
		if i < 0 {
			i = slices.IndexFunc(after, func(a listener) bool { return a.name == b.name })
		}
		if i < 0 {
			f.Message = fmt.Sprintf("listener %s on port %s goes", b.name, b.port)
			f.Consequence = "connections to it are refused, and routes that name it are detached"
			p.Report(c, f)
			continue
		}
		a := after[i]
		f.Path = a.path
		var lost []string
		for _, h := range b.hosts {
			if !slices.ContainsFunc(a.hosts, func(x string) bool { return hostTakes(x, h) }) && len(a.hosts) > 0 {
				lost = append(lost, h)
			}
		}
		switch {
		case a.port != b.port || a.protocol != b.protocol:
			f.Message = fmt.Sprintf("listener %s goes from %s %s to %s %s", b.name, b.protocol, b.port, a.protocol, a.port)
			f.Consequence = "clients of the old port or protocol get no answer"
		case len(lost) > 0 || len(b.hosts) == 0 && len(a.hosts) > 0:
			f.Message = fmt.Sprintf("listener %s takes %s only, and %s before", b.name, listed(a.hosts), orText(listed(b.hosts), "every host"))
			f.Consequence = "requests for the others end in the default answer, 404 or a reset"
		case a.from != b.from && a.from != "All":
			f.Severity = rule.Warning
			f.Message = fmt.Sprintf("listener %s takes routes from namespaces by %s, by %s before", b.name, a.from, b.from)
			f.Consequence = "routes of namespaces that are left out are detached, and their hosts answer 404"
		default:
			continue
		}
		p.Report(c, f)
	}
}
