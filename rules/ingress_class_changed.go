package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// IngressClassChanged reports an Ingress or a route that another controller is to serve.
var IngressClassChanged = &rule.Rule{
	ID:       "ingress-class-changed",
	Title:    "An Ingress or route moves to another controller or gateway",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
The controller that served it drops it as soon as the class is another one; the other controller picks it up, behind another load
balancer with another address. Until DNS leads there, requests reach a controller that knows the host no more. Annotations of the
old controller mean nothing to the new one: rewrites, timeouts, allow lists and authentication are gone without an error. Without any
class the default one of the cluster applies, if there is one. The annotation kubernetes.io/ingress.class that becomes the field with
the same name is quiet.`,
	Advice:  `Create a second Ingress for the new class beside the old one, test it by its address, move DNS, and remove the old one when its log is empty.`,
	Kinds:   []string{"Ingress.networking.k8s.io", "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io", "Gateway.gateway.networking.k8s.io", "VirtualService.networking.istio.io"},
	Actions: routeActions,
	Check:   checkIngressClassChanged,
}

func checkIngressClassChanged(p *rule.Pass, c diff.Change) {
	before, _ := servedBy(c.Before)
	after, path := servedBy(c.After)
	if before == after {
		return
	}
	f := rule.Finding{Path: path, Message: change("the class", before, after)}
	if path != "spec.ingressClassName" {
		f.Message = change("the gateway", before, after)
		if c.Ref.Kind == "Gateway" {
			f.Message = change("the class", before, after)
		}
	}
	f.Consequence = "the controller that serves it now drops it at once; the other one answers at another address, where DNS does not lead yet"
	if before == "" {
		// The default class served it, or a controller that takes what has none.
		f.Severity = rule.Warning
		f.Consequence = "if a controller without class, or another default class, serves it now, it drops it at once"
	}
	p.Report(c, f)
}

// servedBy says who serves an object, and where that stands.
func servedBy(o *object.Object) (string, object.Path) {
	switch o.Ref.Kind {
	case "Ingress":
		class := o.Text("spec.ingressClassName")
		if class == "" {
			class = o.Annotation("kubernetes.io/ingress.class")
		}
		return class, "spec.ingressClassName"
	case "Gateway":
		return o.Text("spec.gatewayClassName"), "spec.gatewayClassName"
	case "VirtualService":
		return listed(o.At("spec.gateways").Texts()), "spec.gateways"
	}
	var parents []string
	for _, ref := range o.At("spec.parentRefs").Items() {
		parents = append(parents, fmt.Sprintf("%s/%s", orText(ref.Field("namespace").Text(), o.Ref.Namespace), ref.Field("name").Text()))
	}
	return listed(parents), "spec.parentRefs"
}
