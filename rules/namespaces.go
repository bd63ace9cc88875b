package rules

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it says who selects namespaces by their labels.

// inNamespace gives the objects of a set in a namespace, in order.
func inNamespace(set *object.Set, namespace string) []*object.Object {
	var out []*object.Object
	for _, o := range set.All() {
		if o.Ref.Namespace == namespace && namespace != "" {
			out = append(out, o)
		}
	}
	return out
}

// A namespaceSelection is a place that selects namespaces by labels.
type namespaceSelection struct {
	from     *object.Object
	path     object.Path
	selector object.LabelSelector
	keys     []string
}

// selectingKinds are kinds with selectors of namespaces anywhere in them.
var selectingKinds = []string{
	"NetworkPolicy.networking.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io", "MutatingWebhookConfiguration.admissionregistration.k8s.io",
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io", "Prometheus.monitoring.coreos.com", "PrometheusAgent.monitoring.coreos.com",
	"Alertmanager.monitoring.coreos.com", "ThanosRuler.monitoring.coreos.com", "Gateway.gateway.networking.k8s.io", "ClusterExternalSecret.external-secrets.io",
	"Sidecar.networking.istio.io", "Deployment.apps", "StatefulSet.apps",
}

// namespaceSelections finds selectors of namespaces in a set.
func namespaceSelections(set *object.Set) []namespaceSelection {
	var out []namespaceSelection
	for _, kind := range selectingKinds {
		for _, o := range set.Kind(kind) {
			found := func(path object.Path, v object.Value) {
				s := namespaceSelection{from: o, path: path, selector: v.Selector(), keys: v.Field("matchLabels").Keys()}
				for _, e := range v.Field("matchExpressions").Items() {
					s.keys = append(s.keys, e.Field("key").Text())
				}
				if len(s.keys) > 0 {
					out = append(out, s)
				}
			}
			if _, isWorkload := object.AsWorkload(o); isWorkload {
				findNamespaceSelectors(o.At("spec.template.spec.affinity"), "spec.template.spec.affinity", found)
			} else {
				findNamespaceSelectors(o.Root(), "", found)
			}
		}
	}
	return out
}

// findNamespaceSelectors looks for fields such as namespaceSelector,
// serviceMonitorNamespaceSelector, and from of a Gateway's allowed routes.
func findNamespaceSelectors(v object.Value, path object.Path, found func(object.Path, object.Value)) {
	switch v.Type() {
	case object.Map:
		for key, item := range v.Fields() {
			at := path.Key(key)
			lower := strings.ToLower(key)
			if strings.HasSuffix(lower, "namespaceselector") || key == "selector" && strings.HasSuffix(string(path), "allowedRoutes.namespaces") {
				found(at, item)
				continue
			}
			if key != "metadata" && key != "status" {
				findNamespaceSelectors(item, at, found)
			}
		}
	case object.List:
		for i, item := range v.Items() {
			findNamespaceSelectors(item, path.Index(i), found)
		}
	}
}

// asks says whether the selection asks for a label.
func (s namespaceSelection) asks(key string) bool { return slices.Contains(s.keys, key) }
