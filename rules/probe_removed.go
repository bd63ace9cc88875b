package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ProbeRemoved reports a container that loses a probe.
var ProbeRemoved = &rule.Rule{
	ID:       "probe-removed",
	Title:    "A container loses its readiness or liveness probe",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Without a readiness probe a container is ready the moment its process starts. A Service sends traffic to it while it still loads, and
goes on when it hangs; a rollout takes each new pod for good at once and has replaced all of them before the first one could
fail. Nothing is left that stops a bad version.

Without a liveness probe a process that hangs stays until somebody restarts it. That is often the lesser evil, and a note.`,
	Advice: `Keep a readiness probe that answers only when the pod can serve. If it fails when it should not, give it more time or a cheaper
endpoint instead of taking it away.`,
	Incidents: []string{"pagerduty-sidecar-health-2023"},
	Kinds:     servingKinds,
	Actions:   updates,
	Check:     checkProbeRemoved,
}

func checkProbeRemoved(p *rule.Pass, c diff.Change) {
	if !touched(c, "readinessProbe", "livenessProbe") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		for _, kind := range []string{"readinessProbe", "livenessProbe"} {
			was := pair.before.At(kind)
			if !was.Exists() || pair.after.At(kind).Exists() {
				continue
			}
			f := rule.Finding{
				Path:    pair.after.Path.Key(kind),
				Before:  was,
				Message: fmt.Sprintf("container %s loses its %s (%s)", pair.after.Name, kind, probeText(probeOf(was))),
			}
			if kind == "livenessProbe" {
				f.Severity = rule.Note
				f.Consequence = "a process that hangs is not restarted any more"
				f.Advice = "Keep a liveness probe where processes are known to hang without ending: one that asks the process and nothing behind it, with time to spare. Otherwise let an alert on the readiness of pods tell of those that hang."
				p.Report(c, f)
				continue
			}
			f.Related = serving(p.After, after)
			f.Consequence = "a new pod counts as ready when its process starts, and a rollout goes on whether it works or not"
			if len(f.Related) > 0 {
				f.Consequence = fmt.Sprintf("%s sends traffic to a new pod as soon as its process starts, and to one that hangs; a rollout goes on whether it works or not", refNames(f.Related))
			}
			if readyOtherwise(pair.after, after) {
				f.Severity = rule.Note
			}
			p.Report(c, f)
		}
	}
}

// readyOtherwise says whether another container of the pod still has a readiness
// probe, so that the pod as a whole has one.
func readyOtherwise(box object.Container, w object.Workload) bool {
	for _, c := range w.Running() {
		if c.Name != box.Name && c.At("readinessProbe").Exists() {
			return true
		}
	}
	return false
}
