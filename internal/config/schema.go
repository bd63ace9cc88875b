package config

import (
	"encoding/json"

	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/strict"
)

// Schema gives the JSON Schema of .prdiff.yaml, for editors. It is made of the
// types that Parse decodes into, and of the words and rules that are known.
func Schema(known Known, rules []*rule.Rule) ([]byte, error) {
	s := strict.Schema(document{})
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = File
	at := func(keys ...string) map[string]any {
		m := s
		for _, k := range keys {
			m = m["properties"].(map[string]any)[k].(map[string]any)
		}
		return m
	}
	at("renderers")["propertyNames"] = map[string]any{"enum": known.Renderers}
	at("filters", "off")["items"] = map[string]any{"enum": known.Filters}
	// Users' own rules are keys here too, so that those known are offered, not demanded.
	severity, parameters := map[string]any{}, map[string]any{}
	for _, r := range rules {
		severity[r.ID] = map[string]any{"description": r.Title, "enum": []any{"off", "note", "warning", "error", false}}
		if len(r.Parameters) == 0 {
			continue
		}
		own := map[string]any{}
		for _, p := range r.Parameters {
			own[p.Name] = map[string]any{"description": p.Doc, "type": "integer", "minimum": 0, "default": p.Default}
		}
		parameters[r.ID] = map[string]any{"description": r.Title, "type": "object", "properties": own, "additionalProperties": false}
	}
	at("rules", "severity")["properties"] = severity
	at("rules", "parameters")["properties"] = parameters
	out, err := json.MarshalIndent(s, "", "  ")
	return append(out, '\n'), err
}
