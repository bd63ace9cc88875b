package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ProbePortMissing reports a probe that names a port that its container does not have.
var ProbePortMissing = &rule.Rule{
	ID:       "probe-port-missing",
	Title:    "A probe names a port that its container does not have",
	Subject:  "workloads",
	Severity: rule.Error,
	Doc: `
A probe's port by name is looked up among the ports of its own container when the probe runs, not when the object is applied: the
API server accepts a name that leads nowhere, and every probe of every new pod fails. The rollout stops with pods that are not ready,
or the kubelet kills them. It happens when a port is renamed and the probe is not, or when the probe moves to a sidecar's port.`,
	Advice:  `Rename both together, or give the probe the number.`,
	Kinds:   servingKinds,
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkProbePortMissing,
}

func checkProbePortMissing(p *rule.Pass, c diff.Change) {
	if c.Before != nil && !touched(c, "Probe", ".ports") {
		return
	}
	after, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	var missing []string // before
	if c.Before != nil {
		if before, ok := p.Before.Workload(c.Before.Ref); ok {
			missing = portlessProbes(before)
		}
	}
	for _, box := range after.Containers() {
		for _, probe := range box.Probes() {
			name, ok := unknownPort(box, probe)
			if !ok || slices.Contains(missing, box.Name+"/"+probe.Kind) {
				continue
			}
			kind, _ := probeOf(probe.Spec).handler()
			f := rule.Finding{Path: probe.Path.Key(kind).Key("port")}
			f.Message = fmt.Sprintf("the %s of container %s asks port %s, and the container has no port of that name", probe.Kind, box.Name, name)
			f.Consequence = "the probe fails on every new pod"
			p.Report(c, f)
		}
	}
}

func portlessProbes(w object.Workload) []string {
	var out []string
	for _, box := range w.Containers() {
		for _, probe := range box.Probes() {
			if _, ok := unknownPort(box, probe); ok {
				out = append(out, box.Name+"/"+probe.Kind)
			}
		}
	}
	return out
}

// unknownPort gives the name of the port that a probe asks for in vain.
func unknownPort(box object.Container, p object.Probe) (name string, unknown bool) {
	kind, v := probeOf(p.Spec).handler()
	port := v.Field("port")
	if kind == "exec" || port.Text() == "" {
		return "", false
	}
	number, _ := portIn(box, port)
	return port.Text(), number == ""
}
