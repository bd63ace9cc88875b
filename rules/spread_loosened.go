package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// SpreadLoosened reports pods that may be put together on one node or in one zone.
var SpreadLoosened = &rule.Rule{
	ID:       "spread-loosened",
	Title:    "The pods of a workload may end up on one node or in one zone",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Replicas help only as far as they fail apart. Anti-affinity that is required, and a topology spread with DoNotSchedule, keep pods on
different nodes or zones; the preferred and ScheduleAnyway forms are wishes, which the scheduler gives up when a node is short or when
many pods come at once, as in a rollout or after a failure. Nothing moves pods apart again later. Then one node, or one drain, takes
all replicas at once.

Told when such a rule is removed, softened, or asks for a larger topology than before (zones in place of nodes lets pods share a
node). For a workload with one pod nothing is said.`,
	Advice: `Keep it required by node for what must survive a node, or keep a topology spread with DoNotSchedule and maxSkew 1. Where pods did not
find a node in rollouts, lower maxSurge to 0 with maxUnavailable 1 instead of giving the rule up.`,
	Incidents: []string{"moonlight-antiaffinity-2019", "mybinder-ingress-cordon-2019"},
	Kinds:     servingKinds,
	Actions:   updates,
	Check:     checkSpreadLoosened,
}

// A spread is one rule that keeps the pods of a workload apart.
type spread struct {
	kind     string // "anti-affinity" or "topology spread"
	topology string
	hard     bool
	path     object.Path
}

func (s spread) String() string {
	switch {
	case s.kind == "anti-affinity" && s.hard:
		return fmt.Sprintf("required anti-affinity by %s", s.topology)
	case s.kind == "anti-affinity":
		return fmt.Sprintf("preferred anti-affinity by %s", s.topology)
	case s.hard:
		return fmt.Sprintf("topology spread by %s (DoNotSchedule)", s.topology)
	}
	return fmt.Sprintf("topology spread by %s (ScheduleAnyway)", s.topology)
}

// spreads gives the rules that keep a workload's pods apart from each other. Rules
// against pods of others are not among them.
func spreads(w object.Workload) []spread {
	var out []spread
	own := func(term object.Value) bool {
		s := term.Field("labelSelector")
		return !s.Exists() || s.Selector().Matches(w.PodLabels)
	}
	base := w.SpecPath().Key("affinity").Key("podAntiAffinity")
	required, preferred := base.Key("requiredDuringSchedulingIgnoredDuringExecution"), base.Key("preferredDuringSchedulingIgnoredDuringExecution")
	terms := w.PodSpec.At("affinity.podAntiAffinity")
	for i, t := range terms.Field("requiredDuringSchedulingIgnoredDuringExecution").Items() {
		if own(t) {
			out = append(out, spread{"anti-affinity", t.Field("topologyKey").Text(), true, required.Index(i)})
		}
	}
	for i, t := range terms.Field("preferredDuringSchedulingIgnoredDuringExecution").Items() {
		if t := t.Field("podAffinityTerm"); own(t) {
			out = append(out, spread{"anti-affinity", t.Field("topologyKey").Text(), false, preferred.Index(i)})
		}
	}
	at := w.SpecPath().Key("topologySpreadConstraints")
	for i, t := range w.PodSpec.Field("topologySpreadConstraints").Items() {
		if own(t) {
			out = append(out, spread{"topology spread", t.Field("topologyKey").Text(), t.Field("whenUnsatisfiable").Text() != "ScheduleAnyway", at.Index(i)})
		}
	}
	return out
}

// scopeOf tells nodes from zones: the wider the topology, the higher the number.
func scopeOf(topology string) int {
	switch {
	case strings.Contains(topology, "hostname"):
		return 1
	case strings.Contains(topology, "zone"):
		return 2
	case strings.Contains(topology, "region"):
		return 3
	}
	return 0
}

func checkSpreadLoosened(p *rule.Pass, c diff.Change) {
	if !touched(c, "ffinity", "topologySpreadConstraints") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || after.Ref.Kind == "DaemonSet" {
		return
	}
	if n, written := after.At("spec.replicas").Int(); written && n <= 1 && after.Replicas.Autoscaler == nil {
		return // a count that is not written may be kept by somebody else
	}
	now := spreads(after)
	for _, was := range spreads(before) {
		best, found := spread{}, false
		for _, x := range now {
			if scopeOf(x.topology) != scopeOf(was.topology) || scopeOf(x.topology) == 0 && x.topology != was.topology {
				continue
			}
			if !found || x.hard && !best.hard {
				best, found = x, true
			}
		}
		if found && (best.hard || !was.hard) {
			continue // as strict as before, if in another form
		}
		f := rule.Finding{Path: was.path, Severity: rule.Note}
		if was.hard {
			f.Severity = rule.Warning
		}
		if found {
			f.Message = fmt.Sprintf("%s becomes %s", was, best)
			f.Consequence = "when nodes are short or many pods come at once they are put together"
		} else {
			f.Message = fmt.Sprintf("%s goes", was)
			f.Consequence = fmt.Sprintf("the scheduler has no rule any more that keeps them apart by %s", scopeText(was.topology))
			if len(now) == 0 {
				f.Severity = rule.Warning
			}
		}
		f.Before, f.After = c.Before.At(string(was.path)), c.After.At(string(was.path))
		if n := after.Replicas; n.Known && n.Count > 1 {
			f.Consequence += fmt.Sprintf("; one %s that fails may take all %d pods", scopeText(was.topology), n.Count)
		} else {
			f.Consequence += fmt.Sprintf("; one %s that fails may take all of them", scopeText(was.topology))
		}
		p.Report(c, f)
	}
}

func scopeText(topology string) string {
	switch scopeOf(topology) {
	case 1:
		return "node"
	case 2:
		return "zone"
	case 3:
		return "region"
	}
	return topology
}
