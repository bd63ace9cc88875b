package tanka

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v2"

	"github.com/prdiff/prdiff/render/jsonnet"
)

// Print gives manifests as `tk show` prints them, byte for byte: YAML 1.1 with
// numbers as floating point, so that a million is 1e+06, and a line of three
// dashes between two documents. Nothing gives nothing.
func Print(manifests []jsonnet.Manifest) ([]byte, error) {
	var out bytes.Buffer
	for i, m := range manifests {
		if i > 0 {
			out.WriteString("---\n")
		}
		b, err := yaml.Marshal(m.Data)
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", m.Path, err)
		}
		out.Write(b)
	}
	return out.Bytes(), nil
}
