package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// NodeSupplyCut reports that fewer nodes, or none of a group, may be added from now on.
var NodeSupplyCut = &rule.Rule{
	ID:       "node-supply-cut",
	Title:    "Fewer nodes may be added to the cluster than before",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
What asks for more pods than the nodes take leaves them Pending until a node is added. Who adds nodes has ceilings of its own: --max-nodes-total, --cores-total, --memory-total and the size of each
group for the cluster autoscaler ([its flags](https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.29.0/cluster-autoscaler/FAQ.md#what-are-the-parameters-to-ca)), and
spec.limits of a pool for Karpenter ([its pools](https://karpenter.sh/docs/concepts/nodepools/#speclimits)). Below what runs today nothing is taken away, and so it looks fine, until a rollout needs its
surge, a node dies or the load rises: then no node comes, and autoscalers of pods raise numbers that nobody can place.

A pool that makes no more nodes of a zone, an architecture or on demand leaves pods that need them Pending, or puts them where they cannot run or do not stay.

A group that the cluster autoscaler does not find any more is not scaled at all, in either direction. Which tags the groups carry cannot be seen here: another
pattern of discovery is told, and to be compared with them.`,
	Advice: `Compare the new ceiling with the most nodes of the last months, add those that a rollout and the loss of a zone need, and alert on pods that are Pending for want of nodes. Put another tag on the groups before it is asked for.`,
	Kinds:  []string{"Deployment.apps", nodePoolKind, "Provisioner.karpenter.sh"}, Actions: updates,
	Check: checkNodeSupplyCut,
}

const nodePoolKind = "NodePool.karpenter.sh"

func checkNodeSupplyCut(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind != "Deployment" {
		checkPoolLimits(p, c)
		checkPoolKinds(p, c)
		return
	}
	was, now, ok := nodeScaler(p, c)
	if !ok {
		return
	}
	for _, name := range []string{"max-nodes-total", "cores-total", "memory-total"} {
		b, a := flagValues(was, name), flagValues(now, name)
		if len(a) != 1 || len(b) > 1 {
			continue
		}
		old := ""
		if len(b) == 1 {
			old = b[0].Value
		}
		// They are none, or so high that they are none, by default.
		most, ok := nodeCeiling(a[0].Value)
		before, had := nodeCeiling(old)
		if !ok || most <= 0 || had && before > 0 && most >= before {
			continue
		}
		f := rule.Finding{Path: a[0].Path, Before: object.TextOf(old), After: object.TextOf(a[0].Value),
			Message: fmt.Sprintf("--%s goes from %s to %s", name, orText(old, "none"), a[0].Value), Consequence: "pods that do not fit on the nodes within it stay Pending: no node is added for them"}
		if had && 4*most > 3*before {
			f.Severity = rule.Note
		}
		p.Report(c, f)
	}
	checkNodeGroups(p, c, flagValues(was, "nodes"), flagValues(now, "nodes"))
	const discovery = "node-group-auto-discovery"
	patterns := flagValues(now, discovery)
	for _, b := range flagValues(was, discovery) {
		if slices.ContainsFunc(patterns, func(a object.Flag) bool { return a.Value == b.Value }) {
			continue
		}
		f := rule.Finding{Path: b.Path, Before: object.TextOf(b.Value), Message: fmt.Sprintf("groups of nodes are no longer found by %s", b.Value),
			Consequence: "groups that nothing else finds are not scaled any more: pods that need more of their nodes stay Pending"}
		if fresh := slices.IndexFunc(patterns, func(a object.Flag) bool {
			return !slices.ContainsFunc(flagValues(was, discovery), func(x object.Flag) bool { return x.Value == a.Value })
		}); fresh >= 0 {
			f.Path, f.After = patterns[fresh].Path, object.TextOf(patterns[fresh].Value)
			f.Message = fmt.Sprintf("groups of nodes are found by %s, by %s before", patterns[fresh].Value, b.Value)
			f.Consequence = "groups without these tags are not scaled any more: pods that need more of their nodes stay Pending"
		}
		p.Report(c, f)
	}
}

// checkNodeGroups compares groups that are named with their bounds, as min:max:name.
func checkNodeGroups(p *rule.Pass, c diff.Change, was, now []object.Flag) {
	bound := func(f object.Flag) (most int, name string, ok bool) {
		parts := strings.SplitN(f.Value, ":", 3)
		if len(parts) < 3 {
			return 0, "", false
		}
		most, err := strconv.Atoi(parts[1])
		return most, parts[2], err == nil
	}
	for _, b := range was {
		old, name, ok := bound(b)
		if !ok {
			continue
		}
		i := slices.IndexFunc(now, func(a object.Flag) bool { _, n, ok := bound(a); return ok && n == name })
		if i < 0 {
			p.Report(c, rule.Finding{Path: b.Path, Before: object.TextOf(b.Value), Message: fmt.Sprintf("group %s (at most %s) is no longer named", name, plural(old, "node")),
				Consequence: "it is not scaled any more, unless it is discovered: pods that need more of its nodes stay Pending"})
			continue
		}
		if most, _, _ := bound(now[i]); most < old {
			p.Report(c, rule.Finding{Path: now[i].Path, Before: object.TextOf(b.Value), After: object.TextOf(now[i].Value), Message: fmt.Sprintf("group %s takes at most %s, %d before", name, plural(most, "node"), old),
				Consequence: "pods that need more of its nodes stay Pending"})
		}
	}
}

// nodeScaler gives the container of a cluster autoscaler on both sides.
func nodeScaler(p *rule.Pass, c diff.Change) (before, after object.Container, ok bool) {
	if !touched(c, ".args", ".command") {
		return before, after, false
	}
	was, now, ok := bothWorkloads(p, c)
	if !ok {
		return before, after, false
	}
	for _, pair := range pairContainers(was, now) {
		if strings.Contains(parseImage(pair.after.Image()).repository, "cluster-autoscaler") {
			return pair.before, pair.after, true
		}
	}
	return before, after, false
}

// flagValues gives the flags of a name, which may stand several times.
func flagValues(box object.Container, name string) []object.Flag {
	var out []object.Flag
	for _, f := range box.Flags() {
		if f.Name == name {
			out = append(out, f)
		}
	}
	return out
}

// nodeCeiling reads a ceiling: a number, or the second of a pair min:max.
func nodeCeiling(s string) (int64, bool) {
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[i+1:]
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	return n, err == nil
}

// checkPoolKinds looks at the kinds of nodes that a pool may still make, where pods mostly depend
// on them without saying so (https://karpenter.sh/docs/concepts/nodepools/#well-known-labels).
func checkPoolKinds(p *rule.Pass, c diff.Change) {
	path := object.Path("spec.template.spec.requirements")
	if c.Ref.Kind == "Provisioner" {
		path = "spec.requirements"
	}
	allowed := func(o *object.Object, key string) (values []string, at object.Path) {
		for i, r := range o.At(string(path)).Items() {
			if r.Field("key").Text() == key && r.Field("operator").Text() == "In" {
				return r.Field("values").Texts(), path.Index(i)
			}
		}
		return nil, ""
	}
	for _, k := range []struct{ key, follows string }{
		{"karpenter.sh/capacity-type", "running nodes count as drifted and are replaced"},
		{"kubernetes.io/arch", "running nodes count as drifted and are replaced, and images without a build for the others end with exec format error"},
		{"kubernetes.io/os", "pods of the other system stay Pending"},
		{"topology.kubernetes.io/zone", "pods whose volumes lie in the others stay Pending, and the rest stands in fewer zones"},
	} {
		was, _ := allowed(c.Before, k.key)
		now, at := allowed(c.After, k.key)
		var lost []string
		for _, v := range was {
			if !slices.Contains(now, v) {
				lost = append(lost, v)
			}
		}
		if len(now) == 0 || len(lost) == 0 {
			continue
		}
		f := rule.Finding{Path: at, Message: fmt.Sprintf("the pool makes no more nodes of %s %s, only %s", k.key, listed(lost), listed(now)), Consequence: k.follows}
		if k.key == "karpenter.sh/capacity-type" {
			if !slices.Contains(lost, "on-demand") || slices.Contains(now, "reserved") {
				continue // on to nodes that stay
			}
			// Two minutes, https://karpenter.sh/docs/concepts/disruption/#interruption
			f.Consequence += " by such that the cloud may take back, on AWS with two minutes' notice, many at once"
		}
		p.Report(c, f)
	}
}

// checkPoolLimits looks at the sum of what a pool of Karpenter may take.
func checkPoolLimits(p *rule.Pass, c diff.Change) {
	path := object.Path("spec.limits")
	if c.Ref.Kind == "Provisioner" {
		path = "spec.limits.resources"
	}
	before := c.Before.At(string(path))
	for key, v := range c.After.At(string(path)).Fields() {
		most, err := v.Quantity()
		if err != nil {
			continue
		}
		old, oldErr := before.Field(key).Quantity()
		had := before.Field(key).Exists() && oldErr == nil
		if had && most.Cmp(old) >= 0 {
			continue
		}
		f := rule.Finding{Path: path.Key(key), Message: fmt.Sprintf("the pool takes at most %s %s, without a limit before", v, key),
			Consequence: "above it no node is made, and pods that need one stay Pending, as long as no other pool takes them"}
		if had {
			f.Message = fmt.Sprintf("the pool takes at most %s %s, %s before", v, key, before.Field(key))
		}
		if !had || most.Millis() > 0 && most.Millis()/3 > old.Millis()/4 {
			f.Severity = rule.Note
		}
		p.Report(c, f)
	}
}
