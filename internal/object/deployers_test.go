package object

import "testing"

func TestCascades(t *testing.T) {
	for _, c := range []struct {
		name, manifest string
		want           bool
		why            string
	}{
		{"an Application without finalizer", "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}", false, "has no finalizer resources-finalizer.argocd.argoproj.io"},
		{"an Application with another finalizer", "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, finalizers: [x/y]}}", false, "has no finalizer resources-finalizer.argocd.argoproj.io"},
		{"an Application that deletes in the background", "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, finalizers: [resources-finalizer.argocd.argoproj.io/background]}}", true, ""},
		{"an ApplicationSet", "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: a}}", true, ""},
		{"an ApplicationSet that preserves", "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: a}, spec: {syncPolicy: {preserveResourcesOnDeletion: true}}}", false, "has preserveResourcesOnDeletion"},
		{"a Kustomization that prunes", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a}, spec: {prune: true}}", true, ""},
		{"a Kustomization that does not", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a}, spec: {prune: false}}", false, "does not prune"},
		{"a deletion policy counts more than prune", "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a}, spec: {prune: true, deletionPolicy: Orphan}}", false, "has deletionPolicy: Orphan"},
		{"a HelmRelease is uninstalled", "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a}}", true, ""},
		{"unless it is suspended", "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a}, spec: {suspend: true}}", false, "is suspended"},
	} {
		objects, errs := Parse("u", "x.yaml", []byte(c.manifest))
		if len(errs) > 0 {
			t.Fatal(c.name, errs)
		}
		if got, why := objects[0].Cascades(); got != c.want || why != c.why {
			t.Errorf("%s: Cascades() = %v, %q, want %v, %q", c.name, got, why, c.want, c.why)
		}
	}
}
