package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GitOpsProjectNarrowed reports an AppProject that no longer allows what it allowed.
var GitOpsProjectNarrowed = &rule.Rule{
	ID:       "gitops-project-narrowed",
	Title:    "A project of Argo CD no longer allows a repository, a destination or a kind",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
An AppProject says from where its Applications may deploy, where to, and what kinds ([Argo CD](https://argo-cd.readthedocs.io/en/stable/user-guide/projects/)). An Application that it does not allow any more is not
refused in the pull request: it shows InvalidSpecError or a failed sync, what runs stays as it is, and no fix arrives, while merges look as if they went out. Kinds that leave the lists of
clusters or namespaces fail the sync of every Application that has one.

Applications of the project in this unit that the change concerns are named, and make it an error.`,
	Advice: `Move the Applications first, and narrow the project when none names the repository or destination any more (argocd app list --project NAME).`,
	Kinds:  []string{"AppProject.argoproj.io"}, Actions: updates,
	Check: checkGitOpsProjectNarrowed,
}

func checkGitOpsProjectNarrowed(p *rule.Pass, c diff.Change) {
	const repos, destinations = "spec.sourceRepos", "spec.destinations"
	old, now := c.Before.At(repos).Texts(), c.After.At(repos).Texts()
	var lost []string
	for _, r := range old {
		if !slices.ContainsFunc(now, func(x string) bool { return globTakes(x, r) }) {
			lost = append(lost, r)
		}
	}
	if len(lost) > 0 {
		reportNarrowed(p, c, repos, "deploys from "+listed(lost)+" are allowed no more", func(app *object.Object) bool {
			repo := app.Text("spec.source.repoURL")
			takes := func(list []string) bool {
				return slices.ContainsFunc(list, func(x string) bool { return globTakes(x, repo) })
			}
			return repo != "" && takes(old) && !takes(now)
		})
	}
	lost = nil
	after := itemsOf(c.After.At(destinations))
	for _, d := range c.Before.At(destinations).Items() {
		if strings.HasPrefix(d.Field("namespace").Text(), "!") || strings.HasPrefix(d.Field("server").Text(), "!") {
			continue // one that is refused
		}
		if !slices.ContainsFunc(after, func(x object.Value) bool { return destinationTakes(x, d) }) {
			lost = append(lost, strings.TrimPrefix(fmt.Sprintf("%s namespace %s", orText(d.Field("name").Text(), d.Field("server").Text()), orText(d.Field("namespace").Text(), "*")), " "))
		}
	}
	if len(lost) > 0 {
		reportNarrowed(p, c, destinations, "deploys to "+listed(lost)+" are allowed no more", func(app *object.Object) bool {
			to := app.At("spec.destination")
			takes := func(list []object.Value) bool {
				return slices.ContainsFunc(list, func(x object.Value) bool { return destinationTakes(x, to) })
			}
			return takes(itemsOf(c.Before.At(destinations))) && !takes(after)
		})
	}
	const cluster = "spec.clusterResourceWhitelist"
	lost = nil
	for _, k := range c.Before.At(cluster).Items() {
		group, kind := k.Field("group").Text(), k.Field("kind").Text()
		if !slices.ContainsFunc(itemsOf(c.After.At(cluster)), func(x object.Value) bool {
			return globTakes(x.Field("group").Text(), group) && globTakes(x.Field("kind").Text(), kind)
		}) {
			lost = append(lost, strings.TrimSuffix(kind+"."+group, "."))
		}
	}
	if len(lost) > 0 {
		p.Report(c, rule.Finding{Path: cluster, Message: fmt.Sprintf("%s may no longer be deployed", listed(lost)), Consequence: "the sync of an Application that has one fails, and none of its changes arrive"})
	}
}

// reportNarrowed tells what a project allows no more, and which of its Applications that concerns.
func reportNarrowed(p *rule.Pass, c diff.Change, path object.Path, text string, concerned func(*object.Object) bool) {
	f := rule.Finding{Path: path, Message: text, Consequence: "Applications of the project that need it are not synced any more: what runs stays, and no change arrives"}
	for _, app := range p.After.Kind("Application.argoproj.io") {
		if orText(app.Text("spec.project"), "default") == c.Ref.Name && concerned(app) {
			f.Related = append(f.Related, app.Ref)
		}
	}
	if len(f.Related) > 0 {
		f.Severity = rule.Error
		f.Consequence = fmt.Sprintf("%s may not be synced any more: what runs stays, and no change arrives", refNames(f.Related))
	}
	p.Report(c, f)
}

// destinationTakes says whether a destination of a project takes another one, or that of an
// Application: cluster by name or by server, and the namespace.
func destinationTakes(allowed, d object.Value) bool {
	cluster := allowed.Field("server").Text() != "" && d.Field("server").Text() != "" && globTakes(allowed.Field("server").Text(), d.Field("server").Text()) ||
		allowed.Field("name").Text() != "" && d.Field("name").Text() != "" && globTakes(allowed.Field("name").Text(), d.Field("name").Text()) ||
		allowed.Field("server").Text() == "*" || allowed.Field("name").Text() == "*"
	return cluster && globTakes(orText(allowed.Field("namespace").Text(), "*"), orText(d.Field("namespace").Text(), "*"))
}

// globTakes says whether a pattern with stars takes a text, in which a star stands for itself.
func globTakes(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
