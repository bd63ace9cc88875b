package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ImageTagUnpinned reports an image that may be another one tomorrow.
var ImageTagUnpinned = &rule.Rule{
	ID:       "image-tag-unpinned",
	Title:    "An image loses its version: no tag, or one that moves",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A tag like latest is read when a pod starts. The next drain, crash or scale-up brings a version that nobody reviewed, to one pod of several,
without a rollout that would stop; and there is nothing to roll back to, since the manifest did not change. Which version runs is
not to be seen in the repository any more.

An image that was pinned and is no longer is a warning. A digest that goes while a version stays is a note: registries let a
tag be pushed again. A new container that comes with a moving tag is a note too.`,
	Advice: `Write the version, and the digest with it where a registry allows tags to be overwritten; let a bot (Renovate, Argo CD Image Updater,
Flux) raise it by pull request.`,
	Incidents: []string{"dfds-flux-unpinned-2021", "dfds-ami-2022"},
	Kinds:     podKinds,
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:     checkImageTagUnpinned,
}

func checkImageTagUnpinned(p *rule.Pass, c diff.Change) {
	if c.Before != nil && !touched(c, ".image") {
		return
	}
	after, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	var was map[string]object.Container
	if c.Before != nil {
		before, ok := p.Before.Workload(c.Before.Ref)
		if !ok {
			return
		}
		was = map[string]object.Container{}
		for _, pair := range pairContainers(before, after) {
			was[pair.after.Name] = pair.before
		}
	}
	for _, box := range after.Containers() {
		if box.Image() == "" || box.Kind == object.EphemeralContainer || strings.Contains(box.Image(), "://") {
			// ko://, docker-daemon:// and the like are replaced before they are applied.
			continue
		}
		now := parseImage(box.Image())
		f := rule.Finding{Path: box.Path.Key("image")}
		old, known := was[box.Name]
		before := parseImage(old.Image())
		switch {
		case !known && now.floating() && now.tag != "" || !known && now.floating() && strings.Contains(box.Image(), "/"):
			// A bare word without a tag is mostly a name that the deployment replaces.
			f.Severity = rule.Note
			f.Message = fmt.Sprintf("container %s comes with the image %s", box.Name, box.Image())
		case known && now.floating() && !before.floating():
			f.Message = fmt.Sprintf("container %s goes from image %s to %s", box.Name, old.Image(), box.Image())
		case known && before.digest != "" && now.digest == "" && before.repository == now.repository:
			f.Severity = rule.Note
			f.Message = fmt.Sprintf("the image of container %s loses its digest and is %s now", box.Name, box.Image())
		default:
			continue
		}
		f.Consequence = "what it means is decided each time a pod starts: pods of one workload may run different versions, and there is nothing to roll back to"
		if f.Severity == rule.Note && known {
			f.Consequence = "a tag that is pushed again reaches pods as they restart"
		}
		p.Report(c, f)
	}
}
