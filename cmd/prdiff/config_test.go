package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/prdiff/prdiff/internal/config"
)

// TestConfigSchemaIsCurrent holds the schema that is committed for editors against
// the types; -update writes it. The ids of rules are not in it: prdiff config schema
// adds them.
func TestConfigSchemaIsCurrent(t *testing.T) {
	const file = "../../config.schema.json"
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
