package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/rule"
)

// ReplicasRaisedSharply reports a workload that gets many times its pods.
var ReplicasRaisedSharply = &rule.Rule{
	ID:       "replicas-raised-sharply",
	Title:    "A workload gets many times as many pods",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A count that is raised counts at once, not by a rollout: all new pods are scheduled, pull their image and connect in the same minute.
What they share bears it: nodes and addresses of the cluster, connection pools of the database, cluster DNS, quotas of the
namespace. A slipped digit looks just like it. Said of three times the pods and at least 20 more; what autoscalers may come to run is
told by autoscaler-ceiling-raised.`,
	Advice: `Raise it in steps. Multiply first: connections per pod against the database's limit, requests per pod against the free room of the
nodes.`,
	Incidents:  []string{"moj-cjs-replicas-2023"},
	Kinds:      scaledKinds,
	Actions:    updates,
	Parameters: []rule.Parameter{podsMore},
	Check:      checkReplicasRaisedSharply,
}

var podsMore = rule.Parameter{Name: "pods", Default: 20, Doc: "how many more pods are worth a warning, where they become three times as many"}

func checkReplicasRaisedSharply(p *rule.Pass, c diff.Change) {
	before, after, ok := bothWorkloads(p, c)
	if !ok || !before.Replicas.Known || !after.Replicas.Known || after.Replicas.Autoscaler != nil {
		return
	}
	was, now := before.Replicas.Count, after.Replicas.Count
	if was == 0 || now < 3*was || int64(now-was) < p.Int(podsMore) {
		return
	}
	f := rule.Finding{
		Path:    "spec.replicas",
		Message: fmt.Sprintf("%s, %s as many", become(was, "pod", now), times(float64(now)/float64(was))),
	}
	f.Consequence = fmt.Sprintf("%d pods start at once", now-was)
	if cpu, memory := after.Requests(); cpu+memory > 0 {
		more := impact.CeilingOf(impact.Autoscaler{Most: now - was, MilliCPU: cpu, Memory: memory})
		f.Consequence += fmt.Sprintf(" and ask the cluster for %s", asked(more))
	}
	p.Report(c, f)
}
