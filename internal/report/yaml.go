package report

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prdiff/prdiff/internal/object"
)

// plain turns v into maps, slices, texts, booleans and number literals that can
// be edited. Masked secrets become what is shown of them.
func plain(v object.Value) any {
	switch v.Type() {
	case object.Map:
		m := make(map[string]any, v.Len())
		for k, item := range v.Fields() {
			m[k] = plain(item)
		}
		return m
	case object.List:
		l := make([]any, 0, v.Len())
		for _, item := range v.Items() {
			l = append(l, plain(item))
		}
		return l
	case object.String:
		return v.Text()
	case object.Bool:
		b, _ := v.Bool()
		return b
	case object.Number:
		return number(v.String())
	}
	return nil
}

// A number is a number literal as it is printed.
type number string

// yamlLines prints v as YAML, one line an item, without line ends. Keys come in
// the order people write them: apiVersion, kind, metadata first, name before
// the rest, then by byte order.
func yamlLines(v any, indent int) []string { return appendYAML(nil, v, indent) }

func appendYAML(out []string, v any, indent int) []string {
	pad := blanks(indent)
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 {
			return append(out, pad+"{}")
		}
		for _, k := range sortedKeys(x) {
			out = appendEntry(out, pad, scalarText(k)+":", x[k], indent)
		}
		return out
	case []any:
		if len(x) == 0 {
			return append(out, pad+"[]")
		}
		for _, item := range x {
			start := len(out)
			out = appendYAML(out, item, indent+2)
			out[start] = pad + "- " + strings.TrimPrefix(out[start], pad+"  ")
		}
		return out
	case string:
		start := len(out)
		out = appendTextLines(out, x, indent)
		out[start] = pad + out[start]
		return out
	}
	return append(out, pad+scalar(v))
}

// blanks gives n spaces.
func blanks(n int) string {
	const some = "                                        "
	if n <= len(some) {
		return some[:n]
	}
	return strings.Repeat(" ", n)
}

// appendEntry prints one map entry: a scalar beside its key, anything else below.
func appendEntry(out []string, pad, key string, v any, indent int) []string {
	switch x := v.(type) {
	case map[string]any:
		if len(x) > 0 {
			return appendYAML(append(out, pad+key), v, indent+2)
		}
	case []any:
		if len(x) > 0 {
			return appendYAML(append(out, pad+key), v, indent)
		}
	case string:
		start := len(out)
		out = appendTextLines(out, x, indent+2)
		out[start] = pad + key + " " + out[start]
		return out
	}
	return append(out, pad+key+" "+scalar(v))
}

func scalar(v any) string {
	switch x := v.(type) {
	case number:
		return string(x)
	case bool:
		return strconv.FormatBool(x)
	case map[string]any:
		return "{}"
	case []any:
		return "[]"
	case string:
		return scalarText(x)
	}
	return "null"
}

// appendTextLines prints a text: in one line where it has one, otherwise as a block
// whose lines are indented. The first line is not.
func appendTextLines(out []string, s string, indent int) []string {
	if !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") || !blockable(s) {
		return append(out, scalarText(s))
	}
	head := "|"
	body, ended := strings.CutSuffix(s, "\n")
	if !ended {
		head = "|-"
	} else if strings.HasSuffix(body, "\n") {
		head = "|+"
	}
	pad := blanks(indent)
	out = append(out, head)
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			line = pad + line
		}
		out = append(out, line)
	}
	return out
}

// blockable says whether a text survives as a block: nothing unprintable, and
// no blank at the start, which YAML would take for indentation.
func blockable(s string) bool {
	if s[0] == ' ' || s[0] == '\n' || s[0] == '\t' || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && unsafeRune(r) {
			return false
		}
	}
	return true
}

// scalarText prints a text in one line, in quotes where YAML would read it as
// something else.
func scalarText(s string) string {
	if plainScalar(s) {
		return s
	}
	return quote(s)
}

func plainScalar(s string) bool {
	if s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == ':' || strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	first := rune(s[0])
	if !(first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z' || first == '/' || first == '_' || first == '$' || first == '.' ||
		first == '(' || first == '+' || first == ';' || first == '^' ||
		first >= '0' && first <= '9' || first == '-' && len(s) > 1 && s[1] != ' ' && s != "---" || first >= utf8.RuneSelf) {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", ".nan", ".inf", "+.inf", "-.inf":
		return false
	}
	if looksNumeric(s) {
		return false
	}
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if unsafeRune(r) {
			return false
		}
	}
	return true
}

// looksNumeric says whether a YAML reader could take s for a number, a date or
// a sexagesimal: it errs on the side of quotes.
func looksNumeric(s string) bool {
	t := strings.TrimLeft(s, "+-.")
	if t == "" || t[0] < '0' || t[0] > '9' {
		return false
	}
	return strings.Trim(t, "0123456789abcdefABCDEFxXoO_.:+-TZ ") == ""
}

// quote writes s in double quotes, as JSON and YAML both read it.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + hexDigits(rune(s[i]), 2))
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unsafeRune(r) && r <= 0xffff:
			b.WriteString(`\u` + hexDigits(r, 4))
		case unsafeRune(r):
			b.WriteString(`\U` + hexDigits(r, 8))
		default:
			b.WriteRune(r)
		}
		i += size
	}
	b.WriteByte('"')
	return b.String()
}

func hexDigits(r rune, digits int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, digits-len(s))) + s
}

// unsafeRune says whether a character must not be printed as it is: control
// characters drive terminals, and formatting ones (the bidirectional controls
// among them) make a text look like another.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029'
}

// keyRank puts the keys first that people look for first.
var keyRank = map[string]int{"apiVersion": -5, "kind": -4, "metadata": -3, "name": -2, "namespace": -1}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := keyRank[a] - keyRank[b]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return keys
}
