package tanka

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/render/jsonnet"
)

// clusterWide are the kinds that Tanka knows to have no namespace, whatever their
// group. Others that have none, IngressClass among them, are given one; the API
// server ignores it.
var clusterWide = set(
	"APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ComponentStatus", "CSIDriver",
	"CSINode", "CustomResourceDefinition", "MutatingWebhookConfiguration", "Namespace", "Node", "NodeMetrics",
	"PersistentVolume", "PodSecurityPolicy", "PriorityClass", "RuntimeClass", "SelfSubjectAccessReview",
	"SelfSubjectRulesReview", "StorageClass", "SubjectAccessReview", "TokenReview",
	"ValidatingWebhookConfiguration", "VolumeAttachment",
)

// order is how Tanka sorts kinds; others follow.
var order = positions(
	"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
	"ServiceAccount", "Secret", "ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim",
	"CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding", "ClusterRoleBindingList",
	"Role", "RoleList", "RoleBinding", "RoleBindingList", "Service", "DaemonSet", "Pod", "ReplicationController",
	"ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "Ingress", "APIService",
)

const (
	namespacedAnnotation = "tanka.dev/namespaced"
	environmentLabel     = "tanka.dev/environment"
)

func set(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

func positions(names ...string) map[string]int {
	out := make(map[string]int, len(names))
	for i, n := range names {
		out[n] = i
	}
	return out
}

// process does to the manifests of an environment what Tanka does, in its order:
// default namespace, environment label, defaults, targets, sorting. It changes
// the manifests in place.
func (l *loader) process(e environment) ([]jsonnet.Manifest, error) {
	label := ""
	if e.env.Spec.InjectLabels {
		var err error
		if label, err = e.env.label(); err != nil {
			return nil, fmt.Errorf("%s: %w", l.project.entry, err)
		}
	}
	out := e.manifests[:0:0]
	for _, m := range e.manifests {
		setNamespace(m, e.env.Spec.Namespace)
		if label != "" {
			entries(m, "labels")[environmentLabel] = label
		}
		addDefaults(m, "annotations", e.env.Spec.ResourceDefaults.Annotations)
		addDefaults(m, "labels", e.env.Spec.ResourceDefaults.Labels)
		if l.targets.match(m) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, compareManifests)
	return out, nil
}

func setNamespace(m jsonnet.Manifest, namespace string) {
	if namespace == "" {
		return
	}
	meta := m.Meta()
	annotations, _ := meta["annotations"].(map[string]any)
	namespaced := !clusterWide[m.Kind()]
	if v, ok := annotations[namespacedAnnotation].(string); ok {
		namespaced = v == "true"
	}
	if _, ok := meta["namespace"].(string); namespaced && !ok {
		meta["namespace"] = namespace
	}
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
}

// entries gives the labels or annotations of m, made when there are none.
func entries(m jsonnet.Manifest, field string) map[string]any {
	meta := m.Meta()
	values, ok := meta[field].(map[string]any)
	if !ok {
		values = map[string]any{}
		meta[field] = values
	}
	return values
}

func addDefaults(m jsonnet.Manifest, field string, defaults map[string]string) {
	if len(defaults) == 0 {
		return
	}
	values := entries(m, field)
	for k, v := range defaults {
		if _, ok := values[k]; !ok {
			values[k] = v
		}
	}
}

func compareManifests(a, b jsonnet.Manifest) int {
	return cmp.Or(
		cmp.Compare(position(a.Kind()), position(b.Kind())),
		strings.Compare(a.Kind(), b.Kind()),
		strings.Compare(metaText(a, "namespace"), metaText(b, "namespace")),
		strings.Compare(a.Name(), b.Name()),
		strings.Compare(metaText(a, "generateName"), metaText(b, "generateName")),
	)
}

func position(kind string) int {
	if p, ok := order[kind]; ok {
		return p
	}
	return len(order)
}

func metaText(m jsonnet.Manifest, field string) string {
	s, _ := m.Meta()[field].(string)
	return s
}

// targets are the expressions of -t.
type targets struct{ include, exclude []*regexp.Regexp }

func parseTargets(expressions []string) (targets, error) {
	var t targets
	for _, list := range expressions {
		for _, expr := range strings.Split(list, ",") {
			body, negative := strings.CutPrefix(expr, "!")
			re, err := regexp.Compile("(?i)^" + body + "$")
			if err != nil {
				return t, fmt.Errorf("target %q: %w", expr, err)
			}
			if negative {
				t.exclude = append(t.exclude, re)
			} else {
				t.include = append(t.include, re)
			}
		}
	}
	return t, nil
}

// match says whether a manifest is wanted. As in Tanka, an expression that
// excludes includes everything else: beside one, those that include have no
// effect.
func (t targets) match(m jsonnet.Manifest) bool {
	name := m.Kind() + "/" + m.Name()
	matches := func(re *regexp.Regexp) bool { return re.MatchString(name) }
	if slices.ContainsFunc(t.exclude, matches) {
		return false
	}
	return len(t.include) == 0 || len(t.exclude) > 0 || slices.ContainsFunc(t.include, matches)
}
