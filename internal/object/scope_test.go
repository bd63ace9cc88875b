package object

import "testing"

func TestAnObjectIsPutIntoANamespaceAsACopy(t *testing.T) {
	objects, errs := Parse("u", "a.yaml", []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: {a: b}}\nstringData: {password: hunter2hunter2}\n"))
	if len(errs) > 0 || len(objects) != 1 {
		t.Fatalf("Parse() = %v, %v", objects, errs)
	}
	before := objects[0]
	after := before.InNamespace("prod")
	if got := after.Ref.String(); got != "Secret prod/s" {
		t.Errorf("Ref = %s, want Secret prod/s", got)
	}
	if got := after.Text("metadata.namespace"); got != "prod" {
		t.Errorf("metadata.namespace = %q, want prod", got)
	}
	if got := after.Text("metadata.labels.a"); got != "b" {
		t.Errorf("a label = %q, want b", got)
	}
	if !after.Masks() {
		t.Error("the secret is not masked any more")
	}
	if before.Ref.Namespace != "" || before.At("metadata.namespace").Exists() {
		t.Error("the object that was copied has the namespace too")
	}
}

func TestScopes(t *testing.T) {
	objects, errs := Parse("u", "crd.yaml", []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Fleet}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterissuers.cert-manager.io}
spec: {group: cert-manager.io, scope: Namespaced, names: {kind: ClusterIssuer}}
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	scopes := ScopesOf(objects)
	for _, c := range []struct {
		name        string
		group, kind string
		want        bool
	}{
		{"a kind whose definition says so", "example.com", "Fleet", true},
		{"a definition counts more than what is known", "cert-manager.io", "ClusterIssuer", false},
		{"a built-in kind without namespace", "", "Namespace", true},
		{"a built-in kind with namespace", "policy", "PodDisruptionBudget", false},
		{"a known custom kind", "karpenter.sh", "NodePool", true},
		{"every constraint of Gatekeeper", "constraints.gatekeeper.sh", "K8sRequiredLabels", true},
		{"the same kind in another group", "example.com", "Namespace", false},
		{"an unknown custom kind", "example.com", "Widget", false},
	} {
		if got := scopes.Cluster(Ref{Group: c.group, Kind: c.kind}); got != c.want {
			t.Errorf("%s: Cluster() = %v, want %v", c.name, got, c.want)
		}
	}
}
