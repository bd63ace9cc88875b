package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// NamespaceLabelsChanged reports labels and annotations of a Namespace that policies,
// webhooks and injectors go by.
var NamespaceLabelsChanged = &rule.Rule{
	ID:       "namespace-labels-changed",
	Title:    "A Namespace loses or changes a label that policies, webhooks or injectors go by",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
Labels of a namespace decide what others do to all its pods: a network policy lets them in, a webhook leaves them alone, a mesh gives them a
sidecar, pod security refuses them. Running pods keep what they have; it shows when the next pod starts, at the next rollout or node replacement,
and then for all workloads of the namespace. Network policies and webhooks go by the new labels at once.

When a Namespace is written down for the first time, what it already has in the cluster and the manifest lacks may be removed with it. That cannot
be seen here.`,
	Advice: `Find out who asks for the label before it goes (the finding names those in the change; webhooks and policies of other repositories:
` + "`kubectl get networkpolicy,validatingwebhookconfiguration,mutatingwebhookconfiguration -A -o yaml | grep KEY`" + `). Try pod security with
pod-security.kubernetes.io/warn and audit first. Restart one workload right after the change, to see what the next start brings.`,
	Incidents: []string{"moj-namespace-label-2020", "dfds-nsannotation-2021"},
	CheckAll:  checkNamespaceLabelsChanged,
}

func checkNamespaceLabelsChanged(l *rule.Fleet) {
	var selections []namespaceSelection
	looked := false
	for _, u := range l.Units {
		for _, c := range u.Changes {
			if c.Ref.GroupKind() != "Namespace" || c.Before == nil || c.After == nil || c.Action == diff.Rename {
				continue
			}
			if !looked {
				looked = true
				for _, v := range l.Units {
					selections = append(selections, namespaceSelections(v.After)...)
				}
			}
			reportNamespaceLabels(l, u, c, selections)
		}
	}
}

func reportNamespaceLabels(l *rule.Fleet, u *rule.Unit, c diff.Change, selections []namespaceSelection) {
	for _, field := range c.Fields {
		if field.Hidden != "" {
			continue
		}
		segments := field.Path.Segments()
		if len(segments) < 3 || segments[0].Key != "metadata" || segments[1].Key != "labels" && segments[1].Key != "annotations" {
			continue
		}
		key, label := segments[2].Key, segments[1].Key == "labels"
		was, now := field.Before.Text(), field.After.Text()
		f := rule.Finding{Path: field.Path, Message: fmt.Sprintf("%s: %s", key, change(segments[1].Key[:len(segments[1].Key)-1], was, now))}
		if label {
			asked := false
			for _, s := range selections {
				if !s.asks(key) {
					continue
				}
				matched, matches := s.selector.Matches(namedLabels(c.Before)), s.selector.Matches(namedLabels(c.After))
				if matched == matches {
					continue
				}
				asked = true
				verb := "no longer selects"
				if matches {
					verb = "selects"
				}
				f.Consequence = joined(f.Consequence, fmt.Sprintf("%s (%s) %s the namespace", s.from.Ref, s.path, verb))
				f.Related = append(f.Related, s.from.Ref)
			}
			if asked {
				l.Report(u, c, f)
				continue
			}
		}
		if text, severity := labelMeans(u, c, key, was, now); text != "" {
			f.Consequence, f.Severity = text, severity
			l.Report(u, c, f)
			continue
		}
		if field.Op == diff.Remove && !strings.HasPrefix(key, "app.kubernetes.io/") && !strings.HasPrefix(key, "helm.sh/") && !strings.HasPrefix(key, "argocd.argoproj.io/") {
			f.Severity = rule.Note
			f.Consequence = "nothing in these manifests asks for it; policies and webhooks of other repositories may"
			l.Report(u, c, f)
		}
	}
}

// namedLabels are the labels of a namespace with the one that the API server adds.
func namedLabels(o *object.Object) map[string]string {
	labels := o.Labels()
	labels["kubernetes.io/metadata.name"] = o.Ref.Name
	return labels
}

// joined puts two statements side by side.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// strictness orders the levels of pod security
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
var strictness = map[string]int{"": 0, "privileged": 0, "baseline": 1, "restricted": 2}

// labelMeans says what a well-known label or annotation of a namespace does.
func labelMeans(u *rule.Unit, c diff.Change, key, was, now string) (string, rule.Severity) {
	pods := "its pods"
	var here []object.Workload
	for _, w := range u.After.Workloads() {
		if w.Ref.Namespace == c.Ref.Name {
			here = append(here, w)
		}
	}
	if len(here) > 0 {
		pods = "the pods of " + names(here)
	}
	switch key {
	case "pod-security.kubernetes.io/enforce":
		if strictness[now] <= strictness[was] {
			return fmt.Sprintf("pods of level %s are let in from now on", orText(now, "privileged")), rule.Note
		}
		text := fmt.Sprintf("pods that do not fit %s are refused when they are made again; those that run stay until then", now)
		var refused []object.Workload
		for _, w := range here {
			if violates(w, now) {
				refused = append(refused, w)
			}
		}
		if len(refused) > 0 {
			return fmt.Sprintf("%s; the pods of %s do not fit, and none of them can be made again", text, names(refused)), rule.Error
		}
		return text, rule.Warning
	case "istio-injection", "istio.io/rev":
		if now == "" || now == "disabled" {
			return fmt.Sprintf("%s get no sidecar at their next start: no mTLS, routes or retries of the mesh, and peers that demand mTLS refuse them", pods), rule.Warning
		}
		return fmt.Sprintf("%s get a sidecar, or that of another revision, at their next start", pods), rule.Warning
	case "linkerd.io/inject":
		return fmt.Sprintf("whether %s get a proxy changes at their next start", pods), rule.Warning
	case "scheduler.alpha.kubernetes.io/node-selector", "openshift.io/node-selector", "scheduler.alpha.kubernetes.io/defaultTolerations":
		return fmt.Sprintf("%s go to other nodes at their next start, or find none", pods), rule.Warning
	case "iam.amazonaws.com/permitted", "iam.amazonaws.com/allowed-roles":
		return fmt.Sprintf("%s may take other cloud roles, or none", pods), rule.Warning
	case "openshift.io/sa.scc.uid-range", "openshift.io/sa.scc.supplemental-groups", "openshift.io/sa.scc.mcs":
		return fmt.Sprintf("%s run as other users at their next start, and may not read their volumes", pods), rule.Warning
	case "openpolicyagent.org/webhook", "admission.gatekeeper.sh/ignore", "control-plane", "kyverno.io/ignore":
		if now == "" {
			return "the label keeps policy webhooks away; without it they judge every pod of the namespace, in an emergency too", rule.Warning
		}
	}
	return "", 0
}

// violates says whether pods of w certainly do not fit a level of pod security. Only
// what is plainly written is looked at.
func violates(w object.Workload, level string) bool {
	for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if on, _ := w.PodSpec.Field(key).Bool(); on {
			return true
		}
	}
	for _, v := range w.PodSpec.Field("volumes").Items() {
		if v.Field("hostPath").Exists() {
			return true
		}
	}
	podNonRoot, _ := w.PodSpec.At("securityContext.runAsNonRoot").Bool()
	for _, c := range w.Containers() {
		if privileged, _ := c.At("securityContext.privileged").Bool(); privileged {
			return true
		}
		for _, p := range c.At("ports").Items() {
			if n, ok := p.Field("hostPort").Int(); ok && n != 0 {
				return true
			}
		}
		if level != "restricted" {
			continue
		}
		nonRoot, written := c.At("securityContext.runAsNonRoot").Bool()
		if !written && !podNonRoot || written && !nonRoot {
			return true
		}
		if escalates, ok := c.At("securityContext.allowPrivilegeEscalation").Bool(); !ok || escalates {
			return true
		}
	}
	return false
}
