package report

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
)

// schemaURL is where the schema of the JSON format is published.
const schemaURL = "https://raw.githubusercontent.com/prdiff/prdiff/main/internal/report/report.schema.json"

// schemaWords are the types of which a report has some words only.
var schemaWords = map[reflect.Type][]any{
	reflect.TypeFor[Status]():      {Rendered, Unchanged, Skipped, Failed},
	reflect.TypeFor[diff.Action](): {diff.Create, diff.Update, diff.Replace, diff.Delete, diff.Rename},
	reflect.TypeFor[diff.Op]():     {diff.Add, diff.Remove, diff.Set},
	reflect.TypeFor[diff.EffectKind](): {diff.DataLoss, diff.Refused, diff.Removed, diff.LoadBalancer, diff.Address, diff.Traffic,
		diff.Restart, diff.Rolling, diff.InPlace, diff.Future, diff.NoEffect},
	reflect.TypeFor[How]():   {Rolls, AtOnce, Ends, Starts, Recreates},
	reflect.TypeFor[State](): {Used, Unused, Idle, Expired},
}

// JSONSchema gives the JSON Schema of what JSON writes, draft 2020-12. It is made of
// the types that JSON is written from. Fields that it does not name are allowed, as
// they may be added within a version of the format.
func JSONSchema() ([]byte, error) {
	out, err := json.MarshalIndent(reportSchema(true), "", "  ")
	return append(out, '\n'), err
}

// reportSchema makes the schema; unless it is open, unknown fields are wrong.
func reportSchema(open bool) map[string]any {
	m := schemaMaker{open: open, defs: map[string]any{}}
	s := m.structure(reflect.TypeFor[jsonReport]())
	s["properties"].(map[string]any)["schema"] = map[string]any{"const": Schema, "description": "the version of this format: names and meanings do not change within one, fields may be added"}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = schemaURL
	s["title"] = "A report of prdiff"
	s["$defs"] = m.defs
	return s
}

type schemaMaker struct {
	open bool
	defs map[string]any // by name of the type
}

func (m schemaMaker) of(t reflect.Type) map[string]any {
	if words, ok := schemaWords[t]; ok {
		return map[string]any{"type": "string", "enum": words}
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return map[string]any{} // any value of a manifest
	}
	switch t.Kind() {
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, m.of(t.Elem())}}
	case reflect.Struct:
		name := strings.TrimPrefix(t.Name(), "json")
		if _, ok := m.defs[name]; !ok {
			m.defs[name] = nil // it may be in itself
			m.defs[name] = m.structure(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": m.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": m.of(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	return map[string]any{"type": "string"}
}

// structure gives the schema of a struct: what may be left out is not required.
func (m schemaMaker) structure(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "" {
			required = append(required, name)
		}
		s := m.of(f.Type)
		if options != "" && f.Type.Kind() == reflect.Pointer {
			s = m.of(f.Type.Elem()) // it is left out where it is nil
		}
		if words := f.Tag.Get("enum"); words != "" {
			s["enum"] = strings.Fields(words)
		}
		if doc := f.Tag.Get("doc"); doc != "" {
			s["description"] = doc
		}
		properties[name] = s
	}
	out := map[string]any{"type": "object", "properties": properties, "required": required}
	if !m.open {
		out["additionalProperties"] = false
	}
	return out
}
