package rules

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it says what a selector reaches, for all rules that ask.
// It stands in the catalogue because only the catalogue may join the facts of
// internal/object with the models of internal/impact.

// reached gives the workloads of a namespace whose pods selector matches, but for
// Jobs and CronJobs, whose pods serve nobody. unknown are objects whose operators
// make pods that may match too.
func reached(set *object.Set, namespace string, selector map[string]string) (workloads []object.Workload, unknown []*object.Object) {
	pod, single := selector[podName]
	if single {
		selector = maps.Clone(selector)
		delete(selector, podName)
	}
	pods := set.PodsOf(object.PlainSelector(selector), namespace)
	for _, w := range pods.Workloads {
		switch {
		case w.Ref.Kind == "Job" || w.Ref.Kind == "CronJob":
		case single && (w.Ref.Kind != "StatefulSet" || !strings.HasPrefix(pod, w.Ref.Name+"-")):
		case single:
			w.Replicas = object.Replicas{Count: 1, Known: true, From: podName}
			workloads = append(workloads, w)
		default:
			workloads = append(workloads, w)
		}
	}
	return workloads, pods.Unknown
}

// podName is the label that the controller of a StatefulSet puts on each pod
// (https://kubernetes.io/docs/reference/labels-annotations-taints/#statefulset-kubernetes-io-pod-name).
const podName = "statefulset.kubernetes.io/pod-name"

// A shift is what becomes of a Service's endpoints when its selector changes. A
// selector counts at once, for pods that run already
// (https://kubernetes.io/docs/concepts/services-networking/service/): only pods
// that a rollout makes later carry the labels after the merge.
type shift struct {
	before, after map[string]string // the selectors
	running       []object.Workload // before the merge, reached by the selector before it
	kept          []object.Workload // those of them that the selector after it reaches too
	lost          []object.Workload // and those that it does not
	gained        []object.Workload // running, reached only by the selector after
	coming        []object.Workload // after the merge, reached by the selector after, if not kept or gained
	asleep        bool              // the selector before reaches workloads, and all are scaled to nothing
	unknown       []*object.Object  // operators that may make pods for the selector after
}

func shiftOf(p *rule.Pass, c diff.Change) shift {
	s := shift{before: c.Before.Strings("spec.selector"), after: c.After.Strings("spec.selector")}
	all, _ := reached(p.Before, c.Before.Ref.Namespace, s.before)
	s.running = withPods(all)
	s.asleep = len(all) > 0 && len(s.running) == 0
	now, _ := reached(p.Before, c.After.Ref.Namespace, s.after)
	now = withPods(now)
	later, unknown := reached(p.After, c.After.Ref.Namespace, s.after)
	s.unknown = unknown
	for _, w := range s.running {
		// The labels of a bare Pod change in place.
		if has(now, w.Ref) || w.Ref.Kind == "Pod" && has(later, w.Ref) {
			s.kept = append(s.kept, w)
		} else {
			s.lost = append(s.lost, w)
		}
	}
	for _, w := range now {
		if !has(s.running, w.Ref) {
			s.gained = append(s.gained, w)
		}
	}
	for _, w := range later {
		if !has(now, w.Ref) {
			s.coming = append(s.coming, w)
		}
	}
	return s
}

// has says whether a workload of that name is among workloads. The group does not
// matter: a Deployment of extensions is the same one in apps.
func has(workloads []object.Workload, ref object.Ref) bool {
	return slices.ContainsFunc(workloads, func(w object.Workload) bool {
		return w.Ref.Kind == ref.Kind && w.Ref.Namespace == ref.Namespace && w.Ref.Name == ref.Name
	})
}

// wasThere says the same of a set, without going through all that it holds.
func wasThere(set *object.Set, ref object.Ref) bool {
	for _, group := range []string{ref.Group, "apps", "extensions"} {
		ref.Group = group
		if _, ok := set.Workload(ref); ok {
			return true
		}
	}
	return false
}

// withPods leaves out workloads that are scaled to nothing.
func withPods(workloads []object.Workload) []object.Workload {
	var out []object.Workload
	for _, w := range workloads {
		if !w.Replicas.Known || w.Replicas.Count > 0 {
			out = append(out, w)
		}
	}
	return out
}

// podCount sums the pods of workloads; known is false when one of them depends on
// the cluster.
func podCount(workloads []object.Workload) (n int, known bool) {
	known = true
	for _, w := range workloads {
		n += w.Replicas.Count
		known = known && w.Replicas.Known
	}
	return n, known
}

// runningPods says how many pods workloads run: "140 running pods", "the running
// pods of DaemonSet prod/agent".
func runningPods(workloads []object.Workload) string {
	if n, known := podCount(workloads); known {
		return plural(n, "running pod")
	}
	return "the running pods of " + names(workloads)
}

// names lists workloads with their kinds, three at most.
func names(workloads []object.Workload) string {
	var out []string
	for _, w := range workloads {
		out = append(out, w.Ref.String())
	}
	return listed(out)
}

func refs(workloads ...[]object.Workload) []object.Ref {
	var out []object.Ref
	for _, ws := range workloads {
		for _, w := range ws {
			if !slices.Contains(out, w.Ref) {
				out = append(out, w.Ref)
			}
		}
	}
	return out
}

// rolloutOf reads how a workload replaces its pods when its template changes.
func rolloutOf(w object.Workload) impact.Rollout {
	amount := func(path string, or impact.Amount) impact.Amount {
		if a, err := impact.ParseAmount(w.At(path).String()); err == nil {
			return a
		}
		return or
	}
	var r impact.Rollout
	var strategy object.Path
	switch w.Ref.Kind {
	case "Deployment":
		strategy = "spec.strategy"
		r = impact.DefaultRollout(impact.RollingUpdate, w.Replicas.Count)
		if w.Text("spec.strategy.type") == "Recreate" {
			r.Strategy = impact.Recreate
		}
		if paused, _ := w.At("spec.paused").Bool(); paused {
			r.Strategy = impact.Still
		}
	case "StatefulSet":
		strategy = "spec.updateStrategy"
		r = impact.DefaultRollout(impact.Ordered, w.Replicas.Count)
		partition, _ := w.At("spec.updateStrategy.rollingUpdate.partition").Int()
		r.Partition = int(min(max(partition, 0), math.MaxInt32))
	case "DaemonSet":
		strategy = "spec.updateStrategy"
		r = impact.DefaultRollout(impact.PerNode, w.Replicas.Count)
	case "Rollout": // Argo's, 25 % up and 25 % down too (https://argo-rollouts.readthedocs.io/en/stable/features/specification/)
		r = impact.DefaultRollout(impact.RollingUpdate, w.Replicas.Count)
		r.MaxSurge = amount("spec.strategy.canary.maxSurge", r.MaxSurge)
		r.MaxUnavailable = amount("spec.strategy.canary.maxUnavailable", r.MaxUnavailable)
		return r
	default:
		return impact.DefaultRollout(impact.Still, w.Replicas.Count)
	}
	if w.Text(string(strategy.Key("type"))) == "OnDelete" {
		// Grafana's rollout-operator replaces the pods of its groups, one at a time
		// (https://github.com/grafana/rollout-operator#how-updates-work).
		if w.Ref.Kind != "StatefulSet" || w.Labels()["rollout-group"] == "" {
			r.Strategy = impact.Still
		} else if a, err := impact.ParseAmount(w.Annotation("rollout-max-unavailable")); err == nil {
			r.MaxUnavailable = a
		}
		return r
	}
	r.MaxSurge = amount(string(strategy.Key("rollingUpdate").Key("maxSurge")), r.MaxSurge)
	r.MaxUnavailable = amount(string(strategy.Key("rollingUpdate").Key("maxUnavailable")), r.MaxUnavailable)
	return r
}

// onlyNewPods says what happens to a Service that reaches none of the pods that
// run now, only those that coming workloads are about to make, and how bad it is.
func (s shift) onlyNewPods(p *rule.Pass, service *object.Object) (consequence string, severity rule.Severity) {
	running, known := podCount(s.lost)
	var rolling []object.Workload
	var stuck, refused []string
	wave, replicas, replaced := 0, 0, 0
	restart := true // the pods end all together in any case
	for _, w := range s.coming {
		if c, ok := changeOf(p.Unit, w.Ref); ok && c.Action == diff.Replace {
			refused = append(refused, w.Ref.String())
			continue
		}
		r := rolloutOf(w)
		if !wasThere(p.Before, w.Ref) {
			r.Strategy, restart = impact.Recreate, false // a new workload makes all its pods at once
		}
		t := r.Traffic(impact.Reach{Before: true, New: true})
		if r.Strategy == impact.Still || w.Replicas.Known && r.Replicas > 0 && t.End == 0 {
			stuck = append(stuck, stillness(w))
			continue
		}
		rolling = append(rolling, w)
		known = known && w.Replicas.Known
		wave, replicas, replaced = wave+t.FirstWave, replicas+r.Replicas, replaced+t.End
		restart = restart && (r.Strategy == impact.Recreate || r.Strategy == impact.Ordered && w.Replicas.Known && r.Replicas == 1)
	}
	severity = rule.Error
	var out []string
	ready := "is ready"
	if early, _ := service.At("spec.publishNotReadyAddresses").Bool(); early {
		ready = "has an address"
	}
	const stops = "if they fail their probes under it, the rollout stops there"
	share := impact.Share(running, wave)
	switch {
	case len(rolling) == 0:
	case !known:
		out = append(out, fmt.Sprintf("the Service has no endpoint until the first new pod %s; then the first few pods of %s take all traffic (how many pods there are depends on the cluster), and %s", ready, names(rolling), stops))
	case restart:
		if len(stuck)+len(refused) == 0 {
			severity = rule.Warning
		}
		out = append(out, fmt.Sprintf("the Service has no endpoint until the first new pod %s: if all goes well no longer than %s takes to restart, which ends all old pods first in any case", ready, names(rolling)))
	case share <= 1:
		out = append(out, fmt.Sprintf("the Service has no endpoint until the first new pod %s", ready))
	case wave == replicas:
		out = append(out, fmt.Sprintf("the Service has no endpoint until the first new pod %s; then %s take all traffic, %s their share", ready, plural(wave, "new pod"), times(share)))
	default:
		out = append(out, fmt.Sprintf("the Service has no endpoint until the first new pod %s; then the first wave of %d of %d pods takes all traffic, %s their share; %s", ready, wave, replicas, times(share), stops))
	}
	if known && replaced < replicas {
		out = append(out, fmt.Sprintf("a partition keeps %d of them old, so that no more than %d will ever serve", replicas-replaced, replaced))
	}
	if len(refused) > 0 {
		out = append(out, fmt.Sprintf("%s cannot be updated in place: the API server refuses it, its pods keep their labels, and the Service has no endpoint until somebody deletes and creates it again", listed(refused)))
	}
	return strings.Join(append(out, stuck...), "; "), severity
}

// stillness says why a workload makes no new pods by itself.
func stillness(w object.Workload) string {
	switch {
	case w.Ref.Kind == "Deployment":
		return fmt.Sprintf("%s is paused, so no new pod comes and the Service has no endpoint until it is resumed", w.Ref)
	case w.Ref.Kind == "StatefulSet" && w.Text("spec.updateStrategy.type") != "OnDelete":
		return fmt.Sprintf("the partition of %s keeps all its %s old, so the Service has no endpoint until the partition is lowered", w.Ref, plural(w.Replicas.Count, "pod"))
	}
	return fmt.Sprintf("%s does not replace its pods by itself, so the Service has no endpoint until somebody deletes them", w.Ref)
}

// changeOf finds the change of an object in a unit.
func changeOf(u *rule.Unit, ref object.Ref) (diff.Change, bool) {
	i, ok := slices.BinarySearchFunc(u.Changes, ref, func(c diff.Change, ref object.Ref) int { return c.Ref.Compare(ref) })
	if !ok {
		return diff.Change{}, false
	}
	return u.Changes[i], true
}

// gains gives the keys of after that are not in before or have another value.
func gains(before, after map[string]string) map[string]string {
	out := make(map[string]string)
	for k, v := range after {
		if old, ok := before[k]; !ok || old != v {
			out[k] = v
		}
	}
	return out
}

// labelText writes labels as selectors are written on a command line, "a=b,c=d".
func labelText(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ",")
}

// plural counts things: "1 pod", "3 pods".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// become says what a number of things turns to: "1 pod becomes 4", "3 pods become 4".
func become[N int | int64](n int, thing string, now N) string {
	if n == 1 {
		return fmt.Sprintf("1 %s becomes %d", thing, now)
	}
	return fmt.Sprintf("%d %ss become %d", n, thing, now)
}

// times writes a factor with two digits at most: "8.75 times".
func times(f float64) string {
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64) + " times"
}

// listed joins names, the first three of them where there are more.
func listed(items []string) string {
	const most = 3
	switch n := len(items); {
	case n == 0:
		return ""
	case n == 1:
		return items[0]
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), n-most)
	default:
		return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
	}
}

// withCount names workloads with their pods: "Deployment prod/web (3 pods)".
func withCount(workloads []object.Workload) string {
	var out []string
	for _, w := range workloads {
		if w.Replicas.Known {
			out = append(out, fmt.Sprintf("%s (%s)", w.Ref, plural(w.Replicas.Count, "pod")))
		} else {
			out = append(out, w.Ref.String())
		}
	}
	return listed(out)
}

// noneCarries says that no running pod has the labels, with their number.
func noneCarries(workloads []object.Workload, labels int) string {
	what := "it"
	if labels > 1 {
		what = "them"
	}
	switch n, known := podCount(workloads); {
	case !known:
		return fmt.Sprintf("no running pod of %s carries %s", names(workloads), what)
	case n == 1:
		return fmt.Sprintf("the one running pod of %s does not carry %s", names(workloads), what)
	default:
		return fmt.Sprintf("none of the %d running pods carries %s", n, what)
	}
}

// podsNow counts the pods that a Service reaches as far as is known.
func podsNow(s shift) int {
	n, _ := podCount(s.running)
	if len(s.before) == 0 {
		n, _ = podCount(s.gained)
	}
	return n
}

// fewer says what the pods that a Service keeps must bear.
func fewer(s shift) string {
	n, known := podCount(s.running)
	kept, _ := podCount(s.kept)
	if share := impact.Share(n, kept); known && share > 1 {
		return fmt.Sprintf("%s take the traffic of %d, %s their share", withCount(s.kept), n, times(share))
	}
	return fmt.Sprintf("%s take all traffic", withCount(s.kept))
}

// joinShare says how much of the traffic goes to the pods that join.
func joinShare(s shift, joining []object.Workload) string {
	n, known := podCount(s.running)
	m, alsoKnown := podCount(joining)
	if !known || !alsoKnown || n+m == 0 {
		return "they get requests at once, whether they can answer them or not"
	}
	return fmt.Sprintf("%d of 100 requests go to them at once, whether they can answer or not", int(math.Round(100*float64(m)/float64(n+m))))
}

// whoMakesPods says why the pods of a Service are unknown.
func (s shift) whoMakesPods() string {
	if len(s.unknown) == 0 {
		return "no workload here makes pods for this Service"
	}
	var out []string
	for _, o := range s.unknown {
		out = append(out, o.Ref.String())
	}
	return listed(out) + " may make pods for it"
}

func (s shift) unknownRefs() []object.Ref {
	var out []object.Ref
	for _, o := range s.unknown {
		out = append(out, o.Ref)
	}
	return out
}
