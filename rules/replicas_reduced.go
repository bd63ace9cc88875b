package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ReplicasReduced reports a workload that keeps half of its pods or fewer.
var ReplicasReduced = &rule.Rule{
	ID:       "replicas-reduced",
	Title:    "A workload keeps half of its pods or fewer, or a single one",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A lower count counts at once: pods end, not one by one with a rollout but together, and those that are left take the traffic of all.
Down to one, each restart, drain or failed node is an outage. Of a StatefulSet the highest ordinals go: members of a quorum, shards
that hold data, without being asked to hand it over. A smaller cut of a quarter or more is a note, and a warning for pods with claims of their own; one to nothing has a rule of its
own, as has a count that an autoscaler owns.`,
	Advice: `Look at the use of the pods at the peak of the week, not now. Go down in steps with time between them, and keep two pods where anybody
waits for an answer. Take members of a quorum or shards out by the software's own command first.`,
	Incidents:  []string{"wikimedia-typha-2021", "dfds-singlereplica-2024", "akb-liveness-2026"},
	Kinds:      slices.Concat(slices.Sorted(maps.Keys(operatedReplicas)), scaledKinds),
	Actions:    updates,
	Parameters: []rule.Parameter{podsLess},
	Check:      checkReplicasReduced,
}

var podsLess = rule.Parameter{Name: "percent", Default: 25, Doc: "how much smaller, in percent, is worth a note; twice of it is a warning"}

// operatedReplicas are custom resources whose operators make as many members as a field
// says, which holds without it.
var operatedReplicas = map[string]struct {
	path object.Path
	def  int64
}{
	"Prometheus.monitoring.coreos.com":              {"spec.replicas", 1},
	"Alertmanager.monitoring.coreos.com":            {"spec.replicas", 1},
	"ThanosRuler.monitoring.coreos.com":             {"spec.replicas", 1},
	"Cluster.postgresql.cnpg.io":                    {"spec.instances", 1},
	"postgresql.acid.zalan.do":                      {"spec.numberOfInstances", 0},
	"KafkaNodePool.kafka.strimzi.io":                {"spec.replicas", 0},
	"Kafka.kafka.strimzi.io":                        {"spec.kafka.replicas", 0},
	"KafkaConnect.kafka.strimzi.io":                 {"spec.replicas", 0},
	"RabbitmqCluster.rabbitmq.com":                  {"spec.replicas", 1},
	"MongoDBCommunity.mongodbcommunity.mongodb.com": {"spec.members", 0},
	"RedisFailover.databases.spotahome.com":         {"spec.redis.replicas", 0},
}

func checkOperatedReplicas(p *rule.Pass, c diff.Change) {
	field := operatedReplicas[c.Ref.GroupKind()]
	count := func(o *object.Object) int64 {
		if n, ok := o.At(string(field.path)).Int(); ok {
			return n
		}
		return field.def
	}
	was, now := count(c.Before), count(c.After)
	if now >= was || now < 0 || field.def == 0 && !c.After.At(string(field.path)).Exists() {
		return
	}
	f := rule.Finding{Path: field.path, Message: become(int(was), "member", now), Consequence: "its operator ends the others, with what is only on them"}
	switch {
	case now == 0:
		f.Consequence = "its operator ends all of them"
	case now == 1:
		f.Consequence = "every restart or drain of the one that is left is an outage, and no other has its data"
	case 2*now <= was:
		f.Consequence += fmt.Sprintf("; if members vote, %d of %d are no majority", now, was)
	}
	p.Report(c, f)
}

func checkReplicasReduced(p *rule.Pass, c diff.Change) {
	if _, ok := operatedReplicas[c.Ref.GroupKind()]; ok {
		checkOperatedReplicas(p, c)
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || !before.Replicas.Known || !after.Replicas.Known || after.Replicas.Autoscaler != nil || !after.At("spec.replicas").Exists() {
		return
	}
	was, now := before.Replicas.Count, after.Replicas.Count
	less := p.Int(podsLess)
	if now == 0 || now >= was || int64(100*(was-now)) < less*int64(was) {
		return
	}
	f := rule.Finding{
		Path:        "spec.replicas",
		Message:     become(was, "pod", now),
		Consequence: fmt.Sprintf("%d of them end at once, and each that is left takes %s its share", was-now, times(impact.Share(was, now))),
		Related:     serving(p.After, after),
	}
	switch {
	case now == 1:
		f.Consequence = fmt.Sprintf("one pod takes what %d took, and every restart or drain of it is an outage", was)
	case after.Ref.Kind == "StatefulSet" && after.At("spec.volumeClaimTemplates").Len() > 0: // what goes has data of its own
		f.Consequence += "; what only they have, on their own volumes, nobody serves"
	case int64(100*(was-now)) < 2*less*int64(was):
		f.Severity = rule.Note
	}
	if after.Ref.Kind == "StatefulSet" && was >= 3 && 2*now <= was {
		f.Consequence += fmt.Sprintf("; if its members vote, %d of %d are no majority", now, was)
	}
	p.Report(c, f)
}
