package diff

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// A directive is one statement of a configuration such as NGINX's, HAProxy's or
// CoreDNS's: words, and perhaps a block of further ones.
type directive struct {
	words []string
	block []directive
	open  bool // it has a block, even if an empty one
}

func (d directive) text() string { return strings.Join(d.words, " ") }

// whole spells a directive with its block.
func (d directive) whole(indent string) string {
	var b strings.Builder
	b.WriteString(indent + d.text())
	if d.open {
		b.WriteString(" {\n")
		for _, inner := range d.block {
			b.WriteString(inner.whole(indent+"  ") + "\n")
		}
		b.WriteString(indent + "}")
	}
	return b.String()
}

// parseDirectives reads a Corefile or an NGINX-like configuration by its braces,
// an HAProxy configuration by its sections. name is the key of the text.
func parseDirectives(name, s string) ([]directive, bool) {
	if len(s) > maxTextBytes {
		return nil, false
	}
	if strings.Contains(strings.ToLower(name), "haproxy") || isHAProxy(s) {
		return parseSections(s)
	}
	if !strings.Contains(s, "{") {
		return nil, false
	}
	p := braceReader{lines: strings.Split(s, "\n"), semicolons: strings.Contains(s, ";\n") || strings.HasSuffix(strings.TrimSpace(s), ";")}
	out, ok := p.block(0)
	return out, ok && len(out) > 0 && slices.ContainsFunc(out, func(d directive) bool { return d.open })
}

// haproxySections are the words that begin a section
// (https://docs.haproxy.org/3.0/configuration.html#4).
var haproxySections = []string{"global", "defaults", "frontend", "backend", "listen", "resolvers", "peers", "userlist", "cache", "program", "mailers"}

func isHAProxy(s string) bool {
	sections := 0
	for line := range strings.Lines(s) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if line[0] != ' ' && line[0] != '\t' {
			if !slices.Contains(haproxySections, words[0]) {
				return false
			}
			sections++
		}
	}
	return sections > 0
}

func parseSections(s string) ([]directive, bool) {
	var out []directive
	for line := range strings.Lines(s) {
		words := strings.Fields(stripHash(line))
		switch {
		case len(words) == 0:
		case slices.Contains(haproxySections, words[0]) && len(words) <= 4 && line[0] != ' ' && line[0] != '\t':
			out = append(out, directive{words: words, open: true})
		case len(out) == 0:
			return nil, false
		default:
			last := &out[len(out)-1]
			last.block = append(last.block, directive{words: words})
		}
	}
	return out, len(out) > 0
}

// isWordByte says whether c goes on a word that it touches.
func isWordByte(c byte) bool { return strings.IndexByte(" \t\r;{}()", c) < 0 }

// A braceReader reads directives that end with their line, or with a semicolon,
// and blocks in braces.
type braceReader struct {
	lines      []string
	at         int
	semicolons bool
	pending    []string // words of a directive that goes on
}

func (p *braceReader) block(depth int) ([]directive, bool) {
	var out []directive
	end := func() {
		if len(p.pending) > 0 {
			out = append(out, directive{words: p.pending})
			p.pending = nil
		}
	}
	for ; p.at < len(p.lines); p.at++ {
		line := strings.TrimSpace(stripHash(p.lines[p.at]))
		for line != "" {
			i := strings.IndexAny(line, "{};\"'")
			// A brace inside a word, as in a CoreDNS or NGINX variable, and a
			// semicolon in a format that does not end with it belong to the word.
			if i < 0 {
				p.pending = append(p.pending, strings.Fields(line)...)
				break
			}
			switch c := line[i]; {
			case c == '"' || c == '\'':
				close := strings.IndexByte(line[i+1:], c)
				if close < 0 {
					return nil, false // a text over several lines
				}
				if next := i + close + 2; i > 0 && isWordByte(line[i-1]) || next < len(line) && isWordByte(line[next]) {
					return nil, false // a word that is quoted in part
				}
				p.pending = append(p.pending, strings.Fields(line[:i])...)
				p.pending = append(p.pending, line[i:i+close+2])
				line = strings.TrimSpace(line[i+close+2:])
			case c == ';' && p.semicolons:
				p.pending = append(p.pending, strings.Fields(line[:i])...)
				end()
				line = strings.TrimSpace(line[i+1:])
			case c == '{' && (i == 0 || line[i-1] == ' ' || line[i-1] == ')') && (i+1 == len(line) || line[i+1] == ' '):
				p.pending = append(p.pending, strings.Fields(line[:i])...)
				if len(p.pending) == 0 || depth > 50 {
					return nil, false
				}
				d := directive{words: p.pending, open: true}
				p.pending = nil
				p.lines[p.at] = line[i+1:]
				var ok bool
				if d.block, ok = p.block(depth + 1); !ok {
					return nil, false
				}
				out = append(out, d)
				line = strings.TrimSpace(p.lines[p.at])
			case c == '}' && i == 0:
				end()
				if depth == 0 {
					return nil, false
				}
				p.lines[p.at] = line[1:]
				return out, true
			default: // part of a word
				rest := strings.IndexAny(line[i:], " \t")
				if rest < 0 {
					rest = len(line) - i
				}
				p.pending = append(p.pending, strings.Fields(line[:i+rest])...)
				line = strings.TrimSpace(line[i+rest:])
			}
		}
		if !p.semicolons {
			end()
		}
	}
	end()
	return out, depth == 0
}

// stripHash takes off a comment that begins with # at the start of a word.
func stripHash(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

// compareDirectives pairs directives by their first words, as many as it takes
// to tell them apart; what follows is the value. It is false when directives
// cannot be told apart.
func (w *walker) compareDirectives(before, after []directive) bool {
	names, ok := nameDirectives(before, after)
	if !ok {
		return false
	}
	type place struct{ before, after int }
	places := map[string]*place{}
	var order []string
	for i, d := range before {
		n := names[d.text()]
		places[n] = &place{i, -1}
		order = append(order, n)
	}
	for j, d := range after {
		n := names[d.text()]
		if p := places[n]; p != nil {
			p.after = j
			continue
		}
		places[n] = &place{-1, j}
		order = append(order, n)
	}
	renamed := ""
	var gone, come []string
	for _, n := range order {
		switch p := places[n]; {
		case p.after < 0 && before[p.before].open:
			gone = append(gone, n)
		case p.before < 0 && after[p.after].open:
			come = append(come, n)
		}
	}
	if len(gone) == 1 && len(come) == 1 {
		// The one block with another head is that block, changed.
		places[come[0]].before = places[gone[0]].before
		delete(places, gone[0])
		renamed = come[0]
	}
	slices.Sort(order)
	for _, n := range order {
		p := places[n]
		if p == nil {
			continue
		}
		w.push(step{key: n})
		value := func(list []directive, i int) object.Value {
			d := list[i]
			if d.open {
				return object.TextOf(d.whole(""))
			}
			return object.TextOf(strings.TrimPrefix(strings.TrimPrefix(d.text(), n), " "))
		}
		switch {
		case p.after < 0:
			w.emit(Field{Op: Remove, Before: value(before, p.before)})
		case p.before < 0:
			w.emit(Field{Op: Add, After: value(after, p.after)})
		default:
			b, a := before[p.before], after[p.after]
			if b.open != a.open {
				w.emit(Field{Op: Set, Before: value(before, p.before), After: value(after, p.after)})
				break
			}
			if b.text() != a.text() {
				f := Field{Op: Set, Before: value(before, p.before), After: value(after, p.after)}
				if b.open {
					f.Before, f.After = object.TextOf(b.text()), object.TextOf(a.text())
				}
				w.emit(f)
			}
			if b.open && !w.compareDirectives(b.block, a.block) {
				w.emit(Field{Op: Set, Before: value(before, p.before), After: value(after, p.after)})
			}
		}
		w.pop()
	}
	w.compareDirectiveOrder(before, after, names, renamed)
	return true
}

// compareDirectiveOrder reports when directives that are on both sides stand in
// another order: what that means depends on the program.
func (w *walker) compareDirectiveOrder(before, after []directive, names map[string]string, renamed string) {
	list := func(own, other []directive) []string {
		there := map[string]bool{}
		for _, d := range other {
			there[names[d.text()]] = true
		}
		var out []string
		for _, d := range own {
			if n := names[d.text()]; there[n] && n != renamed {
				out = append(out, n)
			}
		}
		return out
	}
	b, a := list(before, after), list(after, before)
	if slices.Equal(b, a) {
		return
	}
	values := func(names []string) object.Value {
		var out []object.Value
		for _, n := range names {
			out = append(out, object.TextOf(n))
		}
		return object.ListOf(out)
	}
	w.emit(Field{Op: Set, Before: values(b), After: values(a), Reordered: true})
}

// nameDirectives gives each directive, by its text, the shortest run of its
// first words that no other one of its side begins with.
func nameDirectives(before, after []directive) (map[string]string, bool) {
	names := map[string]string{}
	byFirst := map[string][][]directive{}
	for side, list := range [][]directive{before, after} {
		seen := map[string]bool{}
		for _, d := range list {
			if seen[d.text()] {
				return nil, false
			}
			seen[d.text()] = true
			if byFirst[d.words[0]] == nil {
				byFirst[d.words[0]] = make([][]directive, 2)
			}
			byFirst[d.words[0]][side] = append(byFirst[d.words[0]][side], d)
		}
	}
	for _, sides := range byFirst {
		n := 1
		for !apart(sides[0], n) || !apart(sides[1], n) {
			n++
		}
		for _, list := range sides {
			for _, d := range list {
				names[d.text()] = strings.Join(d.words[:min(n, len(d.words))], " ")
			}
		}
	}
	return names, true
}

// apart says whether the first n words tell all directives of a list apart.
func apart(list []directive, n int) bool {
	seen := map[string]bool{}
	for _, d := range list {
		key := strings.Join(d.words[:min(n, len(d.words))], " ")
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}
