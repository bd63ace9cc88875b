package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceTargetPortBroken reports a targetPort whose name no container of the new
// pods has any more.
var ServiceTargetPortBroken = &rule.Rule{
	ID:       "service-target-port-broken",
	Title:    "A Service's targetPort names a container port that new pods do not have",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
A targetPort by name is looked up in each pod. A pod that has no port of that name has no endpoint for it: it is running and
ready, and receives nothing. It happens when a container's port is renamed or dropped, or when its container goes, as with a
sidecar that used to carry the port. The Service loses pod after pod with the rollout, and in the end the port has no endpoint.`,
	Advice: `Rename the port in two steps: a container may declare two names for one number, so let it carry both, point the targetPort at the new
name once the rollout is done, and drop the old name afterwards.`,
	Kinds: []string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps",
		"ReplicationController", "Rollout.argoproj.io"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkServiceTargetPortBroken,
}

func checkServiceTargetPortBroken(p *rule.Pass, c diff.Change) {
	before, ok := p.Before.Workload(c.Before.Ref)
	after, alsoOK := p.After.Workload(c.After.Ref)
	if !ok || !alsoOK {
		return
	}
	for _, service := range p.After.ServicesFor(c.After.Ref) {
		for _, port := range servicePorts(service) {
			name := port.target.Text()
			if name == "" || isNumber(port.target) {
				continue
			}
			if _, found := after.Port(port.target); found {
				continue
			}
			if _, found := before.Port(port.target); !found {
				continue // it was so before
			}
			p.Report(c, rule.Finding{
				Path:    after.SpecPath().Key("containers"),
				Message: fmt.Sprintf("no container has a port named %s any more, to which %s sends %s", name, service.Ref, port),
				Consequence: fmt.Sprintf("new pods get no traffic from it although they are ready: %s",
					drained(p, service)),
				Related: []object.Ref{service.Ref},
			})
		}
	}
}

// drained says what is left for a Service when pods leave it one by one.
func drained(p *rule.Pass, service *object.Object) string {
	others, _ := reached(p.After, service.Ref.Namespace, service.Strings("spec.selector"))
	if len(others) > 1 {
		return "other pods of the Service take their part"
	}
	return "the port has no endpoint left when the rollout is done"
}

func isNumber(v object.Value) bool {
	_, ok := v.Int()
	return ok
}
