package jsonnet

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Manifest is one object of an evaluated tree, before Kubernetes' eyes: with
// nulls, numbers as float64, and secrets as they are. Hand it to object.New
// before it goes anywhere.
type Manifest struct {
	Path string // where in the tree it was, such as ".web.config" or ".list.[1]"
	Data map[string]any
}

// Kind gives the kind, Name metadata.name, "" where it has generateName only.
func (m Manifest) Kind() string { return str(m.Data["kind"]) }

// Name gives metadata.name, "" when there is none.
func (m Manifest) Name() string { return str(m.Meta()["name"]) }

// Meta gives the metadata itself, not a copy.
func (m Manifest) Meta() map[string]any {
	meta, _ := m.Data["metadata"].(map[string]any)
	return meta
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// An InvalidError is a value that is neither a manifest nor a group of them.
type InvalidError struct {
	At     string // the container of the value, such as ".web.config"
	Reason string // what its object lacks to be a manifest
	Value  string // the value's place and type, such as "replicas is a string"
}

// Error names the place, the reason and the value, but no content.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("found invalid Kubernetes object (at %s): %s; %s", e.At, e.Reason, e.Value)
}

// A FaultyError is a manifest with missing or mistyped fields.
type FaultyError struct {
	At     string // the manifest's path; "" when it has none
	Faults []string
}

// Error lists the faults.
func (e *FaultyError) Error() string {
	at := e.At
	if at == "" {
		at = "manifest"
	}
	return fmt.Sprintf("%s has missing or invalid fields: %s", at, strings.Join(e.Faults, "; "))
}

// Extract finds the manifests of an evaluated tree: an object with apiVersion and
// kind is one, everything else is looked into, in byte order of the keys. Lists
// are replaced by their items, however deep. The manifests share the tree's data.
func Extract(tree any) ([]Manifest, error) {
	x := extractor{}
	if tree == nil {
		return nil, nil
	}
	if err := x.value(tree, nil, nil); err != nil {
		return nil, err
	}
	return flatten(x.found)
}

type extractor struct{ found []Manifest }

// value visits v; object is the nearest object around it.
func (x *extractor) value(v any, object map[string]any, at []string) error {
	switch v := v.(type) {
	case map[string]any:
		return x.object(v, at)
	case []any:
		for i, item := range v {
			key := "[" + strconv.Itoa(i) + "]"
			if !container(item) {
				return invalid(at, key, item, object)
			}
			if err := x.value(item, object, append(at, key)); err != nil {
				return err
			}
		}
		return nil
	}
	return invalid(at, "", v, object)
}

func (x *extractor) object(o map[string]any, at []string) error {
	delete(o, "__ksonnet")
	if str(o["apiVersion"]) != "" && str(o["kind"]) != "" {
		x.found = append(x.found, Manifest{Path: dotted(at), Data: o})
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		item := o[key]
		if item == nil {
			continue
		}
		if !container(item) {
			return invalid(at, key, item, o)
		}
		if err := x.value(item, o, append(at, key)); err != nil {
			return err
		}
	}
	return nil
}

func container(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func dotted(at []string) string { return "." + strings.Join(at, ".") }

func invalid(at []string, key string, value any, object map[string]any) error {
	if key == "" {
		key = "the value"
	}
	e := &InvalidError{At: dotted(at), Value: key + " is " + article(typeName(value)), Reason: "not an object"}
	for _, attr := range []string{"apiVersion", "kind"} {
		if object == nil {
			break
		}
		v, ok := object[attr]
		s, isText := v.(string)
		switch {
		case !ok:
			e.Reason = fmt.Sprintf("missing attribute %q", attr)
		case !isText:
			e.Reason = fmt.Sprintf("attribute %q is not a string, it is %s", attr, article(typeName(v)))
		case s == "":
			e.Reason = fmt.Sprintf("attribute %q is empty", attr)
		default:
			continue
		}
		break
	}
	return e
}

func article(noun string) string {
	switch noun {
	case "null":
		return noun
	case "array", "object":
		return "an " + noun
	}
	return "a " + noun
}

// flatten checks manifests and replaces lists by their items. Tanka leaves it to
// chance whether a list in a list is opened; here it always is.
func flatten(manifests []Manifest) ([]Manifest, error) {
	out := make([]Manifest, 0, len(manifests))
	for _, m := range manifests {
		items, ok := m.Data["items"].([]any)
		if !ok {
			if faults := check(m.Data); len(faults) > 0 {
				return nil, &FaultyError{At: m.Path, Faults: faults}
			}
			out = append(out, m)
			continue
		}
		inner := make([]Manifest, 0, len(items))
		for i, item := range items {
			at := fmt.Sprintf("%s.items[%d]", strings.TrimSuffix(m.Path, "."), i)
			data, ok := item.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s: list item is not an object, it is %s", at, article(typeName(item)))
			}
			inner = append(inner, Manifest{Path: at, Data: data})
		}
		inner, err := flatten(inner)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// check gives the faults of a manifest in byte order: the fields that Tanka
// demands, by their types.
func check(m map[string]any) []string {
	var faults []string
	for _, attr := range []string{"apiVersion", "kind"} {
		if str(m[attr]) == "" {
			faults = append(faults, attr+": missing or not of string type")
		}
	}
	meta, ok := m["metadata"].(map[string]any)
	if !ok {
		faults = append(faults, "metadata: missing or not an object")
	}
	_, name := meta["name"].(string)
	_, generate := meta["generateName"].(string)
	if !name && !generate {
		faults = append(faults, "metadata.name: missing or not of string type")
	}
	for _, field := range []string{"labels", "annotations"} {
		switch values := meta[field].(type) {
		case nil:
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(values)) {
				if _, ok := values[k].(string); !ok {
					faults = append(faults, fmt.Sprintf("metadata.%s: contains non-string field '%s' of type '%s'", field, k, typeName(values[k])))
				}
			}
		default:
			faults = append(faults, fmt.Sprintf("metadata.%s: must be an object, but is %s", field, article(typeName(values))))
		}
	}
	slices.Sort(faults)
	return faults
}
