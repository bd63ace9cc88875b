package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// WebhookRemoved reports an admission webhook or policy that goes.
var WebhookRemoved = &rule.Rule{
	ID:       "webhook-removed",
	Title:    "An admission webhook or policy is removed",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
Without a webhook that mutates, new objects lack what it filled in: sidecars, defaults, labels, volumes. Nothing happens to what exists, so
it shows at the next rollout or node replacement. Without one that validates, what it refused is let in.

The order of the removal counts where its Service or pods go in the same change: tools delete in an order of their own, and between the
end of the pods and the end of a configuration that fails closed, everything it is asked about is refused. If the deletion of the
configuration is refused or forgotten, it stays so.

A webhook whose requests another one of this unit takes over, while its Service stays, is a note.`,
	Advice: `Take the configuration away first, in a pull request of its own; see that it is gone from the cluster; then remove Service and workload.`,
	Kinds: append([]string{"ValidatingAdmissionPolicy.admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
		"MutatingAdmissionPolicy.admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io"}, webhookKinds...),
	Actions: []diff.Action{diff.Delete, diff.Update, diff.Replace},
	Check:   checkWebhookRemoved,
}

func checkWebhookRemoved(p *rule.Pass, c diff.Change) {
	if !slices.Contains(webhookKinds, c.Ref.GroupKind()) {
		if c.Action == diff.Delete {
			p.Report(c, rule.Finding{Severity: rule.Note, Message: "the policy is removed", Consequence: "what it refused or changed is let in as it is"})
		}
		return
	}
	var removed []hook
	for _, h := range hooks(c.Before) {
		if c.After != nil {
			if _, stays := hookOf(c.After, h); stays {
				continue
			}
		}
		removed = append(removed, h)
	}
	if len(removed) == 0 {
		return
	}
	var taken []call
	var heirs []object.Ref
	for _, kind := range webhookKinds {
		if kind != c.Ref.GroupKind() {
			continue
		}
		for _, o := range p.After.Kind(kind) {
			for _, h := range hooks(o) {
				taken = append(taken, h.calls()...)
			}
			if c.After == nil || o.Ref != c.After.Ref {
				heirs = append(heirs, o.Ref)
			}
		}
	}
	does := "what it refused is let in"
	if c.Ref.Kind == "MutatingWebhookConfiguration" {
		does = "new objects lack what it filled in or injected"
	}
	for _, h := range removed {
		f := rule.Finding{Path: h.path, Message: fmt.Sprintf("%s is removed", h.name), Consequence: does}
		covered := !slices.ContainsFunc(h.calls(), func(x call) bool { return !slices.ContainsFunc(taken, func(o call) bool { return o.covers(x) }) })
		if covered {
			f.Severity, f.Related = rule.Note, heirs
			f.Consequence = "another webhook of this unit is asked about the same requests"
		}
		if ref, ok := h.service(); ok && h.failsClosed() && p.Before.Get(ref) != nil && p.After.Get(ref) == nil {
			f.Severity = rule.Warning
			f.Related = append(f.Related, ref)
			f.Consequence += fmt.Sprintf("; its %s goes in the same change, and it fails closed: if that goes first, the requests are refused until the configuration is gone too", ref)
		}
		p.Report(c, f)
	}
}
