package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A jsonReader reads JSON documents that follow one another, noting lines and
// double keys, which encoding/json does not tell.
type jsonReader struct {
	b        []byte
	i        int
	counted  int // up to where lines are counted
	line     int // the line of counted
	doc      *document
	rootKeys bool
}

// decodeJSON reads all documents. With an error it gives those before it.
func decodeJSON(text []byte) ([]document, error) {
	r := jsonReader{b: text, line: 1}
	var docs []document
	for {
		r.space()
		if r.i == len(r.b) {
			return docs, nil
		}
		d := document{line: r.lineHere()}
		r.doc = &d
		v, err := r.value(0)
		if err != nil {
			return docs, &lineError{r.lineHere(), err}
		}
		d.root = v
		docs = append(docs, d)
	}
}

func (r *jsonReader) lineHere() int {
	at := min(r.i, len(r.b))
	r.line += bytes.Count(r.b[r.counted:at], []byte("\n"))
	r.counted = at
	return r.line
}

func (r *jsonReader) space() {
	for r.i < len(r.b) && (r.b[r.i] == ' ' || r.b[r.i] == '\n' || r.b[r.i] == '\t' || r.b[r.i] == '\r') {
		r.i++
	}
}

var errJSONEnd = errors.New("not valid JSON: it ends in the middle of a value")

func (r *jsonReader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	r.space()
	if r.i == len(r.b) {
		return nil, errJSONEnd
	}
	switch c := r.b[r.i]; {
	case c == '{':
		return r.object(depth)
	case c == '[':
		return r.list(depth)
	case c == '"':
		return r.text()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for _, w := range []struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if bytes.HasPrefix(r.b[r.i:], []byte(w.text)) {
			r.i += len(w.text)
			return w.value, nil
		}
	}
	return nil, r.unexpected("a value")
}

func (r *jsonReader) unexpected(wanted string) error {
	if r.i >= len(r.b) {
		return errJSONEnd
	}
	return fmt.Errorf("not valid JSON: %s was expected", wanted)
}

func (r *jsonReader) object(depth int) (any, error) {
	r.i++
	var pairs []pair
	var lines []int // of the keys
	done := func() (any, error) {
		for _, key := range doubles(pairs, lines) {
			r.doc.warnings = append(r.doc.warnings, duplicateKey(key.line, key.key))
		}
		m := mappingOf(pairs)
		m.pairs = slices.DeleteFunc(m.pairs, func(p pair) bool { return p.value == nil })
		return m, nil
	}
	for first := true; ; first = false {
		r.space()
		if r.i < len(r.b) && r.b[r.i] == '}' && first {
			r.i++
			return done()
		}
		if r.i == len(r.b) || r.b[r.i] != '"' {
			return nil, r.unexpected("a key in quotes")
		}
		key, err := r.text()
		if err != nil {
			return nil, err
		}
		line := r.lineHere()
		r.space()
		if r.i == len(r.b) || r.b[r.i] != ':' {
			return nil, r.unexpected("a colon")
		}
		r.i++
		r.rootKeys = depth == 0 && key == "items"
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		pairs, lines = append(pairs, pair{key, v}), append(lines, line)
		r.space()
		switch {
		case r.i < len(r.b) && r.b[r.i] == ',':
			r.i++
		case r.i < len(r.b) && r.b[r.i] == '}':
			r.i++
			return done()
		default:
			return nil, r.unexpected("a comma or closing brace")
		}
	}
}

func (r *jsonReader) list(depth int) (any, error) {
	items := r.rootKeys && depth == 1
	r.rootKeys = false
	r.i++
	out := []any{}
	for first := true; ; first = false {
		r.space()
		if r.i < len(r.b) && r.b[r.i] == ']' && first {
			r.i++
			return out, nil
		}
		if items {
			r.doc.itemLines = append(r.doc.itemLines, r.lineHere())
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		r.space()
		switch {
		case r.i < len(r.b) && r.b[r.i] == ',':
			r.i++
		case r.i < len(r.b) && r.b[r.i] == ']':
			r.i++
			return out, nil
		default:
			return nil, r.unexpected("a comma or closing bracket")
		}
	}
}

func (r *jsonReader) text() (string, error) {
	start := r.i
	plain := true
	for i := start + 1; i < len(r.b); i++ {
		switch c := r.b[i]; {
		case c == '"':
			r.i = i + 1
			if plain {
				return string(r.b[start+1 : i]), nil
			}
			var s string
			if err := json.Unmarshal(r.b[start:i+1], &s); err != nil {
				r.i = start
				return "", errors.New("not valid JSON: a text has a wrong escape")
			}
			return s, nil
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			r.i = i
			return "", errors.New("not valid JSON: a text has a raw control character or line break")
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	r.i = len(r.b)
	return "", errJSONEnd
}

func (r *jsonReader) number() (any, error) {
	start := r.i
	whole := true
	for r.i < len(r.b) {
		c := r.b[r.i]
		if c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-' && r.i > start {
			whole = false
		} else if (c < '0' || c > '9') && c != '-' {
			break
		}
		r.i++
	}
	text := string(r.b[start:r.i])
	if !json.Valid([]byte(text)) {
		return nil, errors.New("not valid JSON: a number is malformed")
	}
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errors.New("a number is too large")
	}
	return number(f), nil
}
