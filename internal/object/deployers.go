package object

import "strings"

// Cascades says whether what an object of Argo CD or Flux deployed is deleted with it.
// If not, why says what keeps it: the missing finalizer of an Application
// (https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/), the prune,
// deletionPolicy or suspend of a Kustomization
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#deletion-policy),
// preserveResourcesOnDeletion of an ApplicationSet, and the suspend of a HelmRelease,
// which is uninstalled otherwise.
func (o *Object) Cascades() (cascades bool, why string) {
	if suspended, _ := o.At("spec.suspend").Bool(); suspended {
		return false, "is suspended"
	}
	switch o.Ref.Kind {
	case "Application":
		for _, f := range o.At("metadata.finalizers").Texts() {
			if strings.HasPrefix(f, ResourcesFinalizer) {
				return true, ""
			}
		}
		return false, "has no finalizer " + ResourcesFinalizer
	case "ApplicationSet":
		if keep, _ := o.At("spec.syncPolicy.preserveResourcesOnDeletion").Bool(); keep {
			return false, "has preserveResourcesOnDeletion"
		}
	case "Kustomization":
		switch o.Text("spec.deletionPolicy") {
		case "Orphan":
			return false, "has deletionPolicy: Orphan"
		case "Delete":
			return true, ""
		}
		if prune, _ := o.At("spec.prune").Bool(); !prune {
			return false, "does not prune"
		}
	}
	return true, ""
}

// ResourcesFinalizer has Argo CD delete what an Application deployed before the
// Application goes.
const ResourcesFinalizer = "resources-finalizer.argocd.argoproj.io"
