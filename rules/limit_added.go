package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// LimitAdded reports a container that gets a limit where it had none.
var LimitAdded = &rule.Rule{
	ID:       "limit-added",
	Title:    "A container gets a CPU or memory limit where it had none",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A CPU limit is kept in slices of 100 ms: a container with eight busy threads and a limit of 400m has used its slice up after 5 ms and
stands still for the rest, its probes too, on a node that is idle. Starts become longer, because compiling and loading use
the most CPU of all. A memory limit kills whatever passes it, at a peak that nobody had to know before.

A limit is a warning when it is tight: a CPU limit of half a core or less that is not four times the request, or one that is no more than
the request; a memory limit no more than the request. With room above the request it is a note. Limits that a namespace's LimitRange filled in before are not in the
manifests.`,
	Advice: `Leave the CPU limit out and set the request right, or put the limit at several times the request and watch
container_cpu_cfs_throttled_periods_total. Set the memory limit above the highest use of the last weeks.`,
	Incidents: []string{"omio-cpu-2020", "mitodl-limits-2026"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkLimitAdded,
}

func checkLimitAdded(p *rule.Pass, c diff.Change) {
	if !touched(c, ".resources") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		var parts, says []string
		f := rule.Finding{Severity: rule.Note}
		for _, name := range []string{"cpu", "memory"} {
			limit := pair.after.At("resources.limits").Field(name)
			q, err := limit.Quantity()
			if err != nil || pair.before.At("resources.limits").Field(name).Exists() {
				continue
			}
			grave := isTight(pair, name, q)
			if f.Path == "" || grave && f.Severity == rule.Note {
				f.Path = pair.after.Path.Key("resources").Key("limits").Key(name)
				f.After = limit
			}
			if grave {
				f.Severity = rule.Warning
			}
			parts = append(parts, fmt.Sprintf("a %s limit of %s", strings.Replace(name, "cpu", "CPU", 1), limit))
			if name == "cpu" {
				says = append(says, "it is throttled at it, on an idle node too")
			} else {
				says = append(says, "it is killed when it passes it")
			}
		}
		if len(parts) == 0 {
			continue
		}
		f.Message = fmt.Sprintf("container %s gets %s, and had none", pair.after.Name, listed(parts))
		f.Consequence = strings.Join(says, "; ")
		p.Report(c, f)
	}
}

// isTight says whether a new limit leaves no room: above what the container
// requested before, or at all.
func isTight(pair containerPair, name string, limit object.Quantity) bool {
	request, err := pair.after.At("resources.requests").Field(name).Quantity()
	if name == "cpu" && limit.Millis() <= 500 && (err != nil || limit.Cmp(request.Mul(4)) < 0) {
		return true
	}
	for _, box := range []object.Container{pair.before, pair.after} {
		if request, err := box.At("resources.requests").Field(name).Quantity(); err == nil && limit.Cmp(request) <= 0 {
			return true
		}
	}
	return false
}
