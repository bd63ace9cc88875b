package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RBACGroupMisspelt reports a rule of a role that names a resource in a group that
// does not have it.
var RBACGroupMisspelt = &rule.Rule{
	ID:       "rbac-group-misspelt",
	Title:    "A role names a resource under an API group that does not have it",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
The API server takes any words in a rule: deployments in the core group, or ingresses in apps, is no error and allows nothing. Programs that
work on one cluster because of another binding fail on the next one.

Only rules that this change brings are looked at, and only resources that come with Kubernetes. Groups that Kubernetes had before, such as
extensions, count as right.`,
	Advice:  "Look up the group with `kubectl api-resources`, and test with `kubectl auth can-i VERB RESOURCE.GROUP --as=...`.",
	Kinds:   []string{roleKind, clusterRoleKind},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkRBACGroupMisspelt,
}

// resourceGroups gives the groups, past ones too, of the resources that come with
// Kubernetes, "core" for the core group
// (https://kubernetes.io/docs/reference/kubernetes-api/).
var resourceGroups = func() map[string][]string {
	out := map[string][]string{}
	for group, resources := range map[string]string{
		"core":                         "pods services endpoints configmaps secrets nodes namespaces persistentvolumes persistentvolumeclaims serviceaccounts replicationcontrollers resourcequotas limitranges events",
		"apps":                         "deployments daemonsets statefulsets replicasets controllerrevisions",
		"extensions":                   "deployments daemonsets replicasets ingresses networkpolicies podsecuritypolicies",
		"batch":                        "jobs cronjobs",
		"networking.k8s.io":            "ingresses ingressclasses networkpolicies",
		"policy":                       "poddisruptionbudgets podsecuritypolicies",
		"autoscaling":                  "horizontalpodautoscalers",
		"rbac.authorization.k8s.io":    "roles clusterroles rolebindings clusterrolebindings",
		"storage.k8s.io":               "storageclasses volumeattachments csinodes csidrivers csistoragecapacities",
		"coordination.k8s.io":          "leases",
		"discovery.k8s.io":             "endpointslices",
		"events.k8s.io":                "events",
		"scheduling.k8s.io":            "priorityclasses",
		"apiextensions.k8s.io":         "customresourcedefinitions",
		"apiregistration.k8s.io":       "apiservices",
		"admissionregistration.k8s.io": "validatingwebhookconfigurations mutatingwebhookconfigurations",
		"metrics.k8s.io":               "pods nodes",
		"authentication.k8s.io":        "tokenreviews",
		"authorization.k8s.io":         "subjectaccessreviews localsubjectaccessreviews selfsubjectaccessreviews",
	} {
		for _, r := range strings.Fields(resources) {
			out[r] = append(out[r], group)
		}
	}
	for _, groups := range out {
		slices.Sort(groups)
	}
	return out
}()

func checkRBACGroupMisspelt(p *rule.Pass, c diff.Change) {
	var was []grant
	if c.Before != nil {
		was, _ = grants(c.Before)
	}
	had := map[[2]string]bool{}
	for _, g := range was {
		had[[2]string{g.group, g.resource}] = true
	}
	builtIn := func(group string) bool {
		for _, groups := range resourceGroups {
			if slices.Contains(groups, orText(group, "core")) {
				return true
			}
		}
		return false
	}
	for i, r := range c.After.At("rules").Items() {
		groups := r.Field("apiGroups").Texts()
		if slices.Contains(groups, "*") {
			continue
		}
		for _, resource := range r.Field("resources").Texts() {
			main, _, _ := strings.Cut(resource, "/")
			right := resourceGroups[main]
			if right == nil || slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(right, orText(g, "core")) || !builtIn(g) }) {
				continue
			}
			if len(groups) == 0 || had[[2]string{groups[0], resource}] {
				continue
			}
			p.Reportf(c, object.Path("rules").Index(i).Key("apiGroups"), "%s is named under the group %q, which does not have it: its group is %s",
				resource, strings.Join(groups, ", "), quotedGroups(right))
		}
	}
}

func quotedGroups(groups []string) string {
	var out []string
	for _, g := range groups {
		switch g {
		case "core":
			out = append(out, `"" (core)`)
		case "extensions":
		default:
			out = append(out, fmt.Sprintf("%q", g))
		}
	}
	return strings.Join(out, " or ")
}
