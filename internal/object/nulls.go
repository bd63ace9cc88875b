package object

import (
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v2"
)

// A null is one that was kept. Everywhere else a key with a null is a key that is
// not there, as it is to the API server.
type null struct{}

// valuesPaths gives where the values for charts stand in the objects of Flux and
// Argo CD. There a null says something: it takes the chart's own default away
// (https://helm.sh/docs/chart_template_guide/values_files/#deleting-a-default-key),
// and both hand it on to Helm.
func valuesPaths(apiVersion, kind string) [][]string {
	app := [][]string{{"source", "helm", "valuesObject"}, {"sources", "", "helm", "valuesObject"}, {"source", "helm", "values"}, {"sources", "", "helm", "values"}}
	var below []string
	switch group(apiVersion) + "/" + kind {
	case "helm.toolkit.fluxcd.io/HelmRelease":
		return [][]string{{"spec", "values"}}
	case "argoproj.io/Application":
		below = []string{"spec"}
	case "argoproj.io/ApplicationSet":
		below = []string{"spec", "template", "spec"}
	default:
		return nil
	}
	for i, p := range app {
		app[i] = slices.Concat(below, p)
	}
	return app
}

// keepNulls marks the nulls in the values of decoded data, which is not normalised yet.
func keepNulls(manifest map[string]any) {
	apiVersion, _ := manifest["apiVersion"].(string)
	kind, _ := manifest["kind"].(string)
	for _, p := range valuesPaths(apiVersion, kind) {
		restoreNulls(manifest, manifest, p)
	}
}

// readNulls puts the nulls of a document's values back that reading it dropped.
// The text was read before, within all limits.
func readNulls(m *mapping, text string) {
	paths := valuesPaths(m.text("apiVersion"), m.text("kind"))
	if len(paths) == 0 || len(text) == 0 {
		return
	}
	var raw any
	if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
		return
	}
	for _, p := range paths {
		restoreNulls(m, raw, p)
	}
}

// restoreNulls sets in m what is null in raw at and below a path, the elements of
// which are keys, and "" for every item of a list.
func restoreNulls(m, raw any, p []string) {
	switch to := m.(type) {
	case *mapping:
		for k, v := range entriesOf(raw) {
			switch {
			case len(p) > 0 && (k != p[0]):
			case v == nil && len(p) == 0:
				to.set(k, null{})
			default:
				restoreNulls(to.get(k), v, p[min(1, len(p)):])
			}
		}
	case map[string]any:
		for k, v := range entriesOf(raw) {
			switch {
			case len(p) > 0 && (k != p[0]):
			case v == nil && len(p) == 0:
				to[k] = null{}
			default:
				restoreNulls(to[k], v, p[min(1, len(p)):])
			}
		}
	case map[any]any: // of a decoder: what holds nulls still is raw itself
		for k, v := range to {
			if v == nil && len(p) == 0 {
				to[k] = null{}
			} else if name, ok := k.(string); len(p) == 0 || ok && name == p[0] {
				restoreNulls(v, v, p[min(1, len(p)):])
			}
		}
	case []any:
		from, _ := raw.([]any)
		for i := range min(len(to), len(from)) {
			if len(p) == 0 || p[0] == "" {
				restoreNulls(to[i], from[i], p[min(1, len(p)):])
			}
		}
	}
}

// entriesOf gives a decoded map by its texts; other keys are no keys of values.
func entriesOf(raw any) map[string]any {
	switch x := raw.(type) {
	case map[string]any:
		return x
	case map[any]any:
		out := make(map[string]any, len(x))
		for k, v := range x {
			if name, ok := k.(string); ok {
				out[strings.ToValidUTF8(name, "\uFFFD")] = v
			}
		}
		return out
	}
	return nil
}
