package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RequestsRaisedSharply reports a workload whose pods may not find a node any more.
var RequestsRaisedSharply = &rule.Rule{
	ID:       "requests-raised-sharply",
	Title:    "The pods of a workload ask for many times what they asked for",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A pod is scheduled by its requests, used or not. One that asks for more than any node has free stays Pending, and the rollout
stands still; without a surge the old pods were ended before. With room for it, it pushes others out: lower priorities are preempted,
quotas of the namespace run out, and a node autoscaler buys nodes. A slipped digit or unit looks just like it.

Said of one pod that asks for four times as much and at least 4 cores or 16 GiB, or for more than 64 cores or 256 GiB, which few nodes
have.`,
	Advice: `Hold the request against the largest node's allocatable amount, less its DaemonSets, and the sum over all replicas against quota and
free room. Raise it in steps, measured.`,
	Incidents: []string{"dfds-systemreserved-2025"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkRequestsRaisedSharply,
}

func checkRequestsRaisedSharply(p *rule.Pass, c diff.Change) {
	if !touched(c, ".resources") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	cpuWas, memoryWas := before.Requests()
	cpu, memory := after.Requests()
	var parts []string
	sharp := func(was, now, least, most int64) bool {
		return was > 0 && now >= 4*was && now >= least || was <= most && now > most
	}
	if sharp(cpuWas, cpu, 4_000, 64_000) {
		parts = append(parts, fmt.Sprintf("%s (%s before)", cores(cpu), cores(cpuWas)))
	}
	if sharp(memoryWas, memory, 16<<30, 256<<30) {
		parts = append(parts, fmt.Sprintf("%s of memory (%s before)", bytes(memory), bytes(memoryWas)))
	}
	if len(parts) == 0 {
		return
	}
	f := rule.Finding{
		Path:        raisedPath(before, after),
		Message:     fmt.Sprintf("one pod asks for %s", listed(parts)),
		Consequence: "a pod that no node has room for stays Pending, and the rollout stands still",
	}
	if n := after.Replicas; n.Known && n.Count > 1 {
		f.Consequence += fmt.Sprintf("; %d pods ask for %s", n.Count, asked(impact.CeilingOf(impact.Autoscaler{Most: n.Count, MilliCPU: cpu, Memory: memory})))
	}
	p.Report(c, f)
}

// raisedPath is the request that was raised most, in the first container that has one.
func raisedPath(before, after object.Workload) object.Path {
	var path object.Path
	most := 0.0
	for _, box := range after.Containers() {
		was, _ := before.Container(box.Name)
		for name, v := range box.At("resources.requests").Fields() {
			now, err := v.Quantity()
			old, _ := was.At("resources.requests").Field(name).Quantity()
			if factor := now.Ratio(old); err == nil && factor > most {
				most, path = factor, box.Path.Key("resources").Key("requests").Key(name)
			}
		}
	}
	if path == "" {
		return after.SpecPath().Key("containers")
	}
	return path
}
