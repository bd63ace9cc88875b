package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RBACBindingRemoved reports a binding that goes, or no longer names an account.
var RBACBindingRemoved = &rule.Rule{
	ID:       "rbac-binding-removed",
	Title:    "A binding is removed, or no longer names an account",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
The account loses what the binding gave with the next request; pods that run as it get 403 from then on and mostly go on without a sign
of it in their state. A binding that is replaced by one of another name leaves a gap where the tool prunes before it creates, as Argo CD does
inside one wave, and what names the old one (audit rules, other repositories, a chart's hooks) loses it.

Charts lose bindings when they render them only at install, or when a value turns RBAC off. An account that goes with its binding and
with its pods is left alone.`,
	Advice: `Create the new binding beside the old one, in a pull request of its own; remove the old one when ` + "`kubectl auth can-i`" + ` says that the account has what it
needs without it.`,
	Incidents: []string{"smallstep-rbac-2020", "plana-rbac-2026"},
	Kinds:     []string{roleBindingKind, clusterRoleBindingKind},
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Delete, diff.Rename},
	Check:     checkRBACBindingRemoved,
}

func checkRBACBindingRemoved(p *rule.Pass, c diff.Change) {
	b, ok := asBinding(c.Before)
	if !ok || remadeEachTime(c.Before) {
		return
	}
	removed := c.After == nil || c.Action == diff.Rename
	var now map[subject]bool
	if !removed {
		after, ok := asBinding(c.After)
		if !ok {
			return
		}
		now = map[subject]bool{}
		for _, s := range after.subjects() {
			now[s] = true
		}
	}
	was, known := grants(p.Before.Get(b.role))
	var losing, replaced affected
	var lost []grant
	for _, s := range b.subjects() {
		if now[s] || s.kind == "ServiceAccount" && leavesToo(p, s) {
			continue
		}
		if !known {
			// Only another binding of the same role is known to give as much.
			if boundElsewhere(p.After, s, b) {
				replaced.add(p.After, s)
			} else {
				losing.add(p.After, s)
			}
			continue
		}
		missing, _ := stillLacking(p, s, b.namespace, was)
		if len(missing) == 0 {
			replaced.add(p.After, s)
			continue
		}
		losing.add(p.After, s)
		lost = append(lost, missing...)
	}
	f := rule.Finding{Ref: c.Before.Ref}
	what := "the binding goes"
	if !removed {
		f.Ref, f.Path, what = object.Ref{}, "subjects", "the binding no longer names it"
	}
	gives := b.role.Kind + " " + b.role.Name
	switch {
	case len(losing.subjects) > 0 && known:
		f.Message = fmt.Sprintf("%s may no longer %s: %s", losing.names(), grantsText(lost), what)
		f.Consequence = "from the next request on, for pods that run already"
	case len(losing.subjects) > 0:
		f.Message = fmt.Sprintf("%s no longer has %s: %s", losing.names(), gives, what)
		f.Consequence = "what that role allows is not among these manifests; it counts from the next request on, for pods that run already"
	case removed && len(replaced.subjects) > 0:
		f.Message = fmt.Sprintf("the binding of %s goes, and another one gives %s as much", gives, replaced.names())
		f.Consequence = "where the tool prunes before it creates, the account has nothing in between"
	default:
		return
	}
	who := losing
	if len(losing.subjects) == 0 {
		who = replaced
	}
	if runs := who.runs(); runs != "" {
		f.Consequence += "; " + runs
		f.Related = refs(who.workloads)
	}
	p.Report(c, f)
}

// boundElsewhere says whether another binding gives a subject the same role, for as
// much of the cluster.
func boundElsewhere(set *object.Set, s subject, like binding) bool {
	for _, b := range bindingsOf(set, s) {
		if b.role == like.role && (b.namespace == "" || b.namespace == like.namespace) {
			return true
		}
	}
	return false
}
