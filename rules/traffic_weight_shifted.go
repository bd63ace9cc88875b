package rules

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// TrafficWeightShifted reports a route that moves a good part of its requests at once.
var TrafficWeightShifted = &rule.Rule{
	ID:       "traffic-weight-shifted",
	Title:    "A route moves a good part of its requests to another destination at once",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
Weights count as soon as the proxies have them, within seconds and for all clients. What got a tenth of the requests and gets nine tenths has nine times the load before its
autoscaler has looked once, with caches that are warm for a tenth. What gets everything for the first time is tested by all users together. And two numbers that
changed places look like a step of a canary.

It is a warning when a destination gets at least a quarter of all requests more and five times as much as before, or half of all where it got none; a smaller jump
of a quarter is a note. Steps as canaries take them are quiet.`,
	Advice:  "Go in steps of which each at most doubles the share, with time for the autoscaler between them, and raise the minimum of the one that is to get more beforehand.",
	Kinds:   []string{virtualServiceKind, "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io", "TraefikService.traefik.io", "TraefikService.traefik.containo.us", "HTTPProxy.projectcontour.io"},
	Actions: updates,
	Check:   checkTrafficWeightShifted,
}

func checkTrafficWeightShifted(p *rule.Pass, c diff.Change) {
	before, after := splits(c.Before), splits(c.After)
	for _, at := range slices.Sorted(maps.Keys(after)) {
		now, was := after[at], before[at]
		if len(was) == 0 || len(was) == 1 && len(now) == 1 {
			continue // new, or moved as a whole: another rule tells of it
		}
		if !slices.ContainsFunc(now, func(w weighted) bool { return slices.Contains(destinations(was), w.name) }) {
			continue
		}
		for _, name := range destinations(now) {
			b, a := share(was, name), share(now, name)
			gain := a - b
			if gain < 25 {
				continue
			}
			f := rule.Finding{Severity: rule.Note, Message: fmt.Sprintf("%s gets %s of the requests, %s before", name, percent(a), percent(b))}
			for _, w := range now {
				if w.name == name {
					f.Path = w.path
				}
			}
			switch {
			case b == 0 && gain >= 50:
				f.Severity = rule.Warning
				f.Consequence = "it served none of them until now: no cache is warm, and its autoscaler has nothing to go by"
			case b > 0 && a >= 5*b:
				f.Severity = rule.Warning
				f.Consequence = fmt.Sprintf("its pods get %s the load within seconds, before an autoscaler has looked once", times(math.Round(a/b)))
			default:
				f.Consequence = "they move within seconds, all clients at once"
			}
			p.Report(c, f)
		}
	}
}

func percent(f float64) string { return fmt.Sprintf("%d%%", int(math.Round(f))) }
