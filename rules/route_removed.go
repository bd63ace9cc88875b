package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RouteRemoved reports a host or path that comes in no more.
var RouteRemoved = &rule.Rule{
	ID:       "route-removed",
	Title:    "A host or path is no longer routed",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
What an Ingress or a route no longer names is answered by the controller's default: 404, or with the certificate of another host. The
Services and pods behind it stay healthy and receive nothing, so their own metrics fall silent without an error. A path that moves to
another Ingress or route of the same unit, or that a wider one covers, is quiet.`,
	Advice:   `Look at the access log of the host and path before. For a rename, serve the old name for a while and redirect.`,
	CheckAll: checkRouteRemoved,
}

func checkRouteRemoved(l *rule.Fleet) {
	for _, u := range l.Units {
		var all map[string][]route // by host, of the unit after the merge
		for _, c := range u.Changes {
			if c.Before == nil || !slices.Contains(routeKinds, groupKind(c.Before)) {
				continue
			}
			lost := uncovered(routesOf(c.Before), routesOf(c.After))
			if len(lost) == 0 {
				continue
			}
			if all == nil {
				all = unitRoutes(u.After)
			}
			lost = slices.DeleteFunc(lost, func(r route) bool { return coveredIn(all, r) })
			if len(lost) == 0 {
				continue
			}
			var urls []string
			f := rule.Finding{Path: lost[0].place, Consequence: "requests get the default answer of the controller, 404 as a rule"}
			if c.After == nil {
				f.Path = ""
			} else {
				f.Before, f.After = c.Before.At(string(lost[0].place)), object.TextOf("")
			}
			for _, r := range lost {
				if !slices.Contains(urls, r.url()) {
					urls = append(urls, r.url())
				}
				name := object.Ref{Unit: c.Ref.Unit, Kind: "Service", Namespace: c.Ref.Namespace, Name: serviceName(r.backend)}
				if u.After.Get(name) != nil && !slices.Contains(f.Related, name) {
					f.Related = append(f.Related, name)
				}
			}
			if narrowed := exactOnly(c, lost); narrowed != "" {
				f.Message = narrowed
				l.Report(u, c, f)
				continue
			}
			verb := "is"
			if len(urls) > 1 {
				verb = "are"
			}
			f.Message = fmt.Sprintf("%s %s no longer routed", listed(urls), verb)
			if len(f.Related) > 0 {
				f.Consequence += fmt.Sprintf("; %s stays and gets none of them", f.Related[0])
			}
			l.Report(u, c, f)
		}
	}
}

// exactOnly words a route whose path is no longer the beginning of others, "" when one of
// those that are lost is gone altogether.
func exactOnly(c diff.Change, lost []route) string {
	var urls []string
	for _, r := range lost {
		if !r.prefix || !slices.ContainsFunc(routesOf(c.After), func(x route) bool { return x.host == r.host && x.path == r.path && !x.prefix }) {
			return ""
		}
		if !slices.Contains(urls, r.url()) {
			urls = append(urls, r.url())
		}
	}
	if len(urls) == 1 {
		return fmt.Sprintf("%s is routed as it stands only, and no longer with what follows it", urls[0])
	}
	return fmt.Sprintf("%s are routed as they stand only, and no longer with what follows them", listed(urls))
}

// groupKind is the kind of an object, with an Ingress of extensions taken for what
// it is today.
func groupKind(o *object.Object) string {
	if o.Ref.Kind == "Ingress" && o.Ref.Group == "extensions" {
		return "Ingress.networking.k8s.io"
	}
	return o.Ref.GroupKind()
}

func uncovered(before, after []route) []route {
	var out []route
	for _, r := range before {
		if !slices.ContainsFunc(after, func(x route) bool { return x.covers(r) }) {
			out = append(out, r)
		}
	}
	return out
}

func unitRoutes(set *object.Set) map[string][]route {
	out := make(map[string][]route)
	for _, kind := range append([]string{"Ingress.extensions"}, routeKinds...) {
		for _, o := range set.Kind(kind) {
			for _, r := range routesOf(o) {
				out[r.host] = append(out[r.host], r)
			}
		}
	}
	return out
}

// coveredIn looks among the routes of the same host. A route for any host is no
// answer to one that named its host: what it leads to is another application.
func coveredIn(all map[string][]route, r route) bool {
	return slices.ContainsFunc(all[r.host], func(x route) bool { return x.covers(r) })
}

// serviceName takes the name out of "stage/web:80".
func serviceName(backend string) string {
	name := backend
	for i, r := range backend {
		if r == '/' {
			name = backend[i+1:]
		}
	}
	for i, r := range name {
		if r == ':' {
			return name[:i]
		}
	}
	return name
}

// routeActions are those under which an object is on both sides.
var routeActions = []diff.Action{diff.Update, diff.Replace, diff.Rename}
