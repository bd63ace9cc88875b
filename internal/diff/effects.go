package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// An EffectKind says what a change does to what runs.
type EffectKind string

// The kinds of effects, the gravest first.
const (
	DataLoss     EffectKind = "data-loss"     // stored data goes
	Refused      EffectKind = "refused"       // the API server does not accept it in place
	Removed      EffectKind = "removed"       // what runs or serves ends
	LoadBalancer EffectKind = "load-balancer" // the cloud load balancer is deleted and made anew
	Address      EffectKind = "address"       // an address or name that clients use changes
	Traffic      EffectKind = "traffic"       // who gets requests, or may reach whom, changes at once
	Restart      EffectKind = "restart"       // pods or containers restart without a rolling order
	Rolling      EffectKind = "rolling"       // new pods replace the old ones by the workload's strategy
	InPlace      EffectKind = "in-place"      // takes effect on what runs, without new pods
	Future       EffectKind = "future"        // only what is created later sees it
	NoEffect     EffectKind = "none"          // bookkeeping
)

var gravity = []EffectKind{DataLoss, Refused, Removed, LoadBalancer, Address, Traffic, Restart, Rolling, InPlace, Future, NoEffect}

// An Effect is one consequence of a change, told from its fields alone.
type Effect struct {
	Kind EffectKind
	// Paths are the fields that bring it, hidden ones among them; empty when it
	// follows from the change as a whole.
	Paths []object.Path
	Text  string // what happens; lower case, no full stop
}

// ends says whether pods end because of the effect.
func (e Effect) ends() bool { return e.Kind == Restart || e.Kind == Rolling }

// effects gathers the effects of one change, each once.
type effects struct {
	list []Effect
}

func (e *effects) add(kind EffectKind, path object.Path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for i := range e.list {
		if e.list[i].Kind == kind && e.list[i].Text == text {
			if path != "" {
				e.list[i].Paths = append(e.list[i].Paths, path)
			}
			return
		}
	}
	effect := Effect{Kind: kind, Text: text}
	if path != "" {
		effect.Paths = []object.Path{path}
	}
	e.list = append(e.list, effect)
}

// sorted gives the effects, the gravest first.
func (e *effects) sorted() []Effect {
	slices.SortStableFunc(e.list, func(x, y Effect) int {
		return slices.Index(gravity, x.Kind) - slices.Index(gravity, y.Kind)
	})
	return e.list
}

// effectsOf tells what c does to what runs.
func (e *engine) effectsOf(c *Change) []Effect {
	var out effects
	switch c.Action {
	case Create:
		if w, ok := e.workload(e.after, c.After); ok && startsPods(w) {
			out.add(InPlace, "", "starts %s", pods(w.Replicas))
		}
		return out.sorted()
	case Delete:
		e.deletion(c, c.Before, &out)
		return out.sorted()
	case Rename:
		e.deletion(c, c.Before, &out)
		if c.hashed {
			out = effects{} // the old one is pruned when nothing uses it any more
		}
	case Replace:
		e.replacement(c, &out)
	}
	if c.Action == Update {
		e.workloadEffects(c, &out)
	}
	kind := currentGroup(c.Ref).GroupKind()
	if kind == "ConfigMap" || kind == "Secret" {
		e.configEffects(c, &out)
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		if f.refused != "" {
			out.add(Refused, f.Path, "the API server refuses it: %s", f.refused)
		}
		if f.Hidden != "" || f.Immutable != "" || c.Action == Rename {
			continue
		}
		fieldEffects(c, kind, f, &out)
	}
	return out.sorted()
}

// workload reads o as a workload of its set, with the replicas that an
// autoscaler gives it.
func (e *engine) workload(set *object.Set, o *object.Object) (object.Workload, bool) {
	return set.Workload(o.Ref)
}

// startsPods says whether a workload makes pods by itself, now.
func startsPods(w object.Workload) bool { return w.Ref.Kind != "CronJob" }

// pods says how many pods a workload runs.
func pods(r object.Replicas) string {
	switch {
	case !r.Known && r.From == "one per node":
		return "one pod per node"
	case !r.Known:
		return "its pods"
	case r.Count == 1:
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", r.Count)
}

// inTemplate says whether f changes the pods that w makes, and not merely the
// spelling of something that the API server stores the same way.
func inTemplate(template string, f *Field) bool {
	switch f.Hidden {
	case filterDefaults, filterSameValue, filterServer, filterUnsettled:
		return false
	}
	steps := strings.Split(template, ".")
	if template == "" || len(f.steps) < len(steps) {
		return false
	}
	for i, s := range steps {
		if f.steps[i].list || f.steps[i].key != s {
			return false
		}
	}
	return true
}

// workloadEffects tells what becomes of the pods of a workload that stays.
func (e *engine) workloadEffects(c *Change, out *effects) {
	w, ok := e.workload(e.after, c.After)
	if !ok {
		return
	}
	kind, n := w.Ref.Kind, pods(w.Replicas)
	if w.Replicas.Known && w.Replicas.Count == 0 {
		n = "" // nothing runs once it is applied
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		if f.Immutable != "" || !inTemplate(string(w.Template), f) {
			continue
		}
		switch {
		case n == "":
			out.add(NoEffect, f.Path, "no pods run that could restart")
		case kind == "CronJob":
			out.add(Future, f.Path, "the next Job runs with it, running ones go on unchanged")
		case kind == "ReplicaSet" || kind == "ReplicationController":
			out.add(Future, f.Path, "only pods that are created later see it")
		case kind == "Deployment" && boolAt(c.After, "spec.paused"):
			out.add(NoEffect, f.Path, "nothing until the paused rollout is resumed")
		case kind == "Deployment" && c.After.Text("spec.strategy.type") == "Recreate":
			out.add(Restart, f.Path, "ends %s before new ones start", all(w.Replicas))
		case (kind == "StatefulSet" || kind == "DaemonSet") && c.After.Text("spec.updateStrategy.type") == "OnDelete":
			out.add(NoEffect, f.Path, "nothing until its pods are deleted by hand (OnDelete)")
		case kind == "StatefulSet":
			text := fmt.Sprintf("replaces %s one by one, the highest ordinal first", n)
			if p, ok := c.After.At("spec.updateStrategy.rollingUpdate.partition").Int(); ok && p > 0 {
				text += fmt.Sprintf("; those below ordinal %d keep the old template", p)
			}
			out.add(Rolling, f.Path, "%s", text)
		case kind == "DaemonSet":
			out.add(Rolling, f.Path, "replaces its pods node by node")
		case kind == "Job" && isHook(c.After):
			out.add(Removed, f.Path, "its tool deletes the old Job and runs the new one (hook)")
		case kind == "Job":
			// part of a Job that has not started
		default:
			out.add(Rolling, f.Path, "replaces %s, %s", n, rollout(c.After))
		}
	}
	if f := c.field("spec.replicas"); f != nil && f.Hidden == "" {
		from, to := replicas(c.Before), replicas(c.After)
		switch {
		case w.Replicas.Autoscaler != nil && to == 0:
			out.add(Removed, f.Path, "ends all its pods, and %s does nothing until somebody scales it up by hand", w.Replicas.Autoscaler.Ref)
		case w.Replicas.Autoscaler != nil:
			out.add(InPlace, f.Path, "sets the count to %d until %s sets it again", to, w.Replicas.Autoscaler.Ref)
		case to == 0 && from > 0:
			out.add(Removed, f.Path, "ends %s", all(object.Replicas{Count: int(from), Known: true}))
		case to < from:
			out.add(InPlace, f.Path, "ends %d of %d pods", from-to, from)
		case to > from:
			out.add(InPlace, f.Path, "starts %s beside %d", morePods(to-from), from)
		}
	}
}

func all(r object.Replicas) string {
	if r.Known && r.Count > 1 {
		return fmt.Sprintf("all %d pods", r.Count)
	}
	return pods(r)
}

func morePods(n int64) string {
	if n == 1 {
		return "1 more pod"
	}
	return fmt.Sprintf("%d more pods", n)
}

func replicas(o *object.Object) int64 {
	if n, ok := o.At("spec.replicas").Int(); ok {
		return n
	}
	return 1
}

func boolAt(o *object.Object, path string) bool {
	b, _ := o.At(path).Bool()
	return b
}

// rollout names the bounds of a Deployment's rolling update.
func rollout(o *object.Object) string {
	if o.Ref.Kind != "Deployment" {
		return "by its own strategy"
	}
	bound := func(path string) string {
		if v := o.At(path); v.Exists() {
			return v.String()
		}
		return "25%"
	}
	return fmt.Sprintf("at most %s more and %s fewer at a time",
		bound("spec.strategy.rollingUpdate.maxSurge"), bound("spec.strategy.rollingUpdate.maxUnavailable"))
}

// field gives the field at a path, nil when it does not differ.
func (c *Change) field(path object.Path) *Field {
	for i := range c.Fields {
		if c.Fields[i].Path == path {
			return &c.Fields[i]
		}
	}
	return nil
}
