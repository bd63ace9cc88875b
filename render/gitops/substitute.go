package gitops

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/render/kustomize"
)

// disabled is the label or annotation of objects whose text Flux leaves alone
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
const disabled = "kustomize.toolkit.fluxcd.io/substitute"

// change gives what is done to each manifest after a build: variables, then labels
// and annotations. It notes the variables without a value as missing.
func (d Definition) change(missing map[string]bool) kustomize.Change {
	if !d.Substitute && len(d.Labels) == 0 && len(d.Annotations) == 0 {
		return nil
	}
	return func(manifest map[string]any) (out map[string]any, err error) {
		if d.Substitute && !substitutionDisabled(manifest) {
			if manifest, err = substituteIn(manifest, d.Variables, missing); err != nil {
				return nil, err
			}
		}
		addTo(manifest, "labels", d.Labels)
		addTo(manifest, "annotations", d.Annotations)
		return manifest, nil
	}
}

func substitutionDisabled(manifest map[string]any) bool {
	meta, _ := manifest["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if values, _ := meta[field].(map[string]any); values[disabled] == "disabled" {
			return true
		}
	}
	return false
}

func addTo(manifest map[string]any, field string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	meta, _ := manifest["metadata"].(map[string]any)
	if meta == nil {
		return
	}
	all, _ := meta[field].(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	for k, v := range values {
		all[k] = v
	}
	meta[field] = all
}

// substituteIn replaces the variables in a manifest as Flux does: in its YAML
// text, which is then read again, so that an unquoted ${X} may become a number.
func substituteIn(manifest map[string]any, variables map[string]string, missing map[string]bool) (map[string]any, error) {
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(text), "${") {
		return manifest, nil
	}
	replaced, err := substitute(string(text), variables, missing)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := yaml.Unmarshal([]byte(replaced), &out); err != nil {
		return nil, fmt.Errorf("after substituting variables it is no YAML: %w", err)
	}
	return out, nil
}

var variableName = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*`)

// substitute replaces ${name} and the forms of it that Flux knows, see
// https://github.com/fluxcd/pkg/tree/main/envsubst. $name without braces stays, and
// $${name} becomes ${name}. A variable without value and default stays as it is
// written and is noted as missing: Flux would put nothing there.
func substitute(text string, variables map[string]string, missing map[string]bool) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		end := closing(text[i+2:])
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[:i-1])
			if end < 0 {
				b.WriteString(text[i:])
				return b.String(), nil
			}
			b.WriteString(text[i : i+2+end+1])
			text = text[i+2+end+1:]
			continue
		}
		b.WriteString(text[:i])
		if end < 0 {
			return "", fmt.Errorf("variable without closing brace: %.40q", text[i:])
		}
		whole, inner := text[i:i+2+end+1], text[i+2:i+2+end]
		value, err := expand(whole, inner, variables, missing)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		text = text[i+2+end+1:]
	}
}

// closing gives the place of the brace that closes one which is open, -1 without.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			depth++
			i++
		case text[i] == '}' && depth == 0:
			return i
		case text[i] == '}':
			depth--
		}
	}
	return -1
}

// expand gives the value of one variable. Whole is how it is written, inner what
// stands in the braces.
func expand(whole, inner string, variables map[string]string, missing map[string]bool) (string, error) {
	length := strings.HasPrefix(inner, "#")
	name := variableName.FindString(strings.TrimPrefix(inner, "#"))
	if name == "" {
		return whole, nil // shell and templates of others; Flux would refuse it
	}
	rest := strings.TrimPrefix(inner, "#")[len(name):]
	value, known := variables[name]
	value = strings.ReplaceAll(value, "\n", "")
	if op, fallback, ok := defaultOf(rest); ok {
		if known && (value != "" || !strings.HasPrefix(op, ":")) {
			return value, nil
		}
		return substitute(fallback, variables, missing)
	}
	if !known {
		missing[name] = true
		return whole, nil
	}
	if length {
		return strconv.Itoa(len(value)), nil
	}
	switch {
	case rest == "":
		return value, nil
	case rest == "^^":
		return strings.ToUpper(value), nil
	case rest == ",,":
		return strings.ToLower(value), nil
	case rest == "^" && value != "":
		return strings.ToUpper(value[:1]) + value[1:], nil
	case rest == "," && value != "":
		return strings.ToLower(value[:1]) + value[1:], nil
	case rest[0] == ':':
		return slice(value, rest[1:])
	case rest[0] == '/':
		return replace(value, rest[1:]), nil
	case rest[0] == '#' || rest[0] == '%':
		return trim(value, rest), nil
	}
	return value, nil
}

func defaultOf(rest string) (op, fallback string, ok bool) {
	for _, op := range []string{":-", ":=", "-", "="} {
		if fallback, ok := strings.CutPrefix(rest, op); ok {
			return op, fallback, true
		}
	}
	return "", "", false
}

// slice is ${name:position} and ${name:position:length}.
func slice(value, args string) (string, error) {
	from, count, limited := strings.Cut(args, ":")
	start, err := strconv.Atoi(strings.TrimSpace(from))
	if err != nil || start < 0 {
		return value, nil
	}
	value = value[min(start, len(value)):]
	if limited {
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if err == nil && n >= 0 {
			value = value[:min(n, len(value))]
		}
	}
	return value, nil
}

// replace is ${name/old/new}, with a second slash for all, and # and % for the
// beginning and the end.
func replace(value, args string) string {
	if rest, ok := strings.CutPrefix(args, "/"); ok {
		before, after, _ := strings.Cut(rest, "/")
		if before == "" {
			return value
		}
		return strings.ReplaceAll(value, before, after)
	}
	before, after, _ := strings.Cut(args, "/")
	switch {
	case before == "":
		return value
	case before[0] == '#':
		if rest, ok := strings.CutPrefix(value, before[1:]); ok {
			return after + rest
		}
		return value
	case before[0] == '%':
		if rest, ok := strings.CutSuffix(value, before[1:]); ok {
			return rest + after
		}
		return value
	}
	return strings.Replace(value, before, after, 1)
}

// trim is ${name#pattern}, ${name##pattern}, ${name%pattern} and ${name%%pattern}:
// the shortest or longest match at the beginning or the end goes.
func trim(value, rest string) string {
	op := rest[:1]
	pattern := rest[1:]
	longest := strings.HasPrefix(pattern, op)
	pattern = strings.TrimPrefix(pattern, op)
	best := -1
	for i := 0; i <= len(value); i++ {
		piece := value[:i]
		if op == "%" {
			piece = value[len(value)-i:]
		}
		// A slash is nothing special here, as it is to path.Match.
		ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(piece, "/", "\x00"))
		if err == nil && ok {
			best = i
			if !longest {
				break
			}
		}
	}
	switch {
	case best < 0:
		return value
	case op == "%":
		return value[:len(value)-best]
	}
	return value[best:]
}
