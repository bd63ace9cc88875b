package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceSelectorNarrowed reports a Service whose selector asks for more than
// before, so that it loses pods that run at the moment of the merge.
var ServiceSelectorNarrowed = &rule.Rule{
	ID:       "service-selector-narrowed",
	Title:    "A Service selector asks for a label that running pods do not carry",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
A selector counts from the moment of the merge, for the pods that run then. Labels reach pods only by a rollout, pod by pod.
In between the Service knows none but the new pods: at first no endpoint at all, then the first wave of the rollout, which
takes the traffic of everybody. When these few pods fail their probes under the load, the rollout waits for them, and the
outage lasts until somebody steps in. All pods are healthy before, and nothing in the Deployment looks wrong.

It is rarely meant: mostly a label is meant for the pods, and a helper that builds the Service from the workload copies
it into the selector. Where running pods carry the label already, nothing is lost and this rule is quiet.`,
	Advice:    fmt.Sprintf(narrowedAdvice, "'the_label'"),
	Incidents: []string{"grafana-loki-selector-2022"},
	Kinds:     []string{"Service"},
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:     checkServiceSelectorNarrowed,
}

// narrowedAdvice has a place for the labels. The helper is that of
// https://github.com/grafana/jsonnet-libs/blob/master/ksonnet-util/util.libsonnet.
const narrowedAdvice = `Keep the label out of the selector: in jsonnet, a helper like ksonnet-util's ` + "`serviceFor`" + ` copies all pod labels but
those in its list of labels to ignore, so pass it there (` + "`k.util.serviceFor(deployment, ignored_labels=[%s])`" + `). If the selector must
ask for it: label the pods first, wait until the rollout is done, and narrow the selector in a second pull request.`

func checkServiceSelectorNarrowed(p *rule.Pass, c diff.Change) {
	s := shiftOf(p, c)
	gained := gains(s.before, s.after)
	if len(s.before) == 0 || len(gained) == 0 || len(gains(s.after, s.before)) > 0 || isExternalName(c) {
		return
	}
	label := labelText(gained)
	advice := fmt.Sprintf(narrowedAdvice, "'"+strings.Join(slices.Sorted(maps.Keys(gained)), "', '")+"'")
	if len(s.running) == 0 && len(s.coming) == 0 && !s.asleep {
		// What makes its pods is not in the tree, or is an operator.
		p.Report(c, rule.Finding{
			Path:        "spec.selector",
			Advice:      advice,
			Severity:    rule.Warning,
			Message:     fmt.Sprintf("selector gains %s: whether running pods carry it is unknown, %s", label, s.whoMakesPods()),
			Consequence: "pods without it leave the Service at the moment of the merge",
			Related:     s.unknownRefs(),
		})
		return
	}
	if len(s.lost) == 0 {
		return
	}
	if len(s.kept) > 0 {
		p.Report(c, rule.Finding{
			Path:        "spec.selector",
			Advice:      advice,
			Severity:    rule.Warning,
			Message:     fmt.Sprintf("selector gains %s, which %s of %s do not carry", label, runningPods(s.lost), names(s.lost)),
			Consequence: fewer(s),
			Related:     refs(s.lost, s.kept),
		})
		return
	}
	if len(s.coming) == 0 {
		return // nothing will match, which is another risk
	}
	consequence, severity := s.onlyNewPods(p, c.After)
	p.Report(c, rule.Finding{
		Path:        "spec.selector",
		Advice:      advice,
		Severity:    severity,
		Message:     fmt.Sprintf("selector gains %s: %s", label, noneCarries(s.lost, len(gained))),
		Consequence: consequence,
		Related:     refs(s.lost, s.coming),
		Rollout:     s.picture(p),
	})
}

func isExternalName(c diff.Change) bool {
	return c.Before.Text("spec.type") == "ExternalName" || c.After.Text("spec.type") == "ExternalName"
}
