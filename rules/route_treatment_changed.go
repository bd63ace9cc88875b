package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RouteTreatmentChanged reports routes that do something else with requests on the way.
var RouteTreatmentChanged = &rule.Rule{
	ID:       "route-treatment-changed",
	Title:    "A route waits less long, or no longer rewrites, checks or marks requests on the way",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
Filters of a Gateway API route decide what a backend gets to see: a path without its prefix, a header by which it knows the tenant, a request that an
extension let through. Without the filter the same backend answers 404, takes the caller for somebody else, or takes everybody. Nothing fails to apply, and pods stay ready.

Timeouts are those of the gateway, whatever the backend does: one that gets shorter answers 504 to requests that used to succeed, while the backend goes on with
the work; without any the default of the implementation holds, from 15 s to no end at all ([Gateway API](https://gateway-api.sigs.k8s.io/guides/http-timeouts/)).`,
	Advice: `Let the backend understand both forms first (with and without the prefix or header), then take the filter away. Read the slowest requests of the route from its
metrics before a timeout is cut, and give it room above them.`,
	Kinds:   []string{"HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io"},
	Actions: updates,
	Check:   checkRouteTreatmentChanged,
}

// filterEffects says what no longer happens without a filter, by its type
// (https://gateway-api.sigs.k8s.io/reference/spec/#httproutefiltertype).
var filterEffects = map[string]string{
	"URLRewrite":             "the backend is asked for the paths and hosts that clients write: what it does not know it answers with 404",
	"RequestRedirect":        "requests are no longer redirected, and go to the backends, where the rule has any",
	"RequestHeaderModifier":  "backends no longer see the headers that it set, and see those that it took away",
	"ResponseHeaderModifier": "clients no longer see the headers that it set, those of security and caching among them",
	"ExtensionRef":           "what the extension did, such as logins, limits or rewrites, is done no longer",
	"ExternalAuth":           "nobody checks who asks any more",
	"CORS":                   "browsers refuse calls from other origins",
}

func checkRouteTreatmentChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "timeouts", "filters") {
		return
	}
	before := c.Before.At("spec.rules")
	for i, now := range c.After.At("spec.rules").Items() {
		was, ok := sameRouteRule(before, now)
		if !ok {
			continue
		}
		at := object.Path("spec.rules").Index(i)
		for _, field := range []string{"request", "backendRequest"} {
			compareRouteTimeout(p, c, at.Key("timeouts").Key(field), was.Field("timeouts").Field(field), now.Field("timeouts").Field(field))
		}
		compareRouteFilters(p, c, at.Key("filters"), was.Field("filters"), now.Field("filters"))
	}
}

// sameRouteRule finds the rule that takes the same requests.
func sameRouteRule(rules, like object.Value) (object.Value, bool) {
	for _, r := range rules.Items() {
		if r.Field("matches").Equal(like.Field("matches")) {
			return r, true
		}
	}
	return object.Value{}, false
}

func compareRouteTimeout(p *rule.Pass, c diff.Change, path object.Path, was, now object.Value) {
	if was.Equal(now) {
		return
	}
	b, errBefore := time.ParseDuration(was.Text())
	a, errAfter := time.ParseDuration(now.Text())
	limited := func(d time.Duration, err error) bool { return err == nil && d > 0 } // 0s is none
	f := rule.Finding{Path: path, Before: was, After: now, Consequence: "requests that take longer are answered with 504, while the backend goes on with them"}
	name := path.Segments()[len(path.Segments())-1].Key
	switch {
	case limited(b, errBefore) && limited(a, errAfter) && 2*a <= b:
		f.Message = fmt.Sprintf("the timeout of a %s goes from %s to %s", timeoutOf(name), was.Text(), now.Text())
	case !limited(b, errBefore) && limited(a, errAfter) && a < 10*time.Second:
		f.Message = fmt.Sprintf("a %s gets a timeout of %s, where the route had none", timeoutOf(name), now.Text())
	case limited(b, errBefore) && !limited(a, errAfter) && (!now.Exists() || errAfter == nil):
		f.Message = fmt.Sprintf("the timeout of a %s goes: it was %s", timeoutOf(name), was.Text())
		f.Consequence = "the default of the gateway holds: 15 s with some, so that longer requests are cut, and no end with others, so that they pile up before a backend that hangs"
	default:
		return
	}
	p.Report(c, f)
}

func timeoutOf(field string) string {
	if field == "backendRequest" {
		return "request to a backend"
	}
	return "request"
}

func compareRouteFilters(p *rule.Pass, c diff.Change, path object.Path, was, now object.Value) {
	if was.Equal(now) {
		return
	}
	for _, b := range was.Items() {
		kind := b.Field("type").Text()
		effect, known := filterEffects[kind]
		if !known {
			continue // a mirror that goes is missed by nobody who asks
		}
		if a, stays := sameFilter(now, b); stays {
			compareFilter(p, c, path, kind, b, a)
			continue
		}
		p.Report(c, rule.Finding{Path: path, Before: was, After: now, Message: fmt.Sprintf("the filter %s goes", filterName(b)), Consequence: effect})
	}
	for _, a := range now.Items() {
		if _, had := sameFilter(was, a); had {
			continue
		}
		f := rule.Finding{Path: path, Before: was, After: now}
		switch a.Field("type").Text() {
		case "URLRewrite":
			f.Message, f.Consequence = "requests are rewritten before they go to the backend", "it is asked for other paths or hosts than before, and answers 404 to those that it does not know"
		case "RequestRedirect":
			f.Message, f.Consequence = "all requests of a rule are redirected", "no backend gets them any more, and clients that do not follow redirects fail"
		default:
			continue
		}
		p.Report(c, f)
	}
}

func filterName(f object.Value) string {
	kind := f.Field("type").Text()
	if kind == "ExtensionRef" {
		return fmt.Sprintf("%s to %s %s", kind, f.At("extensionRef.kind").Text(), f.At("extensionRef.name").Text())
	}
	return kind
}

func sameFilter(list, f object.Value) (object.Value, bool) {
	for _, x := range list.Items() {
		if x.Field("type").Text() == f.Field("type").Text() && (f.Field("type").Text() != "ExtensionRef" || x.Field("extensionRef").Equal(f.Field("extensionRef"))) {
			return x, true
		}
	}
	return object.Value{}, false
}

// compareFilter tells of a filter that stays and does another thing.
func compareFilter(p *rule.Pass, c diff.Change, path object.Path, kind string, was, now object.Value) {
	if was.Equal(now) {
		return
	}
	f := rule.Finding{Path: path, Before: was, After: now}
	switch kind {
	case "URLRewrite", "RequestRedirect":
		f.Message = fmt.Sprintf("the filter %s leads elsewhere", kind)
		f.Consequence = map[string]string{"URLRewrite": "the backend is asked for other paths or hosts, and answers 404 to those that it does not know", "RequestRedirect": "clients are sent to another place"}[kind]
	case "RequestHeaderModifier", "ResponseHeaderModifier":
		field := strings.ToLower(kind[:1]) + kind[1:]
		kept := modifiedHeaders(now.Field(field))
		var lost []string
		for _, name := range modifiedHeaders(was.Field(field)) {
			if !slices.Contains(kept, name) {
				lost = append(lost, name)
			}
		}
		if len(lost) == 0 {
			return
		}
		f.Message = fmt.Sprintf("the filter %s leaves header %s alone", kind, listed(lost))
		f.Consequence = map[string]string{"RequestHeaderModifier": "backends see what clients send in its place, or nothing", "ResponseHeaderModifier": "clients see what backends send in its place, or nothing"}[kind]
	default:
		return
	}
	p.Report(c, f)
}

// modifiedHeaders names the headers that a filter sets, adds or takes away.
func modifiedHeaders(v object.Value) []string {
	var out []string
	for _, key := range []string{"set", "add"} {
		for _, h := range v.Field(key).Items() {
			out = append(out, strings.ToLower(h.Field("name").Text()))
		}
	}
	for _, h := range v.Field("remove").Texts() {
		out = append(out, strings.ToLower(h))
	}
	return out
}
