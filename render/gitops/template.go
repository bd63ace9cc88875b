package gitops

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// maxTemplate bounds what a template may give, in bytes.
const maxTemplate = 1 << 20

// fill replaces the templates in all texts of a decoded value, keys included.
func (e *expansion) fill(v any, p params) (any, error) {
	switch v := v.(type) {
	case string:
		return e.fillText(v, p)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			filled, err := e.fill(item, p)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			key, err := e.fillText(k, p)
			if err != nil {
				return nil, err
			}
			if out[key], err = e.fill(v[k], p); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

var simple = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

func (e *expansion) fillText(s string, p params) (string, error) {
	if !strings.Contains(s, "{{") {
		return s, nil
	}
	if !e.goTemplate {
		return simple.ReplaceAllStringFunc(s, func(m string) string {
			key := strings.TrimSpace(m[2 : len(m)-2])
			if v, ok := p[key]; ok {
				return text(v)
			}
			if e.unknown && strings.HasPrefix(key, "metadata.") {
				return unknownValue(key)
			}
			return m
		}), nil
	}
	t := template.New("").Funcs(functions())
	if !e.unknown {
		t = t.Option(e.options...)
	}
	t, err := t.Parse(s)
	if err != nil {
		return "", fmt.Errorf("template %.80q: %w", s, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&bounded{&b}, map[string]any(p)); err != nil {
		return "", fmt.Errorf("template %.80q: %w", s, err)
	}
	return strings.ReplaceAll(b.String(), "<no value>", unknownValue("value")), nil
}

// bounded is a buffer that refuses more than maxTemplate.
type bounded struct{ *bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxTemplate {
		return 0, fmt.Errorf("it gives more than %d bytes", maxTemplate)
	}
	return b.Buffer.Write(p)
}

// functions are those of Argo CD's Go templates
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/GoTemplate/).
func functions() template.FuncMap {
	f := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(f, name)
	}
	f["normalize"] = normalized
	f["slugify"] = func(args ...any) string { return normalized(fmt.Sprint(args[len(args)-1])) }
	f["toYaml"] = func(v any) (string, error) {
		data, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(data), "\n"), err
	}
	f["fromYaml"] = func(s string) (any, error) {
		var v any
		err := yaml.Unmarshal([]byte(s), &v)
		return v, err
	}
	f["fromYamlArray"] = func(s string) ([]any, error) {
		var v []any
		err := yaml.Unmarshal([]byte(s), &v)
		return v, err
	}
	return f
}

// applications gives what a set makes of one set of parameters: one application,
// or one for each folder that fits where clusters are not known.
func (e *expansion) applications(tmpl map[string]any, patch string, p params) ([]map[string]any, error) {
	filled, err := e.fill(tmpl, p)
	if err != nil {
		return nil, err
	}
	app, _ := filled.(map[string]any)
	if patch != "" {
		src, err := e.fillText(patch, p)
		if err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
		var more map[string]any
		if err := yaml.Unmarshal([]byte(src), &more); err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
		app = overlay(app, more)
	}
	if app == nil {
		return nil, nil
	}
	if !e.unknown {
		return []map[string]any{app}, nil
	}
	return e.fromFolders(app), nil
}

var unknowns = regexp.MustCompile(unknownMark + `([^` + unknownEnd + `]*)` + unknownEnd)

// fromFolders finds the folders that fit the path of an application in which
// clusters are not known, and gives an application for each. A path that begins
// with what is not known fits everything, and gives nothing.
func (e *expansion) fromFolders(app map[string]any) []map[string]any {
	spec := sub(app, "spec")
	sources := listOf(spec["sources"])
	if one := sub(spec, "source"); one != nil {
		sources = append([]map[string]any{one}, sources...)
	}
	pattern := ""
	for _, s := range sources {
		if p := text(s["path"]); strings.Contains(p, unknownMark) {
			pattern, _ = cleanPath(p)
			break
		}
	}
	if pattern == "" || strings.HasPrefix(pattern, unknownMark) {
		if pattern == "" && !unknowns.MatchString(text(sub(app, "metadata")["name"])) {
			return []map[string]any{replaceUnknown(app, nil).(map[string]any)}
		}
		if pattern == "" && len(sources) > 0 {
			return []map[string]any{replaceUnknown(app, nil).(map[string]any)} // one folder for every cluster
		}
		return nil
	}
	re, names := unknownExpression(pattern)
	var out []map[string]any
	for _, dir := range e.dirs {
		m := re.FindStringSubmatch(dir)
		if m == nil || !e.renders(dir) {
			continue
		}
		values, same := map[string]string{}, true
		for i, name := range names {
			if v, ok := values[name]; ok && v != m[i+1] {
				same = false
			}
			values[name] = m[i+1]
		}
		if same {
			out = append(out, replaceUnknown(app, values).(map[string]any))
		}
	}
	return out
}

// unknownExpression turns a path with unknown values into an expression whose
// groups are the values, in order.
func unknownExpression(pattern string) (*regexp.Regexp, []string) {
	var b strings.Builder
	var names []string
	b.WriteString("^")
	at := 0
	for _, m := range unknowns.FindAllStringSubmatchIndex(pattern, -1) {
		b.WriteString(regexp.QuoteMeta(pattern[at:m[0]]))
		b.WriteString("([^/]+)")
		names = append(names, pattern[m[2]:m[3]])
		at = m[1]
	}
	b.WriteString(regexp.QuoteMeta(pattern[at:]) + "$")
	return regexp.MustCompile(b.String()), names
}

// replaceUnknown fills in what is known by now, and * for the rest.
func replaceUnknown(v any, values map[string]string) any {
	switch v := v.(type) {
	case string:
		return unknowns.ReplaceAllStringFunc(v, func(m string) string {
			if known, ok := values[strings.TrimSuffix(strings.TrimPrefix(m, unknownMark), unknownEnd)]; ok {
				return known
			}
			return "*"
		})
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = replaceUnknown(item, values)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			out[replaceUnknown(k, values).(string)] = replaceUnknown(item, values)
		}
		return out
	}
	return v
}

// renders says whether a folder can be what an application points at.
func (e *expansion) renders(dir string) bool {
	entries, err := e.tree.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		name := entry.Name()
		return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".json") || name == "Kustomization"
	})
}
