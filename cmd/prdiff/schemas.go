package main

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
)

// A schemas gives the CustomResourceDefinitions of both trees, which say how the
// lists of custom resources are compared. They are read at most once, and only
// when a custom resource changes: most runs need none.
type schemas func() []*object.Object

func newSchemas(trees ...*source.Tree) schemas {
	return sync.OnceValue(func() []*object.Object {
		var out []*object.Object
		for _, t := range trees {
			out = append(out, definitions(t)...)
		}
		return out
	})
}

// definitions reads the CustomResourceDefinitions of a tree, wherever they are:
// the unit that installs them is mostly another one than those that use them. A
// file that cannot be read is passed over: its unit tells of it, and without a
// schema lists are compared by their usual keys.
func definitions(t *source.Tree) []*object.Object {
	files, err := t.Files(".")
	if err != nil {
		return nil
	}
	var out []*object.Object
	for _, name := range files {
		switch strings.ToLower(path.Ext(name)) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		data, err := t.ReadFile(name)
		if err != nil || !bytes.Contains(data, []byte("CustomResourceDefinition")) {
			continue
		}
		objects, _ := object.Parse("", name, data) // what is no definition is of no concern here
		for _, o := range objects {
			if o.Ref.GroupKind() == "CustomResourceDefinition.apiextensions.k8s.io" {
				out = append(out, o)
			}
		}
	}
	return out
}

// compareSets compares both sides of a part. Where a custom resource differs, it
// is done with the schemas of all the tree.
func compareSets(before, after *object.Set, s schemas, o diff.Options) []diff.Change {
	changes := diff.Compare(before, after, o)
	if s == nil || !slices.ContainsFunc(changes, func(c diff.Change) bool {
		return len(c.Fields) > 0 && custom(c.Ref.Group)
	}) {
		return changes
	}
	if more := s(); len(more) > 0 {
		o.Schemas = more
		return diff.Compare(before, after, o)
	}
	return changes
}

// custom says whether an API group is not Kubernetes' own. Groups below k8s.io
// may be either (gateway.networking.k8s.io comes with definitions).
func custom(group string) bool { return strings.Contains(group, ".") }
