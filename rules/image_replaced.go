package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ImageReplaced reports a container that gets another program, or the same from elsewhere.
var ImageReplaced = &rule.Rule{
	ID:       "image-replaced",
	Title:    "A container's image comes from another repository",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
An image of another name is another build: other user, paths, entry point, variables and defaults, even when the program inside is the
same (a vendor's image in place of the official one keeps its data elsewhere and runs as another user). What the manifest sets beside it,
command, mounts, probes and security context, was written for the old one.

The same name from another registry or project is a note: nodes must be able to reach it, and the pods need its pull secret. If
they cannot, running pods go on, and none that restarts comes back.`,
	Advice: `Compare user, entry point, paths and variables of both images first, with the volume of a copy. For another registry: pull once on a node
of each kind with the pull secret of that namespace, before the merge.`,
	Incidents: []string{"moj-ingress-waf-2026"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkImageReplaced,
}

func checkImageReplaced(p *rule.Pass, c diff.Change) {
	if !touched(c, ".image") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		if pair.before.Image() == "" || pair.after.Image() == "" || pair.before.Name != pair.after.Name {
			continue
		}
		was, now := parseImage(pair.before.Image()), parseImage(pair.after.Image())
		f := rule.Finding{Path: pair.after.Path.Key("image"), Severity: rule.Note}
		switch {
		case was.name() != now.name():
			f.Severity = rule.Warning
			f.Message = fmt.Sprintf("container %s runs %s in place of %s", pair.after.Name, now.repository, was.repository)
			f.Consequence = "another image: its user, paths, entry point and variables may differ from what the rest of the manifest was written for"
		case was.registry != now.registry && !sameRegistry(was.registry, now.registry):
			f.Message = fmt.Sprintf("the image of container %s comes from %s in place of %s", pair.after.Name, now.registry, was.registry)
			f.Consequence = "nodes that cannot reach it, or have no pull secret for it, start no new pod"
		case was.repository != now.repository && was.registry == now.registry:
			f.Message = fmt.Sprintf("the image of container %s comes from %s in place of %s", pair.after.Name, now.repository, was.repository)
			f.Consequence = "another project may build it in another way"
		default:
			continue
		}
		p.Report(c, f)
	}
}

// sameRegistry says whether two names are one registry: Kubernetes' own moved
// (https://kubernetes.io/blog/2022/11/28/registry-k8s-io-faster-cheaper-ga/).
func sameRegistry(a, b string) bool {
	kubernetes := func(s string) bool { return s == "k8s.gcr.io" || s == "registry.k8s.io" }
	return kubernetes(a) && kubernetes(b)
}
