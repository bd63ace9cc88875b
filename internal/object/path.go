package object

import (
	"strconv"
	"strings"
)

// A Path leads from the root of an object to one value. It is written as
//
//	spec.template.spec.containers[name=app].env[name=GRPC_BACKOFF].value
//	metadata.labels["app.kubernetes.io/name"]
//	spec.rules[0].host
//
// List items stand by the keys that identify them, `[containerPort=53,protocol=UDP]`
// where there are several, otherwise by index. Map keys that are not plain words
// stand quoted in brackets.
type Path string

// quotedKey escapes a key between quotes. Made once: most annotations are such keys.
var quotedKey = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// Key appends a map key.
func (p Path) Key(key string) Path {
	if !plainKey(key) {
		return p + Path(`["`+quotedKey.Replace(key)+`"]`)
	}
	if p == "" {
		return Path(key)
	}
	return p + "." + Path(key)
}

// Index appends a list index, counted from 0.
func (p Path) Index(i int) Path {
	return p + Path("["+strconv.Itoa(i)+"]")
}

// Select appends a keyed list item: alternating names and values, such as
// Select("name", "app").
func (p Path) Select(pairs ...string) Path {
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i])
		b.WriteByte('=')
		b.WriteString(selectorValue(pairs[i+1]))
	}
	b.WriteByte(']')
	return p + Path(b.String())
}

// plainKey says whether a key can follow a dot without quotes.
func plainKey(key string) bool {
	if key == "" {
		return false
	}
	for _, r := range key {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '$':
		default:
			return false
		}
	}
	return true
}

// selectorValue quotes a value in which a bracket, comma, quote or control
// character would end the selector early.
func selectorValue(s string) string {
	if s != "" && !strings.ContainsAny(s, "[],=\"\\\n\r\t") {
		return s
	}
	return `"` + quotedKey.Replace(s) + `"`
}

// A Segment is one step of a path: a map key, a list index, or a keyed item.
type Segment struct {
	Key    string      // map key, when Select is nil and Index is -1
	Index  int         // list index, -1 when the step is not one
	Select [][2]string // name and value of each key of a keyed list item
}

// Segments takes a path apart. Text that no Path method would write (an
// unfinished bracket) is taken as part of a key, so it never fails.
func (p Path) Segments() []Segment {
	var out []Segment
	s := string(p)
	for s != "" {
		switch {
		case s[0] == '.':
			s = s[1:]
		case s[0] == '[':
			seg, rest, ok := bracket(s)
			if !ok {
				return append(out, Segment{Key: s, Index: -1})
			}
			out, s = append(out, seg), rest
		default:
			end := strings.IndexAny(s, ".[")
			if end < 0 {
				end = len(s)
			}
			out, s = append(out, Segment{Key: s[:end], Index: -1}), s[end:]
		}
	}
	return out
}

// bracket reads one [...] from the start of s.
func bracket(s string) (seg Segment, rest string, ok bool) {
	body := s[1:]
	if strings.HasPrefix(body, `"`) {
		key, rest, ok := quoted(body)
		if !ok || !strings.HasPrefix(rest, "]") {
			return seg, s, false
		}
		return Segment{Key: key, Index: -1}, rest[1:], true
	}
	if end := strings.IndexByte(body, ']'); end >= 0 && isDigits(body[:end]) {
		i, _ := strconv.Atoi(body[:end]) // digits only, see isDigits
		return Segment{Index: i}, body[end+1:], true
	}
	seg.Index = -1
	for {
		eq := strings.IndexByte(body, '=')
		if eq < 0 {
			return seg, s, false
		}
		name, value := body[:eq], ""
		body = body[eq+1:]
		if strings.HasPrefix(body, `"`) {
			if value, body, ok = quoted(body); !ok {
				return seg, s, false
			}
		} else {
			end := strings.IndexAny(body, ",]")
			if end < 0 {
				return seg, s, false
			}
			value, body = body[:end], body[end:]
		}
		seg.Select = append(seg.Select, [2]string{name, value})
		if body == "" {
			return seg, s, false
		}
		if body[0] == ']' {
			return seg, body[1:], true
		}
		body = body[1:]
	}
}

// quoted reads a "..." from the start of s and undoes its escapes.
func quoted(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			i++
			if i == len(s) {
				return "", s, false
			}
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			default:
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", s, false
}

// At follows a path as Path writes it, the zero Value when it leads nowhere. A
// keyed step takes the first item that has all its keys.
func (v Value) At(path string) Value {
	if !strings.Contains(path, "[") {
		// Most paths are plain keys, and followed without taking them apart first.
		for key := range strings.SplitSeq(path, ".") {
			if key != "" {
				v = v.Field(key)
			}
		}
		return v
	}
	for _, seg := range Path(path).Segments() {
		switch {
		case seg.Select != nil:
			v = v.find(seg.Select)
		case seg.Index >= 0:
			v = v.Item(seg.Index)
		default:
			v = v.Field(seg.Key)
		}
	}
	return v
}

func (v Value) find(pairs [][2]string) Value {
	for _, item := range v.Items() {
		matches := true
		for _, pair := range pairs {
			f := item.Field(pair[0])
			if f.String() != pair[1] && (f.Exists() || pair != [2]string{"protocol", "TCP"}) {
				matches = false
				break
			}
		}
		if matches {
			return item
		}
	}
	return Value{}
}

func isDigits(s string) bool {
	return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == ""
}
