package object

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
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
// or several such documents, which then make a list. It keeps apart whatever some
// reader of the text might: only plain decimal numbers, true and false are more
// than text, null is the text "null", and a text with a key twice, or with a null
// in quotes, is not taken for a structure.
func Embedded(text string) (Value, bool) {
	if len(text) > maxEmbeddedBytes || strings.Contains(text, `"null"`) || strings.Contains(text, `'null'`) {
		return Value{}, false
	}
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || !strings.ContainsAny(text, "\n{[") {
		return Value{}, false
	}
	if trimmed[0] == '{' || trimmed[0] == '[' {
		if v, ok := embeddedJSON(trimmed); ok {
			return v, true
		}
	}
	return embeddedYAML(text)
}

func embeddedJSON(text string) (Value, bool) {
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
	m := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return Value{}, err
		}
		name, _ := key.(string)
		if _, twice := m[name]; twice {
			return Value{}, errEmbedded
		}
		v, err := jsonValue(d, depth+1)
		if err != nil {
			return Value{}, err
		}
		m[name] = v.raw
	}
	_, err := d.Token()
	return Value{m}, err
}

func embeddedYAML(text string) (Value, bool) {
	d := yaml.NewDecoder(strings.NewReader(text))
	budget := maxEmbeddedValues
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
		v, err := yamlValue(&n, 0, &budget)
		if err != nil {
			return Value{}, false
		}
		switch v.(type) {
		case map[string]any, []any:
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

func yamlValue(n *yaml.Node, depth int, budget *int) (any, error) {
	*budget--
	if depth > maxDepth || *budget < 0 {
		return nil, errEmbedded
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			return nil, nil
		}
		v, err := yamlValue(n.Content[0], depth+1, budget)
		if v == "null" && err == nil {
			return nil, nil
		}
		return v, err
	case yaml.AliasNode:
		return yamlValue(n.Alias, depth+1, budget)
	case yaml.SequenceNode:
		items := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := yamlValue(c, depth+1, budget)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
		}
		return items, nil
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				return nil, errEmbedded
			}
			if _, twice := m[key.Value]; twice {
				return nil, errEmbedded
			}
			v, err := yamlValue(n.Content[i+1], depth+1, budget)
			if err != nil {
				return nil, err
			}
			m[key.Value] = v
		}
		return m, nil
	case yaml.ScalarNode:
		switch {
		case n.Style&yaml.TaggedStyle != 0:
			return nil, errEmbedded
		case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			return n.Value, nil
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
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, item := range x {
			m[k] = unmarked(item)
		}
		return m
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
