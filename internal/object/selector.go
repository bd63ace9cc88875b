package object

import (
	"slices"
	"strings"
)

// Selects says whether a plain selector, as a Service has it, matches labels. An
// empty selector matches nothing: the endpoints of such a Service are managed by
// hand (https://kubernetes.io/docs/concepts/services-networking/service/#services-without-selectors).
func Selects(selector, labels map[string]string) bool {
	if len(selector) == 0 {
		return false
	}
	for k, v := range selector {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// A LabelSelector is a selector with matchLabels and matchExpressions, as
// workloads, PodDisruptionBudgets and NetworkPolicies have it.
type LabelSelector struct {
	exists      bool
	labels      map[string]string
	expressions []expression
}

type expression struct {
	key, operator string
	values        []string
}

// PlainSelector makes a LabelSelector of a plain selector, as a Service has it: an
// empty one matches nothing.
func PlainSelector(labels map[string]string) LabelSelector {
	return LabelSelector{exists: len(labels) > 0, labels: labels}
}

// SelectorAt reads the label selector at path, such as "spec.podSelector".
func (o *Object) SelectorAt(path string) LabelSelector { return o.At(path).Selector() }

// Selector reads v as a label selector.
func (v Value) Selector() LabelSelector {
	s := LabelSelector{exists: v.Exists(), labels: v.Field("matchLabels").Strings()}
	for _, e := range v.Field("matchExpressions").Items() {
		s.expressions = append(s.expressions, expression{e.Field("key").Text(), e.Field("operator").Text(), e.Field("values").Texts()})
	}
	return s
}

// Exists says whether the selector was written at all.
func (s LabelSelector) Exists() bool { return s.exists }

// Empty says whether the selector has no requirement: such a one matches everything.
func (s LabelSelector) Empty() bool { return len(s.labels) == 0 && len(s.expressions) == 0 }

// Matches says whether labels fulfil every requirement. A selector that was not
// written matches nothing, an empty one everything (metav1.LabelSelectorAsSelector).
func (s LabelSelector) Matches(labels map[string]string) bool {
	if !s.exists {
		return false
	}
	for k, v := range s.labels {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	for _, e := range s.expressions {
		got, ok := labels[e.key]
		var holds bool
		switch strings.ToLower(e.operator) {
		case "in":
			holds = ok && slices.Contains(e.values, got)
		case "notin":
			holds = !ok || !slices.Contains(e.values, got)
		case "exists":
			holds = ok
		case "doesnotexist":
			holds = !ok
		}
		if !holds {
			return false
		}
	}
	return true
}
