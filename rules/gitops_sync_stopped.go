package rules

import (
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GitOpsSyncStopped reports an object that no longer deploys what is merged.
var GitOpsSyncStopped = &rule.Rule{
	ID:       "gitops-sync-stopped",
	Title:    "What is merged is no longer deployed",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
A suspended Kustomization or HelmRelease, or an Application without automated sync, leaves the cluster as it is while merges go on. Fixes do not
arrive, Secrets and certificates are not renewed from git, and what is done by hand stays. When it is turned on again, all that was merged in
between is applied at once, to a state that nobody has looked at; this is told as a note.`,
	Advice:  "Write an end date and an owner beside it, and alert on what is suspended (gotk_resource_info, argocd_app_info). Before it is turned on again, look at the whole difference.",
	Kinds:   deployKinds,
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkGitOpsSyncStopped,
}

func checkGitOpsSyncStopped(p *rule.Pass, c diff.Change) {
	was, _ := syncs(c.Before)
	now, path := syncs(c.After)
	switch {
	case was && !now:
		p.Report(c, rule.Finding{Path: path, Message: "it no longer deploys what is merged", Consequence: "the cluster stays as it is, and fixes do not arrive, until somebody syncs it"})
	case !was && now:
		p.Report(c, rule.Finding{Path: path, Severity: rule.Note, Message: "it deploys what is merged from now on", Consequence: "all that was merged in between is applied at once"})
	}
}

// syncs says whether an object deploys by itself what is merged, and where that stands.
func syncs(o *object.Object) (bool, object.Path) {
	if o.Ref.Group != "argoproj.io" {
		suspended, _ := o.At("spec.suspend").Bool()
		return !suspended, "spec.suspend"
	}
	path := appSpec(o).Key("syncPolicy").Key("automated")
	automated := o.At(string(path))
	enabled, written := automated.Field("enabled").Bool()
	return automated.Exists() && (!written || enabled), path
}
