package rules

import (
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads the objects by which Argo CD and Flux deploy, for
// the rules about them.

// deployKinds deploy other manifests.
var deployKinds = []string{"Application.argoproj.io", "ApplicationSet.argoproj.io", "Kustomization.kustomize.toolkit.fluxcd.io", "HelmRelease.helm.toolkit.fluxcd.io"}

// appSpec is where an Application's settings stand: in an ApplicationSet, below its template.
func appSpec(o *object.Object) object.Path {
	if o.Ref.Kind == "ApplicationSet" {
		return "spec.template.spec"
	}
	return "spec"
}

// prunes says whether what falls out of the render is deleted in the cluster.
func prunes(o *object.Object) bool {
	switch o.Ref.Kind {
	case "Application", "ApplicationSet":
		prune, _ := o.At(string(appSpec(o)) + ".syncPolicy.automated.prune").Bool()
		return prune
	case "Kustomization":
		prune, _ := o.At("spec.prune").Bool()
		return prune
	}
	return o.Ref.Kind == "HelmRelease"
}

// cascades says whether what an object deployed is deleted with it.
func cascades(o *object.Object) bool {
	all, _ := o.Cascades()
	return all
}

// deploysFrom says where an object's manifests come from and where they go, by the
// names of their fields.
func deploysFrom(o *object.Object) map[object.Path]object.Value {
	spec := appSpec(o)
	var keys []object.Path
	switch o.Ref.Kind {
	case "Application", "ApplicationSet":
		keys = []object.Path{spec + ".source.repoURL", spec + ".source.path", spec + ".source.chart",
			spec + ".destination.namespace", spec + ".destination.server", spec + ".destination.name", spec + ".project"}
	case "Kustomization":
		keys = []object.Path{"spec.path", "spec.targetNamespace", "spec.sourceRef.name", "spec.kubeConfig.secretRef.name", "spec.kubeConfig.configMapRef.name"}
	case "HelmRelease":
		keys = []object.Path{"spec.chart.spec.chart", "spec.chart.spec.sourceRef.name", "spec.targetNamespace", "spec.storageNamespace", "spec.releaseName", "spec.kubeConfig.secretRef.name", "spec.kubeConfig.configMapRef.name"}
	}
	out := map[object.Path]object.Value{}
	for _, k := range keys {
		out[k] = o.At(string(k))
	}
	return out
}

// leavesUnit says whether an object no longer bears its name after the change.
func leavesUnit(c diff.Change) bool { return c.Action == diff.Delete || c.Action == diff.Rename }
