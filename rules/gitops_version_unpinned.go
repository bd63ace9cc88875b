package rules

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GitOpsVersionUnpinned reports an object that deployed one version and now deploys
// whatever is newest.
var GitOpsVersionUnpinned = &rule.Rule{
	ID:       "gitops-version-unpinned",
	Title:    "A GitOps object goes from one version to whatever is newest",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
A tag, a commit or an exact chart version is what was reviewed. HEAD, a branch, latest or a range of versions is what somebody pushes next: it reaches the cluster within
minutes, without a pull request here, on all environments that name it at once. There is nothing to revert in this repository when it is bad, and what runs is
not to be read from it.

Environments that follow a branch from the beginning are left alone, and so is a version that becomes another version.`,
	Advice: `Keep the version, and let a bot raise it by pull request (Renovate and Updatecli read Argo CD and Flux objects). For an environment that shall follow a branch, make that a separate
object which production does not share.`,
	Incidents: []string{"dfds-flux-unpinned-2021"},
	Kinds: []string{"Application.argoproj.io", "ApplicationSet.argoproj.io", "HelmRelease.helm.toolkit.fluxcd.io",
		"OCIRepository.source.toolkit.fluxcd.io", "GitRepository.source.toolkit.fluxcd.io", "HelmChart.source.toolkit.fluxcd.io"},
	Actions: updates,
	Check:   checkGitOpsVersionUnpinned,
}

var exactVersion = regexp.MustCompile(`^(?:[A-Za-z0-9._/-]*-)?v?[0-9]+\.[0-9]+(?:\.[0-9]+)*(?:[-+][0-9A-Za-z.+-]+)?$|^[0-9a-f]{7,64}$|^sha256:|^refs/tags/`)

// pinned says whether a revision is one version: a tag that looks like one, a commit or
// a digest.
func pinned(revision string) bool { return exactVersion.MatchString(strings.TrimSpace(revision)) }

// movingRevision says whether a revision stands for what is newest: nothing, HEAD, latest,
// a range, or a word without any digit, which is a branch.
func movingRevision(revision string) bool {
	revision = strings.TrimSpace(revision)
	if strings.Contains(revision, "{{") || strings.Contains(revision, "${") {
		return false // filled in elsewhere
	}
	return revision == "" || strings.ContainsAny(revision, "*<>~^|") || strings.HasSuffix(revision, ".x") || !strings.ContainsAny(revision, "0123456789") || strings.HasPrefix(revision, "refs/heads/")
}

// revisions gives what an object follows, by path. A Git or OCI source names it in one of several fields, of
// which the most exact counts (https://fluxcd.io/flux/components/source/gitrepositories/#reference).
func revisions(o *object.Object) map[object.Path]string {
	out := map[object.Path]string{}
	switch o.Ref.Kind {
	case "Application", "ApplicationSet":
		spec := appSpec(o)
		if o.At(string(spec + ".source")).Exists() {
			out[spec+".source.targetRevision"] = o.Text(string(spec + ".source.targetRevision"))
		}
		for i, s := range o.At(string(spec + ".sources")).Items() {
			out[(spec + ".sources").Index(i).Key("targetRevision")] = s.Field("targetRevision").Text()
		}
	case "HelmRelease":
		if o.At("spec.chart.spec").Exists() {
			out["spec.chart.spec.version"] = o.Text("spec.chart.spec.version")
		}
	case "HelmChart":
		out["spec.version"] = o.Text("spec.version")
	default:
		for _, key := range []string{"digest", "commit", "name", "semver", "tag", "branch"} {
			if v := o.Text("spec.ref." + key); v != "" {
				out["spec.ref"] = v
				if key == "branch" {
					out["spec.ref"] = "refs/heads/" + v
				}
				return out
			}
		}
		out["spec.ref"] = ""
	}
	return out
}

func checkGitOpsVersionUnpinned(p *rule.Pass, c diff.Change) {
	if !touched(c, "evision", "version", "spec.ref", "source") {
		return
	}
	was, now := revisions(c.Before), revisions(c.After)
	for path, after := range now {
		before, ok := was[path]
		if !ok || before == after || !pinned(before) || pinned(after) || !movingRevision(after) {
			continue
		}
		p.Report(c, rule.Finding{Path: path,
			Message:     fmt.Sprintf("it followed %s, and follows %s now", before, orText(strings.TrimPrefix(after, "refs/heads/"), "the newest there is, as nothing is written")),
			Consequence: "what somebody publishes there next is deployed without a change here, and there is nothing here to revert"})
	}
}
