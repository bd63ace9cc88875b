package object

import (
	"bytes"
	"testing"
)

func TestNullsInTheValuesForAChartAreKept(t *testing.T) {
	tests := []struct{ name, text, path, want string }{
		{"a HelmRelease, in YAML", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, labels: {x: null}}\nspec:\n  interval: null\n  values:\n    limits:\n      cpu: ~\n      memory:\n    list: [{a: null}]\n    on: 1\n",
			"spec", `{"values":{"limits":{"cpu":null,"memory":null},"list":[{"a":null}],"true":1}}`},
		{"a HelmRelease, in JSON", `{"apiVersion": "helm.toolkit.fluxcd.io/v2beta1", "kind": "HelmRelease", "metadata": {"name": "a"}, "spec": {"chart": null, "values": {"a": null, "b": {"c": null}}}}`,
			"spec", `{"values":{"a":null,"b":{"c":null}}}`},
		{"an Application", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec:\n  project: null\n  sources:\n  - helm: {valuesObject: {a: null}, version: null}\n  source: {path: null, helm: {valuesObject: {b: null}}}\n",
			"spec", `{"source":{"helm":{"valuesObject":{"b":null}}},"sources":[{"helm":{"valuesObject":{"a":null}}}]}`},
		{"an ApplicationSet", "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec: {template: {spec: {source: {helm: {valuesObject: {b: null}}}}}}\n",
			"spec.template.spec", `{"source":{"helm":{"valuesObject":{"b":null}}}}`},
		{"any other object", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {values: {a: null}}\n", "spec", `{"values":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, errs := Parse("u", "a.yaml", []byte(tt.text))
			if len(errs) > 0 || len(objects) != 1 {
				t.Fatalf("got %v, %v", objects, errs)
			}
			o := objects[0]
			if got := o.At(tt.path).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			again, err := new(WireParts).Read(o.AppendWire(nil)).Next()
			if err != nil || !again.Root().Equal(o.Root()) {
				t.Errorf("from the wire: %v, %v", again.Root(), err)
			}
			printed, errs := Parse("u", "a.yaml", o.YAML())
			if len(errs) > 0 || !printed[0].Root().Equal(o.Root()) || !bytes.Equal(printed[0].YAML(), o.YAML()) {
				t.Errorf("printed and read: %v, %v", printed, errs)
			}
		})
	}
}

func TestNewKeepsTheNullsOfValues(t *testing.T) {
	o, err := New("u", Origin{Path: "a"}, map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"name": "a", "labels": nil},
		"spec": map[any]any{"chart": nil, "values": map[any]any{"a": nil, "b": map[string]any{"c": nil}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := o.At("spec").String(), `{"values":{"a":null,"b":{"c":null}}}`; got != want || o.At("metadata.labels").Exists() {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := o.At("spec.values.a"); got.Type() != Null || !got.Exists() {
		t.Errorf("a null is a %v", got.Type())
	}
}
