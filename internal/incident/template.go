package incident

import (
	"fmt"
	"strings"
)

// Template gives the text of a new postmortem of a team's own, which
// ParseMarkdown reads: front matter for what prdiff matches on, prose for people.
// date is the day of the incident, YYYY-MM-DD. The hints in it are comments; the
// parts in capitals must be filled in, or `prdiff incidents check` refuses it.
func Template(id, date string) string {
	return strings.NewReplacer("{ID}", id, "{DATE}", date).Replace(template)
}

// template holds what an incident of a team's own needs. Its lists are comments
// until somebody fills them.
const template = `---
# prdiff shows this incident with findings that it resembles, in this
# repository's reports only. Check it with: prdiff incidents check
id: {ID}
date: {DATE} # YYYY, YYYY-MM or YYYY-MM-DD
org: "" # the team or service
# Where a diff would have shown it:
kinds: [] # such as [Deployment, HorizontalPodAutoscaler]
fields: [] # without list items, such as [spec.replicas, containers.resources.limits.memory]
software: [] # lower case, as in image names, such as [coredns]
symptoms: [] # such as [OOMKilled, DNS failure]
rules: [] # IDs of rules that would have said so: prdiff rules
# To make a rule of it, keep one of these two. The expression is CEL, as in
# admission policies, with the object after the change and oldObject before it.
# trigger:
#   rule: service-selector-narrowed
# trigger:
#   kinds: [Deployment.apps]
#   when: object.spec.replicas < oldObject.spec.replicas / 2
#   severity: warning # note, warning or error
#   message: replicas fall by more than half, as on {DATE}
---

# TITLE: what happened, in one line without a full stop

## What changed

CHANGE: one or two sentences.

## Why it broke

MECHANISM: how the change led to the outage.

## Impact

IMPACT: for whom, how long, how much, in numbers.

## Lesson

LESSON: one sentence that ends with a full stop.
`

// unfilled are the words that the template marks its gaps with.
var unfilled = []string{"TITLE:", "CHANGE:", "MECHANISM:", "IMPACT:", "LESSON:"}

// gaps gives a problem for each text that still is the template's.
func (i Incident) gaps() []Problem {
	var out []Problem
	for n, t := range []struct{ field, text string }{
		{"title", i.Title}, {"change", i.Change}, {"mechanism", i.Mechanism}, {"impact", i.Impact}, {"lesson", i.Lesson},
	} {
		if strings.HasPrefix(t.text, unfilled[n]) {
			out = append(out, Problem{t.field, fmt.Sprintf("is not filled in: it begins with %s as in the template", unfilled[n])})
		}
	}
	return out
}
