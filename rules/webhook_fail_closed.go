package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// WebhookFailClosed reports an admission webhook that refuses requests from now on
// when it does not answer.
var WebhookFailClosed = &rule.Rule{
	ID:       "webhook-fail-closed",
	Title:    "An admission webhook refuses requests when it does not answer",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
With failurePolicy Fail, a webhook that is down, slow, or has an expired certificate refuses every request that it would have been asked
about. When these are pods, nothing starts any more, its own pods included if their namespace is not exempt: after a full restart nobody is
there to answer, and nobody can start. When kube-system is not exempt, nodes do not become ready, because their network and storage pods
are refused.

A new webhook is told of when it fails closed for pods, nodes, leases and the like and exempts neither its own namespace nor kube-system. A
webhook that turns from Ignore to Fail always is; v1 does so by default where v1beta1 did not.`,
	Advice: `Start with failurePolicy Ignore and turn to Fail after weeks of answers. Exempt kube-system and the webhook's own namespace with a
namespaceSelector on kubernetes.io/metadata.name, which nobody can lose; keep the rules to the resources that it judges; run two pods at least,
spread over nodes, with a budget; write down how to delete the configuration by hand.`,
	Incidents: []string{"jetstack-webhook-2019", "heureka-gatekeeper", "moj-webhook-spof-2020", "dfds-alcide-webhook-2020", "dfds-kyverno-2022", "kyverno-eks-2022"},
	Kinds:     webhookKinds,
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace},
	Check:     checkWebhookFailClosed,
}

func checkWebhookFailClosed(p *rule.Pass, c diff.Change) {
	for _, h := range hooks(c.After) {
		if !h.failsClosed() {
			continue
		}
		was, there := hook{}, false
		if c.Before != nil {
			was, there = hookOf(c.Before, h)
		}
		if there && was.failsClosed() {
			continue
		}
		f := rule.Finding{Path: h.path.Key("failurePolicy")}
		text, grave := h.stops(p.After)
		f.Consequence = text
		if ref, ok := h.service(); ok {
			f.Related = []object.Ref{ref}
		}
		switch {
		case there && h.Field("failurePolicy").Text() == "":
			f.Message = fmt.Sprintf("%s fails closed from now on: %s fills in failurePolicy Fail, %s filled in Ignore", h.name, c.After.APIVersion(), c.Before.APIVersion())
		case there:
			f.Message = fmt.Sprintf("%s fails closed from now on: failurePolicy Ignore becomes Fail", h.name)
		case !grave:
			continue
		default:
			f.Message = fmt.Sprintf("%s is new and fails closed", h.name)
		}
		if there && grave {
			f.Severity = rule.Error
		}
		p.Report(c, f)
	}
}
