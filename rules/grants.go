package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it says what RBAC allows whom, for the rules about roles
// and bindings.

const (
	roleKind               = "Role.rbac.authorization.k8s.io"
	clusterRoleKind        = "ClusterRole.rbac.authorization.k8s.io"
	roleBindingKind        = "RoleBinding.rbac.authorization.k8s.io"
	clusterRoleBindingKind = "ClusterRoleBinding.rbac.authorization.k8s.io"
)

// A grant is one thing that a role allows: a verb on a resource of a group, or on a
// path. names bounds it to objects of those names, sorted and joined; "" is all.
type grant struct{ group, resource, verb, names string }

// what writes the thing without its verb: "deployments.apps".
func (g grant) what() string {
	text := g.resource
	if text == "*" && g.group == "*" {
		return "everything"
	}
	if g.group != "" && g.resource != "" && !strings.HasPrefix(g.resource, "/") {
		text += "." + g.group
	}
	if g.names != "" {
		text += " (" + g.names + ")"
	}
	return text
}

func (g grant) String() string { return g.verb + " " + g.what() }

// covers says whether g allows all that o allows.
func (g grant) covers(o grant) bool {
	resource := g.resource == "*" || g.resource == o.resource
	if sub, ok := strings.CutPrefix(g.resource, "*/"); ok {
		resource = resource || strings.HasSuffix(o.resource, "/"+sub)
	}
	if path, ok := strings.CutSuffix(g.resource, "*"); ok && strings.HasPrefix(g.resource, "/") {
		resource = resource || strings.HasPrefix(o.resource, path)
	}
	return resource && (g.group == "*" || g.group == o.group) && (g.verb == "*" || g.verb == o.verb) && (g.names == "" || g.names == o.names)
}

// mostGrants bounds what is read of one role: real ones have some hundreds.
const mostGrants = 5000

// grants gives what a role allows, in its order. ok is false for a ClusterRole that
// is put together of others, of which the manifest does not say what it allows.
func grants(role *object.Object) (out []grant, ok bool) {
	if role == nil {
		return nil, false
	}
	if role.At("aggregationRule").Exists() {
		return nil, false
	}
	for _, r := range role.At("rules").Items() {
		verbs := r.Field("verbs").Texts()
		names := r.Field("resourceNames").Texts()
		slices.Sort(names)
		joined := strings.Join(names, ",")
		for _, verb := range verbs {
			for _, group := range r.Field("apiGroups").Texts() {
				for _, resource := range r.Field("resources").Texts() {
					if len(out) == mostGrants {
						return out, false
					}
					out = append(out, grant{group, resource, verb, joined})
				}
			}
			for _, url := range r.Field("nonResourceURLs").Texts() {
				out = append(out, grant{"", url, verb, ""})
			}
		}
	}
	return out, true
}

// A grantSet answers whether grants cover another one without looking at each.
type grantSet struct {
	exact map[grant]bool
	wide  []grant // with a star somewhere
}

func newGrantSet(all []grant) grantSet {
	s := grantSet{exact: make(map[grant]bool, len(all))}
	for _, g := range all {
		if !s.exact[g] && (g.verb == "*" || g.group == "*" || strings.Contains(g.resource, "*")) {
			s.wide = append(s.wide, g)
		}
		s.exact[g] = true
	}
	return s
}

func (s grantSet) covers(g grant) bool {
	all := g
	all.names = ""
	return s.exact[g] || s.exact[all] || slices.ContainsFunc(s.wide, func(w grant) bool { return w.covers(g) })
}

// lacking gives those of was that nothing in now covers.
func lacking(was, now []grant) []grant {
	set := newGrantSet(now)
	var out []grant
	for _, g := range was {
		if !set.covers(g) && !(g.verb == "*" && set.spellsOut(g)) {
			out = append(out, g)
		}
	}
	return out
}

// allVerbs are those of resources, of which a list may stand for "*".
var allVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// spellsOut says whether a grant of all verbs is written as a list of them.
func (s grantSet) spellsOut(g grant) bool {
	for _, verb := range allVerbs {
		g.verb = verb
		if !s.covers(g) {
			return false
		}
	}
	return true
}

// grantsText writes grants by their verbs: "get and list pods and nodes/stats".
func grantsText(all []grant) string {
	verbs := map[string][]string{} // by what they are about
	var order []string
	for _, g := range all {
		key := g.what()
		if verbs[key] == nil {
			order = append(order, key)
		}
		if !slices.Contains(verbs[key], g.verb) {
			verbs[key] = append(verbs[key], g.verb)
		}
	}
	things := map[string][]string{} // by the verbs
	var said []string
	for _, key := range order {
		verb := listed(verbs[key])
		if slices.Contains(verbs[key], "*") {
			verb = "do everything with"
		}
		if things[verb] == nil {
			said = append(said, verb)
		}
		things[verb] = append(things[verb], key)
	}
	var out []string
	for _, verb := range said {
		out = append(out, verb+" "+listed(things[verb]))
	}
	return strings.Join(out, ", ")
}

// accountOf is the account that a workload's pods run as
// (https://kubernetes.io/docs/concepts/security/service-accounts/#default-service-accounts).
func accountOf(w object.Workload) object.Ref {
	name := w.PodSpec.Field("serviceAccountName").Text()
	if name == "" {
		name = orText(w.PodSpec.Field("serviceAccount").Text(), "default")
	}
	return object.Ref{Unit: w.Ref.Unit, Kind: "ServiceAccount", Namespace: w.Ref.Namespace, Name: name}
}

// runningAs gives the workloads of a set that run as an account.
func runningAs(set *object.Set, account object.Ref) []object.Workload {
	var out []object.Workload
	if account.Name == "default" { // what names no account
		for _, w := range set.Workloads() {
			if accountOf(w) == account {
				out = append(out, w)
			}
		}
		return out
	}
	for _, r := range set.ReferencesTo(account) {
		if w, ok := set.Workload(r.From.Ref); ok && r.Use == object.UseAccount {
			out = append(out, w)
		}
	}
	return out
}

// A binding gives a role to subjects.
type binding struct {
	*object.Object
	role      object.Ref
	namespace string // "" for the whole cluster
}

func asBinding(o *object.Object) (b binding, ok bool) {
	switch o.Ref.GroupKind() {
	case clusterRoleBindingKind:
		b.namespace = ""
	case roleBindingKind:
		b.namespace = o.Ref.Namespace
	default:
		return b, false
	}
	b.Object = o
	b.role = object.Ref{Unit: o.Ref.Unit, Group: "rbac.authorization.k8s.io", Kind: orText(o.Text("roleRef.kind"), "ClusterRole"), Name: o.Text("roleRef.name")}
	if b.role.Kind == "Role" {
		b.role.Namespace = o.Ref.Namespace
	}
	return b, true
}

// A subject is who gets a role: an account of the unit, or a user or group by name.
type subject struct{ kind, namespace, name string }

func (s subject) String() string {
	if s.namespace != "" {
		return fmt.Sprintf("%s %s/%s", s.kind, s.namespace, s.name)
	}
	return s.kind + " " + s.name
}

func (s subject) account(unit string) object.Ref {
	return object.Ref{Unit: unit, Kind: s.kind, Namespace: s.namespace, Name: s.name}
}

func (b binding) subjects() []subject {
	var out []subject
	for _, s := range b.At("subjects").Items() {
		x := subject{s.Field("kind").Text(), "", s.Field("name").Text()}
		if x.kind == "ServiceAccount" {
			x.namespace = orText(s.Field("namespace").Text(), b.Ref.Namespace)
		}
		out = append(out, x)
	}
	return out
}

// bindingsOf gives the bindings of a set that give something to a subject, in order.
func bindingsOf(set *object.Set, who subject) []binding {
	var out []binding
	if who.kind == "ServiceAccount" {
		for _, r := range set.ReferencesTo(who.account(unitOf(set))) {
			if b, ok := asBinding(r.From); ok && r.Use == object.UseSubject {
				out = append(out, b)
			}
		}
		return out
	}
	for _, kind := range []string{clusterRoleBindingKind, roleBindingKind} {
		for _, o := range set.Kind(kind) {
			if b, ok := asBinding(o); ok && slices.Contains(b.subjects(), who) {
				out = append(out, b)
			}
		}
	}
	return out
}

// bindingsTo gives the bindings of a set that give a role to somebody, in order.
func bindingsTo(set *object.Set, role object.Ref) []binding {
	var out []binding
	for _, r := range set.ReferencesTo(role) {
		if b, ok := asBinding(r.From); ok && r.Use == object.UseRole {
			out = append(out, b)
		}
	}
	return out
}

// allowedTo gives what a subject may do in a namespace, "" for the whole cluster,
// and the roles that it is bound to and that the set does not have, such as the ones
// that come with Kubernetes.
func allowedTo(set *object.Set, who subject, namespace string) (all []grant, unknown []object.Ref) {
	for _, b := range bindingsOf(set, who) {
		if b.namespace != "" && b.namespace != namespace {
			continue
		}
		got, ok := grants(set.Get(b.role))
		switch {
		case ok:
		case b.role.Name == "cluster-admin":
			got = []grant{{"*", "*", "*", ""}, {"", "/*", "*", ""}}
		default:
			unknown = append(unknown, b.role)
		}
		all = append(all, got...)
	}
	return all, unknown
}

// stillLacking gives those of lost that a subject may no longer do after the merge,
// by none of its roles. A role that is not among the manifests is taken to make up
// for them when its binding is new; one that was there already says nothing, and is
// among others.
func stillLacking(p *rule.Pass, who subject, namespace string, lost []grant) (still []grant, others []object.Ref) {
	left, unknown := allowedTo(p.After, who, namespace)
	_, was := allowedTo(p.Before, who, namespace)
	for _, role := range unknown {
		switch {
		case p.Before.Get(role) != nil: // it goes, and nothing is left of it
		case slices.Contains(was, role):
			others = append(others, role)
		default:
			return nil, nil
		}
	}
	return lacking(lost, left), others
}

// affected sums up who loses grants: the subjects and the workloads that run as
// them.
type affected struct {
	subjects  map[subject]bool
	workloads []object.Workload
}

func (a *affected) add(set *object.Set, who subject) {
	if a.subjects == nil {
		a.subjects = map[subject]bool{}
	}
	if a.subjects[who] {
		return
	}
	a.subjects[who] = true
	if who.kind == "ServiceAccount" {
		a.workloads = append(a.workloads, runningAs(set, who.account(unitOf(set)))...)
	}
}

// unitOf gives the unit that a set's objects belong to.
func unitOf(set *object.Set) string {
	if all := set.All(); len(all) > 0 {
		return all[0].Ref.Unit
	}
	return ""
}

func (a affected) names() string {
	var out []string
	for _, s := range slices.SortedFunc(maps.Keys(a.subjects), func(x, y subject) int { return strings.Compare(x.String(), y.String()) }) {
		out = append(out, s.String())
	}
	return listed(out)
}

// runs says which pods are concerned: "Deployment a runs as it".
func (a affected) runs() string {
	switch len(a.workloads) {
	case 0:
		return ""
	case 1:
		return names(a.workloads) + " runs as it"
	}
	return names(a.workloads) + " run as it"
}
