package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads CustomResourceDefinitions, for the rules about them.

const crdKind = "CustomResourceDefinition.apiextensions.k8s.io"

// A crdVersion is one version of a definition.
type crdVersion struct {
	name            string
	served, storage bool
	schema          object.Value
	path            object.Path
}

// crdVersions gives the versions of a definition in their order. In v1beta1 the
// only one may stand under spec.version, and one schema may be for all
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/).
func crdVersions(o *object.Object) []crdVersion {
	common := o.At("spec.validation.openAPIV3Schema")
	var out []crdVersion
	for _, v := range o.At("spec.versions").Items() {
		name := v.Field("name").Text()
		served, _ := v.Field("served").Bool()
		storage, _ := v.Field("storage").Bool()
		path := object.Path("spec.versions").Select("name", name)
		schema := v.At("schema.openAPIV3Schema")
		if !schema.Exists() {
			schema = common
		}
		out = append(out, crdVersion{name, served, storage, schema, path})
	}
	if name := o.Text("spec.version"); len(out) == 0 && name != "" {
		out = append(out, crdVersion{name, true, true, common, "spec.version"})
	}
	return out
}

// instances gives the objects of a definition's kind in a set, of one version or,
// with version "", of all.
func instances(set *object.Set, crd *object.Object, version string) []*object.Object {
	group := crd.Text("spec.group")
	var out []*object.Object
	for _, o := range set.Kind(object.Ref{Group: group, Kind: crd.Text("spec.names.kind")}.GroupKind()) {
		if version == "" || o.APIVersion() == group+"/"+version {
			out = append(out, o)
		}
	}
	return out
}

// objectNames lists objects by kind and name.
func objectNames(objects []*object.Object) string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Ref.String())
	}
	return listed(out)
}

// objectRefs gives the refs of objects, ten at most.
func objectRefs(objects []*object.Object) []object.Ref {
	var out []object.Ref
	for _, o := range objects[:min(len(objects), 10)] {
		if !slices.Contains(out, o.Ref) {
			out = append(out, o.Ref)
		}
	}
	return out
}

// objectsHere counts objects of a definition's kind: "3 Widgets of this unit".
func objectsHere(crd *object.Object, objects []*object.Object) string {
	return fmt.Sprintf("%s of this unit", plural(len(objects), crd.Text("spec.names.kind")))
}
