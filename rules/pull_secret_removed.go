package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// PullSecretRemoved reports pods that lose the login for their registry.
var PullSecretRemoved = &rule.Rule{
	ID:       "pull-secret-removed",
	Title:    "Pods lose the login for the registry of their images",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
imagePullSecrets of a pod, or of its service account when the pod has none, are how a node logs in to a registry. Pods that run do not need them, and a node that has the image in its cache does not ask: the
change looks good until pods come to a new node, at the next drain or scale-up, and stay in ImagePullBackOff there
([Kubernetes](https://kubernetes.io/docs/concepts/containers/images/#specifying-imagepullsecrets-on-a-pod)). A registry that also answers without a login does so at a lower rate limit.

One that is replaced by another, and a pod whose account has one, are quiet.`,
	Advice: `Give the nodes, or the service account, access to the registry first, and start a pod on a fresh node before the secret goes.`,
	Kinds:  append(slices.Clone(podKinds), "ServiceAccount"), Actions: updates,
	Check: checkPullSecretRemoved,
}

func checkPullSecretRemoved(p *rule.Pass, c diff.Change) {
	if !touched(c, "imagePullSecrets") {
		return
	}
	f := rule.Finding{Path: "imagePullSecrets"}
	was, now := c.Before.At("imagePullSecrets"), c.After.At("imagePullSecrets")
	if c.Ref.Kind != "ServiceAccount" {
		before, after, ok := bothWorkloads(p, c)
		if !ok {
			return
		}
		if account := p.After.Get(accountOf(after)); account != nil && account.At("imagePullSecrets").Len() > 0 && after.PodSpec.Field("imagePullSecrets").Len() == 0 {
			return
		}
		f.Path = after.SpecPath().Key("imagePullSecrets")
		was, now = before.PodSpec.Field("imagePullSecrets"), after.PodSpec.Field("imagePullSecrets")
	} else {
		f.Related = refs(withPods(runningAs(p.After, c.After.Ref)))
	}
	if now.Len() >= was.Len() {
		return
	}
	var lost []string
	for _, s := range was.Items() {
		name := s.Field("name").Text()
		if !slices.Contains(secretNames(now), name) {
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return
	}
	f.Message = fmt.Sprintf("pull secret %s goes", listed(lost))
	f.Consequence = "nodes that do not have the images yet may not pull them: new pods stay in ImagePullBackOff there"
	p.Report(c, f)
}

func secretNames(list object.Value) []string {
	var out []string
	for _, s := range list.Items() {
		out = append(out, s.Field("name").Text())
	}
	return out
}
