package rules

import (
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ClusterMembershipChanged reports a setting by which the members of a cluster find
// and accept each other.
var ClusterMembershipChanged = &rule.Rule{
	ID:       "cluster-membership-changed",
	Title:    "Members of a cluster find or accept each other in another way",
	Subject:  "config",
	Severity: rule.Warning,
	Doc: `
Programs that form a cluster (hash rings over memberlist, Alertmanager, etcd, Elasticsearch, RabbitMQ, Consul) know their own by a label, a name, a token, a
port, and a list to begin with. A rolling update makes two groups that do not see each other: two rings that both own everything, two leaders, each
alert sent twice, and a quorum that neither has. The other way round, two clusters with the same port and no label of their own join into one
when a new pod of one gets the address of an old pod of the other.`,
	Advice: `Follow the program's own procedure for it: for memberlist, first turn the check of the label off everywhere (cluster_label_verification_disabled), then
set the label, then turn the check on. Elsewhere stop and start all members together, or make a second cluster and move over.`,
	Incidents: []string{"grafana-rings-2022"},
	Kinds:     append([]string{"ConfigMap", "Secret"}, podKinds...),
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkClusterMembershipChanged,
}

// membership are settings of membership, by their names with dots, dashes and
// underscores taken as the same. Those that end in a dot are looked for inside.
var membership = map[string]bool{
	"memberlist.cluster.label": true, "memberlist.bind.port": true, "memberlist.advertise.port": true,
	"memberlist.cluster.label.verification.disabled": true, "cluster.label": true, "cluster.listen.address": true,
	"initial.cluster.token": true, "initial.cluster.state": true, "discovery.seed.hosts": true, "cluster.initial.master.nodes": true,
	"cluster.formation.peer.discovery.backend": true, "cluster.formation.k8s.address.type": true, "rabbitmq.erlang.cookie": true, "gossip.port": true, "serf.port": true,
}

var dotted = strings.NewReplacer("_", ".", "-", ".", "[", ".", "]", "")

// ofMembership says whether a setting is one of membership. Words before it, such as
// the name of a section, do not matter.
func ofMembership(name string) bool {
	name = strings.ToLower(dotted.Replace(name))
	name = strings.Trim(name, ".")
	for name != "" {
		if membership[name] {
			return true
		}
		_, rest, ok := strings.Cut(name, ".")
		if !ok {
			return false
		}
		name = rest
	}
	return false
}

func checkClusterMembershipChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "ConfigMap" || c.Ref.Kind == "Secret" {
		for _, f := range c.Fields {
			segments := f.Path.Segments()
			if f.Hidden != "" || len(segments) < 3 {
				continue
			}
			var keys []string
			for _, s := range segments[2:] {
				if s.Select == nil && s.Index < 0 {
					keys = append(keys, s.Key)
				}
			}
			if name := strings.Join(keys, "."); ofMembership(name) {
				reportMembership(p, c, f.Path, name, f.Before, f.After)
			}
		}
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || !templateChanged(c, after) {
		return
	}
	for _, pair := range pairContainers(before, after) {
		was := map[string]object.Value{}
		for _, f := range pair.before.Flags() {
			was[f.Name] = object.TextOf(f.Value)
		}
		for _, e := range pair.before.Env() {
			was[e.Name] = e.Value
		}
		look := func(name string, path object.Path, now object.Value) {
			if old, ok := was[name]; ofMembership(name) && (!ok || !old.Equal(now)) {
				reportMembership(p, c, path, name, old, now)
			}
		}
		for _, f := range pair.after.Flags() {
			look(f.Name, f.Path, object.TextOf(f.Value))
		}
		for _, e := range pair.after.Env() {
			look(e.Name, e.Path, e.Value)
		}
	}
}

func reportMembership(p *rule.Pass, c diff.Change, path object.Path, name string, was, now object.Value) {
	text := change(name, was.String(), now.String())
	if !was.Exists() && !now.Exists() {
		text = name + " changes"
	}
	p.Report(c, rule.Finding{Path: path, Before: was, After: now, Message: text,
		Consequence: "while it rolls out, members with the old setting and with the new one do not see each other, and both groups take themselves for the cluster"})
}
