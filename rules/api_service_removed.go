package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// APIServiceRemoved reports an aggregated API that is served no more, or by another
// Service.
var APIServiceRemoved = &rule.Rule{
	ID:       "api-service-removed",
	Title:    "An aggregated API is no longer served, or by another Service",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
The API server passes requests for an aggregated API on to a Service. Without metrics.k8s.io, autoscalers on CPU and memory and kubectl top stand
still; without external.metrics.k8s.io or custom.metrics.k8s.io, those on other metrics. An APIService that stays while nobody answers for it is worse:
discovery fails in part, and with it the deletion of every namespace and the garbage collection of controllers that list all kinds.`,
	Advice:  "Remove the APIService before its Service and pods, or let the new Service answer before the APIService names it; look at `kubectl get apiservice` for False.",
	Kinds:   []string{"APIService.apiregistration.k8s.io"},
	Actions: []diff.Action{diff.Delete, diff.Update, diff.Replace},
	Check:   checkAPIServiceRemoved,
}

func checkAPIServiceRemoved(p *rule.Pass, c diff.Change) {
	if !c.Before.At("spec.service").Exists() {
		return // served by the API server itself, or by a CustomResourceDefinition
	}
	group := c.Before.Text("spec.group")
	if c.Action == diff.Delete {
		if slices.ContainsFunc(p.After.Kind("APIService.apiregistration.k8s.io"), func(o *object.Object) bool { return o.Text("spec.group") == group }) {
			return // another version of it stays
		}
		f := rule.Finding{Message: fmt.Sprintf("%s is served no more", group), Consequence: "clients of the API get 404"}
		for _, a := range p.After.Autoscalers() {
			if metricsGroup(a.Object, group) {
				f.Related = append(f.Related, a.Ref)
			}
		}
		if len(f.Related) > 0 {
			f.Severity = rule.Error
			f.Consequence = fmt.Sprintf("%s cannot read its metrics and keeps the count of now", roleNames(f.Related))
			if len(f.Related) > 1 {
				f.Consequence = fmt.Sprintf("%s cannot read their metrics and keep the counts of now", roleNames(f.Related))
			}
		}
		p.Report(c, f)
		return
	}
	before, after := serviceText(c.Before.At("spec.service")), serviceText(c.After.At("spec.service"))
	if before == after || !c.After.At("spec.service").Exists() {
		return
	}
	f := rule.Finding{Path: "spec.service", Message: fmt.Sprintf("%s is served by %s, by %s before", group, after, before)}
	f.Consequence = "until that answers, with a certificate that caBundle vouches for, the API fails, and discovery with it"
	if !serviceKnown(p.After, c.Ref.Unit, c.After.At("spec.service")) {
		f.Message += "; that Service is not among these manifests"
	}
	p.Report(c, f)
}

// metricsGroup says whether an autoscaler reads metrics of an API group.
func metricsGroup(scaler *object.Object, group string) bool {
	if scaler.Ref.Kind != "HorizontalPodAutoscaler" {
		return false
	}
	if scaler.At("spec.targetCPUUtilizationPercentage").Exists() || scaler.At("spec.metrics").Len() == 0 {
		return group == "metrics.k8s.io"
	}
	for _, m := range scaler.At("spec.metrics").Items() {
		switch m.Field("type").Text() {
		case "Resource", "ContainerResource":
			if group == "metrics.k8s.io" {
				return true
			}
		case "External":
			if group == "external.metrics.k8s.io" {
				return true
			}
		case "Pods", "Object":
			if group == "custom.metrics.k8s.io" {
				return true
			}
		}
	}
	return false
}
