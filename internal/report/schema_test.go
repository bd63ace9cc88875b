package report

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compileSchema reads a JSON Schema.
func compileSchema(t testing.TB, data []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("mem:schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate says what of a text breaks a schema, nil when nothing does.
func validate(t testing.TB, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// strictSchema is the published one, but that it takes no field that it does not name.
func strictSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	data, err := json.Marshal(reportSchema(false))
	if err != nil {
		t.Fatal(err)
	}
	return compileSchema(t, data)
}

// TestSchemaIsCurrent holds the schema that is published against the types.
func TestSchemaIsCurrent(t *testing.T) {
	want, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("report.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("report.schema.json is not what the types say: run go test ./internal/report -run SchemaIsCurrent -update")
	}
	compileSchema(t, got)
}

func TestJSONKeepsToItsSchema(t *testing.T) {
	part := sample(t)
	part.Part = "2/7"
	s := strictSchema(t)
	for _, tt := range []struct {
		name   string
		report *Report
	}{
		{"a report with something of everything", sample(t)},
		{"one with what incidentlib says", withCases(t)},
		{"one without anything", &Report{}},
		{"a part of a divided run", part},
		{"one of hostile texts", hostile()},
		{"failed units and many findings", many(300)},
		{"a fleet", fleet(t, 40)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, o := range []Options{{}, {Times: true, ShowHidden: true}} {
				var b bytes.Buffer
				if err := JSON(&b, tt.report, o); err != nil {
					t.Fatal(err)
				}
				if err := validate(t, s, b.Bytes()); err != nil {
					t.Errorf("%#v", err)
				}
				again, err := ParseJSON(b.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				b.Reset()
				if err := JSON(&b, again, o); err != nil {
					t.Fatal(err)
				}
				if err := validate(t, s, b.Bytes()); err != nil {
					t.Errorf("written again: %#v", err)
				}
			}
		})
	}
}

// TestSchemaRefuses shows that the schema holds something.
func TestSchemaRefuses(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, sample(t), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, at string }{
		{`"schema": 1`, `"schema": 2`, "/schema"},
		{`"status": "failed"`, `"status": "broken"`, "/status"},
		{`"severity": "error"`, `"severity": "bad"`, "/severity"},
		{`"action": "update"`, `"action": "edit"`, "/action"},
		{`"suppressed": null`, `"suppressed": 1`, "/suppressed"},
		{`"units": [`, `"unit": [`, "units"},
		{`"line": 0`, `"line": "0"`, "/line"},
	} {
		if !strings.Contains(b.String(), tt.old) {
			t.Fatalf("there is no %s to spoil", tt.old)
		}
		err := validate(t, strictSchema(t), []byte(strings.Replace(b.String(), tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.at) {
			t.Errorf("%s for %s: %v, want an error at %s", tt.new, tt.old, err, tt.at)
		}
	}
}
