package diff

import "github.com/prdiff/prdiff/internal/object"

// Completer gives a function that gives the manifest of an object as admission
// in the API server sees it: with the defaults of its kind filled in, as far as
// internal tables and the CustomResourceDefinitions of the set know them. What the
// function gives shares the object's values. It is not for several goroutines.
func Completer(set *object.Set) func(*object.Object) object.Value {
	schemas := newCustomSchemas(nil, set, nil)
	return func(o *object.Object) object.Value { return complete(o.Root(), schemas.root(o), 0) }
}

// complete fills in the defaults below one place.
func complete(v object.Value, n *node, depth int) object.Value {
	if n == nil || depth > 100 {
		return v
	}
	switch v.Type() {
	case object.Map:
		fields := make(map[string]object.Value, v.Len())
		for key, item := range v.Fields() {
			fields[key] = complete(item, n.child(key), depth+1)
		}
		for key := range n.defaults {
			if filled := effective(n, nil, key, v.Field(key), v); filled.Exists() && !filled.Equal(v.Field(key)) {
				fields[key] = complete(filled, n.child(key), depth+1)
			}
		}
		return object.MapOf(fields)
	case object.List:
		items := make([]object.Value, 0, v.Len())
		for _, item := range v.Items() {
			items = append(items, complete(item, n.item(), depth+1))
		}
		return object.ListOf(items)
	}
	return v
}
