package clientparam

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// An entry is one name and value of a configuration text. The name is the whole
// path to it, levels joined by dots.
type entry struct {
	name, value string
	directive   bool // written as words after one another, not as a key
	arg         int  // the index of the argument it was read from
}

// Bounds of what is read from one text. The API server takes ConfigMaps of 1 MiB.
const (
	maxText    = 2 << 20 // bytes; the rest is not read
	maxEntries = 20_000
	maxLevels  = 32
	maxName    = 512 // bytes of one name
)

// readText finds names and values in configuration text of any of the usual
// kinds: YAML, JSON, TOML, INI, properties, env files, HCL and Alloy, NGINX,
// Corefile, HAProxy, redis.conf, resolv.conf. It reads line by line and forgives
// much, because such texts often carry templates that no parser takes.
func readText(text string) []entry {
	if len(text) > maxText {
		text = text[:maxText]
	}
	r := &textReader{}
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		if r.json("", t) {
			return r.entries
		}
		r.entries = nil
	}
	for line := range strings.Lines(text) {
		if len(r.entries) >= maxEntries {
			break
		}
		r.line(strings.TrimRight(line, "\r\n"))
	}
	return r.entries
}

// A level is one step of the path to the current line.
type level struct {
	name   string
	indent int // of its line, for YAML
}

type textReader struct {
	entries []entry
	section string  // of [section] or of a HAProxy section
	blocks  []level // open braces
	deep    int     // braces beyond maxLevels
	keys    []level // open YAML keys
}

func (r *textReader) add(name, value string, directive bool) {
	if len(name) > maxName || len(r.entries) >= maxEntries {
		return
	}
	value = unquote(strings.TrimSpace(value))
	r.entries = append(r.entries, entry{name: name, value: value, directive: directive})
	r.inside(name, value)
}

// inside reads what a value holds itself: JSON, a flow map, the query of a URL,
// arguments of a program.
func (r *textReader) inside(name, value string) {
	switch {
	case len(value) < 3:
	case value[0] == '{' || value[0] == '[':
		if !r.json(name, value) {
			r.flow(name, value, 0)
		}
	case strings.Contains(value, "://") && strings.Contains(value, "?"):
		_, query, _ := strings.Cut(value, "?")
		scheme, _, _ := strings.Cut(value, "://")
		for _, pair := range strings.FieldsFunc(query, func(c rune) bool { return c == '&' || c == ';' || c == '#' || c == ' ' }) {
			if k, v, ok := strings.Cut(pair, "="); ok {
				r.pair(name+"."+scheme+"."+k, v)
			}
		}
	case strings.Contains(value, "=") || strings.HasPrefix(value, "-"):
		for _, e := range readArgs(splitShell(value)) {
			if e.name != "" {
				r.pair(name+"."+e.name, e.value)
			}
		}
	case strings.Contains(value, ":") && strings.HasPrefix(value, "ndots"), strings.Contains(value, " ndots:"):
		for _, word := range strings.Fields(value) {
			if k, v, ok := strings.Cut(word, ":"); ok {
				r.entries = append(r.entries, entry{name: "options " + k, value: v, directive: true})
			}
		}
	}
}

// pair adds an entry found inside a value, without looking inside it again.
func (r *textReader) pair(name, value string) {
	if len(name) <= maxName && len(r.entries) < maxEntries {
		r.entries = append(r.entries, entry{name: name, value: unquote(value)})
	}
}

// json reads a JSON text; false when it is none.
func (r *textReader) json(prefix, text string) bool {
	var raw any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&raw); err != nil || dec.More() {
		return false
	}
	if m, ok := raw.(map[string]any); ok && m["panels"] != nil && m["schemaVersion"] != nil {
		return true // a Grafana dashboard: its intervals are for eyes
	}
	r.tree(prefix, raw, 0)
	return true
}

func (r *textReader) tree(name string, raw any, depth int) {
	if depth > maxLevels || len(r.entries) >= maxEntries {
		return
	}
	switch x := raw.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			r.tree(join(name, k), x[k], depth+1)
		}
		if len(x) == 0 {
			r.pair(name, "{}")
		}
	case []any:
		for _, item := range x {
			r.tree(name, item, depth+1)
		}
	case string:
		r.pair(name, x)
	case json.Number:
		r.pair(name, x.String())
	case bool:
		r.pair(name, strconv.FormatBool(x))
	}
}

// flow reads {a: 1, b: {c: 2}} as YAML writes it.
func (r *textReader) flow(name, text string, depth int) {
	if depth > 4 || len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return
	}
	start, level := 1, 0
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			level++
			continue
		case '}', ']':
			level--
			if level >= 0 {
				continue
			}
		case ',':
			if level > 0 {
				continue
			}
		default:
			continue
		}
		if k, v, ok := strings.Cut(text[start:i], ":"); ok {
			k, v = join(name, unquote(strings.TrimSpace(k))), strings.TrimSpace(v)
			if strings.HasPrefix(v, "{") {
				r.flow(k, v, depth+1)
			} else {
				r.pair(k, v)
			}
		}
		start = i + 1
	}
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

// path gives the levels that are open, with name as the last.
func (r *textReader) path(name string) string {
	p := r.section
	for _, l := range r.blocks {
		p = join(p, l.name)
	}
	for _, l := range r.keys {
		p = join(p, l.name)
	}
	return join(p, name)
}

// sections are what starts a section of haproxy.cfg, at the start of a line.
var sections = []string{"global", "defaults", "frontend", "backend", "listen", "resolvers", "peers"}

func (r *textReader) line(line string) {
	body := strings.TrimLeft(line, " \t")
	indent := len(line) - len(body)
	body = stripComment(body)
	if body == "" {
		return
	}
	// Closing braces first: "}" and "});" end blocks, also several.
	for strings.HasPrefix(body, "}") {
		r.pop()
		body = strings.TrimLeft(body[1:], " \t;,)")
	}
	if body == "" {
		return
	}
	if body[0] == '[' && body[len(body)-1] == ']' && !strings.ContainsAny(body, ",{") {
		r.section = strings.Trim(body, "[] \t\"'")
		r.keys = r.keys[:0]
		return
	}
	if head, ok := strings.CutSuffix(body, "{"); ok {
		r.push(head)
		return
	}
	if open := strings.Index(body, "{"); open > 0 && strings.HasSuffix(body, "}") && !strings.Contains(body[:open], ":") && !strings.Contains(body[:open], "=") {
		// A block on one line: prometheus :9153 { max_concurrent 10 }
		r.push(body[:open])
		r.statement(strings.TrimSpace(body[open+1:len(body)-1]), indent)
		r.pop()
		return
	}
	r.statement(body, indent)
}

func (r *textReader) push(head string) {
	if len(r.blocks) >= maxLevels {
		r.deep++
		return
	}
	head = strings.TrimRight(head, " \t:=(")
	// forward . 10.0.0.1 is forward, endpoint "a" is endpoint, server 10.0.0.1:80
	// is server: what names a block is its first word.
	name, _, _ := strings.Cut(head, " ")
	r.blocks = append(r.blocks, level{name: strings.Trim(name, `"'`)})
}

func (r *textReader) pop() {
	switch {
	case r.deep > 0:
		r.deep--
	case len(r.blocks) > 0:
		r.blocks = r.blocks[:len(r.blocks)-1]
	}
}

// statement reads one line without its braces and comments.
func (r *textReader) statement(body string, indent int) {
	body = strings.TrimRight(body, ";, \t")
	item := indent
	for strings.HasPrefix(body, "- ") {
		trimmed := strings.TrimLeft(body[2:], " ")
		item += len(body) - len(trimmed)
		body = trimmed
	}
	if item != indent && strings.HasPrefix(body, "-") {
		for _, e := range readArgs(splitShell(body)) {
			r.pair(r.path(e.name), e.value)
		}
		return
	}
	body = strings.TrimPrefix(body, "export ")
	if key, value, ok := cutKey(body, ':'); ok {
		r.close(item)
		if value == "" || value[0] == '|' || value[0] == '>' || value[0] == '&' {
			if len(r.keys) < maxLevels {
				r.keys = append(r.keys, level{key, item})
			}
			return
		}
		r.add(r.path(key), value, false)
		return
	}
	if key, value, ok := cutKey(body, '='); ok {
		if len(r.blocks) == 0 && r.section == "" {
			r.close(item)
		}
		r.add(r.path(key), value, false)
		return
	}
	r.words(body, indent)
}

// close ends YAML keys that the line at this indent is not below.
func (r *textReader) close(indent int) {
	for len(r.keys) > 0 && r.keys[len(r.keys)-1].indent >= indent {
		r.keys = r.keys[:len(r.keys)-1]
	}
}

// words reads a statement of words: proxy_read_timeout 60s, timeout connect 5s.
func (r *textReader) words(body string, indent int) {
	fields := strings.Fields(body)
	if len(fields) == 0 || !isName(fields[0]) {
		return
	}
	if indent == 0 && len(r.blocks) == 0 && slices.Contains(sections, fields[0]) && len(fields) <= 2 {
		r.section = strings.Join(fields, " ")
		r.keys = r.keys[:0]
		return
	}
	if len(fields) == 1 {
		r.add(r.path(fields[0]), "on", true) // a word that stands for itself, such as force_tcp
		return
	}
	r.add(r.path(fields[0]), strings.Join(fields[1:], " "), true)
	if len(fields) >= 3 && isName(fields[1]) {
		r.add(r.path(fields[0]+" "+fields[1]), strings.Join(fields[2:], " "), true)
	}
	for i, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, ":"); ok && fields[0] == "options" {
			r.add("options "+k, v, true)
		}
		if k, v, ok := strings.Cut(f, "="); ok && isName(k) {
			r.add(r.path(fields[0]+"."+k), v, true)
		}
		if strings.HasSuffix(fields[0], "server") && i > 0 && i+2 < len(fields) && isName(f) {
			r.add(r.path(fields[0]+"."+fields[1]+"."+f), fields[i+2], true)
		}
	}
}

// cutKey cuts "key: value" or "key = value". The key is one word or stands in
// quotes; a colon counts only before a space or at the end.
func cutKey(body string, sep byte) (key, value string, ok bool) {
	end := 0
	if body != "" && (body[0] == '"' || body[0] == '\'') {
		i := strings.IndexByte(body[1:], body[0])
		if i < 0 {
			return "", "", false
		}
		end = i + 2
	}
	i := strings.IndexByte(body[end:], sep)
	if i < 0 {
		return "", "", false
	}
	i += end
	key = strings.TrimSpace(body[:i])
	value = strings.TrimSpace(body[i+1:])
	if sep == ':' && i+1 < len(body) && body[i+1] != ' ' && body[i+1] != '\t' {
		return "", "", false
	}
	key = unquote(key)
	if !isName(key) {
		return "", "", false
	}
	return key, value, true
}

// isName says whether s can be the name of a setting.
func isName(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	letters := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isLower(c), isUpper(c):
			letters = true
		case isDigit(c), c == '_', c == '-', c == '.', c == '/', c == '[', c == ']':
		default:
			return false
		}
	}
	return letters
}

// stripComment cuts what follows a comment sign, and a line that is one.
func stripComment(s string) string {
	if s == "" || s[0] == '#' || s[0] == ';' || s[0] == '!' || strings.HasPrefix(s, "//") {
		return ""
	}
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case (c == '#' || c == ';') && (s[i-1] == ' ' || s[i-1] == '\t'):
			return strings.TrimRight(s[:i], " \t")
		}
	}
	return strings.TrimRight(s, " \t")
}

func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'' || s[0] == '`') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}
