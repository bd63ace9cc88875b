package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// NodeDisruptionLoosened reports that nodes with running pods are taken away sooner, or more
// of them at once.
var NodeDisruptionLoosened = &rule.Rule{
	ID:       "node-disruption-loosened",
	Title:    "Nodes are taken from under running pods sooner, or more of them at once",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
Karpenter and the cluster autoscaler end nodes to save money or to renew them, and evict what runs there. How many at once is bounded by the budgets of a pool, 10 % of its nodes where none is written, and without any
bound where budgets are written and none of them counts at that time ([Karpenter](https://karpenter.sh/docs/concepts/disruption/#nodepool-disruption-budgets)). A PodDisruptionBudget bounds
it for one workload; all others lose as many pods as stand on these nodes, and caches, leaders and connections with them. With consolidation of nodes that are not empty (WhenEmptyOrUnderutilized, in beta WhenUnderutilized) a pool that was left alone
begins to move pods, and with a short consolidateAfter it follows each dip of the load.

The cluster autoscaler leaves nodes alone that hold pods with local storage or pods of kube-system without a budget, unless it is told otherwise
([its flags](https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.29.0/cluster-autoscaler/FAQ.md#what-are-the-parameters-to-ca)): what is in an emptyDir is lost, and a single pod of cluster DNS or of
the metrics server is away until it starts elsewhere.`,
	Advice: `Give every workload that matters a PodDisruptionBudget first. Keep a budget of a few nodes or percent, with none in busy hours, and try the new policy on one pool. Mark what must not move with karpenter.sh/do-not-disrupt or cluster-autoscaler.kubernetes.io/safe-to-evict: "false".`,
	Kinds:  []string{"Deployment.apps", nodePoolKind}, Actions: updates,
	Check: checkNodeDisruptionLoosened,
}

// nodeGuards are flags of the cluster autoscaler that keep nodes, true by default
// (https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.29.0/cluster-autoscaler/FAQ.md#what-are-the-parameters-to-ca).
var nodeGuards = []struct{ flag, without string }{
	{"skip-nodes-with-local-storage", "nodes with pods that use an emptyDir or a hostPath are taken away, and what these keep there is lost"},
	{"skip-nodes-with-system-pods", "nodes with pods of kube-system are taken away: those that run once are gone until they start elsewhere"},
	{"skip-nodes-with-custom-controller-pods", "nodes with pods of custom controllers are taken away"},
}

func checkNodeDisruptionLoosened(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "NodePool" {
		checkPoolDisruption(p, c)
		return
	}
	was, now, ok := nodeScaler(p, c)
	if !ok {
		return
	}
	last := func(box object.Container, name string) (object.Flag, string) {
		all := flagValues(box, name)
		if len(all) == 0 {
			return object.Flag{}, ""
		}
		f := all[len(all)-1]
		return f, orText(f.Value, "true")
	}
	for _, g := range nodeGuards {
		_, before := last(was, g.flag)
		f, after := last(now, g.flag)
		if after == "false" && before != "false" {
			p.Report(c, rule.Finding{Path: f.Path, Before: object.TextOf(before), After: object.TextOf(after), Message: fmt.Sprintf("--%s becomes false, %s before", g.flag, orText(before, "true by default")), Consequence: g.without})
		}
	}
	const unneeded, threshold = "scale-down-unneeded-time", "scale-down-utilization-threshold"
	// 10m and 0.5 by default, see nodeGuards.
	_, b := last(was, unneeded)
	f, a := last(now, unneeded)
	before, _ := time.ParseDuration(orText(b, "10m"))
	after, err := time.ParseDuration(orText(a, "10m"))
	if err == nil && after > 0 && before >= 3*after && f.Path != "" {
		p.Report(c, rule.Finding{Path: f.Path, Before: object.TextOf(b), After: object.TextOf(a), Message: fmt.Sprintf("a node may be taken away after %s without need, %s before", a, orText(b, "10m by default")),
			Consequence: "a short dip of the load ends nodes, and the pods on them move; the next rise waits for new ones"})
	}
	_, b = last(was, threshold)
	f, a = last(now, threshold)
	old, _ := strconv.ParseFloat(orText(b, "0.5"), 64)
	if share, err := strconv.ParseFloat(orText(a, "0.5"), 64); err == nil && f.Path != "" && share >= old+0.2 {
		p.Report(c, rule.Finding{Path: f.Path, Before: object.TextOf(b), After: object.TextOf(a), Message: fmt.Sprintf("nodes that are used up to %s by requests are taken away, %s before", a, orText(b, "0.5 by default")),
			Consequence: "fuller nodes are emptied, more pods move, and less room is left for the next rise"})
	}
}

// checkPoolDisruption looks at a pool of Karpenter.
func checkPoolDisruption(p *rule.Pass, c diff.Change) {
	const policy, after = "spec.disruption.consolidationPolicy", "spec.disruption.consolidateAfter"
	moves := func(o *object.Object) bool {
		text := o.Text(policy)
		return text == "WhenEmptyOrUnderutilized" || text == "WhenUnderutilized"
	}
	switch was, now := moves(c.Before), moves(c.After); {
	case now && !was && c.Before.At(policy).Exists():
		p.Report(c, rule.Finding{Path: policy, Message: fmt.Sprintf("nodes are taken away when they are underused, too (%s, %s before); after %s", c.After.Text(policy), c.Before.Text(policy), orText(c.After.Text(after), "no wait")),
			Consequence: "pods that run on them are evicted and start elsewhere, again and again as the load changes"})
	case now && was:
		b, okB := poolWait(c.Before.Text(after))
		a, okA := poolWait(c.After.Text(after))
		if okA && okB && b >= time.Minute && 3*a <= b {
			p.Report(c, rule.Finding{Path: after, Message: fmt.Sprintf("underused nodes are taken away after %s, %s before", orText(c.After.Text(after), "0s"), c.Before.Text(after)),
				Consequence: "each dip of the load ends nodes, and the pods on them move"})
		}
	}
	for _, path := range []object.Path{"spec.template.spec.expireAfter", "spec.disruption.expireAfter"} {
		// 720h by default (https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecexpireafter).
		b, okB := poolWait(orText(c.Before.Text(string(path)), "720h"))
		a, okA := poolWait(c.After.Text(string(path)))
		if okA && (!okB || 3*a <= b) && a > 0 {
			// In v1 it is copied into what a node is made from, and expiry is forceful
			// (https://karpenter.sh/docs/concepts/disruption/#expiration); in beta it is one of the
			// ways that wait for budgets (https://karpenter.sh/v0.37/concepts/disruption/).
			f := rule.Finding{Path: path, Message: fmt.Sprintf("a node lives for %s, %s before", c.After.Text(string(path)), orText(c.Before.Text(string(path)), "720h by default")),
				Consequence: "nodes of before count as drifted and are replaced, and from then on each is drained at that age, whatever the budgets of the pool say"}
			if path == "spec.disruption.expireAfter" {
				f.Consequence = "nodes that are older than that are replaced now, as fast as the budgets of the pool allow"
			}
			p.Report(c, f)
		}
	}
	checkPoolBudgets(p, c)
}

// poolWait reads a duration; Never and what it cannot read give false.
func poolWait(s string) (time.Duration, bool) {
	if s == "" {
		return 0, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// checkPoolBudgets compares how many nodes may go at once, at the times for which no budget
// with a schedule counts.
func checkPoolBudgets(p *rule.Pass, c diff.Change) {
	const path = "spec.disruption.budgets"
	b, a := standingBudget(c.Before.At(path)), standingBudget(c.After.At(path))
	if b == a || a == "" {
		return
	}
	nodes := func(s string) (n int, percent, ok bool) {
		n, err := strconv.Atoi(strings.TrimSuffix(s, "%"))
		return n, strings.HasSuffix(s, "%"), err == nil
	}
	was, wasPercent, okB := nodes(b)
	now, nowPercent, okA := nodes(a)
	switch {
	case !okA || !okB:
		return
	case wasPercent == nowPercent && (now <= was || now < 2*was && now < 50):
		return
	case wasPercent != nowPercent && !(nowPercent && now >= 50):
		return
	}
	message := fmt.Sprintf("%s of the pool's nodes may be taken away at once, %s before", a, b)
	if c.After.At(path).Len() > 0 && !slices.ContainsFunc(itemsOf(c.After.At(path)), standing) {
		message += ", whenever none of its budgets counts"
	}
	p.Report(c, rule.Finding{Path: path, Message: message,
		Consequence: "workloads without a budget of their own lose as many of their pods at the same moment"})
}

// standing says whether a budget counts at all times and for all reasons.
func standing(budget object.Value) bool {
	return !budget.Field("schedule").Exists() && !budget.Field("reasons").Exists()
}

// standingBudget gives the narrowest of the budgets that count at all times and for all reasons:
// 10% where none is written, 100% where others are.
func standingBudget(budgets object.Value) string {
	if !budgets.Exists() || budgets.Len() == 0 {
		return "10%"
	}
	var always []string
	for _, x := range budgets.Items() {
		if standing(x) {
			always = append(always, orText(x.Field("nodes").Text(), "10%"))
		}
	}
	if len(always) == 0 {
		return "100%"
	}
	if len(always) > 1 {
		percent := func(s string) bool { return strings.HasSuffix(s, "%") }
		if slices.ContainsFunc(always, percent) && !slices.ContainsFunc(always, func(s string) bool { return !percent(s) }) || !slices.ContainsFunc(always, percent) {
			slices.SortFunc(always, func(x, y string) int {
				n, _ := strconv.Atoi(strings.TrimSuffix(x, "%"))
				m, _ := strconv.Atoi(strings.TrimSuffix(y, "%"))
				return n - m
			})
		} else {
			return "" // a number and a share: which of them is narrower depends on the nodes
		}
	}
	return always[0]
}
