package diff

import "github.com/prdiff/prdiff/internal/object"

// defaultRequests hides requests of a Pod's containers that equal what they would
// be if they were not there: the limits. The API server fills them in for Pods
// alone (SetDefaults_Pod in pkg/apis/core/v1/defaults.go of
// https://github.com/kubernetes/kubernetes says so); in a template they are
// stored as written, so writing them out replaces the pods.
func defaultRequests(c *Change) {
	if c.Ref.GroupKind() != "Pod" {
		return
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		if f.Hidden != "" || len(f.steps) != 6 || f.steps[0].key != "spec" || !f.steps[2].list ||
			f.steps[3].key != "resources" || f.steps[4].key != "requests" {
			continue
		}
		list := f.steps[1].key
		if list != "containers" && list != "initContainers" {
			continue
		}
		before, after := f.Before, f.After
		if !before.Exists() {
			before = limit(c.Before, list, f.steps[2].before, f.steps[5].key)
		}
		if !after.Exists() {
			after = limit(c.After, list, f.steps[2].after, f.steps[5].key)
		}
		if before.Exists() && after.Exists() && (before.Equal(after) || sameMeaning(before, after, quantity)) {
			f.Hidden = filterDefaults
		}
	}
}

func limit(pod *object.Object, list string, container int, resource string) object.Value {
	return pod.Root().Field("spec").Field(list).Item(container).Field("resources").Field("limits").Field(resource)
}
