package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ConfigReferenceMissing reports a ConfigMap or Secret that goes while something
// names it, and names that lead nowhere from now on.
var ConfigReferenceMissing = &rule.Rule{
	ID:       "config-reference-missing",
	Title:    "A ConfigMap or Secret that something names is not there",
	Subject:  "config",
	Severity: rule.Error,
	Doc: `
Pods that run keep what they have read. The next one does not start: its volumes are not mounted, or its container stays in
CreateContainerConfigError. An Ingress without its Secret serves the controller's default certificate. A HelmRelease without its values stops.

Told of is an object that goes, or gets another name, while somebody in the unit still names it; and a name that is new where the old one was among the
manifests and the new one is not, or where all other ConfigMaps that the workload names are. Objects that something else makes (ExternalSecret,
SealedSecret, Certificate, another release in the namespace) are unknown, and left alone.`,
	Advice:    `Create the new object first, move those who name the old one, and remove that when their rollout is done.`,
	Incidents: []string{"dfds-traefik-secret-2021"},
	Kinds:     append(slices.Clone(configKinds), podKinds...),
	Actions:   []diff.Action{diff.Delete, diff.Rename, diff.Update, diff.Replace},
	Check:     checkConfigReferenceMissing,
}

func checkConfigReferenceMissing(p *rule.Pass, c diff.Change) {
	if slices.Contains(configKinds, c.Ref.GroupKind()) {
		if leavesUnit(c) {
			checkConfigGone(p, c)
		}
		return
	}
	if c.After != nil && c.Before != nil && c.Action != diff.Rename {
		checkNewNames(p, c)
	}
}

func checkConfigGone(p *rule.Pass, c diff.Change) {
	ref := c.Before.Ref
	if madeElsewhere(p.After, ref) || p.After.Get(ref) != nil || keptBehind(c.Before) != "" {
		return
	}
	f := rule.Finding{Ref: ref, Origin: c.Object().Origin}
	var users []portUser
	grave := false
	for _, r := range p.After.ReferencesTo(ref) {
		if r.Optional {
			continue
		}
		users = append(users, portUser{r.From.Ref, r.Path})
		if w, ok := p.After.Workload(r.From.Ref); ok && (!w.Replicas.Known || w.Replicas.Count > 0) {
			grave = true
		}
	}
	if len(users) == 0 {
		return
	}
	text, related := named(users)
	f.Related = related
	f.Message = fmt.Sprintf("it goes, and %s still names it", text)
	if c.Action == diff.Rename {
		f.Message = fmt.Sprintf("it gets another name, %s, and %s still has the old one", c.After.Ref, text)
	}
	f.Consequence = "what names it finds nothing from now on"
	if grave {
		f.Consequence = startFails(p, related, true)
	} else {
		f.Severity = rule.Warning
	}
	p.Report(c, f)
}

// checkNewNames looks for names in a workload that this change brings and that lead
// nowhere.
func checkNewNames(p *rule.Pass, c diff.Change) {
	if !touchesReferences(c) {
		return
	}
	var before []object.Reference // of ConfigMaps and Secrets
	for _, r := range object.References(c.Before) {
		if slices.Contains(configKinds, r.To.GroupKind()) {
			before = append(before, r)
		}
	}
	told := map[object.Ref]bool{}
	for _, r := range object.References(c.After) {
		if r.Optional || r.Use == object.UsePullSecret || !slices.Contains(configKinds, r.To.GroupKind()) || told[r.To] || p.After.Get(r.To) != nil ||
			madeElsewhere(p.After, r.To) || slices.ContainsFunc(before, func(b object.Reference) bool { return sameName(b.To, r.To) }) {
			continue
		}
		i := slices.IndexFunc(before, func(b object.Reference) bool { return b.Path == r.Path && b.To.Kind == r.To.Kind })
		replaced := i >= 0 && p.Before.Get(before[i].To) != nil
		if !replaced && !(r.To.Kind == "ConfigMap" && allThere(p, before)) || othersDeploy(p.After, r.To.Namespace) || givenByCluster(r.To) {
			continue
		}
		told[r.To] = true
		f := rule.Finding{Path: r.Path, Message: fmt.Sprintf("it names %s, which is not among these manifests", r.To), Consequence: "unless something else makes it, no new pod gets up"}
		if replaced {
			f.Message += fmt.Sprintf(", where it named %s, which is", before[i].To)
		} else {
			f.Severity = rule.Warning
			f.Message += ", while all others that it names are"
		}
		p.Report(c, f)
	}
}

func sameName(a, b object.Ref) bool { return a.Kind == b.Kind && a.Name == b.Name }

// allThere says whether a workload named ConfigMaps, and the unit had all of them.
func allThere(p *rule.Pass, before []object.Reference) bool {
	n := 0
	for _, r := range before {
		if r.To.Kind != "ConfigMap" || r.Optional || givenByCluster(r.To) {
			continue
		}
		if p.Before.Get(r.To) == nil {
			return false
		}
		n++
	}
	return n > 0
}

// givenByCluster says whether controllers make the ConfigMap in every namespace.
func givenByCluster(ref object.Ref) bool {
	return ref.Name == "kube-root-ca.crt" || ref.Name == "istio-ca-root-cert" || ref.Name == "openshift-service-ca.crt"
}

// othersDeploy says whether a release or application that is not rendered brings
// objects to a namespace.
func othersDeploy(set *object.Set, namespace string) bool {
	for _, kind := range deployKinds {
		for _, o := range set.Kind(kind) {
			if o.Ref.Namespace == namespace || o.Text("spec.targetNamespace") == namespace || o.Text("spec.destination.namespace") == namespace {
				return true
			}
		}
	}
	return false
}
