package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// LimitRangeAdded reports a LimitRange that gives limits to who has none, or refuses
// what is written.
var LimitRangeAdded = &rule.Rule{
	ID:       "limit-range-added",
	Title:    "A LimitRange gives pods a limit that they did not have, or refuses them",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
The defaults of a LimitRange are written into each container that writes none, when its pod is made. A proxy or database that ran without a limit has the
namespace's default from its next restart on, and is killed for memory or throttled at a size that was meant for something small. What exceeds max, or is below min,
is refused. Running pods see nothing of it, so it shows days later, one workload at a time.`,
	Advice:    "List who writes no limit first; give each its own; then add the LimitRange, with generous defaults. Restart one workload by hand to see what it gets.",
	Incidents: []string{"dfds-limitrange-2022"},
	Kinds:     []string{"LimitRange"},
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace},
	Check:     checkLimitRangeAdded,
}

func checkLimitRangeAdded(p *rule.Pass, c diff.Change) {
	var running []object.Workload
	for _, w := range p.After.Workloads() {
		if w.Ref.Namespace == c.Ref.Namespace {
			running = append(running, w)
		}
	}
	for i, l := range c.After.At("spec.limits").Items() {
		if l.Field("type").Text() != "Container" {
			continue
		}
		at := object.Path("spec.limits").Index(i)
		was := rangeOf(c.Before)
		for _, resource := range []string{"memory", "cpu"} {
			reportDefault(p, c, running, at, l, was, resource)
			reportBound(p, c, running, at, l, was, resource)
		}
	}
}

// rangeOf gives the item of a LimitRange that bounds containers.
func rangeOf(o *object.Object) object.Value {
	for _, l := range o.At("spec.limits").Items() {
		if l.Field("type").Text() == "Container" {
			return l
		}
	}
	return object.Value{}
}

func reportDefault(p *rule.Pass, c diff.Change, running []object.Workload, at object.Path, l, was object.Value, resource string) {
	limit, old := l.Field("default").Field(resource), was.Field("default").Field(resource)
	if !limit.Exists() || limit.Equal(old) {
		return
	}
	a, err := limit.Quantity()
	b, oldErr := old.Quantity()
	if err != nil || old.Exists() && oldErr == nil && a.Cmp(b) >= 0 {
		return
	}
	var given []object.Workload
	for _, w := range running {
		for _, box := range w.Running() {
			if !box.At("resources.limits").Field(resource).Exists() {
				given = append(given, w)
				break
			}
		}
	}
	f := rule.Finding{Path: at.Key("default").Key(resource), Before: old, After: limit}
	f.Message = fmt.Sprintf("containers without a %s limit get %s", resource, limit)
	if old.Exists() {
		f.Message += fmt.Sprintf(", %s before", old)
	}
	verb := map[string]string{"memory": "are killed above it", "cpu": "are throttled at it"}[resource]
	f.Consequence = "from their next restart on they " + verb
	switch {
	case len(given) > 0:
		f.Related = refs(given)[:min(len(given), 10)]
		f.Message += ": " + names(given)
	case len(running) > 0:
		return // all of them write one
	default:
		f.Consequence += "; who runs in the namespace is not among these manifests"
	}
	p.Report(c, f)
}

func reportBound(p *rule.Pass, c diff.Change, running []object.Workload, at object.Path, l, was object.Value, resource string) {
	for _, key := range []string{"max", "min"} {
		bound, err := l.Field(key).Field(resource).Quantity()
		if !l.Field(key).Field(resource).Exists() || err != nil || l.Field(key).Field(resource).Equal(was.Field(key).Field(resource)) {
			continue
		}
		var refused []object.Workload
		var what []string
		for _, w := range running {
			for _, box := range w.Containers() {
				for _, kind := range []string{"limits", "requests"} {
					v := box.At("resources." + kind).Field(resource)
					q, err := v.Quantity()
					if !v.Exists() || err != nil || key == "max" && q.Cmp(bound) <= 0 || key == "min" && q.Cmp(bound) >= 0 || has(refused, w.Ref) {
						continue
					}
					refused = append(refused, w)
					what = append(what, fmt.Sprintf("%s (%s of %s)", w.Ref, strings.TrimSuffix(kind, "s"), v))
				}
			}
		}
		if len(refused) > 0 {
			p.Report(c, rule.Finding{Path: at.Key(key).Key(resource), Severity: rule.Error, Related: refs(refused),
				Message:     fmt.Sprintf("%s %s for a container is %s: %s does not fit", key, resource, l.Field(key).Field(resource), listed(what)),
				Consequence: "its pods are refused when they are made again"})
		}
	}
}
