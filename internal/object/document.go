package object

import "strings"

// A chunk is the text of one YAML document inside a file.
type chunk struct {
	start, end int // byte offsets
	line       int // of the first byte, counted from 1
}

// splitDocuments cuts a YAML stream at its document markers. `---` and `...` at
// the start of a line and followed by a space or nothing end a document wherever
// they stand, also inside quotes and block text
// (https://yaml.org/spec/1.1/#id898031). Documents without content are left out.
func splitDocuments(text string) []chunk {
	var out []chunk
	start, line := 0, 1
	cut := func(end int) {
		if hasContent(text[start:end]) {
			out = append(out, chunk{start, end, line})
		}
		line += strings.Count(text[start:end], "\n")
		start = end
	}
	for at := 0; at < len(text); {
		switch {
		case isMarker(text[at:], '-') && at > start && !hasDirective(text[start:at]):
			cut(at)
		case isMarker(text[at:], '.'):
			cut(at)
			next := nextLine(text, at)
			line++
			start = next
			at = next
			continue
		}
		// To the next line that starts like a marker.
		at = nextMarker(text, at)
	}
	cut(len(text))
	return out
}

func nextMarker(text string, at int) int {
	for {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
		if at < len(text) && (text[at] == '-' || text[at] == '.') {
			return at
		}
	}
}

func nextLine(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// isMarker says whether text starts with a document marker made of c.
func isMarker(text string, c byte) bool {
	if len(text) < 3 || text[0] != c || text[1] != c || text[2] != c {
		return false
	}
	return len(text) == 3 || text[3] == ' ' || text[3] == '\t' || text[3] == '\n' || text[3] == '\r'
}

// hasDirective says whether the text before a `---` is the head of that same
// document: comments and at least one directive such as `%YAML 1.1`.
func hasDirective(text string) bool {
	found := false
	for len(text) > 0 {
		line := text
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		line = strings.TrimRight(line, " \t\r")
		switch {
		case len(line) == 0 || line[0] == '#':
		case line[0] == '%':
			found = true
		default:
			return false
		}
	}
	return found
}

// hasContent says whether a document is more than comments, blank lines,
// directives and a bare marker.
func hasContent(text string) bool {
	_, _, ok := firstContent(text)
	return ok
}

// firstContent gives the offset of the first content and the number of lines before it.
func firstContent(text string) (offset, lines int, ok bool) {
	for at := 0; at < len(text); {
		end := nextLine(text, at)
		line := text[at:end]
		if isMarker(line, '-') {
			line = line[3:]
		} else if line[0] == '%' {
			line = ""
		}
		line = strings.Trim(line, " \t\r\n")
		if len(line) > 0 && line[0] != '#' {
			return at, lines, true
		}
		at = end
		lines++
	}
	return 0, 0, false
}
