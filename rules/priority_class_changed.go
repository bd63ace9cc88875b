package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// PriorityClassChanged reports pods that may be pushed out, or push others out.
var PriorityClassChanged = &rule.Rule{
	ID:       "priority-class-changed",
	Title:    "Pods get another priority",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A pod that finds no room preempts pods of lower priority: they are ended to make room, and disruption budgets are honoured only if it can
be helped. Pods that lose their class become the victims of everybody else's rollout, and are evicted first from a node under pressure. Pods
that gain one push out others; while a rollout is on, the new pods of a workload with a higher class push out its own old pods, which
have the lower one, faster than the rollout would. A class that is not there makes the API server refuse each new pod.

A PriorityClass that becomes the global default gives its priority to all pods that are made from then on. Classes of the system
(system-cluster-critical, system-node-critical) are a note where they are gained.`,
	Advice: `Give the class to what must run and has few pods, not to what is large. Introduce classes with preemptionPolicy: Never first, and roll out the
pods one by one before others may preempt them.`,
	Incidents: []string{"grafana-pod-priorities-2019", "dfds-priorityclass-2019"},
	Kinds:     append([]string{"PriorityClass.scheduling.k8s.io"}, podKinds...),
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename, diff.Delete},
	Check:     checkPriorityClassChanged,
}

func checkPriorityClassChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "PriorityClass" {
		checkPriorityClass(p, c)
		return
	}
	if c.Before == nil || c.After == nil || !touched(c, "priorityClassName") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	was, now := before.PodSpec.Field("priorityClassName").Text(), after.PodSpec.Field("priorityClassName").Text()
	if was == now {
		return
	}
	f := rule.Finding{Path: after.SpecPath().Key("priorityClassName")}
	b, knownBefore := priorityOf(p.Before, was)
	a, known := priorityOf(p.After, now)
	switch {
	case now == "":
		f.Message = fmt.Sprintf("pods lose the priority class %s", was)
	case was == "":
		f.Message = fmt.Sprintf("pods get the priority class %s", now)
	default:
		f.Message = fmt.Sprintf("pods get the priority class %s in place of %s", now, was)
	}
	if known && knownBefore {
		f.Message += fmt.Sprintf(" (priority %d, %d before)", a, b)
	}
	rises := known && knownBefore && a > b || was == ""
	if rises {
		f.Consequence = "where room is short they push out pods of lower priority, their own old pods among them"
		if strings.HasPrefix(now, "system-") {
			f.Severity = rule.Note
		}
		if known && a <= 0 {
			f.Consequence = "pods of any higher priority push them out where room is short"
		}
	} else {
		f.Consequence = "where room is short other pods push them out, and they are evicted earlier"
	}
	if now != "" && !known {
		f.Consequence += fmt.Sprintf("; if %s is not in the cluster, every new pod is refused", now)
	}
	p.Report(c, f)
}

// priorityOf gives the priority that a class stands for, as far as it is known
// (https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/).
func priorityOf(set *object.Set, class string) (int64, bool) {
	switch class {
	case "":
		return 0, true
	case "system-cluster-critical":
		return 2_000_000_000, true
	case "system-node-critical":
		return 2_000_001_000, true
	}
	for _, o := range set.Kind("PriorityClass.scheduling.k8s.io") {
		if o.Ref.Name == class {
			return o.At("value").Int()
		}
	}
	return 0, false
}

func checkPriorityClass(p *rule.Pass, c diff.Change) {
	if c.After == nil || c.Action == diff.Rename {
		var users []portUser
		for _, r := range p.After.ReferencesTo(c.Before.Ref) {
			users = append(users, portUser{r.From.Ref, r.Path})
		}
		if len(users) == 0 {
			return
		}
		text, related := named(users)
		p.Report(c, rule.Finding{
			Severity:    rule.Error,
			Message:     fmt.Sprintf("the class %s goes, and %s names it", c.Before.Ref.Name, text),
			Consequence: "running pods stay; every new pod that names it is refused",
			Related:     related,
		})
		return
	}
	was, _ := c.Before.At("globalDefault").Bool()
	now, _ := c.After.At("globalDefault").Bool()
	if now && !was {
		value, _ := c.After.At("value").Int()
		f := rule.Finding{
			Path:        "globalDefault",
			Message:     fmt.Sprintf("the class becomes the default of all pods that name none (priority %d)", value),
			Consequence: "each pod that is made from now on has it, and where room is short pushes out those that were made before",
		}
		if value <= 0 {
			f.Severity = rule.Note
			f.Consequence = "each pod that is made from now on has it"
		}
		p.Report(c, f)
	}
}
