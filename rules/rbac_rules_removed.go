package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RBACRulesRemoved reports a role that allows less than before.
var RBACRulesRemoved = &rule.Rule{
	ID:       "rbac-rules-removed",
	Title:    "A role allows less than before",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
Permissions count from the next request on, for pods that run already: a program that was replaced for the sake of the new rules may do so
minutes later, or never, and until then it asks for what it is refused. Controllers that lose list or watch go on with an old view of the
cluster and say so only in their logs; those that lose leases stop being leaders.

Rules are compared by what they allow, in any order and grouping. A loss that the same account makes up for by another role of this unit is left
alone. For a role that nothing in the unit binds it is a note: who uses it is unknown.`,
	Advice: `Add the new rules first, roll out the version that needs them, and take the old ones away in a second pull request. Look up what an account
asks for in the audit log, or with ` + "`kubectl auth can-i --list --as=system:serviceaccount:NAMESPACE:NAME`" + `.`,
	Incidents: []string{"smallstep-rbac-2020"},
	Kinds:     []string{roleKind, clusterRoleKind},
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Delete, diff.Rename},
	Check:     checkRBACRulesRemoved,
}

func checkRBACRulesRemoved(p *rule.Pass, c diff.Change) {
	was, ok := grants(c.Before)
	if !ok || remadeEachTime(c.Before) {
		return
	}
	removed := c.After == nil || c.Action == diff.Rename
	var now []grant
	if !removed {
		if now, ok = grants(c.After); !ok {
			return
		}
	}
	lost := lacking(was, now)
	if len(lost) == 0 {
		return
	}
	// What the accounts may still do by another way is not lost.
	var who affected
	bound := false
	var missing []grant
	var others []object.Ref
	for _, b := range bindingsTo(p.Before, c.Before.Ref) {
		bound = true
		for _, s := range b.subjects() {
			still, unknown := stillLacking(p, s, b.namespace, lost)
			if len(still) == 0 || s.kind == "ServiceAccount" && leavesToo(p, s) {
				continue
			}
			who.add(p.After, s)
			others = append(others, unknown...)
			for _, g := range still {
				if !slices.Contains(missing, g) {
					missing = append(missing, g)
				}
			}
		}
	}
	f := rule.Finding{Path: "rules", Ref: c.Before.Ref}
	switch {
	case !bound && removed, bound && len(missing) == 0:
		return
	case !bound:
		f.Severity = rule.Note
		f.Message = fmt.Sprintf("the role no longer allows %s", grantsText(lost))
		f.Consequence = "nothing in this unit binds it: who uses it is unknown"
	case removed && c.Action == diff.Delete:
		f.Message = fmt.Sprintf("the role goes, and %s may no longer %s", who.names(), grantsText(missing))
	default:
		f.Message = fmt.Sprintf("%s may no longer %s", who.names(), grantsText(missing))
	}
	if bound {
		f.Path = lostAt(c, missing[0])
		f.Consequence = "from the next request on, for pods that run already"
		if runs := who.runs(); runs != "" {
			f.Consequence += "; " + runs
			f.Related = refs(who.workloads)
		}
		if len(others) > 0 {
			f.Consequence += fmt.Sprintf("; what %s allows beside it is not among these manifests", roleNames(compactRefs(others)))
		}
	}
	p.Report(c, f)
}

// lostAt is the place of a grant that a role allowed before: its rule, or the list
// of it that differs.
func lostAt(c diff.Change, g grant) object.Path {
	for i, r := range c.Before.At("rules").Items() {
		if !slices.Contains(r.Field("verbs").Texts(), g.verb) || !slices.Contains(slices.Concat(r.Field("resources").Texts(), r.Field("nonResourceURLs").Texts()), g.resource) ||
			g.group != "" && !slices.Contains(r.Field("apiGroups").Texts(), g.group) {
			continue
		}
		var differ []string
		now := c.After.At("rules").Item(i)
		for key, v := range r.Fields() {
			if !v.Equal(now.Field(key)) {
				differ = append(differ, key)
			}
		}
		if len(differ) == 1 {
			return object.Path("rules").Index(i).Key(differ[0])
		}
	}
	return "rules"
}

// leavesToo says whether an account of this unit goes in the same change: what it
// may not do any more hurts nobody.
func leavesToo(p *rule.Pass, s subject) bool {
	ref := s.account(unitOf(p.Before))
	return p.Before.Get(ref) != nil && p.After.Get(ref) == nil && len(runningAs(p.After, ref)) == 0
}

// compactRefs sorts refs and gives each once.
func compactRefs(refs []object.Ref) []object.Ref {
	refs = slices.SortedFunc(slices.Values(refs), object.Ref.Compare)
	return slices.Compact(refs)
}

// roleNames lists objects by kind and name.
func roleNames(refs []object.Ref) string {
	var out []string
	for _, r := range refs {
		out = append(out, r.String())
	}
	return listed(out)
}
