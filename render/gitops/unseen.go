package gitops

import (
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// unseen gives what stands for the secrets that an object hands on: those in its
// spec, and those in the ConfigMaps and Secrets of the repository that its values
// or variables come from.
func (w *side) unseen(o *object.Object) []string {
	spec := o.At("spec")
	out := secretsIn(nil, "", spec)
	for _, list := range []object.Value{spec.Field("valuesFrom"), spec.At("postBuild.substituteFrom")} {
		for _, from := range list.Items() {
			kind, name := from.Field("kind").Text(), from.Field("name").Text()
			if kind != "Secret" {
				kind = "ConfigMap"
			}
			if given := w.object("", kind, o.Ref.Namespace, name); given != nil {
				for _, field := range []string{"data", "stringData"} {
					out = secretsIn(out, kind+"/"+name+"/"+field, given.At(field))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// secretsIn appends the secrets of a value, each with its place.
func secretsIn(out []string, at string, v object.Value) []string {
	switch v.Type() {
	case object.Map:
		for k, item := range v.Fields() {
			out = secretsIn(out, at+"/"+k, item)
		}
	case object.List:
		for _, item := range v.Items() {
			out = secretsIn(out, at+"/", item)
		}
	default:
		if v.Masked() != nil {
			out = append(out, at+"="+v.Marked())
		}
	}
	return out
}
