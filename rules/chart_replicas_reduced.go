package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ChartReplicasReduced reports values of a chart that is not rendered here, by which a workload
// of it keeps half of its pods or fewer.
var ChartReplicasReduced = &rule.Rule{
	ID:       "chart-replicas-reduced",
	Title:    "Values of a HelmRelease or Application cut the pods of a workload",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A HelmRelease of Flux, an Application of Argo CD and a HelmChart of k3s carry values for a chart that somebody else renders later, so that no diff of its objects shows what they do. By the names that charts have in common
([Helm's first chart](https://helm.sh/docs/chart_template_guide/getting_started/) and those of most others) replicaCount, replicas and minReplicas are numbers of pods: cut to half or fewer, the others end together as soon as the release is upgraded, and the rest
takes the traffic of all; with one left each restart and each drain is an outage.

Values written as text (spec.source.helm.values, valuesContent) are not read.`,
	Advice: `Render the chart with both sets of values and look at the difference (helm template, helm diff upgrade). Go down in steps, and keep two pods where anybody waits for an answer.`,
	Kinds:  []string{"HelmRelease.helm.toolkit.fluxcd.io", "Application.argoproj.io"}, Actions: updates,
	Check: checkChartReplicasReduced,
}

// chartCounts are names under which charts write numbers of pods.
var chartCounts = []string{"replicaCount", "replicas", "minReplicas"}

func checkChartReplicasReduced(p *rule.Pass, c diff.Change) {
	for _, f := range c.Fields {
		path := string(f.Path)
		if f.Hidden != "" || !strings.HasPrefix(path, "spec.values.") && !strings.HasPrefix(path, "spec.source.helm.valuesObject.") ||
			!slices.Contains(chartCounts, path[strings.LastIndexByte(path, '.')+1:]) {
			continue
		}
		was, okB := f.Before.Int()
		now, okA := f.After.Int()
		if !okA || !okB || now < 0 || was < 2 || 2*now > was {
			continue
		}
		found := rule.Finding{Path: f.Path, Before: f.Before, After: f.After, Message: fmt.Sprintf("%s of the chart goes from %d to %d", path[strings.LastIndexByte(path, '.')+1:], was, now),
			Consequence: fmt.Sprintf("%d pods end together when the release is upgraded, and each that is left takes a larger share", was-now)}
		switch now {
		case 0:
			found.Consequence = "all of its pods end when the release is upgraded"
		case 1:
			found.Consequence = fmt.Sprintf("one pod takes what %d took, and every restart or drain of it is an outage", was)
		}
		p.Report(c, found)
	}
}
