package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// StartupBudgetShortened reports a container that is killed sooner while it starts.
var StartupBudgetShortened = &rule.Rule{
	ID:       "startup-budget-shortened",
	Title:    "A container has less time to start before it is killed",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
While a startup probe runs the others wait; when it has failed failureThreshold times, the container is killed. Without one the liveness
probe counts from initialDelaySeconds on. A start that takes longer than that never ends: each attempt is killed and begins anew,
with a cold cache and a backoff that grows. It shows only at the next start, and starts are slow just when it matters: after a
crash with a log to replay, on a new node, with all pods starting together.

Compared is the time from the start of the container to the first kill: initial delay, plus period times threshold, of the startup
probe, else of the liveness probe. From two minutes on it is a note. A readiness probe's initial delay kills nobody and is left
alone.`,
	Advice:     `Measure the slowest start, not the usual one, and let a startup probe allow twice that: it costs nothing when the start is quick.`,
	Incidents:  []string{"moj-startup-2024"},
	Kinds:      servingKinds,
	Actions:    updates,
	Parameters: []rule.Parameter{startLess},
	Check:      checkStartupBudgetShortened,
}

var startLess = rule.Parameter{Name: "percent", Default: 25, Doc: "how much shorter, in percent, is told"}

func checkStartupBudgetShortened(p *rule.Pass, c diff.Change) {
	if !touched(c, "startupProbe", "livenessProbe") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		was, by := startup(pair.before)
		now, kind := startup(pair.after)
		if was == 0 || now == 0 || now >= was || 100*(was-now) < p.Int(startLess)*was {
			continue
		}
		if by == kind && kind == "livenessProbe" && probeOf(pair.after.At(kind)).delay >= probeOf(pair.before.At(kind)).delay {
			continue // the probe bears less at any time, which is another rule's
		}
		f := rule.Finding{Path: startupPath(pair, by, kind)}
		f.Before, f.After = c.Before.At(string(f.Path)), c.After.At(string(f.Path))
		f.Message = fmt.Sprintf("container %s may take %d s to start in place of %d", pair.after.Name, now, was)
		if by != kind {
			f.Message += fmt.Sprintf(": the %s no longer guards its start, the %s does", by, kind)
		}
		f.Consequence = "a start that takes longer is killed each time and never ends"
		if now >= 120 {
			f.Severity = rule.Note
		}
		p.Report(c, f)
	}
}

// startupPath is the field that did it.
func startupPath(pair containerPair, by, kind string) object.Path {
	base := pair.after.Path.Key(kind)
	if by != kind {
		return pair.after.Path.Key(by)
	}
	was, now := probeOf(pair.before.At(kind)), probeOf(pair.after.At(kind))
	switch {
	case now.delay < was.delay:
		return base.Key("initialDelaySeconds")
	case now.failures < was.failures:
		return base.Key("failureThreshold")
	}
	return base.Key("periodSeconds")
}
