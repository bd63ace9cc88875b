package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// KafkaTopicChanged reports partitions and copies of a topic that change.
var KafkaTopicChanged = &rule.Rule{
	ID:       "kafka-topic-changed",
	Title:    "A Kafka topic gets fewer partitions or copies, or needs more of them for each write, or a listener goes",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
Kafka cannot take partitions away: the operator refuses, the topic is not ready, and none of its other settings are applied any more
([Strimzi](https://strimzi.io/docs/operators/latest/deploying#con-topic-operator-topic-changes-str)). More partitions are possible and cannot be undone: records of one key go to another partition from then on, so that consumers
meet them out of order, and a compacted topic keeps an old value for good in the old one. Fewer copies, which the operator makes with Cruise Control only and refuses without, leave data on fewer brokers, and where min.insync.replicas
asks for as many as there are, one broker that restarts stops all writes. The same is told of the cluster's own settings, and of disks that are deleted with it (deleteClaim). A listener that goes, or takes another port or type, is told because clients bootstrap by them.`,
	Advice: `For fewer partitions, or for more of a keyed topic, make a second topic, let consumers finish the old one, and move producers over. Keep three copies and min.insync.replicas 2.`,
	Kinds:  []string{"KafkaTopic.kafka.strimzi.io", "Kafka.kafka.strimzi.io"}, Actions: []diff.Action{diff.Update, diff.Replace},
	Check: checkKafkaTopicChanged,
}

func checkKafkaTopicChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "Kafka" {
		checkWriteQuorum(p, c, `spec.kafka.config["min.insync.replicas"]`, `spec.kafka.config["default.replication.factor"]`)
		checkWriteQuorum(p, c, `spec.kafka.config["transaction.state.log.min.isr"]`, `spec.kafka.config["transaction.state.log.replication.factor"]`)
		checkBrokerClaims(p, c)
		checkListeners(p, c)
		return
	}
	checkWriteQuorum(p, c, `spec.config["min.insync.replicas"]`, "spec.replicas")
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

// checkWriteQuorum looks at how many copies must confirm a write, out of how many there are
// (https://kafka.apache.org/documentation/#brokerconfigs_min.insync.replicas; 1 by default). Fewer
// copies are the other half of it, and data-kept-less tells of fewer that confirm.
func checkWriteQuorum(p *rule.Pass, c diff.Change, least, copies object.Path) {
	was, ok := c.Before.At(string(least)).Int()
	if !ok {
		was = 1
	}
	now, ok := c.After.At(string(least)).Int()
	of, known := c.After.At(string(copies)).Int()
	if !ok || !known || now <= was || now < of || now == 1 {
		return
	}
	f := rule.Finding{Path: least, Message: fmt.Sprintf("%d of %d copies must confirm a write, %d before", now, of, was),
		Consequence: "one broker that restarts stops all writes with acks=all, in each rollout of the brokers too"}
	if now > of {
		f.Severity = rule.Error
		f.Consequence = "there are not so many: every write with acks=all fails"
	}
	p.Report(c, f)
}

// checkListeners looks at the addresses by which clients find the brokers
// (https://strimzi.io/docs/operators/latest/configuring#type-GenericKafkaListener-reference).
func checkListeners(p *rule.Pass, c diff.Change) {
	const path object.Path = "spec.kafka.listeners"
	now := map[string]object.Value{}
	for _, l := range c.After.At(string(path)).Items() {
		now[l.Field("name").Text()] = l
	}
	if len(now) == 0 {
		return
	}
	for _, l := range c.Before.At(string(path)).Items() {
		name := l.Field("name").Text()
		if name == "" {
			continue
		}
		at := path.Select("name", name)
		other, there := now[name]
		if !there {
			p.Report(c, rule.Finding{Path: at, Severity: rule.Error, Before: l, Message: fmt.Sprintf("listener %s on port %s goes", name, l.Field("port").String()),
				Consequence: "clients that bootstrap by it cannot connect as soon as the brokers have rolled"})
			continue
		}
		for _, field := range []string{"port", "type", "tls"} {
			if b, a := l.Field(field), other.Field(field); b.Exists() && a.Exists() && !b.Equal(a) {
				p.Report(c, rule.Finding{Path: at.Key(field), Before: b, After: a, Message: fmt.Sprintf("listener %s: %s goes from %s to %s", name, field, b.String(), a.String()),
					Consequence: "clients that are set up for the old one cannot connect as soon as the brokers have rolled"})
			}
		}
	}
}

// checkBrokerClaims looks at disks that are deleted with their cluster
// (https://strimzi.io/docs/operators/latest/configuring#type-PersistentClaimStorage-reference; they stay by default).
func checkBrokerClaims(p *rule.Pass, c diff.Change) {
	for _, part := range []object.Path{"spec.kafka.storage", "spec.zookeeper.storage"} {
		deletes := func(o *object.Object) (object.Path, bool) {
			if yes, _ := o.At(string(part) + ".deleteClaim").Bool(); yes {
				return part + ".deleteClaim", true
			}
			for i, v := range o.At(string(part) + ".volumes").Items() {
				if yes, _ := v.Field("deleteClaim").Bool(); yes {
					return (part + ".volumes").Index(i).Key("deleteClaim"), true
				}
			}
			return "", false
		}
		_, was := deletes(c.Before)
		if path, now := deletes(c.After); now && !was && c.Before.At(string(part)).Exists() {
			p.Report(c, rule.Finding{Path: path, Message: "the disks are deleted with the cluster from now on", Consequence: "whoever removes the Kafka object, by mistake or by pruning, removes all messages"})
		}
	}
}
