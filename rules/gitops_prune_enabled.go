package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GitOpsPruneEnabled reports that things may be deleted from now on that were safe.
var GitOpsPruneEnabled = &rule.Rule{
	ID:       "gitops-prune-enabled",
	Title:    "A GitOps tool may delete what it did not delete before",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
With pruning, what falls out of the render falls out of the cluster: by a condition, a moved file, a branch that is behind. Turned on for something
that has run for a while, it also deletes at once what was left behind before and is still in use. The same is so when an object loses the mark
that kept it (helm.sh/resource-policy, Prune=false, prune: disabled), when an Application gains the finalizer that deletes all it deployed, or when
selfHeal begins to undo what people change by hand in an emergency. A count of replicas that was left to an autoscaler (ignoreDifferences) is put back to that of the manifest in the same way.`,
	Advice: `List what would go first (` + "`argocd app diff`" + `, ` + "`flux diff kustomization`" + `), and mark Namespaces, claims and definitions to be kept. Turn pruning on alone, in a pull
request that changes nothing else.`,
	Incidents: []string{"rhtap-overlay-2024"},
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkGitOpsPruneEnabled,
}

func checkGitOpsPruneEnabled(p *rule.Pass, c diff.Change) {
	if isDeployKind(c.After) {
		checkPruneSettings(p, c)
	}
	was := keptBehind(c.Before)
	if was == "" || keptBehind(c.After) != "" {
		return
	}
	f := rule.Finding{Path: "metadata.annotations", Message: fmt.Sprintf("%s goes, which kept it when it is no longer rendered", was),
		Consequence: "it is deleted with the next render that lacks it, and with its release"}
	switch c.Ref.GroupKind() {
	case "Namespace", "PersistentVolumeClaim", crdKind, "PersistentVolume", "StatefulSet.apps", "Secret":
		f.Consequence += ", and what it holds with it"
	default:
		f.Severity = rule.Note
	}
	p.Report(c, f)
}

func checkPruneSettings(p *rule.Pass, c diff.Change) {
	spec := appSpec(c.After)
	path := spec + ".syncPolicy.automated.prune"
	if c.Ref.Kind == "Kustomization" {
		path = "spec.prune"
	}
	if !prunes(c.Before) && prunes(c.After) {
		p.Report(c, rule.Finding{Path: path, Message: "pruning is turned on",
			Consequence: "what it applied before and no longer renders is deleted with the next sync, left-overs of the past included"})
	}
	if !cascades(c.Before) && cascades(c.After) && prunes(c.Before) == prunes(c.After) {
		at := object.Path("spec")
		if c.Ref.Kind == "Application" {
			at = "metadata.finalizers"
		}
		f := rule.Finding{Path: at, Severity: rule.Note, Message: "what it deployed is deleted with it from now on", Consequence: "whoever removes it, on purpose or not, removes all of that"}
		if kept, _ := c.Before.At("spec.syncPolicy.preserveResourcesOnDeletion").Bool(); kept && c.Ref.Kind == "ApplicationSet" {
			f.Severity = rule.Warning
			f.Path = "spec.syncPolicy.preserveResourcesOnDeletion"
			f.Message = "what its Applications deployed is no longer kept when they go (preserveResourcesOnDeletion)"
			f.Consequence = "a generator that finds one entry less deletes that Application, and all that it deployed"
		}
		p.Report(c, f)
	}
	if c.Ref.Kind == "Application" || c.Ref.Kind == "ApplicationSet" {
		checkIgnoredReplicas(p, c, spec)
	}
	heal := string(spec) + ".syncPolicy.automated.selfHeal"
	was, _ := c.Before.At(heal).Bool()
	if now, _ := c.After.At(heal).Bool(); now && !was {
		p.Report(c, rule.Finding{Path: object.Path(heal), Severity: rule.Note, Message: "selfHeal is turned on", Consequence: "what people or controllers change by hand is undone at once, in an emergency too, and what differs now is put back with the next sync"})
	}
}

// checkIgnoredReplicas looks at the count of replicas that an Application left to an autoscaler
// (https://argo-cd.readthedocs.io/en/stable/best_practices/#leaving-room-for-imperativeness).
func checkIgnoredReplicas(p *rule.Pass, c diff.Change, spec object.Path) {
	leaves := func(o *object.Object) bool {
		for _, v := range o.At(string(spec) + ".ignoreDifferences").Items() {
			for _, key := range []string{"jsonPointers", "jqPathExpressions"} {
				for _, at := range v.Field(key).Texts() {
					if at == "/spec/replicas" || at == ".spec.replicas" {
						return true
					}
				}
			}
		}
		return false
	}
	if !leaves(c.Before) || leaves(c.After) {
		return
	}
	f := rule.Finding{Path: spec + ".ignoreDifferences", Message: "/spec/replicas is no longer left alone",
		Consequence: "where a manifest has a count, each sync sets it back to that, whatever an autoscaler or a person had made of it"}
	if heal, _ := c.After.At(string(spec) + ".syncPolicy.automated.selfHeal").Bool(); heal {
		f.Consequence += "; with selfHeal at once, and again each time the autoscaler changes it"
	}
	p.Report(c, f)
}
