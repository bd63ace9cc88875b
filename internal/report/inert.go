package report

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Names, values, paths and error texts come from strangers' files. The functions
// here make them inert: what they return does nothing in a terminal, in GitHub's
// Markdown or in HTML but stand there to be read.

// inert gives s for one line of a terminal: control and bidirectional
// characters are spelled out, line ends become blanks.
func inert(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + hexDigits(rune(s[i]), 2))
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case r == '\r':
		case unsafeRune(r) && r <= 0xffff:
			b.WriteString(`\u` + hexDigits(r, 4))
		case unsafeRune(r):
			b.WriteString(`\U` + hexDigits(r, 8))
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// inertLines gives the lines of s, each of them inert. Tabs stay.
func inertLines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		parts := strings.Split(l, "\t")
		for j := range parts {
			parts[j] = inert(parts[j])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return lines
}

// cut shortens s to n characters and says how many it took off.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	count := utf8.RuneCountInString(s)
	if count <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n]) + fmt.Sprintf("… (%d more characters)", count-n)
}

// mdCode gives s as a code span: GitHub sees neither mentions nor links, HTML or
// formatting in it.
func mdCode(s string) string {
	s = strings.Join(strings.Fields(inert(s)), " ")
	if s == "" {
		return "` `"
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// mdCell is mdCode for a table, where a bar ends the cell even inside of code.
func mdCell(s string) string { return strings.ReplaceAll(mdCode(s), "|", `\|`) }

// htmlCode is mdCode for places where Markdown is not read, such as <summary>.
// Punctuation becomes entities, as Markdown may be read there after all.
func htmlCode(s string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range strings.Join(strings.Fields(inert(s)), " ") {
		switch {
		case strings.ContainsRune("&<>\"'`*_~[]()\\!|@#$:{}", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString("</code>")
	return strings.ReplaceAll(b.String(), "www.", "www&#46;")
}

// mdKind and htmlKind give a kind as it is when it is a word, as kinds are.
func mdKind(kind string) string {
	if isWord(kind) {
		return kind
	}
	return mdCode(kind)
}

func htmlKind(kind string) string {
	if isWord(kind) {
		return kind
	}
	return htmlCode(kind)
}

func isWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') }) < 0
}

// htmlText gives a sentence for places where Markdown may not be read.
func htmlText(s string) string {
	var b strings.Builder
	for i, w := range strings.Split(strings.Join(strings.Fields(inert(s)), " "), " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		if linkish.MatchString(w) {
			b.WriteString(htmlCode(w))
			continue
		}
		for _, r := range w {
			if strings.ContainsRune("&<>\"'`*_~[]\\|$", r) {
				fmt.Fprintf(&b, "&#%d;", r)
				continue
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// linkish finds words that GitHub or GitLab turn into something in plain text:
// mentions, references to issues, requests, labels and commits, addresses, emoji
// (https://docs.gitlab.com/user/markdown/#gitlab-specific-references).
var linkish = regexp.MustCompile(`@|#\d|://|www\.|(?i:\bGH-\d)|^[0-9a-f]{7,40}\b|:[a-z+-][a-z0-9_+-]*:|[!&^]\d|[$]\d|~\w|%["\pL\d]|\[\w+:|\[\[`)

// mdProse gives a sentence in which code between single backticks stays code
// and everything else is inert text.
func mdProse(s string) string {
	s = strings.Join(strings.Fields(inert(s)), " ")
	var b strings.Builder
	for s != "" {
		open := strings.IndexByte(s, '`')
		if open < 0 {
			b.WriteString(mdWords(s))
			break
		}
		length := strings.IndexByte(s[open+1:], '`')
		if length < 0 {
			b.WriteString(mdWords(s))
			break
		}
		b.WriteString(mdWords(s[:open]))
		if code := s[open+1 : open+1+length]; code != "" {
			b.WriteString(mdCode(code))
		}
		s = s[open+length+2:]
	}
	return b.String()
}

// mdCellProse is mdProse for a table: a bar, which ends a cell even inside of
// code, is escaped everywhere.
func mdCellProse(s string) string {
	return bareBar.ReplaceAllString(mdProse(s), `$1\|`)
}

var bareBar = regexp.MustCompile(`(^|[^\\])\|`)

func mdWords(s string) string {
	words := strings.Split(s, " ")
	for i, w := range words {
		if linkish.MatchString(w) {
			word := strings.TrimRight(w, ",.;:!?)")
			words[i] = mdCode(word) + mdEscape(w[len(word):])
			continue
		}
		words[i] = mdEscape(w)
	}
	return strings.Join(words, " ")
}

// mdEscape escapes what Markdown, GitHub's additions to it and HTML give a meaning.
func mdEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case strings.ContainsRune("\\`*_{}[]()|~$!", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mdFence gives lines as a code block that none of them can end. Those of a diff begin
// with a sign; one that begins with a slash, which GitLab might obey, gets a blank.
func mdFence(language string, lines []string) string {
	run := 2
	for i, l := range lines {
		run = max(run, longestRun(l, '`'))
		if strings.HasPrefix(l, "/") {
			lines = slices.Clone(lines)
			lines[i] = " " + l
		}
	}
	fence := strings.Repeat("`", run+1)
	return fence + language + "\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// webLink says whether a source's address can be shown as a link.
func webLink(url string) bool {
	return (strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")) &&
		!strings.ContainsAny(url, " <>()[]\"'`\\\n\r\t") && inert(url) == url
}

// inertJSON gives JSON of the same meaning in which no character acts on a
// terminal, and nothing on a log of GitHub Actions, which obeys "##[" anywhere in a line.
func inertJSON(data []byte) []byte {
	data = bytes.ReplaceAll(data, []byte("##["), []byte(`#\u0023[`))
	unsafe := func(r rune) bool { return r != '\n' && unsafeRune(r) }
	if bytes.IndexFunc(data, unsafe) < 0 {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if unsafe(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				out = append(out, `\u`+hexDigits(rune(unit), 4)...)
			}
		} else {
			out = append(out, data[:size]...)
		}
		data = data[size:]
	}
	return out
}
