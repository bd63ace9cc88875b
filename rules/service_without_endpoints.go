package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceWithoutEndpoints reports a Service that reaches pods before the merge
// and will reach none after it, whichever side of the two was changed.
var ServiceWithoutEndpoints = &rule.Rule{
	ID:       "service-without-endpoints",
	Title:    "A Service matches no pod any more",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
A Service without ready endpoints refuses or drops every connection, while its name still resolves and every pod is healthy. It
happens from both sides: the selector asks for what no pod template has, or the pods lose a label, move to another namespace or
disappear while the Service stays. When the selector changes it happens at the moment of the merge; when the pods change, traffic
crowds on the old pods that are left until the rollout has replaced the last.

Pods that an operator makes are not in the tree. Where a Service reached no workload of the tree before, nothing is said here.`,
	Advice: `Compare the selector with the labels of the pod template (not of the Deployment), character by character, and the namespaces. When a
workload is to go, take its Service out of whatever names it first, then remove both together. When pods get new labels, let them
carry the old ones too until the selector has followed.`,
	Incidents: []string{"monzo-2017"},
	Kinds: []string{"Service", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps",
		"ReplicationController", "Rollout.argoproj.io", "Pod"},
	Actions: []diff.Action{diff.Update, diff.Replace, diff.Rename, diff.Delete},
	Check:   checkServiceWithoutEndpoints,
}

func checkServiceWithoutEndpoints(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind != "Service" {
		checkWorkloadLeavesService(p, c)
		return
	}
	if c.After == nil || isExternalName(c) {
		return
	}
	s := shiftOf(p, c)
	if len(s.after) == 0 || len(gains(s.before, s.after)) == 0 || len(s.running) == 0 {
		return
	}
	if len(s.kept)+len(s.gained)+len(s.coming) > 0 {
		return
	}
	if len(s.unknown) > 0 {
		p.Report(c, rule.Finding{
			Path:        "spec.selector",
			Severity:    rule.Warning,
			Message:     fmt.Sprintf("selector %s matches no pod that the manifests tell of: %s", labelText(s.after), mismatch(p, c, s)),
			Consequence: fmt.Sprintf("unless %s, the Service has no endpoint from the moment of the merge", s.whoMakesPods()),
			Related:     append(refs(s.lost), s.unknownRefs()...),
		})
		return
	}
	p.Report(c, rule.Finding{
		Path:        "spec.selector",
		Message:     fmt.Sprintf("selector %s matches no pod, before or after a rollout: %s", labelText(s.after), mismatch(p, c, s)),
		Consequence: fmt.Sprintf("from the moment of the merge the Service has no endpoint; it has %s now", plural(podsNow(s), "endpoint")),
		Related:     refs(s.lost),
	})
}

// checkWorkloadLeavesService reports a workload that was all that a Service had.
func checkWorkloadLeavesService(p *rule.Pass, c diff.Change) {
	w, ok := object.AsWorkload(c.Before)
	if !ok {
		return
	}
	for _, was := range p.Before.ServicesFor(w.Ref) {
		service := p.After.Get(was.Ref)
		if service == nil || service.Text("spec.type") == "ExternalName" {
			continue
		}
		// With another selector it may not reach the pods that run either. Then its
		// own change tells it.
		selector := service.Strings("spec.selector")
		running, _ := reached(p.Before, service.Ref.Namespace, selector)
		running = withPods(running)
		later, unknown := reached(p.After, service.Ref.Namespace, selector)
		if !has(running, w.Ref) || len(later)+len(unknown) > 0 {
			continue
		}
		// Several workloads may leave at once. The first one tells it.
		if running[0].Ref == w.Ref {
			p.Report(c, leaves(c, service, running))
		}
	}
}

func leaves(c diff.Change, service *object.Object, before []object.Workload) rule.Finding {
	f := rule.Finding{Related: append([]object.Ref{service.Ref}, refs(before)[1:]...)}
	switch {
	case c.Action == diff.Delete:
		f.Message = fmt.Sprintf("%s goes, and nothing else matches %s, which stays", withCount(before), service.Ref)
		f.Consequence = "the Service still resolves and has no endpoint: connections are refused or time out"
		return f
	case c.Before.Ref.Namespace != c.After.Ref.Namespace:
		f.Path = "metadata.namespace"
		f.Message = fmt.Sprintf("the pods move to namespace %s, and %s stays without them", c.After.Ref.Namespace, service.Ref)
		f.Consequence = "a Service reaches pods of its own namespace only"
		return f
	}
	after, _ := object.AsWorkload(c.After)
	f.Path = after.Template.Key("metadata").Key("labels")
	lost := gains(after.PodLabels, service.Strings("spec.selector"))
	f.Message = fmt.Sprintf("new pods do not carry %s, which %s asks for, and nothing else matches it", labelText(lost), service.Ref)
	t := rolloutOf(after).Traffic(impact.Reach{Before: true, Old: true})
	switch n, known := podCount(before); {
	case !known:
		f.Consequence = "traffic crowds on the old pods until the rollout has replaced the last of them; then the Service has no endpoint"
	case t.End > 0:
		f.Consequence = fmt.Sprintf("%s of %d stay old and take all traffic, %s their share", plural(t.End, "pod"), n, times(impact.Share(n, t.End)))
	default:
		f.Consequence = fmt.Sprintf("the rollout leaves ever fewer old pods to serve, %s once the first wave of %d is ready, and none in the end", plural(t.First, "pod"), t.FirstWave)
	}
	return f
}

// mismatch says what keeps the workload that comes closest from matching.
func mismatch(p *rule.Pass, c diff.Change, s shift) string {
	w := s.lost[0]
	if after := p.After.Get(w.Ref); after != nil {
		if x, ok := object.AsWorkload(after); ok {
			w = x
		}
	}
	if w.Ref.Namespace != c.After.Ref.Namespace {
		return fmt.Sprintf("%s is in namespace %s", w.Ref, w.Ref.Namespace)
	}
	var parts []string
	missing := gains(w.PodLabels, s.after)
	for k := range missing {
		if v, ok := w.PodLabels[k]; ok {
			parts = append(parts, fmt.Sprintf("%s=%s", k, v))
		} else {
			parts = append(parts, "no "+k)
		}
	}
	slices.Sort(parts)
	return fmt.Sprintf("pods of %s have %s", w.Ref, listed(parts))
}
