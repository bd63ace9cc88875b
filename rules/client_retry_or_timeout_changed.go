package rules

import (
	"math"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ClientRetryOrTimeoutChanged reports timeouts, pool sizes, rate limits and the
// like that move far, or in a direction that is known to hurt.
var ClientRetryOrTimeoutChanged = &rule.Rule{
	ID:       "client-retry-or-timeout-changed",
	Title:    "A timeout, pool size or rate limit of a client or proxy moves far",
	Subject:  "config",
	Severity: rule.Warning,
	Doc: `
Timeouts form a chain: each one must be longer than the one below it and shorter than the one above. One that shrinks cuts off
requests that used to succeed and makes somebody retry them; one that grows keeps connections and threads on a peer that is gone.
A pool that grows is multiplied by the number of pods and meets the limit of the one database behind them all. A rate limit that
is lifted moves the limit to whatever breaks first.

A value is reported when it moves at least by half in a direction of which its documentation warns and comes out beyond its default,
or, for the limits of requests, when it becomes three times as long (where that is warned of), or five times as long or short, in either direction; a rate that is raised, when it doubles. Waits between connection attempts have
rules of their own.`,
	Advice: `Walk the chain from the user to the last backend and write the limits side by side; let each caller wait longer than what it calls, retries
included. Multiply pools and rates by the number of pods at the autoscaler's maximum before you raise them.`,
	Incidents: []string{"mybinder-launch-timeout-2017", "posthog-timeout-2025"},
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:     checkClientRetryOrTimeoutChanged,
}

// limiting are the categories of how long and how much clients may ask.
var limiting = []clientparam.Category{clientparam.RequestTimeout, clientparam.Pool, clientparam.Rate, clientparam.Lease,
	clientparam.CircuitBreaker, clientparam.Drain, clientparam.DNS, clientparam.Refresh, clientparam.Health, clientparam.Kernel}

func checkClientRetryOrTimeoutChanged(p *rule.Pass, c diff.Change) {
	for _, g := range clientGroups(c, movesFar) {
		f := g.finding(g.changes[0])
		if first, factor := g.worst(); factor > 0 {
			f = g.finding(first)
			f.Consequence = g.follows(p, c, first)
		} else if far := g.changes[0]; far.Category == clientparam.RequestTimeout && far.Set[0] && far.Set[1] {
			f.Consequence = "limits above and below it in the chain of calls were made for the value before"
		}
		p.Report(c, f)
	}
}

func movesFar(c clientparam.Change) bool {
	const half, double, patient, far = 1.5, 2, 3, 5
	if c.Parameter != nil && c.Parameter.Family == "coredns" {
		return false // the cluster's DNS has a rule of its own
	}
	if c.Name == "options ndots" && strings.Contains(string(c.Path), "dnsConfig") {
		return false // so has ndots of pods, whose default is not the resolver's
	}
	j := c.Judge()
	worse := j.Verdict == clientparam.Worse && (j.Factor == 0 || j.Factor >= half)
	switch {
	case worse && c.Category == clientparam.Rate && j.Danger == clientparam.TooLarge && j.Factor > 0 && j.Factor < double:
		return false // a little more is let through
	case strings.HasPrefix(string(c.Path), "spec.postgresql.parameters.max_connections"):
		return false // of a server: store-room-cut tells how many clients it takes
	case worse && c.Category == clientparam.RequestTimeout && j.Danger == clientparam.TooLarge && j.Factor > 0 && j.Factor < patient:
		return false // somebody gives a slow request the time that it needs
	case c.Category == clientparam.ConnectTimeout:
		return worse && tooSlow(c, j) // a shorter one is told with the reconnects
	case !slices.Contains(limiting, c.Category):
		return false
	case worse:
		return true
	}
	return c.Category == clientparam.RequestTimeout && c.Set[0] && c.Set[1] && c.Before.Comparable(c.After) &&
		math.Max(c.Before.Number, c.After.Number) >= far*math.Min(c.Before.Number, c.After.Number) && math.Min(c.Before.Number, c.After.Number) > 0
}
