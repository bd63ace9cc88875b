package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// WorkloadRenamed reports a workload that gets another name or namespace.
var WorkloadRenamed = &rule.Rule{
	ID:       "workload-renamed",
	Title:    "A workload gets another name or namespace",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A name cannot change: the object is created anew and the old one is left to be pruned. There is no rolling update between the two.
Depending on the tool both run at once, or the old pods end before the new ones are ready. Autoscalers, budgets with the name in
their selector, alerts and dashboards still mean the old name; in another namespace also every ConfigMap, Secret, account and
claim that the pods name must be there, network policies and quotas are others, and the DNS names of its Services change.

A unit that goes to another namespace as a whole, by another release namespace, destination or overlay, is told once, for its first workload: as an error
where Services are among its objects, because their DNS names end.`,
	Advice: `Create the new one beside the old one and wait until it is ready; let Services of the old name select both, or alias the old DNS name with
an ExternalName Service; move what names it; remove the old one in a second pull request.`,
	Incidents: []string{"wikimedia-eventgate-2021"},
	Kinds:     servingKinds,
	Actions:   []diff.Action{diff.Rename},
	Check:     checkWorkloadRenamed,
}

func checkWorkloadRenamed(p *rule.Pass, c diff.Change) {
	before, after, ok := bothWorkloads(p, c)
	if !ok || len(c.Effects) == 0 { // only a hash in the name moved
		return
	}
	if keepsName(c) {
		if move, ok := movesWhole(p.Unit); ok {
			if c.Ref == move.first {
				p.Report(c, move.finding(p.Unit))
			}
			return
		}
	}
	f := rule.Finding{Path: "metadata.name", Message: fmt.Sprintf("the name was %s", before.Ref.Name)}
	if before.Ref.Namespace != after.Ref.Namespace {
		f.Path, f.Message = "metadata.namespace", fmt.Sprintf("it was %s, in another namespace", before.Ref)
	}
	says := []string{fmt.Sprintf("%s are made anew without a rolling update: both run at once, or the old ones end before the new ones are ready, by the tool's order", podsOf(before))}
	if before.Replicas.Known && before.Replicas.Count == 1 {
		says[0] = "its pod is made anew without a rolling update: both run at once, or the old one ends before the new one is ready, by the tool's order"
	}
	if before.Ref.Namespace != after.Ref.Namespace {
		if missing := leftBehind(p, c); len(missing) > 0 {
			says = append(says, fmt.Sprintf("it names %s, which this unit has in the old namespace only", refNames(missing)))
			f.Related = append(f.Related, missing...)
			f.Severity = rule.Error
		}
	}
	for _, a := range p.After.AutoscalersOf(before.Ref) {
		says = append(says, fmt.Sprintf("%s still scales the old one", a.Ref))
		f.Related = append(f.Related, a.Ref)
	}
	f.Consequence = strings.Join(says, "; ")
	p.Report(c, f)
}

// leftBehind gives what a moved workload must find in its new namespace, and what
// the unit renders in the old one only.
func leftBehind(p *rule.Pass, c diff.Change) []object.Ref {
	var out []object.Ref
	for _, r := range p.After.References(c.After) {
		if r.To.Namespace != c.After.Ref.Namespace || r.Optional || p.After.Get(r.To) != nil {
			continue
		}
		old := r.To
		old.Namespace = c.Before.Ref.Namespace
		if p.After.Get(old) != nil {
			out = append(out, r.To)
		}
	}
	return out
}
