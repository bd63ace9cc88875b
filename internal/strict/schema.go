package strict

import "reflect"

// A Schemer is a Custom type that says what it takes, as JSON Schema.
type Schemer interface {
	JSONSchema() map[string]any
}

// Schema gives the JSON Schema of what Decode takes for a value's type. Keys that
// it does not know are refused, as by Decode.
func Schema(of any) map[string]any { return schema(reflect.TypeOf(of)) }

func schema(t reflect.Type) map[string]any {
	if s, ok := reflect.New(t).Interface().(Schemer); ok {
		return s.JSONSchema()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schema(t.Elem())
	case reflect.Struct:
		properties := map[string]any{}
		var required []string
		for i := range t.NumField() {
			f := t.Field(i)
			name := f.Tag.Get("yaml")
			if name == "" || name == "-" {
				continue
			}
			s := schema(f.Type)
			if doc := f.Tag.Get("doc"); doc != "" {
				s["description"] = doc
			}
			if f.Tag.Get("required") == "true" {
				required = append(required, name)
			}
			properties[name] = s
		}
		out := map[string]any{"type": "object", "properties": properties}
		if !isOpen(t) {
			out["additionalProperties"] = false
		}
		if required != nil {
			out["required"] = required
		}
		return out
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schema(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	return map[string]any{"type": "string"}
}
