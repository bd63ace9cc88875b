package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// WebhookScopeWidened reports an admission webhook that is asked about more than
// before.
var WebhookScopeWidened = &rule.Rule{
	ID:       "webhook-scope-widened",
	Title:    "An admission webhook is asked about more requests",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
What a webhook is asked about depends on it: when it is slow, all of it is slow, and when it fails closed and does not answer, all of it is
refused. A lost exemption counts most, because exemptions are what a cluster is repaired through: kube-system, the webhook's own namespace,
the pods that nodes need.

It looks at rules, namespaceSelector, objectSelector and matchConditions. Wider rules of a webhook that fails open are a note, and so are rules
that gain custom resources only.`,
	Advice: `Let the webhook fail open for the new part first: put it into a webhook of its own with failurePolicy Ignore, and merge them later. Keep
kube-system and the webhook's own namespace exempt by kubernetes.io/metadata.name.`,
	Incidents: []string{"moj-namespace-label-2020", "kyverno-eks-2022"},
	Kinds:     webhookKinds,
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkWebhookScopeWidened,
}

func checkWebhookScopeWidened(p *rule.Pass, c diff.Change) {
	for _, h := range hooks(c.After) {
		was, ok := hookOf(c.Before, h)
		if !ok {
			continue
		}
		reportWiderRules(p, c, was, h)
		for _, key := range []string{"namespaceSelector", "objectSelector"} {
			lost := lostDemands(was.Field(key), h.Field(key))
			if len(lost) == 0 {
				continue
			}
			f := rule.Finding{Path: h.path.Key(key), Before: was.Field(key), After: h.Field(key),
				Message: fmt.Sprintf("%s no longer asks for %s in its %s", h.name, listed(lost), key)}
			weigh(p, &f, h, h.calls())
			p.Report(c, f)
		}
		if was.Field("matchConditions").Len() > 0 && h.Field("matchConditions").Len() == 0 {
			f := rule.Finding{Path: h.path.Key("matchConditions"), Before: was.Field("matchConditions"), After: h.Field("matchConditions"),
				Message: fmt.Sprintf("%s has no matchConditions any more", h.name)}
			weigh(p, &f, h, h.calls())
			p.Report(c, f)
		}
	}
}

func reportWiderRules(p *rule.Pass, c diff.Change, was, h hook) {
	had := was.calls()
	var more []call
	var texts []string
	for _, x := range h.calls() {
		if slices.ContainsFunc(had, func(o call) bool { return o.covers(x) }) {
			continue
		}
		more = append(more, x)
		texts = append(texts, x.String())
	}
	if len(more) == 0 {
		return
	}
	f := rule.Finding{Path: h.path.Key("rules"), Before: was.Field("rules"), After: h.Field("rules"),
		Message: fmt.Sprintf("%s is also asked about %s", h.name, listed(texts))}
	weigh(p, &f, h, more)
	if len(vitalCalls(more)) == 0 {
		f.Severity = rule.Note
	}
	p.Report(c, f)
}

// weigh says what the new part costs when the webhook does not answer.
func weigh(p *rule.Pass, f *rule.Finding, h hook, calls []call) {
	if !h.failsClosed() {
		f.Severity = rule.Note
		f.Consequence = fmt.Sprintf("it fails open: when it does not answer, each of these requests waits %d s and goes through", h.timeout())
		return
	}
	f.Consequence, _ = h.stops(p.After)
	if len(vitalCalls(calls)) == 0 {
		f.Consequence = "it fails closed: while it does not answer, these requests are refused"
	}
}

// lostDemands gives what a label selector asked for and asks for no more.
func lostDemands(was, now object.Value) []string {
	var out []string
	left := now.Field("matchLabels").Strings()
	for k, v := range was.Field("matchLabels").Fields() {
		if got, ok := left[k]; !ok || got != v.Text() {
			out = append(out, k+"="+v.Text())
		}
	}
	for _, e := range was.Field("matchExpressions").Items() {
		key, operator := e.Field("key").Text(), e.Field("operator").Text()
		values := e.Field("values").Texts()
		kept := false
		for _, x := range now.Field("matchExpressions").Items() {
			if x.Field("key").Text() != key || x.Field("operator").Text() != operator {
				continue
			}
			kept = true
			still := x.Field("values").Texts()
			if operator == "NotIn" {
				values = slices.DeleteFunc(values, func(v string) bool { return slices.Contains(still, v) })
			} else if operator == "In" && !slices.ContainsFunc(still, func(v string) bool { return !slices.Contains(values, v) }) {
				values = nil
			}
		}
		switch {
		case kept && len(values) == 0:
		case len(values) > 0:
			out = append(out, fmt.Sprintf("%s %s (%s)", key, operator, listed(values)))
		default:
			out = append(out, key+" "+operator)
		}
	}
	return out
}
