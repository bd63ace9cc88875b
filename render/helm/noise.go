package helm

import (
	"maps"
	"regexp"
	"slices"
	"strings"

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

// An action is what template engines evaluate; in it, the clock is the word now
// that is no text, no comment, and no part of another name.
var (
	action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	clock  = regexp.MustCompile("(?s)/\\*.*?\\*/|\"(?:\\\\.|[^\"\\\\])*\"|`[^`]*`|[.$]?[\\w.]+")
)

// setClock sets the clock of a chart's templates forward, by about three years and
// some hours, minutes and seconds: two renderings come within one second, and
// what was made from the clock would look settled.
func setClock(c *chart.Chart) {
	for _, f := range c.Templates {
		f.Data = action.ReplaceAllFunc(f.Data, func(text []byte) []byte {
			return clock.ReplaceAllFunc(text, func(word []byte) []byte {
				if string(word) != "now" {
					return word
				}
				return []byte(`(now | dateModify "26547h17m13s")`)
			})
		})
	}
	for _, d := range c.Dependencies() {
		setClock(d)
	}
}

// settle replaces what differs between two renderings of the same chart by
// render.Nondeterministic. It is false when the renderings have different
// documents, so that nothing can be paired.
func settle(first, second []Document) ([]Document, bool) {
	if slices.Equal(first, second) {
		return first, true
	}
	if len(first) != len(second) {
		return first, false
	}
	out := slices.Clone(first)
	for i := range first {
		if first[i] == second[i] {
			continue
		}
		var a, b any
		if yaml.Unmarshal([]byte(first[i].Text), &a) != nil || yaml.Unmarshal([]byte(second[i].Text), &b) != nil {
			continue // reading it says what is wrong
		}
		text, err := yaml.Marshal(common(a, b))
		if err != nil {
			continue
		}
		out[i].Text = string(text)
	}
	return out, true
}

// common gives a with what is not the same in b replaced.
func common(a, b any) any {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok && slices.Equal(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y))) {
			for k := range x {
				x[k] = common(x[k], y[k])
			}
			return x
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				x[i] = common(x[i], y[i])
			}
			return x
		}
	case string:
		if y, ok := b.(string); ok {
			return commonText(x, y)
		}
	default:
		if !isContainer(b) && a == b {
			return a
		}
	}
	return render.Nondeterministic
}

// word is what counts as one thing in a text: a key or certificate, the letters,
// digits and signs of which tokens, times and encodings are made, any other sign.
var word = regexp.MustCompile(`(?s)-----BEGIN .*?-----END [^-]*-----|[\pL\pN+/=_.:-]+|.`)

// commonText is common for texts: a change of the rest of a text must still be
// seen. Only the words that differ are replaced; where a line has more words in
// one of both, all of it; where there are more lines, all of the text.
func commonText(a, b string) string {
	if out, ok := commonWords(word.FindAllString(a, -1), word.FindAllString(b, -1)); ok {
		return out
	}
	linesA, linesB := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	if len(linesA) != len(linesB) {
		return render.Nondeterministic
	}
	for i, line := range linesA {
		if out, ok := commonWords(word.FindAllString(line, -1), word.FindAllString(linesB[i], -1)); ok {
			linesA[i] = out
			continue
		}
		_, end, _ := strings.Cut(line, strings.TrimRight(line, "\n"))
		linesA[i] = render.Nondeterministic + end
	}
	return strings.Join(linesA, "")
}

func commonWords(a, b []string) (string, bool) {
	if len(a) != len(b) {
		return "", false
	}
	var out strings.Builder
	for i, w := range a {
		if w != b[i] {
			w = render.Nondeterministic
		}
		out.WriteString(w)
	}
	return out.String(), true
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// unsettledNote is said beside a unit whose chart cannot be settled.
const unsettledNote = "the chart renders to other objects each time (random or time-dependent functions): differences may be noise"
