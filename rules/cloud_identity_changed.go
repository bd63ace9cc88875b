package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// CloudIdentityChanged reports pods that act as somebody else towards the cloud.
var CloudIdentityChanged = &rule.Rule{
	ID:       "cloud-identity-changed",
	Title:    "Pods get another identity in the cloud, or none",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
An annotation names the role that pods act as: towards object stores, queues, key management, log services. With another role they are refused
what the old one was allowed, and mostly go on and lose data. That of a ServiceAccount is read when a pod is made: running pods keep the
old identity, so that the error shows at the next restart, not at the merge. The role's own trust policy must name the account, its namespace and the
cluster; a role that does not exist looks the same in a manifest as one that does.`,
	Advice: `Compare the permissions of both roles, and the trust policy of the new one with this namespace and account. Restart one pod right after the merge
and see that it writes.`,
	Incidents: []string{"dfds-fluentd-arn-2022"},
	Kinds:     append([]string{"ServiceAccount", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "CronJob.batch"}, "Rollout.argoproj.io"),
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:     checkCloudIdentityChanged,
}

// identityKeys name a cloud role: IRSA, Workload Identity of GKE and of Azure on
// accounts, kiam and kube2iam on pods.
var identityKeys = []string{"eks.amazonaws.com/role-arn", "iam.gke.io/gcp-service-account", "azure.workload.identity/client-id", "iam.amazonaws.com/role"}

func checkCloudIdentityChanged(p *rule.Pass, c diff.Change) {
	base := object.Path("metadata.annotations")
	before, after := c.Before.At("metadata.annotations"), c.After.At("metadata.annotations")
	var running []object.Workload
	if w, ok := object.AsWorkload(c.After); ok {
		base = w.Template.Key("metadata").Key("annotations")
		before, after = c.Before.At(string(base)), c.After.At(string(base))
		running = []object.Workload{w}
	} else {
		running = runningAs(p.After, c.After.Ref)
	}
	for _, key := range identityKeys {
		was, now := before.Field(key).Text(), after.Field(key).Text()
		if was == now || was == "" {
			continue
		}
		f := rule.Finding{Path: base.Key(key), Message: fmt.Sprintf("its cloud identity %s becomes %s", was, now)}
		if now == "" {
			f.Message = fmt.Sprintf("its cloud identity %s goes: pods act as their node, or as nobody", was)
		}
		f.Consequence = "pods see it at their next start"
		if len(running) > 0 && c.Ref.Kind == "ServiceAccount" {
			f.Consequence = fmt.Sprintf("the pods of %s see it at their next start", names(running))
			f.Related = refs(running)
		}
		p.Report(c, f)
	}
}
