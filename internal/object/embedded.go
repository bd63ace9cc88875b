package object

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// Bounds on text inside a field that is read as a structure. A ConfigMap takes
// no more than 1 MiB (https://kubernetes.io/docs/concepts/configuration/configmap/).
const (
	maxEmbeddedBytes  = 1 << 20
	maxEmbeddedValues = 1 << 18 // after aliases are followed
)

// Embedded reads a text inside a field as JSON or YAML when it is a map or a list,
// or several such documents, which then make a list. Only plain decimal numbers,
// true and false are more than text, null is the text "null", and a text with a
// key twice, or with a null in quotes, is not taken for a structure.
func Embedded(text string) (Value, bool) {
	if !mayHoldStructure(text) {
		return Value{}, false
	}
	if v, ok := embeddedJSON(text); ok {
		return v, true
	}
	return embeddedYAML(text, false)
}

// EmbeddedPair reads two texts as Embedded does, for comparing them: as JSON both,
// or as YAML both. It keeps apart whatever some reader of the texts might: a text
// in quotes that some YAML reader takes for something else without them, such as
// yes, differs from the one without quotes. Its marks are taken off by Unquoted
// before anything is shown. Texts of one line are read as JSON alone: [a,b] may as
// well be a pattern.
func EmbeddedPair(before, after string) (b, a Value, ok bool) {
	if !mayHoldStructure(before) || !mayHoldStructure(after) {
		return Value{}, Value{}, false
	}
	if b, ok = embeddedJSON(before); ok {
		if a, ok = embeddedJSON(after); ok {
			return b, a, true
		}
	}
	if !strings.Contains(before, "\n") && !strings.Contains(after, "\n") {
		return Value{}, Value{}, false
	}
	if b, ok = embeddedYAML(before, true); ok {
		a, ok = embeddedYAML(after, true)
	}
	return b, a, ok
}

func mayHoldStructure(text string) bool {
	return len(text) <= maxEmbeddedBytes && !strings.Contains(text, `"null"`) && !strings.Contains(text, `'null'`) &&
		strings.ContainsAny(text, "\n{[") && strings.TrimSpace(text) != ""
}

// quoteMark begins a text that stands in quotes and is another value to some
// reader without them. No YAML holds it.
const quoteMark = "\x00"

// Unquoted gives two values that EmbeddedPair has read without its marks. Where
// the quotes are the difference, they are shown.
func Unquoted(before, after Value) (b, a Value) {
	show := before.Type() == String && after.Type() == String &&
		strings.HasPrefix(before.Text(), quoteMark) != strings.HasPrefix(after.Text(), quoteMark) ||
		before.Exists() && after.Exists() && before.Type() != after.Type()
	return Value{unquoted(before.raw, show)}, Value{unquoted(after.raw, show)}
}

// UnquotedKey is Unquoted for a key of a map.
func UnquotedKey(key string) string { return strings.TrimPrefix(key, quoteMark) }

func unquoted(raw any, show bool) any {
	switch x := raw.(type) {
	case string:
		if text, ok := strings.CutPrefix(x, quoteMark); ok {
			if show {
				return `"` + text + `"`
			}
			return text
		}
	case *mapping:
		pairs := make([]pair, len(x.pairs))
		for i, p := range x.pairs {
			pairs[i] = pair{UnquotedKey(p.key), unquoted(p.value, false)}
		}
		return mappingOf(pairs)
	case []any:
		l := make([]any, len(x))
		for i, item := range x {
			l[i] = unquoted(item, false)
		}
		return l
	}
	return raw
}

// ambiguous matches what some YAML reader, of version 1.1 or 1.2, takes for more
// than text when it has no quotes (https://yaml.org/type/, https://yaml.org/spec/1.2.2/#103-core-schema).
var ambiguous = regexp.MustCompile(`^(?:[yYnN]|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF` +
	`|~|null|Null|NULL|<<|=` +
	`|[-+]?(?:0b[01_]+|0o[0-7]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)` +
	`|[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)` +
	`|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?)$`)

func embeddedJSON(text string) (Value, bool) {
	text = strings.TrimSpace(text)
	if text[0] != '{' && text[0] != '[' {
		return Value{}, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := jsonValue(d, 0)
	if err != nil {
		return Value{}, false
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Value{}, false
	}
	return v, true
}

var errEmbedded = errors.New("not a structure that can be compared")

func jsonValue(d *json.Decoder, depth int) (Value, error) {
	token, err := d.Token()
	if err != nil || depth > maxDepth {
		return Value{}, errors.Join(errEmbedded, err)
	}
	switch x := token.(type) {
	case json.Delim:
		if x == '{' {
			return jsonMap(d, depth)
		}
		items := []any{}
		for d.More() {
			v, err := jsonValue(d, depth+1)
			if err != nil {
				return Value{}, err
			}
			items = append(items, v.raw)
		}
		_, err := d.Token()
		return Value{items}, err
	case json.Number:
		return Value{plainScalar(x.String())}, nil
	case nil:
		return Value{"null"}, nil
	}
	return Value{token}, nil
}

func jsonMap(d *json.Decoder, depth int) (Value, error) {
	var pairs []pair
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		name, _ := key.(string)
		v, err := jsonValue(d, depth+1)
		if err != nil {
			return Value{}, err
		}
		pairs = append(pairs, pair{name, v.raw})
	}
	n := len(pairs)
	m := mappingOf(pairs)
	if m.len() < n { // a key twice
		return Value{}, errEmbedded
	}
	_, err := d.Token()
	return Value{m}, err
}

func embeddedYAML(text string, marked bool) (Value, bool) {
	d := yaml.NewDecoder(strings.NewReader(text))
	r := yamlStructure{budget: maxEmbeddedValues, marked: marked}
	docs := []any{}
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Value{}, false
		}
		v, err := r.value(&n, 0)
		if err != nil {
			return Value{}, false
		}
		switch v.(type) {
		case *mapping, []any:
			docs = append(docs, v)
		case nil: // an empty document
		default:
			return Value{}, false
		}
	}
	switch len(docs) {
	case 0:
		return Value{}, false
	case 1:
		return Value{docs[0]}, true
	}
	return Value{docs}, true
}

// A yamlStructure makes values of the nodes of an embedded YAML.
type yamlStructure struct {
	budget int  // values that may still come
	marked bool // quotes that matter to some reader are kept as quoteMark
}

// text gives a text in quotes.
func (r *yamlStructure) text(s string) string {
	if r.marked && ambiguous.MatchString(s) {
		return quoteMark + s
	}
	return s
}

func inQuotes(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

func (r *yamlStructure) value(n *yaml.Node, depth int) (any, error) {
	r.budget--
	if depth > maxDepth || r.budget < 0 {
		return nil, errEmbedded
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			return nil, nil
		}
		v, err := r.value(n.Content[0], depth+1)
		if v == "null" && err == nil {
			return nil, nil
		}
		return v, err
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		items := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := r.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
		}
		return items, nil
	case yaml.MappingNode:
		pairs := make([]pair, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				return nil, errEmbedded
			}
			name := key.Value
			if inQuotes(key) {
				name = r.text(name)
			}
			v, err := r.value(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, pair{name, v})
		}
		m := mappingOf(pairs)
		if m.len() < len(n.Content)/2 { // a key twice
			return nil, errEmbedded
		}
		return m, nil
	case yaml.ScalarNode:
		switch {
		case n.Style&yaml.TaggedStyle != 0:
			return nil, errEmbedded
		case inQuotes(n):
			return r.text(n.Value), nil
		case n.Tag == "!!null":
			return "null", nil
		}
		return plainScalar(n.Value), nil
	}
	return nil, errEmbedded
}

// plainScalar reads a scalar without quotes: numbers only where they are spelled
// as they would be printed, so that nothing that another reader may keep apart
// becomes equal.
func plainScalar(s string) any {
	switch s {
	case "true":
		return true
	case "false":
		return false
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && strconv.FormatFloat(f, 'f', -1, 64) == s && f != math.Trunc(f) {
		return f
	}
	return s
}

// Unmarked gives v, which was read from a text of Marked, with the words for its
// secrets turned back into masked parts. Map keys are left as they are.
func (v Value) Unmarked() Value { return Value{unmarked(v.raw)} }

func unmarked(raw any) any {
	switch x := raw.(type) {
	case string:
		if m := unmarkText(x); m != nil {
			return m
		}
	case *mapping:
		pairs := make([]pair, len(x.pairs))
		for i, p := range x.pairs {
			pairs[i] = pair{p.key, unmarked(p.value)}
		}
		return &mapping{pairs}
	case []any:
		l := make([]any, len(x))
		for i, item := range x {
			l[i] = unmarked(item)
		}
		return l
	}
	return raw
}

// unmarkText gives a text with marks as a masked one, nil where it has none. Of
// each hash only the digits of the mark are left, which is enough to compare
// texts that come from the same two.
func unmarkText(text string) *Masked {
	const length = len(markHead) + markDigits + len(markTail)
	var b strings.Builder
	m := &Masked{}
	for {
		i := strings.Index(text, markHead)
		if i < 0 || i+length > len(text) {
			break
		}
		digits := text[i+len(markHead) : i+length-len(markTail)]
		if sum, err := hex.DecodeString(digits); err == nil && strings.HasPrefix(text[i+length-len(markTail):], markTail) {
			b.WriteString(text[:i])
			part := maskedPart{at: b.Len()}
			copy(part.sum[:], sum)
			m.parts = append(m.parts, part)
			b.WriteString(Mask)
			text = text[i+length:]
			continue
		}
		b.WriteString(text[:i+len(markHead)])
		text = text[i+len(markHead):]
	}
	if len(m.parts) == 0 {
		return nil
	}
	b.WriteString(text)
	m.Shown = b.String()
	return m
}
