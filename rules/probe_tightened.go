package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ProbeTightened reports a probe that gives up on a container sooner.
var ProbeTightened = &rule.Rule{
	ID:       "probe-tightened",
	Title:    "A probe gives up on a container sooner than before",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A probe fails when the answer takes longer than timeoutSeconds, and acts after failureThreshold failures, periodSeconds apart. A liveness
probe then kills the container, a readiness probe takes the pod out of its Services. Both fail for all pods at the same time when
what slows them is common: load, a dependency, a full node. Killed pods start cold, their load moves to the others, and these fail
next: a slow minute becomes an outage that feeds itself.

The finding compares how long a container that answers nothing is left alone (period times threshold), and the timeout of one
answer. Defaults count: a timeout that is taken away is 1 second. Less than a quarter off is left alone; for a readiness probe
that still leaves 20 seconds it is a note. The time until the first failure counts is told by startup-budget-shortened.`,
	Advice: `Measure the slowest answer of a healthy pod under full load, and give the timeout several times that. Let liveness allow far more than
readiness, a minute at least, and check nothing but the process itself. Change it in one environment first.`,
	Incidents: []string{"sefaria-liveness-2026", "akb-liveness-2026", "moj-readiness-2023", "pawtograder-liveness-2026",
		"akvo-liveness-2019", "chef-supermarket-2014"},
	Kinds:      servingKinds,
	Actions:    updates,
	Parameters: []rule.Parameter{patienceLess},
	Check:      checkProbeTightened,
}

var patienceLess = rule.Parameter{Name: "percent", Default: 25, Doc: "how much less time for failures, in percent, is told"}

func checkProbeTightened(p *rule.Pass, c diff.Change) {
	if !touched(c, "readinessProbe", "livenessProbe") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		for _, kind := range []string{"livenessProbe", "readinessProbe"} {
			b, a := pair.before.At(kind), pair.after.At(kind)
			if a.Exists() && b.Exists() {
				reportTightened(p, c, after, pair.after, kind, probeOf(b), probeOf(a))
			} else if a.Exists() && kind == "livenessProbe" {
				reportNewLiveness(p, c, pair.after, probeOf(a))
			}
		}
	}
}

func reportTightened(p *rule.Pass, c diff.Change, w object.Workload, box object.Container, kind string, was, now probe) {
	base := box.Path.Key(kind)
	f := rule.Finding{}
	var says []string
	if now.timeout < was.timeout {
		f.Path = base.Key("timeoutSeconds")
		says = append(says, fmt.Sprintf("an answer may take %d s in place of %d", now.timeout, was.timeout))
	}
	if shorter := now.budget(); shorter < was.budget() && 100*(was.budget()-shorter) >= p.Int(patienceLess)*was.budget() {
		f.Path = base.Key("failureThreshold")
		if now.failures >= was.failures {
			f.Path = base.Key("periodSeconds")
		}
		says = append(says, fmt.Sprintf("failures are borne for %d s in place of %d (%s, %d s apart)", shorter, was.budget(), plural(int(now.failures), "failure"), now.period))
	}
	if len(says) == 0 {
		return
	}
	f.Message = fmt.Sprintf("%s of container %s: %s", kind, box.Name, strings.Join(says, ", "))
	f.Before, f.After = c.Before.At(string(f.Path)), c.After.At(string(f.Path))
	if kind == "livenessProbe" {
		f.Consequence = "a pause that was survived before, in collection, input or load, kills the container"
	} else {
		f.Related = serving(p.After, w)
		f.Consequence = "slow pods leave their Services sooner, and those that are left take their load; if all are slow, none is left"
		if now.timeout >= was.timeout && now.budget() >= 20 {
			f.Severity = rule.Note
		}
	}
	p.Report(c, f)
}

// reportNewLiveness reports a liveness probe that comes with less patience than the
// defaults have.
func reportNewLiveness(p *rule.Pass, c diff.Change, box object.Container, now probe) {
	if now.budget() >= 20 && now.failures > 1 {
		return
	}
	p.Report(c, rule.Finding{
		Path:        box.Path.Key("livenessProbe"),
		Message:     fmt.Sprintf("container %s gets a liveness probe that bears failures for %d s (%s, %d s apart)", box.Name, now.budget(), plural(int(now.failures), "failure"), now.period),
		Consequence: "a short pause kills the container; nothing did before",
	})
}
