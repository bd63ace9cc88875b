package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// StatefulSetVolumesLeft reports a StatefulSet whose pods start with empty volumes.
var StatefulSetVolumesLeft = &rule.Rule{
	ID:       "statefulset-volumes-left",
	Title:    "Pods of a StatefulSet start with new, empty volumes",
	Subject:  "state",
	Severity: rule.Error,
	Doc: `
The claims of a StatefulSet are named after it: TEMPLATE-SET-ORDINAL. With another name of the set or of the template, other ordinals, or in another
namespace, its pods find no claims of their names and get new, empty ones, while the data stays on the old ones that nobody mounts. A database
starts as a new cluster, and applications write to it before anybody notices. The pods' DNS names, which hang on the set's and the governing Service's
name, change too, and members that know each other by them do not find each other.`,
	Advice: `Keep the name (nameOverride and fullnameOverride in charts). If it must change: scale down, set the volumes to Retain, make claims of the new names
that are bound to the old volumes (volumeName), and start the new set with those; or restore from a backup into it.`,
	Incidents: []string{"statefulset-rename-camunda-2026"},
	Kinds:     []string{"StatefulSet.apps"},
	Actions:   []diff.Action{diff.Rename, diff.Update, diff.Replace, diff.Delete},
	Check:     checkStatefulSetVolumesLeft,
}

func checkStatefulSetVolumesLeft(p *rule.Pass, c diff.Change) {
	was := claimTemplates(c.Before)
	if len(was) == 0 {
		return
	}
	if c.Action == diff.Delete {
		heir, ok := heirOf(p, c)
		if !ok {
			return
		}
		c.Action, c.After = diff.Rename, heir
	}
	now := claimTemplates(c.After)
	pods := "its pods"
	if w, ok := p.Before.Workload(c.Before.Ref); ok {
		pods = podsOf(w)
	}
	if c.Action == diff.Rename {
		f := rule.Finding{Path: "metadata.name", Ref: c.Before.Ref, Origin: c.After.Origin, Message: fmt.Sprintf("the set becomes %s: claims such as %s-%s-0 stay behind", c.After.Ref, was[0], c.Before.Ref.Name)}
		if c.Before.Ref.Namespace != c.After.Ref.Namespace {
			f.Path = "metadata.namespace"
		}
		f.Consequence = fmt.Sprintf("%s start with new, empty volumes", pods)
		p.Report(c, f)
		return
	}
	for _, name := range was {
		if slices.Contains(now, name) {
			continue
		}
		// The API server refuses it; whoever deletes the set to get it in loses sight
		// of the data.
		p.Report(c, rule.Finding{Path: "spec.volumeClaimTemplates", Message: fmt.Sprintf("the claim template %s goes: claims such as %s-%s-0 stay behind", name, name, c.Before.Ref.Name),
			Consequence: fmt.Sprintf("once the set is made anew, %s start without what they kept there", pods)})
	}
	b, _ := c.Before.At("spec.ordinals.start").Int()
	a, _ := c.After.At("spec.ordinals.start").Int()
	if a != b {
		p.Report(c, rule.Finding{Path: "spec.ordinals.start", Message: fmt.Sprintf("the ordinals start at %d, at %d before: claims of ordinals outside of the new range stay behind", a, b),
			Consequence: "pods of new ordinals start with new, empty volumes, and those outside of the range end"})
	}
}

// heirOf gives a new StatefulSet that is to take over from a deleted one: of the same
// program, with a claim template of the same name.
func heirOf(p *rule.Pass, c diff.Change) (*object.Object, bool) {
	was, ok := p.Before.Workload(c.Before.Ref)
	if !ok {
		return nil, false
	}
	for _, x := range p.Changes {
		if x.Action != diff.Create || x.Ref.Kind != "StatefulSet" {
			continue
		}
		now, ok := p.After.Workload(x.After.Ref)
		same := slices.ContainsFunc(claimTemplates(x.After), func(name string) bool { return slices.Contains(claimTemplates(c.Before), name) })
		if ok && same && repository(now) != "" && repository(now) == repository(was) {
			return x.After, true
		}
	}
	return nil, false
}

// claimTemplates gives the names of a StatefulSet's claim templates.
func claimTemplates(o *object.Object) []string {
	var out []string
	for _, t := range o.At("spec.volumeClaimTemplates").Items() {
		if name := t.At("metadata.name").Text(); name != "" {
			out = append(out, name)
		}
	}
	return out
}
