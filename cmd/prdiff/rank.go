package main

import (
	"strings"

	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
)

// rank replaces the incidents that a rule cites by those that are closest to
// this finding, each with the reason.
func rank(library *incident.Library, f *report.Finding, u *rule.Unit) {
	text := strings.Join([]string{f.Message, f.Consequence}, " ")
	matches := library.Rank(incident.Query{
		Rule: f.Rule, Cited: f.Incidents, Kind: f.Ref.GroupKind(), Path: string(f.Path), Text: text,
		Software: library.SoftwareIn(append(namesOf(f, u), text)...),
	})
	f.Incidents, f.Reasons = nil, nil
	for _, m := range matches {
		f.Incidents = append(f.Incidents, m.ID)
		f.Reasons = append(f.Reasons, m.Reason)
	}
}

// softwareLabels say what runs, in charts and manifests that name it
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/,
// https://helm.sh/docs/chart_best_practices/labels/).
var softwareLabels = []string{"app.kubernetes.io/name", "app.kubernetes.io/part-of", "helm.sh/chart", "chart", "app", "k8s-app"}

// namesOf gives the texts that may name the software behind a finding: the names,
// labels and images of its object and of those that it is about beside it.
func namesOf(f *report.Finding, u *rule.Unit) []string {
	var names []string
	for _, ref := range append([]object.Ref{f.Ref}, f.Related...) {
		names = append(names, ref.Name)
		if u == nil {
			continue
		}
		for _, set := range []*object.Set{u.Before, u.After} {
			o := set.Get(ref)
			if o == nil {
				continue
			}
			labels := o.Labels()
			for _, key := range softwareLabels {
				names = append(names, labels[key])
			}
			if w, ok := object.AsWorkload(o); ok {
				for _, c := range w.Containers() {
					names = append(names, c.Spec.Field("image").Text())
				}
			}
		}
	}
	return names
}
