package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// DeployHookChanged reports a hook that no longer runs when it did.
var DeployHookChanged = &rule.Rule{
	ID:       "deploy-hook-changed",
	Title:    "A hook of a deployment runs at another time, or is none any more",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A hook runs before or after the rest of a release, and the release waits for it ([Helm](https://helm.sh/docs/topics/charts_hooks/),
[Argo CD](https://argo-cd.readthedocs.io/en/stable/user-guide/resource_hooks/)). A migration that moves from before to after lets new pods meet the old schema; the other way round, old pods
meet the new one. Without pre-install or pre-upgrade among its phases, that kind of release goes on without it. Without the annotation the Job is an object like the others: it runs beside the new pods, nobody waits
for it, and the next release cannot change it, as the template of a Job is immutable.

A hook whose policy does not delete it before the next one is made is refused at the next release when its last run has failed.`,
	Advice:  `Keep migrations before the new pods, and write them so that pods of the version before can live with the result. To move a phase, add the new one first and see it run.`,
	Kinds:   []string{"Job.batch", "Pod", "ConfigMap", "Secret", "ServiceAccount", "Workflow.argoproj.io"},
	Actions: updates,
	Check:   checkDeployHookChanged,
}

var hookAnnotations = []string{"helm.sh/hook", "argocd.argoproj.io/hook"}

func checkDeployHookChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "metadata.annotations") {
		return
	}
	for _, key := range hookAnnotations {
		was, now := phases(c.Before, key), phases(c.After, key)
		if len(was) == 0 {
			continue
		}
		var lost []string
		for _, phase := range was {
			if !slices.Contains(now, phase) {
				lost = append(lost, phase)
			}
		}
		f := rule.Finding{Path: object.Path("metadata.annotations").Key(key)}
		switch {
		case len(lost) == 0:
			compareHookPolicy(p, c, key)
			continue
		case len(now) == 0:
			if hooked(c.After) {
				continue // of the other tool, which Argo CD reads as well
			}
			f.Message = fmt.Sprintf("it is no hook any more: it was %s", listed(was))
			f.Consequence = "it is applied with the rest, nobody waits for it, and it no longer runs at each release"
		default:
			f.Message = fmt.Sprintf("the hook runs at %s, before at %s", listed(now), listed(was))
			f.Consequence = fmt.Sprintf("at %s nothing of it runs any more", listed(lost))
			if before, after := hookSide(lost[0]), hookSide(now[0]); before != after && before != "" && after != "" {
				f.Consequence = fmt.Sprintf("it runs %s the rest is applied, and no longer %s that", after, before)
			}
		}
		p.Report(c, f)
	}
}

// phases are the moments at which a hook runs.
func phases(o *object.Object, key string) []string {
	var out []string
	for phase := range strings.SplitSeq(o.Annotation(key), ",") {
		if phase = strings.TrimSpace(phase); phase != "" {
			out = append(out, phase)
		}
	}
	return out
}

func hooked(o *object.Object) bool {
	return slices.ContainsFunc(hookAnnotations, func(key string) bool { return len(phases(o, key)) > 0 })
}

func hookSide(phase string) string {
	phase = strings.ToLower(phase)
	switch {
	case strings.HasPrefix(phase, "pre"):
		return "before"
	case strings.HasPrefix(phase, "post"):
		return "after"
	}
	return ""
}

// compareHookPolicy tells of a hook that stays behind and is in the way of the next one.
// Without any policy it is deleted before the next one is made.
func compareHookPolicy(p *rule.Pass, c diff.Change, key string) {
	first := func(o *object.Object) bool {
		policy := strings.ToLower(o.Annotation(key + "-delete-policy"))
		return policy == "" || strings.Contains(policy, "before-hook-creation") || strings.Contains(policy, "beforehookcreation")
	}
	if !first(c.Before) || first(c.After) || strings.Contains(strings.ToLower(c.After.Annotation(key+"-delete-policy")), "fail") {
		return
	}
	p.Report(c, rule.Finding{Path: object.Path("metadata.annotations").Key(key + "-delete-policy"), Severity: rule.Note,
		Message:     "the hook is no longer deleted before the next one is made",
		Consequence: "one that failed stays, and the next release ends with an error: it exists already"})
}
