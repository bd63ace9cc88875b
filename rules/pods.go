package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it pairs workloads, containers and probes of both sides, for
// the rules about pods.

// scaledKinds are workloads with a number of pods that is written down; podKinds
// are those and the others that make pods.
var (
	scaledKinds = []string{"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "ReplicationController",
		"Rollout.argoproj.io", "CloneSet.apps.kruise.io"}
	servingKinds = []string{"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "ReplicationController",
		"Rollout.argoproj.io", "CloneSet.apps.kruise.io", "DaemonSet.apps", "DaemonSet.apps.kruise.io", "Service.serving.knative.dev"}
	podKinds = []string{"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "ReplicationController",
		"Rollout.argoproj.io", "CloneSet.apps.kruise.io", "DaemonSet.apps", "DaemonSet.apps.kruise.io", "Service.serving.knative.dev",
		"Job.batch", "CronJob.batch", "Pod"}
)

// updates are the actions with an object on both sides.
var updates = []diff.Action{diff.Update, diff.Replace, diff.Rename}

// touched says whether a difference that is not noise has one of the words in its
// path, or is a container as a whole. It costs little, and most changes end there
// for most rules. What comes or goes with all that is below it is one difference,
// so that the words are those of its parents too.
func touched(c diff.Change, words ...string) bool {
	for _, f := range c.Fields {
		if f.Hidden != "" {
			continue
		}
		path := string(f.Path)
		for _, word := range words {
			if strings.Contains(path, word) {
				return true
			}
		}
		if i := strings.LastIndex(path, "ontainers["); i >= 0 && strings.IndexByte(path[i:], ']') == len(path)-i-1 {
			return true
		}
	}
	return false
}

// bothWorkloads gives the workload on both sides, with what its set knows of it.
func bothWorkloads(p *rule.Pass, c diff.Change) (before, after object.Workload, ok bool) {
	before, ok = p.Before.Workload(c.Before.Ref)
	if !ok {
		return before, after, false
	}
	after, ok = p.After.Workload(c.After.Ref)
	return before, after, ok
}

// A containerPair is a container on both sides.
type containerPair struct{ before, after object.Container }

// pairContainers pairs containers by name, and one that is left over on each side
// with the other: it was renamed. Ephemeral ones are left out.
func pairContainers(before, after object.Workload) []containerPair {
	var pairs []containerPair
	var gone, come []object.Container
	for _, b := range before.Containers() {
		if b.Kind == object.EphemeralContainer {
			continue
		}
		if a, ok := after.Container(b.Name); ok {
			pairs = append(pairs, containerPair{b, a})
		} else if b.Kind == object.MainContainer {
			gone = append(gone, b)
		}
	}
	for _, a := range after.Containers() {
		if _, ok := before.Container(a.Name); !ok && a.Kind == object.MainContainer {
			come = append(come, a)
		}
	}
	if len(gone) == 1 && len(come) == 1 {
		pairs = append(pairs, containerPair{gone[0], come[0]})
	}
	return pairs
}

// templateChanged says whether a change brings new pods.
func templateChanged(c diff.Change, w object.Workload) bool {
	for _, f := range c.Fields {
		if f.Hidden == "" && strings.HasPrefix(string(f.Path), string(w.Template)+".") {
			return true
		}
	}
	return false
}

// A probe is a probe with the defaults of the API server
// (https://kubernetes.io/docs/concepts/workloads/pods/probes/).
type probe struct {
	object.Value
	delay, period, timeout, failures int64 // seconds, seconds, seconds, count
}

func probeOf(v object.Value) probe {
	number := func(field string, or int64) int64 {
		if n, ok := v.Field(field).Int(); ok && n > 0 {
			return n
		}
		return or
	}
	return probe{v, number("initialDelaySeconds", 0), number("periodSeconds", 10), number("timeoutSeconds", 1), number("failureThreshold", 3)}
}

// budget is how long a container that answers nothing is left alone once it runs:
// until the last probe that may fail.
func (p probe) budget() int64 { return p.period * p.failures }

// startup is how long a container may take until the probe that guards its start
// gives up, from the moment of its start; 0 when nothing limits it.
func startup(c object.Container) (seconds int64, kind string) {
	for _, kind := range []string{"startupProbe", "livenessProbe"} {
		if v := c.At(kind); v.Exists() {
			p := probeOf(v)
			return p.delay + p.budget(), kind
		}
	}
	return 0, ""
}

// handler gives the check of a probe: "httpGet", "tcpSocket", "grpc" or "exec" and
// its settings.
func (p probe) handler() (kind string, settings object.Value) {
	for _, kind := range []string{"httpGet", "tcpSocket", "grpc", "exec"} {
		if v := p.Field(kind); v.Exists() {
			return kind, v
		}
	}
	return "", object.Value{}
}

// probeText writes what a probe does: "httpGet :8080/ready", "exec pg_isready".
func probeText(p probe) string {
	kind, v := p.handler()
	switch kind {
	case "exec":
		return kind + " " + shortened(strings.Join(v.Field("command").Texts(), " "), 60)
	case "httpGet":
		path := v.Field("path").Text()
		if path == "" {
			path = "/"
		}
		return fmt.Sprintf("%s %s:%s%s", kind, v.Field("host").Text(), v.Field("port"), path)
	case "grpc", "tcpSocket":
		text := fmt.Sprintf("%s %s:%s", kind, v.Field("host").Text(), v.Field("port"))
		if s := v.Field("service").Text(); s != "" {
			text += " " + s
		}
		return text
	}
	return "nothing"
}

// shortened cuts a text to a length, with dots in place of what is left out.
func shortened(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-3]) + "..."
}

// serving names the Services of the unit that send traffic to a workload's pods.
func serving(set *object.Set, w object.Workload) []object.Ref {
	var out []object.Ref
	for _, s := range set.ServicesFor(w.Ref) {
		out = append(out, s.Ref)
	}
	return out
}

func refNames(refs []object.Ref) string {
	var out []string
	for _, r := range refs {
		out = append(out, r.String())
	}
	return listed(out)
}

// podsOf says what pods a workload runs: "3 pods", "its pods".
func podsOf(w object.Workload) string {
	switch {
	case w.Replicas.From == "one per node":
		return "a pod per node"
	case !w.Replicas.Known:
		return "its pods"
	}
	return plural(w.Replicas.Count, "pod")
}

// stillNamed adds who names a Service after the merge.
func stillNamed(u *rule.Unit, service object.Ref, says []string, related []object.Ref) ([]string, []object.Ref) {
	var users []portUser
	for _, r := range u.After.RoutesTo(service) {
		users = append(users, portUser{r.From.Ref, r.Path})
	}
	for _, m := range u.After.Mentions(service.Namespace, service.Name) {
		if !slices.ContainsFunc(users, func(x portUser) bool { return x.ref == m.From.Ref }) {
			users = append(users, portUser{m.From.Ref, m.Path})
		}
	}
	if len(users) == 0 {
		return says, related
	}
	text, more := named(users)
	return append(says, fmt.Sprintf("%s still names %s", text, service)), append(related, more...)
}

// successor finds the workload of another kind that a unit gains under the name of
// one that it loses.
func successor(u *rule.Unit, gone object.Ref) (object.Workload, bool) {
	for _, groupKind := range append([]string{"CronJob.batch"}, servingKinds...) {
		ref := gone
		ref.Kind, ref.Group, _ = strings.Cut(groupKind, ".")
		if ref.Kind == gone.Kind {
			continue // another group of the same kind is the same workload
		}
		if c, ok := changeOf(u, ref); ok && c.Action == diff.Create {
			return u.After.Workload(ref)
		}
	}
	return object.Workload{}, false
}

// account is the ServiceAccount of a workload's pods.
func account(w object.Workload) object.Ref {
	name := w.PodSpec.Field("serviceAccountName").Text()
	if name == "" {
		name = w.PodSpec.Field("serviceAccount").Text()
	}
	if name == "" {
		name = "default"
	}
	return object.Ref{Unit: w.Ref.Unit, Kind: "ServiceAccount", Namespace: w.Ref.Namespace, Name: name}
}

// hasVolume says whether a container mounts a claim.
func hasVolume(p *rule.Pass, w object.Workload, box object.Container) bool {
	claims := map[string]bool{}
	for _, v := range w.PodSpec.Field("volumes").Items() {
		claims[v.Field("name").Text()] = v.Field("persistentVolumeClaim").Exists() || v.Field("hostPath").Exists()
	}
	for _, v := range w.At("spec.volumeClaimTemplates").Items() {
		claims[v.At("metadata.name").Text()] = true
	}
	for _, m := range box.At("volumeMounts").Items() {
		if claims[m.Field("name").Text()] {
			return true
		}
	}
	return false
}
