package rules

import (
	"slices"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ReconnectDefaultRemoved reports a reconnect, retry or balancing parameter that
// is no longer set, when the default that comes back is the worse one, or is not
// known.
var ReconnectDefaultRemoved = &rule.Rule{
	ID:       "reconnect-default-removed",
	Title:    "A client goes back to a default that is worse than what was set, or not known",
	Subject:  "config",
	Severity: rule.Warning,
	Doc: `
When a line with a reconnect wait, a connect limit or a keepalive goes, its library's default comes back, and nobody sees that value
in the pull request. Mostly that is the repair: the default is slower than the override, and this rule is quiet. But some defaults
are faster (Kafka's clients wait 50 ms at first and one second at most), some are no limit at all (libpq connects for as long as the
kernel tries), and some turn a feature off.

Of a parameter that no table has, the default is not known; the finding then only says that something was set and no longer is. It is
a note when the value came from another object.`,
	Advice: `Look the default up and write it beside the line that goes, or keep the line. When the setting moved to another place that prdiff does
not read, such as a Secret or the program's code, say so in the pull request.`,
	Incidents: []string{"datadog-grpc-reconnect-2021"},
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:     checkReconnectDefaultRemoved,
}

func checkReconnectDefaultRemoved(p *rule.Pass, c diff.Change) {
	groups := clientGroups(c, func(change clientparam.Change) bool {
		if change.Set[1] || !slices.Contains(connecting, change.Category) {
			return false
		}
		return change.Judge().Verdict == clientparam.Worse || defaultUnknown(change)
	})
	for _, g := range groups {
		f := g.finding(g.changes[0])
		f.Severity = rule.Note
		for _, change := range g.changes {
			if !change.Hidden {
				f.Severity = rule.Warning
			}
		}
		first, _ := g.worst()
		switch s, ok := stormOf(p, c, g); {
		case first.Parameter == nil:
			f.Consequence = "what holds now is the program's own default, which is not known here"
		case ok && first.Parameter.Role != "" && s.after <= s.before:
			continue // the defaults are slower: this is the repair
		case ok && s.after > s.before:
			f.Consequence = s.rises()
		default:
			f.Consequence = g.follows(p, c, first)
		}
		p.Report(c, f)
	}
}

// defaultUnknown says whether a parameter of waits, limits or pings is gone whose
// default nobody wrote down. Of retries and policies it is no surprise that
// there are none without a setting.
func defaultUnknown(c clientparam.Change) bool {
	if c.Parameter != nil && c.Parameter.Default != "" {
		return false
	}
	switch c.Category {
	case clientparam.Reconnect, clientparam.Backoff, clientparam.Keepalive, clientparam.ConnectTimeout:
		return true
	}
	return false
}
