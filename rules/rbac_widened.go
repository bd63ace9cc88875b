package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// RBACWidened reports a role that gains everything of something, and bindings that
// give much to many.
var RBACWidened = &rule.Rule{
	ID:       "rbac-widened",
	Title:    "A role gains a wildcard or the means to take any permission, or is given to everybody",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
A wildcard also covers what is installed next year. Whoever may bind or escalate roles, impersonate users, or read all Secrets, may do anything, and so may
everybody who can take over its pod. The groups system:authenticated and system:unauthenticated are all accounts of all namespaces, and
everybody on the network.

Only what a role or binding gains is looked at. A new role with wildcards is a note, as operators bring them; a new binding to cluster-admin is a warning.`,
	Advice: `Name the groups, resources and verbs that the program asks for (its audit log has them), use a Role in one namespace rather than a ClusterRole, and bound
Secrets by resourceNames.`,
	Kinds:   []string{roleKind, clusterRoleKind, roleBindingKind, clusterRoleBindingKind},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace},
	Check:   checkRBACWidened,
}

func checkRBACWidened(p *rule.Pass, c diff.Change) {
	if strings.HasSuffix(c.Ref.Kind, "Binding") {
		checkWideBinding(p, c)
		return
	}
	var was []grant
	if c.Before != nil {
		was, _ = grants(c.Before)
	}
	now, _ := grants(c.After)
	var gained []grant
	severity := rule.Warning
	if c.Before == nil {
		severity = rule.Note
	}
	for _, g := range lacking(now, was) {
		if isPowerful(g, c.Ref.Kind == "ClusterRole") {
			gained = append(gained, g)
		}
	}
	if len(gained) == 0 {
		return
	}
	f := rule.Finding{Path: "rules", Severity: severity, Message: fmt.Sprintf("the role may %s", grantsText(gained))}
	var who affected
	for _, b := range bindingsTo(p.After, c.After.Ref) {
		for _, s := range b.subjects() {
			who.add(p.After, s)
		}
	}
	if len(who.subjects) > 0 {
		f.Consequence = who.names() + " has it"
		f.Related = refs(who.workloads)
	}
	p.Report(c, f)
}

// isPowerful says whether a grant is open-ended, or leads to any other.
func isPowerful(g grant, cluster bool) bool {
	switch {
	case g.resource == "*" && (g.group == "*" || g.verb == "*"), g.group == "*" && g.verb == "*":
		return true
	case g.verb == "escalate" || g.verb == "impersonate", g.verb == "bind" && strings.HasSuffix(g.resource, "roles"):
		return g.names == ""
	case cluster && g.names == "" && g.group == "" && g.resource == "secrets":
		return slices.Contains([]string{"get", "list", "watch", "*"}, g.verb)
	}
	return false
}

func checkWideBinding(p *rule.Pass, c diff.Change) {
	now, ok := asBinding(c.After)
	if !ok {
		return
	}
	var had []subject
	sameRole := false
	if c.Before != nil {
		was, _ := asBinding(c.Before)
		had, sameRole = was.subjects(), was.role == now.role
	}
	for _, s := range now.subjects() {
		if sameRole && slices.Contains(had, s) {
			continue
		}
		f := rule.Finding{Path: "subjects"}
		everybody := s.kind == "Group" && (s.name == "system:authenticated" || s.name == "system:unauthenticated" || s.name == "system:serviceaccounts") ||
			s.kind == "User" && s.name == "system:anonymous"
		switch {
		case everybody:
			f.Message = fmt.Sprintf("%s gets %s %s", s, now.role.Kind, now.role.Name)
			f.Consequence = "that is every account of the cluster"
			if strings.HasSuffix(s.name, "unauthenticated") || strings.HasSuffix(s.name, "anonymous") {
				f.Consequence = "that is everybody who reaches the API server, without credentials"
			}
		case now.role.Kind == "ClusterRole" && now.role.Name == "cluster-admin" && now.namespace == "":
			f.Path = "roleRef"
			f.Message = fmt.Sprintf("%s gets cluster-admin", s)
			f.Consequence = "it may do anything in the cluster, and so may who takes over what runs as it"
		default:
			continue
		}
		p.Report(c, f)
	}
}
