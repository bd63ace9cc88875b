package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it sums up what autoscalers may come to run, for the rules
// that ask what stands against it.

// A raise is an autoscaler whose ceiling goes up, or that is new.
type raise struct {
	unit   *rule.Unit
	change diff.Change
	scaler object.Autoscaler // after the merge
	before int64             // pods at most before it: the old ceiling, or the fixed replicas of the target
	target string            // what it scales, by name and kind
	fresh  bool              // its target is new too
}

func (r raise) added() int64 { return r.scaler.Max - r.before }

// raises gives the autoscalers of a unit whose ceiling goes up.
func raises(u *rule.Unit) []raise {
	var out []raise
	for _, c := range u.Changes {
		scaler, ok := object.AsAutoscaler(c.After)
		if !ok {
			continue
		}
		r := raise{unit: u, change: c, scaler: scaler, target: scaler.Target.String()}
		if before, ok := object.AsAutoscaler(c.Before); ok {
			r.before = before.Max
		} else if w, ok := u.Before.Workload(scaler.Target); ok {
			r.before = int64(w.Replicas.Count)
			if already := u.Before.AutoscalersOf(scaler.Target); len(already) > 0 {
				r.before = already[0].Max // another autoscaler takes over, such as KEDA's
			}
		} else {
			r.fresh = true
		}
		if r.added() > 0 {
			out = append(out, r)
		}
	}
	return out
}

// ceiling sums over the autoscalers of one side of units. Units that are on one
// side only are left out: a new environment raises no ceiling of an old one.
func ceiling(units []*rule.Unit, side func(*rule.Unit) *object.Set) impact.Ceiling {
	var all []impact.Autoscaler
	for _, u := range units {
		if u.Before == nil || u.After == nil {
			continue
		}
		set := side(u)
		for _, a := range set.Autoscalers() {
			all = append(all, ceilingOf(set, a))
		}
	}
	return impact.CeilingOf(all...)
}

// maxima is the number of pods of ceiling alone, which costs less to find.
func maxima(units []*rule.Unit, side func(*rule.Unit) *object.Set) int64 {
	var all []impact.Autoscaler
	for _, u := range units {
		if u.Before == nil || u.After == nil {
			continue
		}
		for _, a := range side(u).Autoscalers() {
			all = append(all, impact.Autoscaler{Most: int(min(a.Max, 1<<31))})
		}
	}
	return impact.CeilingOf(all...).Pods
}

func before(u *rule.Unit) *object.Set { return u.Before }
func after(u *rule.Unit) *object.Set  { return u.After }

func ceilingOf(set *object.Set, a object.Autoscaler) impact.Autoscaler {
	out := impact.Autoscaler{Most: int(min(a.Max, 1<<31))}
	if w, ok := set.Workload(a.Target); ok {
		out.MilliCPU, out.Memory = w.Requests()
	}
	return out
}

// asked writes what pods request: "200 cores and 400 GiB", "" when they request
// nothing that is known.
func asked(c impact.Ceiling) string {
	var out []string
	if c.MilliCPU > 0 {
		out = append(out, cores(c.MilliCPU))
	}
	if c.Memory > 0 {
		out = append(out, bytes(c.Memory))
	}
	return strings.Join(out, " and ")
}

func cores(milli int64) string {
	if milli%1000 == 0 || milli > 10_000 {
		if milli == 1000 {
			return "1 core"
		}
		return fmt.Sprintf("%d cores", (milli+500)/1000)
	}
	return fmt.Sprintf("%dm cores", milli)
}

func bytes(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit.size)), ".0") + " " + unit.name
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Growth that is worth a warning: by half at least, and by ten pods. Below that,
// autoscalers do such steps every day.
var (
	growthPercent = rule.Parameter{Name: "growthPercent", Default: 50, Doc: "by how much a maximum must grow for a warning, in percent"}
	growthPods    = rule.Parameter{Name: "growthPods", Default: 10, Doc: "and by how many pods"}
)

// grows says whether a growth is worth a warning to the rule that asks.
func grows(l *rule.Fleet, before, after int64) bool {
	return after-before >= l.Int(growthPods) && 100*float64(after) >= float64(100+l.Int(growthPercent))*float64(before)
}
