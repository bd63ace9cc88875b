package rules

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/rule"
)

// ReconnectDefaultOverridden reports a parameter by which clients reconnect, wait,
// retry, ping or balance that comes to be more aggressive than before and than
// its documented default.
var ReconnectDefaultOverridden = &rule.Rule{
	ID:       "reconnect-default-overridden",
	Title:    "Clients reconnect, retry or ping harder than their library's default",
	Subject:  "config",
	Severity: rule.Warning,
	Doc: `
Defaults of reconnect waits, connect limits and keepalives are made for the moment when a peer is gone: after a rollout the address
of a deleted pod drops every packet, and each client tries it again and again until it learns the new addresses. An override that
looks harmless in a quiet hour multiplies these attempts. Each of them takes an entry in connection tracking tables for a minute,
and when such a table is full it drops packets of everybody on the node, DNS first.

Against a silent address the connect limit counts as much as the wait: gRPC with a wait of 300 ms and its limit of 20 s still makes
3 attempts a minute; with both at 300 ms it makes 200. A balancing policy belongs here too: with round_robin a gRPC client holds
a connection to every address and reconnects by itself, with pick_first it waits for the next call, so that a policy can wake an
override that has stood there for years.

Attempts are counted by the documented schedule of the client, with jitter at its mean; they are computed, not measured. Parameters
that no table has are recognised by their names; then a wait under one second counts as aggressive. It is an error when one
hundred clients or more come to make ten times as many attempts, and a note when a value moves by less than half.`,
	Advice: `Leave the defaults, or say beside the value what it repairs and how many clients times addresses it concerns. If it must be faster, keep
growth and jitter, lower the wait and leave the connect limit, and try it on a few clients during a rollout of the peer.`,
	Incidents:  []string{"datadog-grpc-reconnect-2021"},
	Actions:    []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Parameters: []rule.Parameter{manyClients},
	Check:      checkReconnectDefaultOverridden,
}

// manyClients is from how many clients on a storm is an error.
var manyClients = rule.Parameter{Name: "manyClients", Default: 100, Doc: "from how many clients on ten times as many attempts are an error"}

func checkReconnectDefaultOverridden(p *rule.Pass, c diff.Change) {
	groups := clientGroups(c, func(change clientparam.Change) bool {
		j := change.Judge()
		return change.Set[1] && slices.Contains(connecting, change.Category) && j.Verdict == clientparam.Worse && !tooSlow(change, j)
	})
	for _, g := range groups {
		first, factor := g.worst()
		f := g.finding(first)
		if factor < 1.5 {
			f.Severity = rule.Note
		}
		var out []string
		if balances(g) {
			out = append(out, "with round_robin a client connects to every address and reconnects by itself whenever one is lost; with pick_first it waits for the next call")
		}
		s, ok := stormOf(p, c, g)
		switch {
		case ok && s.after > s.before:
			out = append(out, s.rises())
			if s.floods(p, s.before) {
				f.Severity = rule.Error
			}
		case ok && balances(g) && s.after > s.byDefault:
			out = append(out, s.stays())
			if s.floods(p, s.byDefault) {
				f.Severity = rule.Error
			}
		}
		if text := g.follows(p, c, first); len(out) == 0 && text != "" {
			out = append(out, text)
		}
		f.Consequence = strings.Join(out, "; ")
		p.Report(c, f)
	}
}

// floods says whether many clients make ten times as many attempts as they made.
func (s storm) floods(p *rule.Pass, made int) bool {
	return s.peer == impact.Silent && s.clients >= int(p.Int(manyClients)) && s.after >= 10*made
}

// tooSlow says whether a wait or a connect limit only becomes longer, which hurts
// in other ways than by more attempts.
func tooSlow(c clientparam.Change, j clientparam.Judgement) bool {
	if j.Danger != clientparam.TooLarge {
		return false
	}
	return c.Category == clientparam.Reconnect || c.Category == clientparam.Backoff || c.Category == clientparam.ConnectTimeout
}

// balances says whether a gRPC client comes to use round_robin.
func balances(g clientGroup) bool {
	return g.family == "grpc" && slices.ContainsFunc(g.changes, func(c clientparam.Change) bool {
		return c.Category == clientparam.LoadBalancing && strings.Contains(strings.ToLower(c.Name+" "+c.After.Text), "round_robin")
	})
}
