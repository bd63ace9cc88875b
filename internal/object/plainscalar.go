package object

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// quoted reads a quoted scalar that ends on its line; p.i is at the opening quote
// and goes behind the closing one.
func (p *plainReader) quoted(quote byte) (string, bool) {
	rest := p.b[p.i+1:]
	if quote == '\'' {
		return p.singleQuoted(rest)
	}
	var b []byte
	for i := 0; i < len(rest); {
		n := strings.IndexAny(rest[i:], "\"\\\n")
		if n < 0 {
			return "", false
		}
		end := i + n
		switch rest[end] {
		case '"':
			p.i += end + 2
			if b == nil {
				return rest[:end], true
			}
			return string(append(b, rest[i:end]...)), true
		case '\n':
			return "", false
		}
		b = append(b, rest[i:end]...)
		c, size, ok := escape(rest[end+1:])
		if !ok {
			return "", false
		}
		b = utf8.AppendRune(b, c)
		i = end + 1 + size
	}
	return "", false
}

func (p *plainReader) singleQuoted(rest string) (string, bool) {
	doubled := false
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\n':
			return "", false
		case '\'':
			if i+1 < len(rest) && rest[i+1] == '\'' {
				doubled = true
				i++
				continue
			}
			p.i += i + 2
			s := rest[:i]
			if doubled {
				s = strings.ReplaceAll(s, "''", "'")
			}
			return s, true
		}
	}
	return "", false
}

// escape reads what follows the backslash of a double-quoted scalar.
func escape(s string) (c rune, size int, ok bool) {
	if len(s) == 0 {
		return 0, 0, false
	}
	switch s[0] {
	case 'n':
		return '\n', 1, true
	case 't':
		return '\t', 1, true
	case 'r':
		return '\r', 1, true
	case '"', '\\':
		return rune(s[0]), 1, true
	case 'u':
		if len(s) < 5 {
			return 0, 0, false
		}
		n, err := strconv.ParseUint(s[1:5], 16, 32)
		if err != nil || n >= 0xD800 && n < 0xE000 {
			return 0, 0, false
		}
		return rune(n), 5, true
	}
	return 0, 0, false
}

// literal reads a `|` block whose parent is indented by parent.
func (p *plainReader) literal(parent int) (any, bool) {
	p.i++
	chomp := byte(0)
	if p.i < len(p.b) && (p.b[p.i] == '-' || p.b[p.i] == '+') {
		chomp = p.b[p.i]
		p.i++
	}
	if !p.endOfLine() {
		return nil, false
	}
	indent, ok := p.literalIndent()
	if !ok {
		return nil, false
	}
	if indent <= parent {
		// Nothing but blank lines, which `+` would keep.
		return "", chomp != '+'
	}
	out := make([]byte, 0, 256)
	breaks := 0 // after the last line with text
	for p.i < len(p.b) {
		end := nextLine(p.b, p.i)
		line := p.b[p.i:end]
		text := strings.TrimSuffix(line, "\n")
		spaces := 0
		for spaces < len(text) && spaces < indent && text[spaces] == ' ' {
			spaces++
		}
		if spaces == len(text) {
			if len(line) == len(text) {
				// Spaces at the very end of the file.
				p.i = end
				break
			}
			breaks++
			p.i = end
			p.line++
			continue
		}
		if spaces < indent {
			if text[spaces] == '\t' {
				return nil, false
			}
			break
		}
		for ; breaks > 0; breaks-- {
			out = append(out, '\n')
		}
		out = append(out, text[indent:]...)
		p.i = end
		if len(line) > len(text) {
			breaks = 1
			p.line++
		}
	}
	switch {
	case chomp == '+':
		for ; breaks > 0; breaks-- {
			out = append(out, '\n')
		}
	case chomp == 0 && breaks > 0:
		out = append(out, '\n')
	}
	return string(out), true
}

// literalIndent gives the indentation of the first line with text of a block
// that begins at p.i, -1 when there is none.
func (p *plainReader) literalIndent() (int, bool) {
	for i := p.i; i < len(p.b); i++ {
		start := i
		for i < len(p.b) && p.b[i] == ' ' {
			i++
		}
		if i == len(p.b) {
			return -1, i == start
		}
		switch p.b[i] {
		case '\n':
			if i > start {
				// Blank lines with spaces count for the indentation.
				return 0, false
			}
		case '\t':
			return 0, false
		default:
			return i - start, true
		}
	}
	return -1, true
}

// flow reads a flow collection or a scalar inside one, all on one line.
func (p *plainReader) flow(depth int) (any, bool) {
	if depth > 50 || p.i >= len(p.b) {
		return nil, false
	}
	switch c := p.b[p.i]; c {
	case '[':
		return p.flowList(depth)
	case '{':
		return p.flowMap(depth)
	case '"', '\'':
		return p.quoted(c)
	}
	s, ok := p.flowWord()
	if !ok {
		return nil, false
	}
	return finite(resolvePlain(s))
}

// flowWord reads a plain scalar of characters that mean nothing in YAML.
func (p *plainReader) flowWord() (string, bool) {
	start := p.i
	for p.i < len(p.b) && keyByte[p.b[p.i]] {
		p.i++
	}
	s := p.b[start:p.i]
	return s, s != "" && s != "-" && (s[0] != '-' || len(s) > 1)
}

func (p *plainReader) flowList(depth int) (any, bool) {
	p.i++
	out := []any{}
	for {
		p.skipSpaces()
		if p.i < len(p.b) && p.b[p.i] == ']' {
			p.i++
			return out, true
		}
		v, ok := p.flow(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if more, ok := p.flowNext(']'); !ok || !more {
			return out, ok
		}
	}
}

func (p *plainReader) flowMap(depth int) (any, bool) {
	p.i++
	start := len(p.pairs)
	for {
		p.skipSpaces()
		if p.i >= len(p.b) {
			return nil, false
		}
		var key string
		var ok bool
		switch c := p.b[p.i]; c {
		case '}':
			p.i++
			return p.collect(start)
		case '"', '\'':
			key, ok = p.quoted(c)
		default:
			if key, ok = p.flowWord(); ok {
				key, ok = plainKeyText(key)
			}
		}
		if !ok || len(key) > maxKey || p.i+1 >= len(p.b) || p.b[p.i] != ':' || p.b[p.i+1] != ' ' {
			return nil, false
		}
		p.i++
		p.skipSpaces()
		v, ok := p.flow(depth + 1)
		if !ok {
			return nil, false
		}
		p.put(key, v, p.line)
		if more, ok := p.flowNext('}'); !ok {
			return nil, false
		} else if !more {
			return p.collect(start)
		}
	}
}

// flowNext goes over a comma or the closing bracket.
func (p *plainReader) flowNext(closing byte) (more, ok bool) {
	p.skipSpaces()
	if p.i >= len(p.b) {
		return false, false
	}
	c := p.b[p.i]
	p.i++
	return c == ',', c == ',' || c == closing
}

var yamlFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// resolvePlain gives the value of a plain scalar as YAML 1.1 and go.yaml.in/yaml/v2
// have it, normalised: nil, bool, int64, float64 or text.
func resolvePlain(s string) any {
	if s == "" {
		return nil
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9', c == '-', c == '+':
		if v, ok := yamlWords[s]; ok {
			return v
		}
		return resolveNumber(s)
	case c == '.':
		if v, ok := yamlWords[s]; ok {
			return v
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return number(f)
		}
	case strings.IndexByte("yYnNtTfFoO~", c) >= 0 && len(s) <= 5:
		if v, ok := yamlWords[s]; ok {
			return v
		}
	}
	return s
}

// yamlWords are the plain scalars that are not text.
var yamlWords = map[string]any{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "true": true, "True": true, "TRUE": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "false": false, "False": false, "FALSE": false, "off": false, "Off": false, "OFF": false,
	"~": nil, "null": nil, "Null": nil, "NULL": nil,
	".nan": notFinite{}, ".NaN": notFinite{}, ".NAN": notFinite{},
	".inf": notFinite{}, ".Inf": notFinite{}, ".INF": notFinite{},
	"+.inf": notFinite{}, "+.Inf": notFinite{}, "+.INF": notFinite{},
	"-.inf": notFinite{}, "-.Inf": notFinite{}, "-.INF": notFinite{},
}

// notFinite stands for a number that no manifest can hold; the full reader
// reports it.
type notFinite struct{}

func finite(v any) (any, bool) {
	_, is := v.(notFinite)
	return v, !is
}

func number(f float64) any {
	if n, ok := wholeNumber(f); ok {
		return n
	}
	return f
}

func resolveNumber(s string) any {
	if !mayBeNumber(s) || isTimestamp(s) {
		return s
	}
	plain := s
	if strings.IndexByte(s, '_') >= 0 {
		plain = strings.ReplaceAll(s, "_", "")
	}
	if n, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return number(float64(n))
	}
	if yamlFloat.MatchString(plain) {
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return number(f)
		}
	}
	return resolveBinary(s, plain)
}

// mayBeNumber says whether a text has no character that no number has: most words that
// begin with a digit, such as 100m and 128Mi, have one.
func mayBeNumber(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F', c == 'x', c == 'X', c == 'o', c == 'O', c == '_', c == '.', c == '+', c == '-':
		default:
			return false
		}
	}
	return true
}

// resolveBinary reads the binary numbers that strconv does not take by itself.
func resolveBinary(s, plain string) any {
	if digits, ok := strings.CutPrefix(plain, "0b"); ok {
		if n, err := strconv.ParseInt(digits, 2, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(digits, 2, 64); err == nil {
			return number(float64(n))
		}
	} else if digits, ok := strings.CutPrefix(plain, "-0b"); ok {
		if n, err := strconv.ParseInt("-"+digits, 2, 64); err == nil {
			return n
		}
	}
	return s
}

// isTimestamp says whether YAML takes s for a date. Dates stay text, but their
// digits are no number.
func isTimestamp(s string) bool {
	if len(s) < 8 || s[4] != '-' {
		return false
	}
	for _, format := range []string{"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2"} {
		if _, err := time.Parse(format, s); err == nil {
			return true
		}
	}
	return false
}
