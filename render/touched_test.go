package render

import "testing"

func TestTouched(t *testing.T) {
	in := Inputs{
		Files:   []string{"b/main.jsonnet", "a/lib.libsonnet"},
		Dirs:    []string{"charts/x"},
		Missing: []string{"a/vendor", "tkrc.yaml"},
	}
	tests := []struct {
		name    string
		changed []string
		want    string
	}{
		{"a file that is read", []string{"a/lib.libsonnet"}, "a/lib.libsonnet"},
		{"a file beside it", []string{"a/other.libsonnet", "a/lib.libsonnet.bak"}, ""},
		{"a file in a folder that is read", []string{"charts/x/templates/a.yaml"}, "charts/x/templates/a.yaml"},
		{"a folder that only begins like it", []string{"charts/xy/a.yaml"}, ""},
		{"a file that was missing", []string{"tkrc.yaml"}, "tkrc.yaml"},
		{"a file in a folder that was missing", []string{"a/vendor/k/k.libsonnet"}, "a/vendor/k/k.libsonnet"},
		{"nothing", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := in.Touched(tt.changed); got != tt.want {
				t.Errorf("Touched(%v) = %q, want %q", tt.changed, got, tt.want)
			}
		})
	}
	if got := (Inputs{Dirs: []string{"."}}).Touched([]string{"any/file"}); got != "any/file" {
		t.Errorf("the whole tree: Touched = %q, want any/file", got)
	}
}
