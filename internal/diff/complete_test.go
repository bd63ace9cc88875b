package diff_test

import (
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

func TestCompleterFillsInWhatTheAPIServerDoes(t *testing.T) {
	objects, errs := object.Parse("unit", "all.yaml", []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - {name: app, image: "app:1", ports: [{containerPort: 80}]}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: w}
spec: {}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {kind: Widget}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {properties: {spec: {properties: {size: {type: integer, default: 3}}}}}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: hunter2hunter2}
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	set := object.NewSet(objects)
	complete := diff.Completer(set)
	for _, tt := range []struct {
		ref  object.Ref
		path string
		want string
	}{
		{object.Ref{Unit: "unit", Group: "apps", Kind: "Deployment", Name: "web"}, "spec.replicas", "1"},
		{object.Ref{Unit: "unit", Group: "apps", Kind: "Deployment", Name: "web"}, "spec.strategy.rollingUpdate.maxSurge", "25%"},
		{object.Ref{Unit: "unit", Group: "apps", Kind: "Deployment", Name: "web"}, "spec.template.spec.containers[0].ports[0].protocol", "TCP"},
		{object.Ref{Unit: "unit", Group: "apps", Kind: "Deployment", Name: "web"}, "spec.template.spec.containers[0].imagePullPolicy", "IfNotPresent"},
		{object.Ref{Unit: "unit", Group: "apps", Kind: "Deployment", Name: "web"}, "metadata.name", "web"},
		{object.Ref{Unit: "unit", Group: "example.org", Kind: "Widget", Name: "w"}, "spec.size", "3"},
		{object.Ref{Unit: "unit", Kind: "Secret", Name: "s"}, "stringData.password", object.Mask},
	} {
		o := set.Get(tt.ref)
		if got := complete(o).At(tt.path).String(); got != tt.want {
			t.Errorf("%s: %s = %q, want %q", tt.ref, tt.path, got, tt.want)
		}
		if o.At("spec.replicas").Exists() {
			t.Errorf("%s was changed", tt.ref)
		}
	}
}
