// Package strict reads YAML into structs and refuses what it does not know: each
// mistake has file, line and what was probably meant. The same structs give a JSON
// schema, see Schema.
//
// A struct's fields are its keys, by their yaml tags; a doc tag says what a key is
// for. A type that needs more than that decodes itself, see Custom.
package strict

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// A Custom type decodes itself from a node that is not an alias. Where names the
// place for messages, such as "paths.include".
type Custom interface {
	DecodeYAML(d *Decoder, n *yaml.Node, where string)
}

// A Decoder decodes nodes of one file and gathers what is wrong with them.
type Decoder struct {
	File string
	// Names are words that custom types look up, such as those of renderers.
	Names map[string][]string

	errs []placed
}

type placed struct {
	line, column int
	text         string
}

// Documents gives the roots of the documents of a file; empty ones are left out.
// Its error says where the YAML is broken.
func Documents(file string, data []byte) ([]*yaml.Node, error) {
	var out []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, syntax(file, err)
		}
		if root := doc.Content[0]; root.Tag != "!!null" {
			out = append(out, root)
		}
	}
}

var (
	yamlLine    = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)
	parserError = regexp.MustCompile(`^did not find expected ('<|<|node content|'-' indicator|key|',' or)`)
)

// syntax puts the parser's own line where all our errors have it.
func syntax(file string, err error) error {
	m := yamlLine.FindStringSubmatch(err.Error())
	text := strings.TrimPrefix(err.Error(), m[0])
	line, convErr := strconv.Atoi(m[1])
	if convErr != nil {
		return fmt.Errorf("%s: %s", file, text)
	}
	if parserError.MatchString(text) {
		line++ // the YAML library counts lines from 0 in its parser, from 1 in its scanner
	}
	return fmt.Errorf("%s:%d: %s", file, line, text)
}

// Errorf notes a mistake in the line of a node.
func (d *Decoder) Errorf(n *yaml.Node, format string, args ...any) {
	d.errs = append(d.errs, placed{n.Line, 0, fmt.Sprintf(format, args...)})
}

// ErrorAt notes a mistake at a line and, unless it is 0, a column.
func (d *Decoder) ErrorAt(line, column int, format string, args ...any) {
	d.errs = append(d.errs, placed{line, column, fmt.Sprintf(format, args...)})
}

// Mistakes is the number of mistakes so far.
func (d *Decoder) Mistakes() int { return len(d.errs) }

// Err gives all mistakes in the order of their lines, nil when there is none.
func (d *Decoder) Err() error {
	slices.SortStableFunc(d.errs, func(a, b placed) int { return a.line - b.line })
	var errs []error
	for _, e := range d.errs {
		at := fmt.Sprintf("%s:%d", d.File, e.line)
		if e.column > 0 {
			at += fmt.Sprintf(":%d", e.column)
		}
		errs = append(errs, fmt.Errorf("%s: %s", at, e.text))
	}
	return errors.Join(errs...)
}

// Decode reads a node into what a pointer points to. Nothing, as in "key:", leaves
// it as it is.
func (d *Decoder) Decode(n *yaml.Node, into any, where string) {
	d.value(n, reflect.ValueOf(into).Elem(), where)
}

// DecodeItem is Decode for a struct that is an item of the list at where.
func (d *Decoder) DecodeItem(n *yaml.Node, into any, where string) {
	d.structure(n, reflect.ValueOf(into).Elem(), where, "an entry of "+where)
}

func (d *Decoder) value(n *yaml.Node, v reflect.Value, where string) {
	n = Follow(n)
	if c, ok := v.Addr().Interface().(Custom); ok {
		c.DecodeYAML(d, n, where)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if n.Tag != "!!null" {
			v.Set(reflect.New(v.Type().Elem()))
			d.value(n, v.Elem(), where)
		}
	case reflect.Struct:
		d.structure(n, v, where, where)
	case reflect.Slice:
		d.Items(n, where, func(item *yaml.Node) {
			e := reflect.New(v.Type().Elem()).Elem()
			if _, custom := e.Addr().Interface().(Custom); !custom && e.Kind() == reflect.Struct {
				d.structure(item, e, where, "an entry of "+where)
			} else {
				d.value(item, e, where)
			}
			v.Set(reflect.Append(v, e))
		})
	case reflect.Map:
		d.Entries(n, where, func(key, value *yaml.Node) {
			e := reflect.New(v.Type().Elem()).Elem()
			d.value(value, e, join(where, key.Value))
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), e)
		})
	case reflect.String:
		v.SetString(d.Text(n, where))
	case reflect.Bool:
		var on bool
		if n.Kind != yaml.ScalarNode || n.Decode(&on) != nil {
			d.Errorf(n, "%s must be true or false, not %s", where, Kind(n))
		}
		v.SetBool(on)
	case reflect.Int, reflect.Int64:
		var i int64
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&i) != nil {
			d.Errorf(n, "%s must be a whole number, not %s", where, Kind(n))
		}
		v.SetInt(i)
	default:
		panic("strict: cannot decode into " + v.Type().String())
	}
}

// structure decodes a struct; whole names it where a key that it needs is missing.
func (d *Decoder) structure(n *yaml.Node, v reflect.Value, where, whole string) {
	fields := keysOf(v.Type())
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	given := map[string]bool{}
	d.Entries(n, where, func(key, value *yaml.Node) {
		i, ok := fields[key.Value]
		if !ok {
			if !isOpen(v.Type()) {
				d.Errorf(key, "unknown key %q%s%s", key.Value, in(where), Suggest(key.Value, names))
			}
			return
		}
		if _, custom := v.Field(i).Addr().Interface().(Custom); custom || value.Tag != "!!null" {
			d.value(value, v.Field(i), join(where, key.Value))
		}
		if value.Tag != "!!null" && value.Value+value.Tag != "!!str" {
			given[key.Value] = true
		}
	})
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag; tag.Get("required") == "true" && !given[tag.Get("yaml")] {
			d.Errorf(n, "%s has no %s", cmp.Or(whole, "the file"), tag.Get("yaml"))
		}
	}
}

// keysOf gives the fields of a struct by their keys.
func keysOf(t reflect.Type) map[string]int {
	out := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" && name != "-" {
			out[name] = i
		}
	}
	return out
}

// Open lets a struct that embeds it leave keys alone that it does not know, as
// manifests of Kubernetes need it.
type Open struct{}

func isOpen(t reflect.Type) bool {
	f, ok := t.FieldByName("Open")
	return ok && f.Type == reflect.TypeFor[Open]()
}

// Entries calls f for each key of a map, and notes keys that are there twice.
func (d *Decoder) Entries(n *yaml.Node, where string, f func(key, value *yaml.Node)) {
	n = Follow(n)
	if n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.Errorf(n, "%s must be a map of keys and values, not %s", cmp.Or(where, "the file"), Kind(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], Follow(n.Content[i+1])
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			d.Errorf(k, "a key%s is not plain text", in(where))
			continue
		}
		if line, twice := seen[k.Value]; twice {
			d.Errorf(k, "key %q%s is there twice, first in line %d", k.Value, in(where), line)
			continue
		}
		seen[k.Value] = k.Line
		f(k, v)
	}
}

// Items calls f for each item of a list.
func (d *Decoder) Items(n *yaml.Node, where string, f func(item *yaml.Node)) {
	n = Follow(n)
	if n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.Errorf(n, "%s must be a list, not %s", where, Kind(n))
		return
	}
	for _, item := range n.Content {
		f(Follow(item))
	}
}

// Text gives the text of a scalar; what names it in the message when it is none.
func (d *Decoder) Text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.Errorf(n, "%s must be text, not %s", what, Kind(n))
		return ""
	}
	return n.Value
}

// Follow gives what an alias stands for.
func Follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// Kind says what a node is, in words.
func Kind(n *yaml.Node) string {
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

func join(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

// Suggest ends a message on a word that is unknown: with the one that was probably
// meant, or with all of them when they are few.
func Suggest(got string, names []string) string {
	best, least := "", len(got)/2+1
	for _, name := range names {
		if d := distance(strings.ToLower(got), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf(": did you mean %q?", best)
	case len(names) == 0 || len(names) > 20:
		return ""
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
