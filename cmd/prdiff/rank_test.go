package main

import (
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
)

// What software a finding is about is told by images and labels: names of objects
// are the team's own.
func TestIncidentsOfTheSameSoftwareComeFirst(t *testing.T) {
	const manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: names, labels: {LABEL}}\nspec: {template: {spec: {containers: [{name: a, image: IMAGE}]}}}\n"
	tests := []struct {
		name, label, image string
		want               bool
	}{
		{"by its image", "team: a", "registry.k8s.io/coredns/coredns:v1.12", true},
		{"by the label of a chart", "helm.sh/chart: coredns-1.45.0", "mirror.example/dns:1", true},
		{"by nothing", "team: a", "mirror.example/mycorednsfork:1", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, errs := object.Parse("u", "a.yaml", []byte(strings.NewReplacer("LABEL", tt.label, "IMAGE", tt.image).Replace(manifest)))
			if len(errs) > 0 {
				t.Fatal(errs[0])
			}
			u := &rule.Unit{Name: "u", Before: object.NewSet(nil), After: object.NewSet(objects)}
			f := report.Finding{Finding: rule.Finding{Rule: "x", Ref: objects[0].Ref, Path: "spec.template.spec.containers[name=a].resources.limits.memory", Incidents: []string{"zalando-coredns-2019"}}}
			rank(incident.Embedded(), &f, u)
			if len(f.Incidents) == 0 || f.Incidents[0] != "zalando-coredns-2019" || len(f.Reasons) != len(f.Incidents) {
				t.Fatalf("incidents %v for %q", f.Incidents, f.Reasons)
			}
			if got := strings.Contains(f.Reasons[0], "same software (coredns)"); got != tt.want {
				t.Errorf("shown because %q", f.Reasons[0])
			}
		})
	}
}
