package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ImagePullPolicyChanged reports pods that need the registry to start, or run what a
// node has left over.
var ImagePullPolicyChanged = &rule.Rule{
	ID:       "image-pull-policy-changed",
	Title:    "Pods pull their image at other times",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
With Always the kubelet asks the registry at each start of a container, a restart after a crash included. A registry that is down, slow or
limits its rate then takes down pods whose image is on the node. With IfNotPresent and a tag that moves each node goes on with
what it pulled first, so that pods of one workload run different programs. With Never a node that has not got the image starts no
pod.

Where nothing is written the API server decides by the tag, latest or none means Always; an image that gets such a tag changes its
policy too, which image-tag-unpinned tells.`,
	Advice:    `Pin the version and use IfNotPresent.`,
	Incidents: []string{"github-imagepullpolicy-2020"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkImagePullPolicyChanged,
}

func checkImagePullPolicyChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "imagePullPolicy") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		was, now := pullPolicy(pair.before), pullPolicy(pair.after)
		if was == now || !pair.after.At("imagePullPolicy").Exists() && !pair.before.At("imagePullPolicy").Exists() {
			continue
		}
		f := rule.Finding{
			Path:    pair.after.Path.Key("imagePullPolicy"),
			Message: fmt.Sprintf("the pull policy of container %s goes from %s to %s", pair.after.Name, was, now),
		}
		switch {
		case now == "Always":
			f.Consequence = "every start of the container asks the registry: while that does not answer, a pod that restarts does not come back"
		case now == "Never":
			f.Consequence = "on a node that does not have the image no pod starts"
		case parseImage(pair.after.Image()).floating():
			f.Message += fmt.Sprintf(", with the image %s", pair.after.Image())
			f.Consequence = "each node goes on with what it pulled first, so that pods run different versions"
		default:
			continue
		}
		p.Report(c, f)
	}
}

// pullPolicy gives a container's pull policy with its default
// (https://kubernetes.io/docs/concepts/containers/images/#imagepullpolicy-defaulting).
func pullPolicy(box object.Container) string {
	if s := box.At("imagePullPolicy").Text(); s != "" {
		return s
	}
	if i := parseImage(box.Image()); i.tag == "latest" || i.tag == "" && i.digest == "" {
		return "Always"
	}
	return "IfNotPresent"
}
