package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RouteMalformed reports routes that their controller cannot read.
var RouteMalformed = &rule.Rule{
	ID:       "route-malformed",
	Title:    "A route is written in a way that its controller cannot read",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
The API server knows of a match expression only that it is a text, so that a slip in it is accepted and deployed. The controller logs an error and drops the route: its host answers 404. Older
ones did worse. Traefik before 2.5 could fail to read all routes because of one, and did so at its next start only, days after the merge, when a node was replaced and nobody thought of it.

Looked at are rules of Traefik (quotes and brackets that do not close, names that are no matcher, a rule or a backend that is missing) and paths of an Ingress that do not begin with a slash,
which the API server or the admission of the controller refuses.`,
	Advice:    "Write matchers with backticks: Host(`shop.example.com`) && PathPrefix(`/api`). Look at the controller's log or dashboard right after the merge, and restart one of its pods to see that it comes up.",
	Incidents: []string{"dfds-traefik-malformed-2021"},
	Kinds:     []string{"IngressRoute.traefik.io", "IngressRoute.traefik.containo.us", "IngressRouteTCP.traefik.io", "IngressRouteTCP.traefik.containo.us", "Ingress.networking.k8s.io"},
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:     checkRouteMalformed,
}

func checkRouteMalformed(p *rule.Pass, c diff.Change) {
	was := faults(c.Before)
	for _, f := range faults(c.After) {
		if slices.ContainsFunc(was, func(x routeFault) bool { return x.what == f.what }) {
			continue
		}
		follows := "the controller drops the route, and its host answers 404"
		if c.Ref.Kind == "Ingress" {
			follows = "the Ingress is refused, or the path matches nothing"
		}
		p.Report(c, rule.Finding{Path: f.path, Message: f.what, Consequence: follows})
	}
}

// A routeFault is what is wrong with a route.
type routeFault struct {
	path object.Path
	what string
}

func faults(o *object.Object) []routeFault {
	var out []routeFault
	if o == nil {
		return nil
	}
	if o.Ref.Kind == "Ingress" {
		for _, r := range ingressRoutes(o) {
			if !strings.HasPrefix(r.path, "/") && r.path != "" && strings.Contains(string(r.place), "paths") && !strings.HasPrefix(r.path, "^") {
				out = append(out, routeFault{r.place, fmt.Sprintf("the path %q does not begin with a slash", r.path)})
			}
		}
		return out
	}
	for i, r := range o.At("spec.routes").Items() {
		at := object.Path("spec.routes").Index(i)
		match := r.Field("match").Text()
		if what := matchFault(match); what != "" {
			out = append(out, routeFault{at.Key("match"), what})
		}
		if r.Field("services").Len() == 0 {
			out = append(out, routeFault{at, fmt.Sprintf("the route for %s leads to no service", orText(match, "nothing"))})
		}
	}
	return out
}

// matchers are the names that a rule of Traefik may call, of versions 2 and 3
// (https://doc.traefik.io/traefik/routing/routers/#rule,
// https://doc.traefik.io/traefik/v2.11/routing/routers/#rule).
var matchers = []string{"Host", "HostHeader", "HostRegexp", "Path", "PathPrefix", "PathRegexp", "Method", "Header", "HeaderRegexp", "Headers", "HeadersRegexp",
	"Query", "QueryRegexp", "ClientIP", "HostSNI", "HostSNIRegexp", "ALPN"}

// matchFault says what is wrong with a match expression, "" when it can be read.
func matchFault(match string) string {
	if strings.TrimSpace(match) == "" {
		return "the route has no match"
	}
	quote, depth, name := byte(0), 0, ""
	for i := 0; i < len(match); i++ {
		c := match[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else if c == '\\' && quote == '"' {
				i++
			}
			continue
		case c == '`' || c == '"':
			quote = c
		case c == '\'':
			return fmt.Sprintf("the match %s has single quotes, which Traefik does not read", shortened(match, 80))
		case c == '(':
			depth++
			if name != "" && !slices.ContainsFunc(matchers, func(m string) bool { return strings.EqualFold(m, name) }) {
				return fmt.Sprintf("the match calls %s, which is no matcher", name)
			}
		case c == ')':
			if depth--; depth < 0 {
				return fmt.Sprintf("the match %s closes a bracket that was not opened", shortened(match, 80))
			}
		}
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			name += string(c)
		} else {
			name = ""
		}
	}
	switch {
	case quote != 0:
		return fmt.Sprintf("the match %s has a quote that does not close", shortened(match, 80))
	case depth != 0:
		return fmt.Sprintf("the match %s has a bracket that does not close", shortened(match, 80))
	}
	return ""
}
