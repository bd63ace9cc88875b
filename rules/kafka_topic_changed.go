package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// KafkaTopicChanged reports partitions and copies of a topic that change.
var KafkaTopicChanged = &rule.Rule{
	ID:       "kafka-topic-changed",
	Title:    "A Kafka topic gets fewer partitions or copies, or other partitions for its keys",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
Kafka cannot take partitions away: the operator refuses, the topic is not ready, and none of its other settings are applied any more
([Strimzi](https://strimzi.io/docs/operators/latest/deploying#con-topic-operator-topic-changes-str)). More partitions are possible and cannot be undone: records of one key go to another partition from then on, so that consumers
meet them out of order, and a compacted topic keeps an old value for good in the old one. Fewer copies, which the operator makes with Cruise Control only and refuses without, leave data on fewer brokers, and where min.insync.replicas
asks for as many as there are, one broker that restarts stops all writes.`,
	Advice: `For fewer partitions, or for more of a keyed topic, make a second topic, let consumers finish the old one, and move producers over. Keep three copies and min.insync.replicas 2.`,
	Kinds:  []string{"KafkaTopic.kafka.strimzi.io"}, Actions: []diff.Action{diff.Update, diff.Replace},
	Check: checkKafkaTopicChanged,
}

func checkKafkaTopicChanged(p *rule.Pass, c diff.Change) {
	if b, ok := c.Before.At("spec.partitions").Int(); ok {
		if a, ok := c.After.At("spec.partitions").Int(); ok && a != b {
			f := rule.Finding{Path: "spec.partitions", Message: fmt.Sprintf("partitions go from %d to %d", b, a)}
			switch {
			case a < b:
				f.Severity = rule.Error
				f.Consequence = "Kafka cannot remove partitions: the operator refuses, and applies no other change of the topic either"
			case strings.Contains(c.After.Text("spec.config[\"cleanup.policy\"]"), "compact"):
				f.Consequence = "keys of the compacted topic go to other partitions: the values of before stay beside the new ones, and consumers read both"
			default:
				f.Severity = rule.Note
				f.Consequence = "records of one key go to another partition than before, and consumers may meet them out of order; it cannot be undone"
			}
			p.Report(c, f)
		}
	}
	if b, ok := c.Before.At("spec.replicas").Int(); ok {
		if a, ok := c.After.At("spec.replicas").Int(); ok && a < b {
			f := rule.Finding{Path: "spec.replicas", Message: fmt.Sprintf("copies of each partition go from %d to %d", b, a), Consequence: "data is on fewer brokers"}
			if least, ok := c.After.At("spec.config[\"min.insync.replicas\"]").Int(); ok && least >= a {
				f.Consequence = fmt.Sprintf("min.insync.replicas asks for %d: one broker that restarts stops all writes", least)
				if least > a {
					f.Severity = rule.Error
					f.Consequence = fmt.Sprintf("min.insync.replicas asks for %d, more than there are: writes that want all confirmations fail", least)
				}
			} else if a == 1 {
				f.Consequence = "one broker that goes takes its partitions away, and one lost disk is lost data"
			}
			p.Report(c, f)
		}
	}
}
