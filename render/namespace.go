package render

import (
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// InNamespace gives objects as they land where what names no namespace goes into the
// given one: that of a Helm release, or of the destination of an Application. Kinds
// that live in no namespace stay without, told by the definitions among the objects
// and by what is known. A custom kind of unknown scope is put there as well: nearly
// all have namespaces, and it is so on both sides. With "" all stay as they are.
func InNamespace(objects []*object.Object, namespace string) []*object.Object {
	lacks := func(o *object.Object) bool { return o.Ref.Namespace == "" && !standsIn(o.Ref) }
	if namespace == "" || !slices.ContainsFunc(objects, lacks) {
		return objects
	}
	scopes := object.ScopesOf(objects)
	out := slices.Clone(objects)
	for i, o := range out {
		if lacks(o) && !scopes.Cluster(o.Ref) {
			out[i] = o.InNamespace(namespace)
		}
	}
	return out
}

// standsIn says whether an object is no manifest, but stands for what is not rendered.
func standsIn(ref object.Ref) bool {
	return ref.Group == "helm.sh" || ref.Group == "kustomize.config.k8s.io"
}
