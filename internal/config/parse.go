package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Parse reads the text of a configuration file. Known are the names of the
// renderers that exist. Its error names every mistake, a line each, as
// file:line: what is wrong. A file without content is an empty Config, not nil.
func Parse(file string, data []byte, known []string) (*Config, error) {
	p := &parser{file: file, known: known, c: &Config{Path: file}}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return p.c, nil
	case err != nil:
		return nil, p.syntax(err)
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, p.syntax(err)
		}
		return nil, fmt.Errorf("%s: more than one YAML document", file)
	}
	if root := doc.Content[0]; root.Tag != "!!null" {
		p.root(root)
	}
	if len(p.errs) > 0 {
		slices.SortStableFunc(p.errs, func(a, b lineError) int { return a.line - b.line })
		var errs []error
		for _, e := range p.errs {
			errs = append(errs, fmt.Errorf("%s:%d: %s", file, e.line, e.text))
		}
		return nil, errors.Join(errs...)
	}
	return p.c, nil
}

type lineError struct {
	line int
	text string
}

type parser struct {
	file  string
	known []string
	c     *Config
	errs  []lineError
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// syntax puts the parser's own line where all our errors have it.
func (p *parser) syntax(err error) error {
	m := yamlLine.FindStringSubmatch(err.Error())
	text := strings.TrimPrefix(err.Error(), m[0])
	if m[1] == "" {
		return fmt.Errorf("%s: %s", p.file, text)
	}
	line, convErr := strconv.Atoi(m[1])
	if convErr != nil {
		return fmt.Errorf("%s: %s", p.file, text)
	}
	if parserError.MatchString(text) {
		line++ // the YAML library counts lines from 0 in its parser, from 1 in its scanner
	}
	return fmt.Errorf("%s:%d: %s", p.file, line, text)
}

var parserError = regexp.MustCompile(`^did not find expected ('<|<|node content|'-' indicator|key|',' or)`)

func (p *parser) errorf(n *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, lineError{n.Line, fmt.Sprintf(format, args...)})
}

// fields calls one of the functions for each key of a map; keys without one are
// mistakes, and so are keys that are there twice.
func (p *parser) fields(n *yaml.Node, where string, fields map[string]func(key, value *yaml.Node)) {
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	p.entries(n, where, func(k, v *yaml.Node) {
		if f, ok := fields[k.Value]; ok {
			f(k, v)
			return
		}
		p.errorf(k, "unknown key %q%s%s", k.Value, in(where), suggest(k.Value, names))
	})
}

func (p *parser) entries(n *yaml.Node, where string, f func(key, value *yaml.Node)) {
	n = follow(n)
	if n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		p.errorf(n, "%s must be a map of keys and values, not %s", cmpOr(where, "the file"), kindOf(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], follow(n.Content[i+1])
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			p.errorf(k, "a key%s is not plain text", in(where))
			continue
		}
		if line, twice := seen[k.Value]; twice {
			p.errorf(k, "key %q%s is there twice, first in line %d", k.Value, in(where), line)
			continue
		}
		seen[k.Value] = k.Line
		f(k, v)
	}
}

func (p *parser) root(n *yaml.Node) {
	p.fields(n, "", map[string]func(k, v *yaml.Node){
		"paths": func(_, v *yaml.Node) {
			p.fields(v, "paths", map[string]func(k, v *yaml.Node){
				"include": func(_, v *yaml.Node) { p.c.Include = p.patterns(v, "paths.include") },
				"exclude": func(_, v *yaml.Node) { p.c.Exclude = p.patterns(v, "paths.exclude") },
			})
		},
		"renderers": func(_, v *yaml.Node) { p.renderers(v) },
		"jsonnet":   func(_, v *yaml.Node) { p.jsonnet(v) },
		"units":     func(_, v *yaml.Node) { p.units(v) },
	})
}

func (p *parser) renderers(n *yaml.Node) {
	p.c.Renderers = map[string]bool{}
	p.entries(n, "renderers", func(k, v *yaml.Node) {
		if !slices.Contains(p.known, k.Value) {
			p.errorf(k, "there is no renderer %q%s", k.Value, suggest(k.Value, p.known))
			return
		}
		var on bool
		if v.Kind != yaml.ScalarNode || v.Decode(&on) != nil {
			p.errorf(v, "renderers.%s must be true or false, not %s", k.Value, kindOf(v))
			return
		}
		p.c.Renderers[k.Value] = on
	})
}

func (p *parser) jsonnet(n *yaml.Node) {
	p.items(n, "jsonnet", func(item *yaml.Node) {
		e := Entry{Line: item.Line}
		if item.Kind == yaml.ScalarNode {
			e.Path = p.pattern(item)
		} else {
			p.fields(item, "jsonnet", map[string]func(k, v *yaml.Node){
				"path":      func(_, v *yaml.Node) { e.Path = p.pattern(v) },
				"libraries": func(_, v *yaml.Node) { e.Libraries = p.folders(v) },
			})
			if e.Path == "" && item.Kind == yaml.MappingNode {
				p.errorf(item, "an entry of jsonnet has no path")
			}
		}
		if e.Path != "" {
			p.c.Jsonnet = append(p.c.Jsonnet, e)
		}
	})
}

func (p *parser) folders(n *yaml.Node) []string {
	var out []string
	p.items(n, "libraries", func(item *yaml.Node) {
		dir := p.text(item, "a folder of libraries")
		clean := path.Clean(dir)
		if dir == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
			p.errorf(item, "%q is not a folder of the repository", dir)
			return
		}
		out = append(out, clean)
	})
	return out
}

func (p *parser) units(n *yaml.Node) {
	p.entries(n, "units", func(k, v *yaml.Node) {
		u := Unit{Path: p.pattern(k), Line: k.Line}
		where := "units." + k.Value
		p.fields(v, where, map[string]func(k, v *yaml.Node){
			"extStr":  func(_, v *yaml.Node) { u.Vars.ExtStr = p.vars(v, where+".extStr") },
			"extCode": func(_, v *yaml.Node) { u.Vars.ExtCode = p.vars(v, where+".extCode") },
			"tlaStr":  func(_, v *yaml.Node) { u.Vars.TLAStr = p.vars(v, where+".tlaStr") },
			"tlaCode": func(_, v *yaml.Node) { u.Vars.TLACode = p.vars(v, where+".tlaCode") },
		})
		if u.Path != "" {
			p.c.Units = append(p.c.Units, u)
		}
	})
}

func (p *parser) vars(n *yaml.Node, where string) map[string]string {
	out := map[string]string{}
	p.entries(n, where, func(k, v *yaml.Node) {
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			p.errorf(v, "%s.%s must be text, not %s: write structured values as jsonnet in quotes, under extCode or tlaCode", where, k.Value, kindOf(v))
			return
		}
		out[k.Value] = v.Value
	})
	return out
}

func (p *parser) patterns(n *yaml.Node, where string) []string {
	var out []string
	p.items(n, where, func(item *yaml.Node) {
		if s := p.pattern(item); s != "" {
			out = append(out, s)
		}
	})
	return out
}

func (p *parser) pattern(n *yaml.Node) string {
	s := p.text(n, "a path")
	if s == "" && n.Kind != yaml.ScalarNode {
		return ""
	}
	if wrong := checkPattern(s); wrong != "" {
		p.errorf(n, "%q: %s", s, wrong)
		return ""
	}
	return s
}

func (p *parser) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		p.errorf(n, "%s must be text, not %s", what, kindOf(n))
		return ""
	}
	return n.Value
}

// items calls f for each item of a list.
func (p *parser) items(n *yaml.Node, where string, f func(item *yaml.Node)) {
	n = follow(n)
	if n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.SequenceNode {
		p.errorf(n, "%s must be a list, not %s", where, kindOf(n))
		return
	}
	for _, item := range n.Content {
		f(follow(item))
	}
}

// follow gives what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!bool":
		return "a boolean"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "a number"
	}
	return fmt.Sprintf("%q", n.Value)
}

func in(where string) string {
	if where == "" {
		return ""
	}
	return " in " + where
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// suggest gives the name that was probably meant, or all of them.
func suggest(got string, names []string) string {
	best, least := "", len(got)/2+1
	for _, name := range names {
		if d := distance(strings.ToLower(got), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if best != "" {
		return fmt.Sprintf(": did you mean %q?", best)
	}
	return ": known are " + strings.Join(names, ", ")
}

// distance counts the edits that lead from a to b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal = row[j+1]
			row[j+1] = cost
		}
	}
	return row[len(b)]
}
