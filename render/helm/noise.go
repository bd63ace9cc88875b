package helm

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/render"
)

// randomFunctions are the template functions of sprig and Helm whose result is
// another one each time, or depends on the clock (https://masterminds.github.io/sprig/).
var randomFunctions = regexp.MustCompile(`\b(?:rand(?:AlphaNum|Alpha|Ascii|Numeric|Bytes|Int)|gen(?:PrivateKey|CA|CAWithKey|SelfSignedCert|SelfSignedCertWithKey|SignedCert|SignedCertWithKey)|uuidv4|now|ago|htpasswd|bcrypt|encryptAES|shuffle)\b`)

// nondeterministic says whether a template of the chart, or of a chart in it,
// names such a function.
func nondeterministic(c *chart.Chart) bool {
	for _, f := range c.Templates {
		if randomFunctions.Match(f.Data) {
			return true
		}
	}
	return slices.ContainsFunc(c.Dependencies(), nondeterministic)
}

// settle replaces what differs between two renderings of the same chart by
// render.Nondeterministic and counts the fields; -1 when the renderings have
// different documents, so that nothing can be paired.
func settle(first, second []Document) ([]Document, int) {
	if slices.Equal(first, second) {
		return first, 0
	}
	if len(first) != len(second) {
		return first, -1
	}
	out := slices.Clone(first)
	count := 0
	for i := range first {
		if first[i] == second[i] {
			continue
		}
		var a, b any
		if yaml.Unmarshal([]byte(first[i].Text), &a) != nil || yaml.Unmarshal([]byte(second[i].Text), &b) != nil {
			continue // reading it says what is wrong
		}
		text, err := yaml.Marshal(common(a, b, &count))
		if err != nil {
			continue
		}
		out[i].Text = string(text)
	}
	return out, count
}

// common gives a with each leaf that is not the same in b replaced.
func common(a, b any, count *int) any {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok && slices.Equal(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y))) {
			for k := range x {
				x[k] = common(x[k], y[k], count)
			}
			return x
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				x[i] = common(x[i], y[i], count)
			}
			return x
		}
	default:
		if !isContainer(b) && a == b {
			return a
		}
	}
	*count++
	return render.Nondeterministic
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func noiseNote(noise int) string {
	switch {
	case noise < 0:
		return "the chart renders to other objects each time (random or time-dependent functions): differences may be noise"
	case noise == 1:
		return "1 field differs from one rendering to the next (random or time-dependent functions) and is left out"
	case noise > 1:
		return fmt.Sprintf("%d fields differ from one rendering to the next (random or time-dependent functions) and are left out", noise)
	}
	return ""
}
