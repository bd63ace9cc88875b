package rules

import (
	"slices"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads security contexts, for the rules about them.

// security gives a field of a container's security context, or of its pod's where
// the container has none
// (https://kubernetes.io/docs/tasks/configure-pod-container/security-context/).
func security(w object.Workload, box object.Container, field string) object.Value {
	if v := box.At("securityContext").Field(field); v.Exists() {
		return v
	}
	return w.PodSpec.At("securityContext").Field(field)
}

func isTrue(v object.Value) bool {
	b, _ := v.Bool()
	return b
}

// lostOf gives the texts of before that are not in after.
func lostOf(before, after []string) []string {
	var out []string
	for _, s := range before {
		if !slices.Contains(after, s) {
			out = append(out, s)
		}
	}
	return out
}

// securityPath is where a field of the security context stands: at the container,
// or at the pod when only that has it.
func securityPath(w object.Workload, box object.Container, field string) object.Path {
	if !box.At("securityContext").Field(field).Exists() && w.PodSpec.At("securityContext").Field(field).Exists() {
		return w.SpecPath().Key("securityContext").Key(field)
	}
	return box.Path.Key("securityContext").Key(field)
}
