package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GitOpsSourceRemoved reports an Application, Kustomization or HelmRelease that goes
// with all that it deployed.
var GitOpsSourceRemoved = &rule.Rule{
	ID:       "gitops-source-removed",
	Title:    "An object that deploys others is removed, or renamed, and what it deployed with it",
	Subject:  "cluster",
	Severity: rule.Error,
	Doc: `
One small object stands for everything that it deployed. Argo CD deletes all of it when an Application with the resources finalizer goes, Flux when a
Kustomization with prune: true goes, and a HelmRelease that goes is uninstalled; claims, definitions and namespaces are part of it. In a rename
the same happens: the old one deletes what the new one has just taken over.

An ApplicationSet whose list of clusters, folders or values loses an element deletes Applications in the same way. Objects whose removal leaves
everything in place (no finalizer, prune off, suspended, marked to be kept) are a note; one that moves to another unit is a warning.`,
	Advice: `First let it release what it deployed: Argo CD, take the finalizer away (` + "`argocd app delete --cascade=false`" + `) or set preserveResourcesOnDeletion; Flux, set
prune: false or deletionPolicy: Orphan, or suspend it, and let that sync. Remove it in a second pull request.`,
	Incidents: []string{"cloudplane-flux-2022", "rhtap-overlay-2024"},
	CheckAll:  checkGitOpsSourceRemoved,
}

func checkGitOpsSourceRemoved(l *rule.Fleet) {
	for _, u := range l.Units {
		for _, c := range u.Changes {
			if c.Before == nil || !isDeployKind(c.Before) {
				continue
			}
			if leavesUnit(c) {
				reportSourceRemoved(l, u, c)
			} else if c.Ref.Kind == "ApplicationSet" && c.After != nil {
				reportGeneratorShrunk(l, u, c)
			}
		}
	}
}

func isDeployKind(o *object.Object) bool {
	kind := o.Ref.GroupKind()
	for _, k := range deployKinds {
		if k == kind {
			return true
		}
	}
	return false
}

func reportSourceRemoved(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	f := rule.Finding{Ref: c.Before.Ref, Message: "it goes"}
	if c.Action == diff.Rename {
		f.Message = fmt.Sprintf("it gets another name: %s", c.After.Ref)
	}
	if from := sourceText(c.Before); from != "" {
		f.Message += ", which deploys " + from
	}
	homes := newHomes(l.Units, u, c.Before.Ref)
	switch mark := keptBehind(c.Before); {
	case mark != "":
		f.Severity = rule.Note
		f.Consequence = mark + " leaves it in the cluster"
	case !cascades(c.Before):
		f.Severity = rule.Note
		f.Consequence = "what it deployed stays in the cluster, and nobody updates it any more"
	case len(homes) > 0:
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("it moves out of this unit, and %s has it now", strings.Join(homes, ", "))
		f.Consequence = "if both go to one cluster and the old unit is pruned after the new one is applied, it goes with all that it deployed"
	case c.Action == diff.Rename:
		f.Consequence = "the old one deletes all that it deployed when it goes, and the new one makes it again: an outage in between, and volumes that are gone"
	default:
		f.Consequence = "all that it deployed is deleted with it, claims and namespaces included"
	}
	l.Report(u, c, f)
}

// sourceText names what an object deploys.
func sourceText(o *object.Object) string {
	spec := string(appSpec(o))
	for _, key := range []string{spec + ".source.path", spec + ".source.chart", "spec.path", "spec.chart.spec.chart"} {
		if text := o.Text(key); text != "" {
			return text
		}
	}
	return ""
}

// reportGeneratorShrunk tells of elements that a list generator loses.
func reportGeneratorShrunk(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	was, now := generated(c.Before.At("spec.generators")), generated(c.After.At("spec.generators"))
	left := map[string]bool{}
	for _, e := range now {
		left[e] = true
	}
	var lost []string
	for _, e := range was {
		if !left[e] {
			lost = append(lost, clipped(e, 60))
		}
	}
	// Elements with other values are changed, not lost.
	if len(now) >= len(was) || len(lost) == 0 {
		return
	}
	f := rule.Finding{Path: "spec.generators", Message: fmt.Sprintf("its list loses %s: %s", plural(len(was)-len(now), "element"), listed(lost)),
		Consequence: "each Application that they made is deleted with all that it deployed"}
	if !cascades(c.After) {
		f.Severity = rule.Warning
		f.Consequence = "each Application that they made is deleted; what it deployed stays, and nobody updates it"
	}
	l.Report(u, c, f)
}

// generated gives the elements of list generators, also of those inside matrix and merge.
func generated(generators object.Value) []string {
	var out []string
	for _, g := range generators.Items() {
		for _, e := range g.At("list.elements").Items() {
			out = append(out, e.String())
		}
		for _, d := range g.At("git.directories").Items() {
			if exclude, _ := d.Field("exclude").Bool(); !exclude {
				out = append(out, d.Field("path").Text())
			}
		}
		for _, key := range []string{"matrix", "merge"} {
			out = append(out, generated(g.At(key+".generators"))...)
		}
	}
	return out
}
