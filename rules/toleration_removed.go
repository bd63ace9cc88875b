package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// TolerationRemoved reports pods that lose their place on tainted nodes.
var TolerationRemoved = &rule.Rule{
	ID:       "toleration-removed",
	Title:    "Pods no longer tolerate a taint",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Pods without a toleration are not put on nodes with the taint. New pods of a Deployment look for a place elsewhere, or stay Pending where
a node selector leaves them no other; a DaemonSet, such as a log shipper, a CNI plugin or a storage driver, no longer runs on these
nodes, and its pods there are deleted at once. Those that tolerated not-ready and unreachable for long are evicted after 300 seconds, the
default.`,
	Advice: `Look for the nodes that carry the taint (` + "`kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints`" + `) and who must run there.
A DaemonSet that every node needs tolerates everything (` + "`operator: Exists`" + ` without a key).`,
	Incidents: []string{"berkeley-prepuller-2018"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkTolerationRemoved,
}

func checkTolerationRemoved(p *rule.Pass, c diff.Change) {
	if !touched(c, "tolerations") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	path := after.SpecPath().Key("tolerations")
	var lost []string
	shorter := ""
	for _, t := range before.PodSpec.Field("tolerations").Items() {
		covered, seconds := tolerated(after, t)
		if !covered {
			lost = append(lost, tolerationText(t))
		} else if was, ok := t.Field("tolerationSeconds").Int(); seconds >= 0 && (!ok || was > seconds) {
			shorter = fmt.Sprintf("%s for %d s only", tolerationText(t), seconds)
		}
	}
	if len(lost) == 0 && shorter == "" {
		return
	}
	f := rule.Finding{Path: path}
	if len(lost) == 0 {
		f.Severity = rule.Note
		f.Message = "pods tolerate " + shorter
		f.Consequence = "they are evicted when that time is over"
		p.Report(c, f)
		return
	}
	f.Message = fmt.Sprintf("pods no longer tolerate %s", listed(lost))
	f.Consequence = "new pods are not put on nodes with the taint; where they may run nowhere else, they stay Pending"
	if after.Ref.Kind == "DaemonSet" {
		f.Consequence = "its pods on nodes with the taint are deleted at once, and it runs there no more"
	}
	p.Report(c, f)
}

// tolerated says whether some toleration of w covers t, and for how many seconds; -1
// without a bound.
func tolerated(w object.Workload, t object.Value) (covered bool, seconds int64) {
	for _, x := range w.PodSpec.Field("tolerations").Items() {
		key, effect := x.Field("key").Text(), x.Field("effect").Text()
		if effect != "" && effect != t.Field("effect").Text() || key != "" && key != t.Field("key").Text() {
			continue
		}
		exists := x.Field("operator").Text() == "Exists"
		if key == "" && !exists || !exists && (t.Field("operator").Text() == "Exists" || x.Field("value").Text() != t.Field("value").Text()) {
			continue
		}
		n, bounded := x.Field("tolerationSeconds").Int()
		if !bounded {
			return true, -1
		}
		covered, seconds = true, max(seconds, n)
	}
	return covered, seconds
}

func tolerationText(t object.Value) string {
	key := t.Field("key").Text()
	if key == "" {
		key = "every taint"
	}
	if v := t.Field("value").Text(); v != "" {
		key += "=" + v
	}
	if e := t.Field("effect").Text(); e != "" {
		key += ":" + e
	}
	return key
}
