package rules

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads the objects of Istio that say where requests of a mesh
// go, for the rules about them.

const (
	virtualServiceKind  = "VirtualService.networking.istio.io"
	destinationRuleKind = "DestinationRule.networking.istio.io"
)

// A subsetUse is a place in a VirtualService that names a subset.
type subsetUse struct {
	host, subset string // host as meshHost writes it
	path         object.Path
}

// meshHost writes a host of a mesh in full, as far as it is a Service: "cart" in
// namespace shop is cart.shop. Others stay as they are
// (https://istio.io/latest/docs/reference/config/networking/virtual-service/#Destination).
func meshHost(host, namespace string) string {
	if name, ns, ok := object.ServiceHost(host, namespace); ok && (!strings.Contains(host, ".") || strings.Contains(host, ".svc") || strings.Count(host, ".") == 1) {
		return name + "." + ns
	}
	return host
}

// subsetUses gives the subsets that a VirtualService names.
func subsetUses(o *object.Object) []subsetUse {
	var out []subsetUse
	if o == nil {
		return nil
	}
	for _, kind := range []string{"http", "tcp", "tls"} {
		for i, r := range o.At("spec." + kind).Items() {
			at := object.Path("spec").Key(kind).Index(i)
			for j, d := range r.Field("route").Items() {
				if subset := d.At("destination.subset").Text(); subset != "" {
					out = append(out, subsetUse{meshHost(d.At("destination.host").Text(), o.Ref.Namespace), subset, at.Key("route").Index(j)})
				}
			}
			if m := r.Field("mirror"); m.Field("subset").Text() != "" {
				out = append(out, subsetUse{meshHost(m.Field("host").Text(), o.Ref.Namespace), m.Field("subset").Text(), at.Key("mirror")})
			}
		}
	}
	return out
}

// subsetsOf gives the subsets that DestinationRules of a set define for a host; known is
// false when none is for it.
func subsetsOf(set *object.Set, host string) (names []string, known bool) {
	for _, o := range set.Kind(destinationRuleKind) {
		if meshHost(o.Text("spec.host"), o.Ref.Namespace) != host {
			continue
		}
		known = true
		for _, s := range o.At("spec.subsets").Items() {
			names = append(names, s.Field("name").Text())
		}
	}
	return names, known
}

// A weighted is one destination of a route that splits its requests.
type weighted struct {
	name   string
	weight int64
	path   object.Path
}

// splits gives the routes of an object that split their requests, each with its place and
// the shares of its destinations.
func splits(o *object.Object) map[object.Path][]weighted {
	out := map[object.Path][]weighted{}
	add := func(at object.Path, list object.Value, key string, name func(object.Value) string, base int64) {
		var all []weighted
		for i, d := range list.Items() {
			w, ok := d.Field("weight").Int()
			if !ok {
				w = base
			}
			all = append(all, weighted{name(d), w, at.Key(key).Index(i)})
		}
		if len(all) == 1 {
			all[0].weight = 1
		}
		if len(all) > 0 {
			out[at] = all
		}
	}
	switch o.Ref.Kind {
	case "VirtualService":
		for _, kind := range []string{"http", "tcp", "tls"} {
			for i, r := range o.At("spec." + kind).Items() {
				add(object.Path("spec").Key(kind).Index(i), r.Field("route"), "route", func(d object.Value) string {
					return strings.TrimSuffix(d.At("destination.host").Text()+" subset "+d.At("destination.subset").Text(), " subset ")
				}, 0)
			}
		}
	case "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute":
		for i, r := range o.At("spec.rules").Items() {
			add(object.Path("spec.rules").Index(i), r.Field("backendRefs"), "backendRefs", func(d object.Value) string { return d.Field("name").Text() }, 1)
		}
	case "TraefikService":
		add("spec.weighted", o.At("spec.weighted.services"), "services", func(d object.Value) string { return d.Field("name").Text() }, 1)
	case "HTTPProxy":
		for i, r := range o.At("spec.routes").Items() {
			add(object.Path("spec.routes").Index(i), r.Field("services"), "services", func(d object.Value) string { return d.Field("name").Text() }, 1)
		}
	}
	return out
}

// share is the part of the requests that a destination gets, in percent.
func share(all []weighted, name string) float64 {
	var sum, mine int64
	for _, w := range all {
		sum += w.weight
		if w.name == name {
			mine += w.weight
		}
	}
	if sum <= 0 {
		return 0
	}
	return 100 * float64(mine) / float64(sum)
}

// destinations names what a split leads to, in order and once.
func destinations(all []weighted) []string {
	var out []string
	for _, w := range all {
		if !slices.Contains(out, w.name) {
			out = append(out, w.name)
		}
	}
	return out
}
