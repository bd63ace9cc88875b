package jsonnet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Kind is the way in which a file is imported.
type Kind int

// The three import statements of jsonnet.
const (
	Code Kind = iota // import
	Text             // importstr
	Bin              // importbin
)

// An Import is one import statement of a file. Jsonnet has no computed imports,
// so the statements of a file are all that it can reach.
type Import struct {
	Kind Kind
	Path string // as written, escapes resolved
	Line int    // counts from 1
}

// A Scan is what can be told about a jsonnet file without evaluating it.
type Scan struct {
	Imports []Import // in the order of the text, dead code included
	// Natives are the names given to std.native, without repetition.
	Natives []string
	// ComputedNative says that a native function is looked up in a way that does
	// not show its name.
	ComputedNative bool
	// Depth is how deep brackets nest, Nesting an upper bound of how deep
	// expressions of all sorts do, such as the terms of a sum or one `if` in the
	// `else` of another. The parser and the evaluator recurse that deep on Go's
	// stack.
	Depth, Nesting int
	// Broken says that the text ends inside a string, comment or text block or
	// has a character that jsonnet does not know; what stands before is scanned.
	Broken bool
}

// tooDeep says that a text must not be parsed, because Go's stack would overflow,
// which nothing can catch.
func (s Scan) tooDeep() error {
	if s.Depth > maxDepth {
		return fmt.Errorf("brackets nest more than %d deep", maxDepth)
	}
	if s.Nesting > maxNesting {
		return fmt.Errorf("expressions nest more than %d deep", maxNesting)
	}
	return nil
}

// ScanSource reads the import statements of a jsonnet text by its tokens alone:
// those in comments and strings do not count, those in code that is never
// evaluated do. It accepts any text, and never fails.
func ScanSource(src []byte) Scan {
	s := scanner{src: src, line: 1}
	s.open('(') // the file itself is one level
	for s.next() {
		s.token()
	}
	return s.out
}

type tokenKind int

const (
	tokWord tokenKind = iota // identifier or keyword
	tokString
	tokNumber
	tokSymbol // one character of punctuation or of an operator
)

type level struct {
	bracket byte
	chain   int  // tokens since the last comma that can each nest one deeper
	binds   bool // between `local` and its `;`, where commas separate variables
}

type scanner struct {
	src  []byte
	pos  int
	line int
	out  Scan

	kind tokenKind
	text string // of words; the value of strings
	sym  byte
	good bool // a string whose escapes are valid, and not a text block

	levels  []level
	nesting int

	prev       [3]string // the last tokens before this one: words and symbols as they are, strings as "'"
	importKind Kind
	importNext bool // the token before was an import keyword
}

// next reads one token; false at the end of the text or of what can be read.
func (s *scanner) next() bool {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		switch {
		case c == '\n':
			s.line++
			s.pos++
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case c == '#' || c == '/' && s.at(1) == '/':
			if i := bytes.IndexByte(s.src[s.pos:], '\n'); i >= 0 {
				s.pos += i
			} else {
				s.pos = len(s.src)
			}
		case c == '/' && s.at(1) == '*':
			i := bytes.Index(s.src[s.pos+2:], []byte("*/"))
			if i < 0 {
				return s.broken()
			}
			s.skipTo(s.pos + 2 + i + 2)
		case c == '|' && s.at(1) == '|' && s.at(2) == '|':
			return s.textBlock()
		case c == '"' || c == '\'':
			return s.quoted(c)
		case c == '@':
			return s.verbatim()
		case c >= '0' && c <= '9':
			for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
				s.pos++
			}
			s.kind = tokNumber
			return true
		case wordByte(c):
			start := s.pos
			for s.pos < len(s.src) && (wordByte(s.src[s.pos]) || s.src[s.pos] >= '0' && s.src[s.pos] <= '9') {
				s.pos++
			}
			s.kind, s.text = tokWord, string(s.src[start:s.pos])
			return true
		case strings.IndexByte("{}[](),.;!$:~+-&|^=<>*/%", c) >= 0:
			s.pos++
			s.kind, s.sym = tokSymbol, c
			return true
		default:
			return s.broken()
		}
	}
	return false
}

func (s *scanner) broken() bool {
	s.out.Broken = true
	s.pos = len(s.src)
	return false
}

func (s *scanner) at(ahead int) byte {
	if s.pos+ahead < len(s.src) {
		return s.src[s.pos+ahead]
	}
	return 0
}

// skipTo moves to pos and counts the lines on the way.
func (s *scanner) skipTo(pos int) {
	s.line += bytes.Count(s.src[s.pos:pos], []byte("\n"))
	s.pos = pos
}

func (s *scanner) quoted(quote byte) bool {
	for i := s.pos + 1; i < len(s.src); i++ {
		switch s.src[i] {
		case '\\':
			i++
		case quote:
			s.kind = tokString
			s.text, s.good = unescape(string(s.src[s.pos+1 : i]))
			s.skipTo(i + 1)
			return true
		}
	}
	return s.broken()
}

func (s *scanner) verbatim() bool {
	quote := s.at(1)
	if quote != '"' && quote != '\'' {
		return s.broken()
	}
	for i := s.pos + 2; i < len(s.src); i++ {
		if s.src[i] != quote {
			continue
		}
		if i+1 < len(s.src) && s.src[i+1] == quote {
			i++
			continue
		}
		q := string(quote)
		s.kind, s.good = tokString, true
		s.text = strings.ToValidUTF8(strings.ReplaceAll(string(s.src[s.pos+2:i]), q+q, q), "\uFFFD")
		s.skipTo(i + 1)
		return true
	}
	return s.broken()
}

// textBlock skips `|||`, its lines, which begin as the first one does, and the
// closing `|||`.
func (s *scanner) textBlock() bool {
	i := s.pos + 3
	if i < len(s.src) && s.src[i] == '-' {
		i++
	}
	for i < len(s.src) && (s.src[i] == ' ' || s.src[i] == '\t' || s.src[i] == '\r') {
		i++
	}
	if i >= len(s.src) || s.src[i] != '\n' {
		return s.broken()
	}
	i = skipByte(s.src, i, "\n")
	indent := s.src[i:skipByte(s.src, i, " \t")]
	if len(indent) == 0 {
		return s.broken()
	}
	for bytes.HasPrefix(s.src[i:], indent) {
		end := bytes.IndexByte(s.src[i:], '\n')
		if end < 0 {
			return s.broken()
		}
		i = skipByte(s.src, i+end, "\n")
	}
	i = skipByte(s.src, i, " \t")
	if !bytes.HasPrefix(s.src[i:], []byte("|||")) {
		return s.broken()
	}
	s.kind, s.text, s.good = tokString, "", false
	s.skipTo(i + 3)
	return true
}

func skipByte(src []byte, i int, set string) int {
	for i < len(src) && strings.IndexByte(set, src[i]) >= 0 {
		i++
	}
	return i
}

func wordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// token takes note of the token just read.
func (s *scanner) token() {
	name := "'"
	switch s.kind {
	case tokString:
		s.takeString()
	case tokNumber:
		name = "0"
	case tokWord:
		name = s.text
		s.takeWord()
	case tokSymbol:
		name = string(s.sym)
		s.takeSymbol()
	}
	s.prev[0], s.prev[1], s.prev[2] = s.prev[1], s.prev[2], name
	s.out.Nesting = max(s.out.Nesting, s.nesting)
	s.out.Depth = max(s.out.Depth, len(s.levels)-1)
}

func (s *scanner) takeString() {
	if s.importNext && s.good {
		s.out.Imports = append(s.out.Imports, Import{Kind: s.importKind, Path: s.text, Line: s.line})
	}
	s.importNext = false
	switch {
	case s.prev[1] == "native" && s.prev[2] == "(" && s.good:
		// What follows the string decides: native('a' + 'b') is a computed name.
		if !s.closesAfter() {
			s.out.ComputedNative = true
			return
		}
		s.native(s.text)
	case s.text == "native":
		s.out.ComputedNative = true // std['native']
	}
}

// closesAfter says whether the next token is a closing parenthesis, without
// taking it.
func (s *scanner) closesAfter() bool {
	ahead := scanner{src: s.src, pos: s.pos}
	return ahead.next() && ahead.kind == tokSymbol && (ahead.sym == ')' || ahead.sym == ',')
}

func (s *scanner) native(name string) {
	for _, n := range s.out.Natives {
		if n == name {
			return
		}
	}
	s.out.Natives = append(s.out.Natives, name)
}

func (s *scanner) takeWord() {
	s.importNext = false
	switch s.text {
	case "import":
		s.importKind, s.importNext = Code, true
	case "importstr":
		s.importKind, s.importNext = Text, true
	case "importbin":
		s.importKind, s.importNext = Bin, true
	case "native":
		ahead := scanner{src: s.src, pos: s.pos}
		call := ahead.next() && ahead.kind == tokSymbol && ahead.sym == '(' && ahead.next() && ahead.kind == tokString && ahead.good
		if !call && s.prev[2] == "." {
			s.out.ComputedNative = true
		}
	case "local":
		top := &s.levels[len(s.levels)-1]
		inObject := top.bracket == '{' && (s.prev[2] == "{" || s.prev[2] == ",")
		top.binds = !inObject
	case "std":
		// std['nat' + 'ive'], or std given to what looks fields up by name.
		ahead := scanner{src: s.src, pos: s.pos}
		field := ahead.next() && ahead.kind == tokSymbol && (ahead.sym == '.' || ahead.sym == ':')
		tested := s.prev[2] == "in" || s.prev[2] == "(" && (s.prev[1] == "objectHas" || s.prev[1] == "objectHasAll")
		if !field && !tested && s.prev[2] != "." {
			s.out.ComputedNative = true
		}
		return
	case "if", "then", "else", "function", "error", "assert", "for", "in", "tailstrict", "super":
	default:
		return // other words do not nest
	}
	s.deeper()
}

func (s *scanner) takeSymbol() {
	s.importNext = false
	switch s.sym {
	case '{', '[', '(':
		s.deeper()
		s.open(s.sym)
	case '}', ']', ')':
		if len(s.levels) > 1 {
			s.nesting -= s.levels[len(s.levels)-1].chain
			s.levels = s.levels[:len(s.levels)-1]
		}
	case ',':
		if top := &s.levels[len(s.levels)-1]; !top.binds {
			s.nesting -= top.chain
			top.chain = 0
		}
	case ';':
		s.levels[len(s.levels)-1].binds = false
		s.deeper()
	default:
		s.deeper()
	}
}

func (s *scanner) open(bracket byte) {
	s.levels = append(s.levels, level{bracket: bracket})
}

func (s *scanner) deeper() {
	s.levels[len(s.levels)-1].chain++
	s.nesting++
}

// unescape resolves the escapes of a quoted string as jsonnet does; ok is false
// where jsonnet would refuse them.
func unescape(s string) (text string, ok bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return strings.ToValidUTF8(s, "\uFFFD"), true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			r, w := utf8.DecodeRuneInString(s[i:])
			b.WriteRune(r)
			i += w - 1
			continue
		}
		i++
		if i >= len(s) {
			return "", false
		}
		switch s[i] {
		case '"', '\'', '\\', '/':
			b.WriteByte(s[i])
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, ok := hexRune(s, i+1)
			if !ok {
				return "", false
			}
			i += 4
			if utf16.IsSurrogate(r) {
				if i+2 >= len(s) || s[i+1:i+3] != `\u` {
					return "", false
				}
				low, ok := hexRune(s, i+3)
				if !ok {
					return "", false
				}
				r = utf16.DecodeRune(r, low)
				i += 6
			}
			b.WriteRune(r)
		default:
			return "", false
		}
	}
	return b.String(), true
}

func hexRune(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	code, err := hex.DecodeString(s[i : i+4])
	if err != nil {
		return 0, false
	}
	return rune(code[0])<<8 | rune(code[1]), true
}
