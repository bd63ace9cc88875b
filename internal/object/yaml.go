package object

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// YAML writes the manifest as one YAML document, ready to be read by people and
// compared line by line: apiVersion, kind and metadata first, then the other keys in
// byte order, lists not indented, text of several lines as a block. The same
// object gives the same bytes.
//
// Parse reads it back to an equal object. Secrets are the exception: Mask stands in
// their place, and reading that gives the text "***", not what it hides.
func (o *Object) YAML() []byte {
	p := yamlPrinter{b: make([]byte, 0, 1024)}
	p.mapping(rootFirst(o.root), 0, false)
	return p.b
}

// YAML writes v as Object.YAML does, keys in byte order; nothing for the zero Value.
func (v Value) YAML() []byte {
	p := yamlPrinter{b: make([]byte, 0, 128)}
	switch x := v.raw.(type) {
	case nil:
		return nil
	case *mapping:
		if len(x.pairs) > 0 {
			p.mapping(x.pairs, 0, false)
			return p.b
		}
	case []any:
		if len(x) > 0 {
			p.list(x, 0, false)
			return p.b
		}
	}
	p.scalar(v.raw, 0)
	p.b = append(p.b, '\n')
	return p.b
}

// rootFirst gives the fields of a manifest in the order in which people read them.
func rootFirst(root *mapping) []pair {
	first := func(key string) int {
		return slices.Index([]string{"metadata", "kind", "apiVersion"}, key)
	}
	pairs := slices.Clone(root.pairs)
	slices.SortStableFunc(pairs, func(a, b pair) int { return first(b.key) - first(a.key) })
	return pairs
}

type yamlPrinter struct{ b []byte }

func (p *yamlPrinter) pad(indent int) {
	for range indent {
		p.b = append(p.b, ' ')
	}
}

// mapping writes a map that is not empty. With inline the first key follows what
// stands on the line already.
func (p *yamlPrinter) mapping(pairs []pair, indent int, inline bool) {
	for i := range pairs {
		k, value := pairs[i].key, pairs[i].value
		if i > 0 || !inline {
			p.pad(indent)
		}
		p.key(k, indent)
		switch x := value.(type) {
		case *mapping:
			if len(x.pairs) > 0 {
				p.b = append(p.b, '\n')
				p.mapping(x.pairs, indent+2, false)
				continue
			}
		case []any:
			if len(x) > 0 {
				p.b = append(p.b, '\n')
				p.list(x, indent, false)
				continue
			}
		}
		p.b = append(p.b, ' ')
		p.scalar(value, indent)
		p.b = append(p.b, '\n')
	}
}

// list writes a list that is not empty.
func (p *yamlPrinter) list(l []any, indent int, inline bool) {
	for i, item := range l {
		if i > 0 || !inline {
			p.pad(indent)
		}
		p.b = append(p.b, "- "...)
		switch x := item.(type) {
		case *mapping:
			if len(x.pairs) > 0 {
				p.mapping(x.pairs, indent+2, true)
				continue
			}
		case []any:
			if len(x) > 0 {
				p.list(x, indent+2, true)
				continue
			}
		}
		p.scalar(item, indent)
		p.b = append(p.b, '\n')
	}
}

// maxSimpleKey bounds a key before a colon: YAML readers look ahead 1,024
// characters for it (https://yaml.org/spec/1.1/#simple%20key/).
const maxSimpleKey = 1000

func (p *yamlPrinter) key(k string, indent int) {
	start := len(p.b)
	p.line(k)
	if len(p.b)-start > maxSimpleKey {
		p.b = slices.Insert(p.b, start, '?', ' ')
		p.b = append(p.b, '\n')
		p.pad(indent)
	}
	p.b = append(p.b, ':')
}

// scalar writes anything that is no filled map or list, whose parent is indented
// by indent. It ends without a line break.
func (p *yamlPrinter) scalar(raw any, indent int) {
	switch x := raw.(type) {
	case nil, null:
		p.b = append(p.b, "null"...)
	case *mapping:
		p.b = append(p.b, "{}"...)
	case []any:
		p.b = append(p.b, "[]"...)
	case string:
		p.text(x, indent)
	case *Masked:
		p.text(x.Shown, indent)
	case int64:
		p.b = strconv.AppendInt(p.b, x, 10)
	case float64:
		p.b = strconv.AppendFloat(p.b, x, 'g', -1, 64)
	case bool:
		p.b = strconv.AppendBool(p.b, x)
	default:
		p.text(fmt.Sprint(raw), indent)
	}
}

func (p *yamlPrinter) text(s string, indent int) {
	if !blockSafe(s) {
		p.line(s)
		return
	}
	p.b = append(p.b, '|')
	body := strings.TrimSuffix(s, "\n")
	switch {
	case len(body) == len(s):
		p.b = append(p.b, '-')
	case strings.HasSuffix(body, "\n"):
		p.b = append(p.b, '+')
	}
	for line := range strings.SplitSeq(body, "\n") {
		p.b = append(p.b, '\n')
		if line != "" {
			p.pad(indent + 2)
			p.b = append(p.b, line...)
		}
	}
}

// blockSafe says whether a text has several lines and reads well as a literal
// block: all printable, and nothing before the first line's text that would count
// as indentation.
func blockSafe(s string) bool {
	if !strings.Contains(s, "\n") {
		return false
	}
	first := strings.TrimLeft(s, "\n")
	return first != "" && first[0] != ' ' && first[0] != '\t' && printable(s)
}

// line writes a text on one line: plain where that is safe, otherwise quoted.
func (p *yamlPrinter) line(s string) {
	switch quoting(s) {
	case plainStyle:
		p.b = append(p.b, s...)
	case singleStyle:
		p.b = append(p.b, '\'')
		p.b = append(p.b, strings.ReplaceAll(s, "'", "''")...)
		p.b = append(p.b, '\'')
	default:
		p.doubleQuoted(s)
	}
}

type quoteStyle int

const (
	plainStyle quoteStyle = iota
	singleStyle
	doubleStyle
)

func quoting(s string) quoteStyle {
	if s == "" || strings.ContainsAny(s, "\n\t") || !printable(s) {
		return doubleStyle
	}
	if looksTyped(s) {
		return doubleStyle
	}
	if !plainStart(s) || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") || strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return singleStyle
	}
	return plainStyle
}

// plainStart says whether a plain scalar may begin as s does.
func plainStart(s string) bool {
	switch c := s[0]; {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= utf8.RuneSelf:
		return true
	case c == '-':
		return len(s) > 1 && s[1] != ' ' && !strings.HasPrefix(s, "---")
	case c == '.':
		return !strings.HasPrefix(s, "...")
	}
	return strings.IndexByte("/_+$(<^;\\", s[0]) >= 0
}

// looksTyped says whether some YAML reader would take a plain s for something else
// than text: besides what this one does, dates, numbers to base 60 and the
// lone signs of YAML 1.1.
func looksTyped(s string) bool {
	if v, ok := resolvePlain(s).(string); !ok || v != s {
		return true
	}
	switch s {
	case "<<", "=":
		return true
	}
	c := s[0]
	if c < '0' || c > '9' {
		if c != '-' && c != '+' {
			return false
		}
	}
	return isTimestamp(s) || isSexagesimal(s)
}

// isSexagesimal finds numbers like 190:20:30 (https://yaml.org/type/int.html).
func isSexagesimal(s string) bool {
	s = strings.TrimLeft(s, "+-")
	parts := strings.Split(s, ":")
	if len(parts) < 2 {
		return false
	}
	for _, part := range parts {
		if part == "" || strings.Trim(part, "0123456789_.") != "" {
			return false
		}
	}
	return true
}

func (p *yamlPrinter) doubleQuoted(s string) {
	p.b = append(p.b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				p.b = append(p.b, '\\', c)
			case c == '\n':
				p.b = append(p.b, `\n`...)
			case c == '\t':
				p.b = append(p.b, `\t`...)
			case c == '\r':
				p.b = append(p.b, `\r`...)
			case c < ' ' || c == 0x7F:
				p.b = fmt.Appendf(p.b, `\x%02X`, c)
			default:
				p.b = append(p.b, c)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF:
			p.b = fmt.Appendf(p.b, `\u%04X`, r)
		default:
			p.b = append(p.b, s[i:i+n]...)
		}
		i += n
	}
	p.b = append(p.b, '"')
}

// appendText writes a text as JSON, without escaping <, > and &.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, `\n`...)
			case '\r':
				b = append(b, `\r`...)
			case '\t':
				b = append(b, `\t`...)
			default:
				b = fmt.Appendf(b, `\u%04x`, c)
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == 0x2028 || r == 0x2029 {
			b = append(b, s[start:i]...)
			b = fmt.Appendf(b, `\u%04x`, r)
			start = i + n
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
