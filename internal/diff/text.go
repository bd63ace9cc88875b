package diff

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// A text is a text of both sides that was compared as a structure.
type text struct {
	before, after object.Value
	depth         int // how many steps lead to the text
}

// compareTexts compares two texts as the structures they hold, YAML, JSON, INI
// and its kin, or nested directives. It is false, with nothing done, when they
// hold none that both sides can be read as.
func (w *walker) compareTexts(before, after object.Value) bool {
	if w.text != nil || len(w.steps) == 0 {
		return false // structures inside structures stay what they are
	}
	for _, v := range []object.Value{before, after} {
		if m := v.Masked(); m != nil && m.Whole() {
			return false
		}
	}
	// Secrets in the texts become words that differ where the secrets do; emit
	// masks them again.
	b, a := before.Marked(), after.Marked()
	last := w.steps[len(w.steps)-1]
	if !sameHead(b, a) {
		return false
	}
	if !last.list && last.key == "description" || !strings.ContainsAny(b, "\n{[") && !strings.ContainsAny(a, "\n{[") {
		return false
	}
	w.text = &text{before: before, after: after, depth: len(w.steps)}
	defer func() { w.text = nil }()
	found := len(w.fields)
	if !w.compareStructures(last.key, b, a) {
		return false
	}
	if len(w.fields) == found {
		w.emit(Field{Op: Set, Before: before, After: after, Hidden: filterLayout})
	}
	return true
}

// sameHead says whether two texts begin with the same comment, where that comment
// tells a program what the text is: #!/bin/sh, #cloud-config.
func sameHead(before, after string) bool {
	head := func(s string) string {
		if line, _, _ := strings.Cut(s, "\n"); strings.HasPrefix(line, "#!") || strings.HasPrefix(line, "#cloud-") {
			return line
		}
		return ""
	}
	return head(before) == head(after)
}

func (w *walker) compareStructures(name, before, after string) bool {
	for _, read := range []func(before, after string) (b, a object.Value, ok bool){object.EmbeddedPair, parsePair} {
		if b, a, ok := read(before, after); ok && b.Type() == a.Type() {
			w.compare(b, a, nil, nil)
			return true
		}
	}
	db, ok := parseDirectives(name, before)
	if !ok {
		return false
	}
	da, ok := parseDirectives(name, after)
	return ok && w.compareDirectives(db, da)
}

func parsePair(before, after string) (b, a object.Value, ok bool) {
	if b, ok = parseSettings(before); ok {
		a, ok = parseSettings(after)
	}
	return b, a, ok
}

// parseSettings reads lines of keys and values, in sections or not: properties,
// dotenv, INI, and TOML as far as it goes by lines. Values stay texts, as they
// stand on the line: blanks at the end belong to the value in properties, and a
// carriage return does in most formats. It fails at anything else, and at a key
// that stands twice.
func parseSettings(s string) (object.Value, bool) {
	if len(s) > maxTextBytes || strings.HasPrefix(s, "#!") {
		return object.Value{}, false
	}
	type section struct {
		keys   map[string]object.Value
		nested map[string]*section
	}
	fresh := func() *section { return &section{map[string]object.Value{}, map[string]*section{}} }
	root := fresh()
	current, settings := root, 0
	lines := strings.Split(s, "\n")
	indent := -1 // of the first key of a section
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], " \t\f")
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#' || line[0] == ';' || strings.HasPrefix(line, "! "):
			continue
		case line[0] == '[':
			indent = -1
			name := strings.TrimRight(stripComment(line), " \t")
			if !strings.HasSuffix(name, "]") {
				return object.Value{}, false
			}
			table := strings.HasPrefix(name, "[[") && strings.HasSuffix(name, "]]")
			name = strings.TrimSpace(strings.Trim(name, "[]"))
			if name == "" {
				return object.Value{}, false
			}
			key := name
			for n := 0; root.nested[key] != nil; n++ {
				if !table {
					return object.Value{}, false // a section stands twice
				}
				key = fmt.Sprintf("%s[%d]", name, n+1)
			}
			current = fresh()
			root.nested[key] = current
			continue
		}
		// Python's INI takes a line that is indented more than its key for a part of
		// the key's value.
		switch here := len(lines[i]) - len(line); {
		case indent < 0:
			indent = here
		case here > indent:
			return object.Value{}, false
		}
		end := strings.IndexAny(line, "=:")
		key, export := "", ""
		if end > 0 {
			key = strings.TrimSpace(line[:end])
			if name, ok := strings.CutPrefix(key, "export "); ok {
				key, export = strings.TrimSpace(name), "export "
			}
		}
		if key == "" || strings.ContainsAny(key, " \t{}()<>\"'`$|&;,!") || line[end] == ':' && !strings.HasPrefix(line[end+1:], " ") {
			return object.Value{}, false
		}
		value := strings.TrimLeft(line[end+1:], " \t")
		if isVariableName(key) && current == root && (len(value) < len(line)-end-1 || strings.TrimRight(line[:end], " \t") != line[:end]) {
			return object.Value{}, false // blanks around the sign count in a shell and in dotenv
		}
		for open := unclosed(value); open != "" || strings.HasSuffix(value, `\`); open = unclosed(value) {
			i++
			if i == len(lines) {
				return object.Value{}, false
			}
			more := lines[i]
			if open == "[" || open == "" {
				more = strings.TrimLeft(more, " \t") // blanks at the start count in texts alone
			}
			if open == "" {
				value = strings.TrimSuffix(value, `\`)
			}
			value += "\n" + more
		}
		key = export + key
		if _, twice := current.keys[key]; twice || strings.Contains(value, "$") && len(root.nested) == 0 {
			return object.Value{}, false // in a dotenv, $NAME may be a line before: order counts
		}
		current.keys[key] = object.TextOf(value)
		settings++
	}
	if settings == 0 {
		return object.Value{}, false
	}
	for name, nested := range root.nested {
		if _, twice := root.keys[name]; twice {
			return object.Value{}, false
		}
		root.keys[name] = object.MapOf(nested.keys)
	}
	return object.MapOf(root.keys), true
}

// isVariableName says whether a key is spelled as environment variables are.
func isVariableName(key string) bool {
	return strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// maxTextBytes bounds the texts that are read as structures.
const maxTextBytes = 1 << 20

// unclosed gives what a value of TOML that goes on in the next line has left open.
func unclosed(value string) string {
	for _, quote := range []string{`"""`, `'''`} {
		if strings.HasPrefix(value, quote) && strings.Count(value, quote)%2 == 1 {
			return quote
		}
	}
	if strings.HasPrefix(value, "[") && strings.Count(value, "[") > strings.Count(value, "]") {
		return "["
	}
	return ""
}

// stripComment takes a comment off the end of a line: # or ; after a space.
func stripComment(line string) string {
	for _, mark := range []string{" #", "\t#", " ;"} {
		if i := strings.Index(line, mark); i >= 0 {
			line = line[:i]
		}
	}
	return line
}
