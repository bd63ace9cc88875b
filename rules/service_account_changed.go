package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceAccountChanged reports pods that run as another account, or without its token.
var ServiceAccountChanged = &rule.Rule{
	ID:       "service-account-changed",
	Title:    "Pods run as another service account, or without the token of theirs",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Whatever the pods may do hangs on their account: roles in the cluster, the cloud identity in its annotations, pull secrets, and the names in
the rules of a mesh or of Vault. Another account has others. New pods start, become ready, and are refused by the API server, a bucket or a
queue the first time they ask. An account that does not exist is worse: the pods are not made at all. Without a mounted token a client of
the API finds no credentials; many treat that as not being in a cluster and go on in another mode.`,
	Advice: `Create the account and all its bindings, annotations and trust policies one merge earlier. List what the old one may do
(` + "`kubectl auth can-i --list --as=system:serviceaccount:NAMESPACE:NAME`" + `) and compare.`,
	Incidents: []string{"dfds-fluentd-arn-2022"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkServiceAccountChanged,
}

func checkServiceAccountChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "serviceAccount", "automountServiceAccountToken") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	was, now := account(before), account(after)
	if was.Name != now.Name {
		f := rule.Finding{
			Path:    after.SpecPath().Key("serviceAccountName"),
			Message: fmt.Sprintf("pods run as service account %s in place of %s", now.Name, was.Name),
		}
		says := []string{"what they may do, in the cluster and in the cloud, is what the other account may"}
		if lost := lostOf(granted(p.Before, was), granted(p.After, now)); len(lost) > 0 {
			says[0] = fmt.Sprintf("they lose %s", listed(lost))
		} else if o := p.After.Get(now); o != nil && len(granted(p.Before, was)) > 0 {
			f.Severity = rule.Note // every role goes with it
			says[0] = "its roles are the same as far as this unit tells"
		} else if o != nil && was.Name == "default" {
			f.Severity = rule.Note // an account of its own, where it had none
			says[0] = "what the default account may do it may not, unless somebody binds it"
		}
		if o := p.After.Get(now); o != nil {
			f.Related = append(f.Related, now)
			for _, key := range cloudIdentities {
				if old := p.Before.Get(was); old != nil && old.Annotation(key) != "" && o.Annotation(key) != old.Annotation(key) {
					f.Severity = rule.Warning
					says = append(says, fmt.Sprintf("its cloud identity (%s) is not that of the old one", key))
				}
			}
		} else if now.Name != "default" {
			says = append(says, "if the account is not there, no new pod is made: this unit does not render it")
			f.Severity = rule.Warning
		}
		f.Consequence = strings.Join(says, "; ")
		p.Report(c, f)
	}
	off := func(w object.Workload) bool {
		v := w.PodSpec.Field("automountServiceAccountToken")
		return v.Exists() && !isTrue(v)
	}
	if off(after) && !off(before) {
		f := rule.Finding{
			Path:        after.SpecPath().Key("automountServiceAccountToken"),
			Severity:    rule.Note,
			Message:     "pods lose the token of their service account",
			Consequence: "a client of the Kubernetes API in them finds no credentials",
		}
		if roles := granted(p.After, now); len(roles) > 0 {
			f.Severity = rule.Warning
			f.Consequence = fmt.Sprintf("their account has %s, so that they likely use it; a client in them finds no credentials", listed(roles))
		}
		p.Report(c, f)
	}
}

// cloudIdentities are the annotations by which a cloud gives an account an identity
// of its own (EKS, GKE and Azure workload identity).
var cloudIdentities = []string{"eks.amazonaws.com/role-arn", "iam.gke.io/gcp-service-account", "azure.workload.identity/client-id"}

// granted names the roles that an account is bound to, as "ClusterRole reader".
func granted(set *object.Set, who object.Ref) []string {
	var out []string
	for _, r := range set.ReferencesTo(who) {
		if r.Use != object.UseSubject {
			continue
		}
		for _, to := range set.References(r.From) {
			if to.Use == object.UseRole {
				out = append(out, to.To.Kind+" "+to.To.Name)
			}
		}
	}
	return out
}
