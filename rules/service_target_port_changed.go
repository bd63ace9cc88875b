package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceTargetPortChanged reports a targetPort that points at another number
// while the pods that run still listen on the old one.
var ServiceTargetPortChanged = &rule.Rule{
	ID:       "service-target-port-changed",
	Title:    "A Service sends traffic to a port on which running pods do not listen",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
A targetPort counts from the moment of the merge, for all pods of the Service, old and new. Pods change the port on which they
listen only by a rollout. When both change in one pull request, running pods refuse connections on the new port until they are
replaced. Their readiness probe does not see it: it asks the old port, and is content.

A targetPort by name is looked up pod by pod, so that old and new pods may listen on different numbers: that is quiet here. What
containers declare as ports is taken for where they listen; a container that declares none is a warning at most.`,
	Advice: `Name the port in the container and in the targetPort; then the number may change with any rollout. Or let the program listen on both
numbers, roll that out, change the targetPort, and drop the old number afterwards.`,
	Kinds:   []string{"Service"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkServiceTargetPortChanged,
}

func checkServiceTargetPortChanged(p *rule.Pass, c diff.Change) {
	if isExternalName(c) || c.After.Text("spec.clusterIP") == "None" {
		return // no proxy, so nothing maps a port to a targetPort
	}
	running, _ := servicePods(p, c)
	for _, pair := range pairPorts(c) {
		b, a := pair.before, pair.after
		if a == nil || b.target.String() == a.target.String() || len(running) == 0 {
			continue
		}
		var silent, unsure []object.Workload
		for _, w := range running {
			was, _ := w.Port(b.target)
			now, known := w.Port(a.target)
			switch {
			case known && was == now:
			case known && declares(w, now):
			case !known || anyPort(w):
				silent = append(silent, w) // a name that no container has, or a number beside those it declares
			default:
				unsure = append(unsure, w)
			}
		}
		f := rule.Finding{Path: a.path.Key("targetPort"), Before: b.target, After: a.target, Related: refs(silent, unsure)}
		change := fmt.Sprintf("targetPort of %s: %s becomes %s", a, b.target, a.target)
		switch {
		case len(silent) > 0:
			f.Message = fmt.Sprintf("%s, which %s do not declare", change, withCount(silent))
			f.Consequence = "connections to these pods are refused from the moment of the merge until a rollout has replaced them"
			if len(silent) == len(running) {
				f.Consequence = "every connection is refused from the moment of the merge until a rollout has replaced the pods"
			}
		case len(unsure) > 0:
			f.Severity = rule.Warning
			f.Message = fmt.Sprintf("%s; whether %s listen there is unknown, they declare no ports", change, withCount(unsure))
			f.Consequence = "if running pods listen on the old port only, connections are refused until a rollout has replaced them"
		default:
			continue
		}
		p.Report(c, f)
	}
}

// declares says whether a running container of w declares the port.
func declares(w object.Workload, number int64) bool {
	for _, c := range w.Running() {
		for _, port := range c.At("ports").Items() {
			if n, ok := port.Field("containerPort").Int(); ok && n == number {
				return true
			}
		}
	}
	return false
}

func anyPort(w object.Workload) bool {
	for _, c := range w.Running() {
		if c.At("ports").Len() > 0 {
			return true
		}
	}
	return false
}
