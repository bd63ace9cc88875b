package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ReferenceGrantRemoved reports a grant that goes while a route or Gateway of another namespace
// still needs it.
var ReferenceGrantRemoved = &rule.Rule{
	ID:       "reference-grant-removed",
	Title:    "A route or Gateway may no longer name what lies in another namespace",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A route that names a Service of another namespace, and a Gateway that names a Secret of one, need a ReferenceGrant there ([Gateway API](https://gateway-api.sigs.k8s.io/api-types/referencegrant/)). Without it the reference counts for nothing, at
once: requests of a rule whose only backend it was are answered with 500, a part of them where other backends are, and a listener without its certificate is not served. The route stays, with ResolvedRefs false and
the reason RefNotPermitted, and nothing is refused when it is applied.

Routes and Gateways of this unit that need the grant are named, and make it an error; others cannot be seen. A grant that others of the namespace make up for is quiet.`,
	Advice:   `Take the reference out of the route first. When a grant is narrowed, list who names the namespace: kubectl get httproutes -A, and the backendRefs with a namespace.`,
	CheckAll: checkReferenceGrants,
}

const grantKind = "ReferenceGrant.gateway.networking.k8s.io"

// A farReference is what a route or Gateway names in another namespace.
type farReference struct{ from, to object.Ref }

func checkReferenceGrants(l *rule.Fleet) {
	for _, u := range l.Units {
		var needs map[string][]farReference // by the namespace that is named
		var grants map[string][]*object.Object
		for _, c := range u.Changes {
			if c.Ref.GroupKind() != grantKind || c.Before == nil {
				continue
			}
			if needs == nil {
				needs, grants = farReferences(u.After), map[string][]*object.Object{}
				for _, g := range u.After.Kind(grantKind) {
					grants[g.Ref.Namespace] = append(grants[g.Ref.Namespace], g)
				}
			}
			ns := c.Before.Ref.Namespace
			checkReferenceGrant(l, u, c, needs[ns], grants[ns])
		}
	}
}

func checkReferenceGrant(l *rule.Fleet, u *rule.Unit, c diff.Change, needs []farReference, grants []*object.Object) {
	var broken []farReference
	for _, n := range needs {
		if grantsTo(c.Before, n.from, n.to) && !slices.ContainsFunc(grants, func(g *object.Object) bool { return grantsTo(g, n.from, n.to) }) {
			broken = append(broken, n)
		}
	}
	if len(broken) > 0 {
		f := rule.Finding{Path: "spec", Severity: rule.Error}
		if c.After == nil {
			f.Path = ""
		}
		var text []string
		for _, n := range broken {
			if !slices.Contains(f.Related, n.from) {
				f.Related = append(f.Related, n.from)
			}
			if s := n.to.String(); !slices.Contains(text, s) {
				text = append(text, s)
			}
		}
		f.Message = fmt.Sprintf("%s still names %s, and no grant allows it any more", refNames(f.Related), listed(text))
		f.Consequence = "requests that lead there are answered with 500, and a listener without its certificate is not served"
		l.Report(u, c, f)
		return
	}
	if c.After != nil {
		return
	}
	var from []string
	for _, v := range c.Before.At("spec.from").Items() {
		if s := fmt.Sprintf("%s of namespace %s", v.Field("kind").Text(), v.Field("namespace").Text()); !slices.Contains(from, s) {
			from = append(from, s)
		}
	}
	l.Report(u, c, rule.Finding{Severity: rule.Note, Message: fmt.Sprintf("the grant to each %s goes", listed(from)), Consequence: "one that still names something here is answered with 500; none of this unit does"})
}

// crossingKinds may name objects of other namespaces.
var crossingKinds = []string{"HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io", "TLSRoute.gateway.networking.k8s.io",
	"TCPRoute.gateway.networking.k8s.io", "UDPRoute.gateway.networking.k8s.io", "Gateway.gateway.networking.k8s.io"}

// farReferences gives what the routes and Gateways of a set name in other namespaces, by these.
func farReferences(set *object.Set) map[string][]farReference {
	out := map[string][]farReference{}
	for _, kind := range crossingKinds {
		for _, o := range set.Kind(kind) {
			add := func(v object.Value, kind string) {
				if ns := v.Field("namespace").Text(); ns != "" && ns != o.Ref.Namespace {
					to := object.Ref{Unit: o.Ref.Unit, Group: v.Field("group").Text(), Kind: orText(v.Field("kind").Text(), kind), Namespace: ns, Name: v.Field("name").Text()}
					out[ns] = append(out[ns], farReference{o.Ref, to})
				}
			}
			for _, r := range o.At("spec.rules").Items() {
				for _, b := range r.Field("backendRefs").Items() {
					add(b, "Service")
				}
				for _, f := range r.Field("filters").Items() {
					add(f.At("requestMirror.backendRef"), "Service")
				}
			}
			for _, l := range o.At("spec.listeners").Items() {
				for _, s := range l.At("tls.certificateRefs").Items() {
					add(s, "Secret")
				}
			}
		}
	}
	return out
}

func grantsTo(grant *object.Object, from, to object.Ref) bool {
	matches := func(v object.Value, r object.Ref) bool {
		return v.Field("group").Text() == r.Group && v.Field("kind").Text() == r.Kind
	}
	fits := slices.ContainsFunc(itemsOf(grant.At("spec.from")), func(v object.Value) bool {
		return matches(v, from) && v.Field("namespace").Text() == from.Namespace
	})
	return fits && slices.ContainsFunc(itemsOf(grant.At("spec.to")), func(v object.Value) bool {
		return matches(v, to) && (v.Field("name").Text() == "" || v.Field("name").Text() == to.Name)
	})
}
