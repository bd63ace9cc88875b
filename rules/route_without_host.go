package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// RouteWithoutHost reports a new route that matches paths of every host.
var RouteWithoutHost = &rule.Rule{
	ID:       "route-without-host",
	Title:    "A new route takes a path of every host",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A route that names no host competes with all others on the same controller. Traefik sorts routers by the length of their rule, so that
one for a long path and no host wins over the application's own; ingress-nginx and the Gateway API prefer a named host, but answer with
it for every host that has no route for the path. What comes for other applications ends in the wrong place, mostly as 404, and none
of their own manifests changed.`,
	Advice:    `Name the host. For a dashboard or a health page use a host of its own, or an entry point that is not public.`,
	Incidents: []string{"dfds-traefik-api-path-2025"},
	Kinds:     routeKinds,
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace},
	Check:     checkRouteWithoutHost,
}

func checkRouteWithoutHost(p *rule.Pass, c diff.Change) {
	was := make(map[string]bool)
	if c.Before != nil {
		for _, r := range routesOf(c.Before) {
			was[r.host+r.path] = true
		}
	}
	for _, r := range routesOf(c.After) {
		if was[r.host+r.path] || !anyHost(c.Ref.Kind, r.host) {
			continue
		}
		what := r.path
		if c.Ref.Kind == "IngressRoute" {
			what = r.host
		}
		p.Report(c, rule.Finding{
			Path:        r.place,
			Message:     fmt.Sprintf("%s of every host goes to %s", what, orText(r.backend, "another backend")),
			Consequence: "requests for other applications on the same controller may end there",
		})
	}
}

// anyHost says whether a route is for every host. A mesh's VirtualService always
// names one; Traefik's rule is a text.
func anyHost(kind, host string) bool {
	if kind == "IngressRoute" {
		return !strings.Contains(host, "Host") && host != ""
	}
	return host == "*"
}
