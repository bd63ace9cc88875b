package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/rules"
)

// TestConfigSchemaIsCurrent holds the schema that is committed for editors against
// the types; -update writes it. The ids of rules are not in it: prdiff config schema
// adds them.
func TestConfigSchemaIsCurrent(t *testing.T) {
	const file = "../../internal/config/config.schema.json"
	want, err := config.Schema(knownWords(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("config.schema.json is not what the types say: run go test ./cmd/prdiff -run ConfigSchema -update")
	}
}

// TestConfigTextIsRead takes the comment marks off the examples in the file that
// prdiff init writes: they must be what they say.
func TestConfigTextIsRead(t *testing.T) {
	text := regexp.MustCompile(`(?m)^(\w+): +(\{\}|\[\])`).ReplaceAllString(configText, "$1:")
	text = regexp.MustCompile(`(?m)^#  `).ReplaceAllString(text, "  ")
	c, err := config.Parse(config.File, []byte(text), knownWords())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckRules(rules.All); err != nil {
		t.Error(err)
	}
	if len(c.Suppressions) != 1 || len(c.Hidings) != 1 || len(c.Parameters) != 1 || len(c.RulePaths) != 1 || len(c.Units) != 1 {
		t.Errorf("some examples were not read: %+v", c)
	}
}
