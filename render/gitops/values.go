package gitops

import (
	"maps"
	"path"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// plainValue gives a value as decoded data, secrets masked, as a copy.
func plainValue(v object.Value) any {
	switch v.Type() {
	case object.Map:
		return plainMap(v)
	case object.List:
		out := make([]any, 0, v.Len())
		for _, item := range v.Items() {
			out = append(out, plainValue(item))
		}
		return out
	case object.String:
		return v.Text()
	case object.Bool:
		b, _ := v.Bool()
		return b
	case object.Number:
		if n, ok := v.Int(); ok {
			return n
		}
		f, _ := v.Float()
		return f
	}
	return nil
}

// plainMap is plainValue for maps; what is none gives an empty one.
func plainMap(v object.Value) map[string]any {
	out := map[string]any{}
	for k, item := range v.Fields() {
		out[k] = plainValue(item)
	}
	return out
}

// maps gives the maps of a list.
func mapsOf(v object.Value) []map[string]any {
	var out []map[string]any
	for _, item := range v.Items() {
		if item.Type() == object.Map {
			out = append(out, plainMap(item))
		}
	}
	return out
}

// overlay lays b over a, map by map.
func overlay(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		bm, bok := v.(map[string]any)
		am, aok := out[k].(map[string]any)
		if aok && bok {
			out[k] = overlay(am, bm)
			continue
		}
		out[k] = v
	}
	return out
}

// cleanPath gives a path of an object as a name in the tree; ok is false when it
// leads out. Empty segments, as templates leave them, are nothing.
func cleanPath(p string) (name string, ok bool) {
	name = path.Clean(strings.TrimLeft(p, "/"))
	if name == "" || name == "/" {
		name = "."
	}
	return name, name != ".." && !strings.HasPrefix(name, "../")
}
