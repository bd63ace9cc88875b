package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ResourcesReduced reports a container that gets a quarter less of something, or is
// promised so.
var ResourcesReduced = &rule.Rule{
	ID:       "resources-reduced",
	Title:    "A container's request or limit is cut by a quarter or more",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A lower memory limit kills what used more than it: perhaps only at the peak of the day, perhaps at each start, and then in a loop. A lower
memory request puts more pods on a node than it can hold, and under pressure those above their request are evicted first. A lower CPU limit
throttles, which shows as latency and failing probes; a lower CPU request takes the share that the container gets when its node is busy,
and drives an autoscaler that works on a part of the request.

It is a warning for memory and for ephemeral storage, for a CPU limit, and for a CPU request that is halved; less is a note.`,
	Advice: `Look at the highest use of the last weeks, restarts and rollouts included, and keep a third above it. Cut one environment first, and
in steps. Raise a heap or cache setting in the same measure as the limit, not without it.`,
	Incidents: []string{"zalando-skipper-oom-2019", "posthog-cpu-requests-2025", "berkeley-memory-volumes-2017",
		"moj-prometheus-oom-2021", "moj-prometheus-oom-2023", "mitodl-limits-2026", "github-imagepullpolicy-2020"},
	Kinds:      podKinds,
	Actions:    updates,
	Parameters: []rule.Parameter{resourcesLess},
	Check:      checkResourcesReduced,
}

// A cut is a resource of which a container has less than before.
type cut struct {
	what, name    string // "limits", "memory"
	before, after object.Value
	left          float64 // the share that is left
}

var resourcesLess = rule.Parameter{Name: "percent", Default: 25, Doc: "how much less, in percent, is told"}

func checkResourcesReduced(p *rule.Pass, c diff.Change) {
	if !touched(c, ".resources") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		least := float64(p.Int(resourcesLess)) / 100
		cuts := slices.Concat(cutsOf(pair, "requests", least), cutsOf(pair, "limits", least))
		if len(cuts) == 0 {
			continue
		}
		f := rule.Finding{Severity: rule.Note}
		var parts, says []string
		for _, x := range cuts {
			parts = append(parts, fmt.Sprintf("%s %s from %s to %s (%.0f%% less)", strings.Replace(x.name, "cpu", "CPU", 1), strings.TrimSuffix(x.what, "s"), x.before, x.after, 100*(1-x.left)))
			effect, grave := x.effect()
			if grave && f.Severity == rule.Note || f.Path == "" {
				f.Path = pair.after.Path.Key("resources").Key(x.what).Key(x.name)
				f.Before, f.After = x.before, x.after
			}
			if grave {
				f.Severity = rule.Warning
			}
			if effect != "" && !slices.Contains(says, effect) {
				says = append(says, effect)
			}
			if x.what == "requests" {
				for _, scaler := range p.After.AutoscalersOf(after.Ref) {
					if onUtilization(scaler.Object, x.name) {
						says = append(says, fmt.Sprintf("%s works on a part of the %s request and runs more pods for the same load", scaler.Ref, x.name))
						f.Related = append(f.Related, scaler.Ref)
					}
				}
			}
		}
		f.Message = fmt.Sprintf("container %s: %s", pair.after.Name, listed(parts))
		f.Consequence = strings.Join(says, "; ")
		p.Report(c, f)
	}
}

// cutsOf gives the resources of which a container loses a share of at least least.
func cutsOf(pair containerPair, what string, least float64) []cut {
	var out []cut
	was, now := pair.before.At("resources."+what), pair.after.At("resources."+what)
	for name, b := range was.Fields() {
		a := now.Field(name)
		if what == "requests" && !a.Exists() {
			a = pair.after.At("resources.limits").Field(name) // the API server takes it for the request
		}
		q, err := b.Quantity()
		r, alsoErr := a.Quantity()
		if err != nil || alsoErr != nil || q.IsZero() {
			continue
		}
		if left := r.Ratio(q); left < 1 && 1-left >= least {
			out = append(out, cut{what, name, b, a, left})
		}
	}
	return out
}

// effect says what a cut does, and whether that is worth a warning.
func (x cut) effect() (text string, grave bool) {
	switch x.what + " " + x.name {
	case "limits memory":
		return "what uses more than the new memory limit is killed", true
	case "requests memory":
		return "more pods fit on a node than its memory holds, and those above their request are evicted first", true
	case "limits cpu":
		return "it is throttled at the new CPU limit", true
	case "requests cpu":
		return "it gets a smaller share of a busy node", x.left <= 0.5
	case "limits ephemeral-storage", "requests ephemeral-storage":
		return "pods that write more than their ephemeral storage are evicted", true
	}
	return "", true // devices, huge pages and the like: it gets fewer of them
}
