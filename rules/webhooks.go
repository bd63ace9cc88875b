package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads admission webhooks, for the rules about them.

var webhookKinds = []string{"ValidatingWebhookConfiguration.admissionregistration.k8s.io", "MutatingWebhookConfiguration.admissionregistration.k8s.io"}

// A hook is one webhook of a configuration.
type hook struct {
	object.Value
	config *object.Object
	name   string
	path   object.Path
}

// hooks gives the webhooks of a configuration in their order.
func hooks(config *object.Object) []hook {
	var out []hook
	for i, v := range config.At("webhooks").Items() {
		h := hook{v, config, v.Field("name").Text(), object.Path("webhooks").Index(i)}
		if h.name != "" {
			h.path = object.Path("webhooks").Select("name", h.name)
		}
		out = append(out, h)
	}
	return out
}

// hookOf gives the webhook of that name. Where each side has one only, it is the
// same under another name.
func hookOf(config *object.Object, like hook) (hook, bool) {
	all := hooks(config)
	for _, h := range all {
		if h.name == like.name {
			return h, true
		}
	}
	if len(all) == 1 && len(hooks(like.config)) == 1 {
		return all[0], true
	}
	return hook{}, false
}

// old says whether the configuration is written in v1beta1, which has other
// defaults (https://kubernetes.io/docs/reference/using-api/deprecation-guide/#webhook-resources-v122).
func (h hook) old() bool { return strings.HasSuffix(h.config.APIVersion(), "/v1beta1") }

// failsClosed says whether a call that gets no answer refuses the request.
func (h hook) failsClosed() bool {
	policy := h.Field("failurePolicy").Text()
	if policy == "" {
		return !h.old()
	}
	return policy == "Fail"
}

// timeout is how long the API server waits, in seconds.
func (h hook) timeout() int64 {
	if n, ok := h.Field("timeoutSeconds").Int(); ok {
		return n
	}
	if h.old() {
		return 30
	}
	return 10
}

// A call is one kind of request that a webhook sees.
type call struct{ operation, group, resource string }

func (c call) String() string {
	resource := c.resource
	if strings.HasPrefix(resource, "*") && c.group == "*" {
		return "everything"
	}
	if c.group != "" {
		resource += "." + c.group
	}
	if c.operation == "*" {
		return resource
	}
	return strings.ToLower(c.operation) + " " + resource
}

const mostCalls = 2000

// calls gives the requests that a webhook sees.
func (h hook) calls() []call {
	var out []call
	for _, r := range h.Field("rules").Items() {
		for _, op := range r.Field("operations").Texts() {
			for _, group := range r.Field("apiGroups").Texts() {
				for _, resource := range r.Field("resources").Texts() {
					if len(out) < mostCalls {
						out = append(out, call{op, group, resource})
					}
				}
			}
		}
	}
	return out
}

// covers says whether every request of o is also one of c.
func (c call) covers(o call) bool {
	resource := c.resource == o.resource || c.resource == "*/*" || c.resource == "*" && !strings.Contains(o.resource, "/")
	if sub, ok := strings.CutPrefix(c.resource, "*/"); ok && !resource {
		resource = strings.HasSuffix(o.resource, "/"+sub)
	}
	if main, ok := strings.CutSuffix(c.resource, "/*"); ok && !resource {
		resource = strings.HasPrefix(o.resource, main+"/")
	}
	return (c.operation == "*" || c.operation == o.operation) && (c.group == "*" || c.group == o.group) && resource
}

// vital are resources without which a cluster does not keep itself alive: nodes
// report, pods start, leaders are elected.
var vital = map[string]bool{
	"pods": true, "nodes": true, "leases": true, "services": true, "endpoints": true, "endpointslices": true, "configmaps": true, "secrets": true,
	"deployments": true, "daemonsets": true, "replicasets": true, "statefulsets": true, "jobs": true, "namespaces": true, "serviceaccounts": true,
	"persistentvolumeclaims": true, "persistentvolumes": true, "pods/binding": true, "*": true, "*/*": true, "pods/*": true,
}

var builtInGroups = []string{"", "*", "apps", "batch", "coordination.k8s.io", "discovery.k8s.io"}

// vitalCalls gives those of the calls that concern what a cluster needs to live.
func vitalCalls(calls []call) []string {
	var out []string
	for _, c := range calls {
		if c.operation != "DELETE" && c.operation != "CONNECT" && vital[c.resource] && slices.Contains(builtInGroups, c.group) && !slices.Contains(out, c.resource) {
			out = append(out, c.resource)
		}
	}
	return out
}

// service is the Service that is called, ok is false for a URL.
func (h hook) service() (ref object.Ref, ok bool) {
	s := h.At("clientConfig.service")
	return object.Ref{Unit: h.config.Ref.Unit, Kind: "Service", Namespace: s.Field("namespace").Text(), Name: s.Field("name").Text()}, s.Exists()
}

// selects says whether a webhook may be called for objects of a namespace, as far
// as the set tells its labels. A label that the API server gives every namespace
// is known (https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#automatic-labelling);
// of one that is not among the manifests an exemption by another label is taken
// for granted.
func (h hook) selects(set *object.Set, namespace string) bool {
	selector := h.Field("namespaceSelector")
	labels := map[string]string{}
	known := false
	if o := set.Get(object.Ref{Unit: h.config.Ref.Unit, Kind: "Namespace", Name: namespace}); o != nil {
		labels, known = o.Labels(), true
	}
	labels["kubernetes.io/metadata.name"] = namespace
	if !selector.Exists() || selector.Selector().Matches(labels) {
		return known || !asksOtherLabels(selector)
	}
	return false
}

// asksOtherLabels says whether a selector asks for more than a namespace's name.
func asksOtherLabels(selector object.Value) bool {
	for k := range selector.Field("matchLabels").Fields() {
		if k != "kubernetes.io/metadata.name" {
			return true
		}
	}
	for _, e := range selector.Field("matchExpressions").Items() {
		if e.Field("key").Text() != "kubernetes.io/metadata.name" {
			return true
		}
	}
	return false
}

// narrowsObjects says whether a webhook asks for labels of the objects themselves.
func (h hook) narrowsObjects() bool {
	s := h.Field("objectSelector")
	return s.Field("matchLabels").Len() > 0 || s.Field("matchExpressions").Len() > 0
}

// unexempt gives the namespaces that must be exempt for the cluster to be repaired
// while the webhook is down and are not: that of its own pods, and kube-system.
func (h hook) unexempt(set *object.Set) []string {
	var out []string
	if ref, ok := h.service(); ok && ref.Namespace != "" && h.selects(set, ref.Namespace) {
		out = append(out, "its own ("+ref.Namespace+")")
	}
	if h.selects(set, "kube-system") && !slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, "(kube-system)") }) {
		out = append(out, "kube-system")
	}
	return out
}

// stops says what a webhook that fails closed stops while it does not answer.
func (h hook) stops(set *object.Set) (text string, grave bool) {
	resources := vitalCalls(h.calls())
	text = "while it does not answer, the API server refuses every request that it asks about"
	if len(resources) == 0 || h.narrowsObjects() {
		return text, false
	}
	text = fmt.Sprintf("while it does not answer, writes of %s are refused", listed(resources))
	open := h.unexempt(set)
	if len(open) == 0 {
		return text, false
	}
	return text + fmt.Sprintf(", in %s too: its own pods cannot be made again, nor those that nodes need", listed(open)), true
}
