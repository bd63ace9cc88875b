package object

import (
	"strings"
	"unicode/utf8"
)

// A plainReader reads the part of YAML that nearly all manifests are written in:
// block maps and lists, plain and quoted scalars, literal blocks, flow collections
// on one line. It is some ten times faster than the full reader. It gives up at
// whatever is not in this part or looks wrong, and the full reader decides then;
// what it does accept it must read just as the full reader does (FuzzPlainYAML).
type plainReader struct {
	b         string // what is read stays a part of it, not copied
	i         int    // of the next byte
	line      int    // the line of i, counted from 1 at the start of the file
	depth     int
	warnings  []*lineError
	itemLines []int
	pairs     []pair // of the maps that are being read, outer ones first
	lines     []int  // of their keys
}

// decodePlainYAML reads a document whose first content line begins at offset and
// is the given line of its file.
func decodePlainYAML(text string, offset, line int) (document, bool) {
	head := text[:offset]
	if isMarker(text[offset:], '-') || hasTabs(head) || strings.HasPrefix(head, "%") || strings.Contains(head, "\n%") || !printable(text) {
		return document{}, false
	}
	p := plainReader{b: text, i: offset, line: line}
	indent, ok := p.toContent()
	if !ok || p.i == len(p.b) {
		return document{}, false
	}
	root, ok := p.block(indent, -1)
	if !ok {
		return document{}, false
	}
	if _, ok := p.toContent(); !ok || p.i < len(p.b) {
		return document{}, false
	}
	switch root.(type) {
	case *mapping, []any:
		return document{root: root, line: line, warnings: p.warnings, itemLines: p.itemLines}, true
	}
	return document{}, false
}

// hasTabs says whether a tab stands in the lines before the content, which some
// readers take for indentation. In comments it is nothing.
func hasTabs(head string) bool {
	for line := range strings.Lines(head) {
		before, _, _ := strings.Cut(line, "#")
		if strings.IndexByte(before, '\t') >= 0 {
			return true
		}
	}
	return false
}

// printable says whether text is UTF-8 without the characters that YAML forbids
// or takes for line breaks.
func printable(text string) bool {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7F {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 || r < 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF {
			return false
		}
		i += n
	}
	return true
}

// toContent goes to the first content of a line, from the start of a line, over
// blank lines and comments. It gives the indentation. At the end of the text p.i
// is len(p.b).
func (p *plainReader) toContent() (indent int, ok bool) {
	for p.i < len(p.b) {
		start := p.i
		for p.i < len(p.b) && p.b[p.i] == ' ' {
			p.i++
		}
		if p.i == len(p.b) {
			return 0, true
		}
		switch p.b[p.i] {
		case '\n':
			p.i++
			p.line++
		case '#':
			p.skipLine()
		case '\t':
			return 0, false
		default:
			return p.i - start, true
		}
	}
	return 0, true
}

func (p *plainReader) skipLine() {
	if n := strings.IndexByte(p.b[p.i:], '\n'); n >= 0 {
		p.i += n + 1
		p.line++
		return
	}
	p.i = len(p.b)
}

// peekIndent gives the indentation of the next content without going there, -1
// at the end.
func (p *plainReader) peekIndent() (indent int, first byte, ok bool) {
	i, line := p.i, p.line
	indent, ok = p.toContent()
	end := p.i == len(p.b)
	if !end {
		first = p.b[p.i]
	}
	if !end && first == '-' && !p.isDash(p.i) {
		first = 'x'
	}
	p.i, p.line = i, line
	if end {
		return -1, 0, ok
	}
	return indent, first, ok
}

// isDash says whether a list item begins at i.
func (p *plainReader) isDash(i int) bool {
	return p.b[i] == '-' && (i+1 == len(p.b) || p.b[i+1] == ' ' || p.b[i+1] == '\n')
}

// block reads the node at p.i, which is the first content of its line or stands
// after a dash, at column indent. Its parent is indented by parent.
func (p *plainReader) block(indent, parent int) (any, bool) {
	if p.depth++; p.depth > maxDepth/2 {
		return nil, false
	}
	defer func() { p.depth-- }()
	if p.isDash(p.i) {
		return p.list(indent)
	}
	if key, ok, found := p.key(); found {
		if !ok {
			return nil, false
		}
		return p.mapping(indent, key)
	}
	return p.scalar(parent)
}

// list reads list items whose dashes stand at column indent; p.i is at the first.
func (p *plainReader) list(indent int) (any, bool) {
	out := make([]any, 0, 4)
	for {
		item, ok := p.item(indent)
		if !ok {
			return nil, false
		}
		out = append(out, item)
		next, first, ok := p.peekIndent()
		if !ok {
			return nil, false
		}
		if next != indent || first != '-' {
			return out, next < indent || next == indent && first != '-'
		}
		if _, ok := p.toContent(); !ok {
			return nil, false
		}
	}
}

func (p *plainReader) item(indent int) (any, bool) {
	p.i++ // the dash
	spaces := p.skipSpaces()
	if p.i == len(p.b) || p.b[p.i] == '\n' || p.b[p.i] == '#' && spaces > 0 {
		return p.nested(indent, false)
	}
	return p.block(indent+1+spaces, indent)
}

func (p *plainReader) skipSpaces() int {
	start := p.i
	for p.i < len(p.b) && p.b[p.i] == ' ' {
		p.i++
	}
	return p.i - start
}

// nested reads the node on the lines below a key or dash at column indent, nil
// when there is none. The items of a list may stand at the column of their key.
func (p *plainReader) nested(indent int, afterKey bool) (any, bool) {
	p.skipLine()
	next, first, ok := p.peekIndent()
	if !ok {
		return nil, false
	}
	if next > indent || afterKey && next == indent && first == '-' {
		if _, ok := p.toContent(); !ok {
			return nil, false
		}
		return p.block(next, indent)
	}
	return nil, true
}

// mapping reads a map whose keys stand at column indent; the first key has been
// read already.
func (p *plainReader) mapping(indent int, key string) (any, bool) {
	start := len(p.pairs)
	for {
		line := p.line
		root := indent == 0 && p.depth == 1
		value, ok := p.value(indent, root && key == "items")
		if !ok {
			return nil, false
		}
		p.put(key, value, line)
		next, _, ok := p.peekIndent()
		if !ok {
			return nil, false
		}
		if next != indent {
			m, ok := p.collect(start)
			return m, ok && next < indent
		}
		if _, ok := p.toContent(); !ok {
			return nil, false
		}
		if p.isDash(p.i) {
			return nil, false
		}
		var found bool
		if key, ok, found = p.key(); !ok || !found {
			return nil, false
		}
	}
}

// put stores a value, a null as well, so that a double key is seen.
func (p *plainReader) put(key string, value any, line int) {
	p.pairs, p.lines = append(p.pairs, pair{key, value}), append(p.lines, line)
}

// collect makes a map of what was put since start. Keys like 1 and 1.0 become one text
// although they are two to YAML: that is for the full reader.
func (p *plainReader) collect(start int) (*mapping, bool) {
	pairs := p.pairs[start:]
	for _, d := range doubles(pairs, p.lines[start:]) {
		if _, isText := resolvePlain(d.key).(string); !isText {
			return nil, false
		}
		p.warnings = append(p.warnings, duplicateKey(d.line, d.key))
	}
	pairs = mappingOf(pairs).pairs
	n := 0
	for i := range pairs {
		if pairs[i].value != nil {
			n++
		}
	}
	m := &mapping{make([]pair, 0, n)}
	for i := range pairs {
		if pairs[i].value != nil {
			m.pairs = append(m.pairs, pairs[i])
		}
	}
	p.pairs, p.lines = p.pairs[:start], p.lines[:start]
	return m, true
}

// value reads what follows the colon of a key at column indent.
func (p *plainReader) value(indent int, items bool) (any, bool) {
	spaces := p.skipSpaces()
	if p.i == len(p.b) || p.b[p.i] == '\n' || p.b[p.i] == '#' && spaces > 0 {
		if items {
			return p.rootItems(indent)
		}
		return p.nested(indent, true)
	}
	return p.scalar(indent)
}

// rootItems reads the items of a List and notes their lines.
func (p *plainReader) rootItems(indent int) (any, bool) {
	p.skipLine()
	next, first, ok := p.peekIndent()
	if !ok {
		return nil, false
	}
	if next < indent || next == indent && first != '-' {
		return nil, true
	}
	if _, ok := p.toContent(); !ok {
		return nil, false
	}
	if first != '-' {
		return p.block(next, indent)
	}
	out := make([]any, 0, 4)
	p.depth++
	defer func() { p.depth-- }()
	for {
		p.itemLines = append(p.itemLines, p.line)
		item, ok := p.item(next)
		if !ok {
			return nil, false
		}
		out = append(out, item)
		after, first, ok := p.peekIndent()
		if !ok {
			return nil, false
		}
		if after != next || first != '-' {
			return out, after < next || after == next && first != '-'
		}
		if _, ok := p.toContent(); !ok {
			return nil, false
		}
	}
}

// scalar reads a value that starts on this line: plain, quoted, literal or flow.
// It leaves p.i at the start of a line.
func (p *plainReader) scalar(parent int) (any, bool) {
	switch c := p.b[p.i]; c {
	case '"', '\'':
		s, ok := p.quoted(c)
		return s, ok && p.endOfLine()
	case '|':
		return p.literal(parent)
	case '[', '{':
		v, ok := p.flow(0)
		return v, ok && p.endOfLine()
	case '&', '*', '!', '>', '%', '@', '`', ']', '}', ',', '#':
		return nil, false
	case '-', '?', ':':
		if p.i+1 == len(p.b) || p.b[p.i+1] == ' ' || p.b[p.i+1] == '\n' || p.b[p.i+1] == '\t' {
			return nil, false
		}
	}
	return p.plain(parent)
}

// endOfLine goes over spaces and a comment to the next line.
func (p *plainReader) endOfLine() bool {
	spaces := p.skipSpaces()
	if p.i < len(p.b) && p.b[p.i] != '\n' && (p.b[p.i] != '#' || spaces == 0) {
		return false
	}
	p.skipLine()
	return true
}

// plain reads a plain scalar, which goes on over lines that are indented more
// than its parent.
func (p *plainReader) plain(parent int) (any, bool) {
	first, comment, ok := p.plainLine()
	if !ok {
		return nil, false
	}
	next, char, ok := p.continuation(parent, comment)
	if !ok {
		return nil, false
	}
	if !next {
		return finite(resolvePlain(first))
	}
	folded := []byte(first)
	for next {
		if char == '#' {
			return nil, false
		}
		blank := 0
		for {
			p.skipSpaces()
			if p.b[p.i] != '\n' {
				break
			}
			blank++
			p.i++
			p.line++
		}
		if blank == 0 {
			folded = append(folded, ' ')
		}
		for ; blank > 0; blank-- {
			folded = append(folded, '\n')
		}
		var line string
		if line, comment, ok = p.plainLine(); !ok {
			return nil, false
		}
		folded = append(folded, line...)
		if next, char, ok = p.continuation(parent, comment); !ok {
			return nil, false
		}
	}
	// Text with a space or break in it is no number; a date with a time is
	// text as well.
	return string(folded), true
}

// plainLine reads the rest of a line as plain text and goes to the next line.
func (p *plainReader) plainLine() (text string, comment, ok bool) {
	rest := p.b[p.i:]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	end := len(rest)
	if n := strings.Index(rest, " #"); n >= 0 {
		end, comment = n, true
	}
	text = strings.TrimRight(rest[:end], " ")
	if len(text) == 0 || strings.IndexByte(text, '\t') >= 0 || text[len(text)-1] == ':' || strings.Contains(text, ": ") {
		return "", false, false
	}
	p.skipLine()
	return text, comment, true
}

// continuation says whether the next content belongs to a plain scalar whose
// parent is indented by parent.
func (p *plainReader) continuation(parent int, comment bool) (goesOn bool, first byte, ok bool) {
	i := p.i
	for i < len(p.b) && (p.b[i] == ' ' || p.b[i] == '\n') {
		i++
	}
	if i == len(p.b) {
		return false, 0, true
	}
	start := strings.LastIndexByte(p.b[:i], '\n') + 1
	if p.b[i] == '\t' {
		return false, 0, false
	}
	if i-start <= parent {
		return false, 0, true
	}
	if p.b[i] == '#' {
		// A comment ends the scalar; what follows cannot go on with it.
		next, _, ok := p.peekIndent()
		return false, 0, ok && next <= parent
	}
	if comment {
		return false, 0, false
	}
	return true, p.b[i], true
}
