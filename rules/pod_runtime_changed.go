package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// PodRuntimeChanged reports pods that another scheduler places, or another runtime runs.
var PodRuntimeChanged = &rule.Rule{
	ID:       "pod-runtime-changed",
	Title:    "Pods are placed by another scheduler, or run by another runtime",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A pod with a schedulerName waits for that scheduler: where none of that name runs, it is Pending for ever and no event says why, as nobody looks at it. A runtimeClassName that the cluster does not have is refused at once; one
whose handler a node lacks leaves the pod in ContainerCreating on that node, and a class brings its own node selector, tolerations and overhead with it
([Kubernetes](https://kubernetes.io/docs/concepts/containers/runtime-class/)). A sandbox such as gVisor or Kata lacks calls and devices that a program may use, and is slower at files and sockets.

Without the class, pods that were kept apart by a sandbox run on the kernel of the node.`,
	Advice: `Move one replica, or a copy of the workload, first. Have scheduler or runtime rolled out on all nodes that may run the pods, and its RuntimeClass with a node selector, one merge earlier.`,
	Kinds:  podKinds, Actions: updates,
	Check: checkPodRuntimeChanged,
}

func checkPodRuntimeChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "schedulerName", "runtimeClassName") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	const ordinary = "default-scheduler"
	was, now := orText(before.PodSpec.Field("schedulerName").Text(), ordinary), orText(after.PodSpec.Field("schedulerName").Text(), ordinary)
	if was != now {
		f := rule.Finding{Path: after.SpecPath().Key("schedulerName"), Message: fmt.Sprintf("pods are placed by scheduler %s in place of %s", now, was),
			Consequence: "where no scheduler of that name runs, new pods stay Pending and nothing says so"}
		if now == ordinary {
			f.Severity = rule.Note
			f.Consequence = "what the other scheduler looked at, such as gangs and queues, counts no longer"
		}
		p.Report(c, f)
	}
	was, now = before.PodSpec.Field("runtimeClassName").Text(), after.PodSpec.Field("runtimeClassName").Text()
	if was == now {
		return
	}
	f := rule.Finding{Path: after.SpecPath().Key("runtimeClassName"), Message: change("runtimeClassName", was, now),
		Consequence: "pods stay in ContainerCreating on nodes without its handler, and are refused where the class is not there"}
	class := object.Ref{Unit: after.Ref.Unit, Group: "node.k8s.io", Kind: "RuntimeClass", Name: now}
	switch {
	case now == "":
		f.Consequence = "pods run by the default runtime of the node: a sandbox keeps them apart no longer"
	case p.After.Get(class) != nil:
		f.Related = []object.Ref{class}
		f.Consequence = "pods stay in ContainerCreating on nodes without its handler"
	}
	p.Report(c, f)
}
