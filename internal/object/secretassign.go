package object

import "strings"

// assignment masks the value behind a colon or equals sign at i, when the name
// before it is that of a secret: in YAML, JSON, TOML, INI, properties, flags, query
// strings, connection strings and shell.
func (f *spanner) assignment(i int) {
	s := f.s
	sep := s[i]
	if sep == '=' && (i+1 < len(s) && (s[i+1] == '=' || s[i+1] == '~') || i > 0 && strings.IndexByte("=!<>", s[i-1]) >= 0) {
		return // a comparison
	}
	if sep == ':' && i+1 < len(s) && s[i+1] == '=' {
		return // the equals sign of := comes next
	}
	start, end, quoted := f.nameBefore(i)
	if end <= start {
		return
	}
	name := s[start:end]
	if !f.isSecret(name) && !f.valueOfSecret(name, start) && !f.special(name, i) {
		return
	}
	if sep == ':' && !quoted && i+1 < len(s) && strings.IndexByte(" \t\n\"'", s[i+1]) < 0 && !f.startsLine(start) {
		return // a time, a port, a name with colons
	}
	f.assigned(i+1, start, sep, quoted)
}

// nameBefore gives the name that ends before i, and whether it stands in quotes.
func (f *spanner) nameBefore(i int) (start, end int, quoted bool) {
	s := f.s
	end = i
	if end > 0 && s[end-1] == ':' {
		end-- // of :=
	}
	for end > 0 && s[end-1] == ' ' && i-end < 8 {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		quoted = true
		end--
		if end > 0 && s[end-1] == '\\' {
			end--
		}
	} else if end > 0 && s[end-1] == ']' {
		end-- // a key in brackets, as in section[password]
	}
	start = end
	for start > 0 && end-start <= 120 && nameByte[s[start-1]] {
		start--
	}
	for start < end && s[start] == '-' {
		start++
	}
	return start, end, quoted
}

// valueOfSecret says whether "value" belongs to a name of a secret just before it:
// `name: DB_PASSWORD` on the line above, or "name":"DB_PASSWORD" beside it.
func (f *spanner) valueOfSecret(name string, at int) bool {
	if name != "value" && name != "Value" {
		return false
	}
	window := f.s[max(0, at-200):at]
	for _, key := range []string{"name", "key"} {
		if n := strings.LastIndex(window, key); n >= 0 && f.pairName(window[n+len(key):]) {
			return true
		}
	}
	return false
}

// pairName reads `: NAME` and what follows up to a value, and says whether NAME is
// that of a secret.
func (f *spanner) pairName(rest string) bool {
	rest = strings.TrimLeft(rest, `"'\ `)
	if rest == "" || rest[0] != ':' && rest[0] != '=' {
		return false
	}
	rest = strings.TrimLeft(rest[1:], `"'\ `)
	end := 0
	for end < len(rest) && nameByte[rest[end]] {
		end++
	}
	// Only signs and line breaks may stand between the two.
	return strings.Trim(rest[end:], "\"'\\ ,\n\t-") == "" && f.isSecret(rest[:end])
}

// special knows names that are secret in one place only.
func (f *spanner) special(name string, i int) bool {
	switch name {
	case "auth":
		// Of a Docker configuration.
		return strings.Contains(f.s, `auths`)
	case "sig":
		// Of a shared access signature in a URL.
		return i > 3 && (f.s[i-4] == '&' || f.s[i-4] == '?')
	}
	return false
}

// startsLine says whether a name is the first thing on its line, after indentation,
// a dash, an opening quote or "export".
func (f *spanner) startsLine(start int) bool {
	lead := f.s[strings.LastIndexByte(f.s[:start], '\n')+1 : start]
	lead = strings.TrimLeft(lead, " \t")
	switch lead {
	case "", "- ", "-", `"`, "'", `- "`, "- '", "export ", "#", "# ", "set ", "ENV ":
		return true
	}
	return false
}

// assigned masks the value that begins at or after from. The name began at start.
func (f *spanner) assigned(from, start int, sep byte, quotedName bool) {
	s := f.s
	if from < len(s) && s[from] == '>' {
		from++ // of =>
	}
	for from < len(s) && (s[from] == ' ' || s[from] == '\t') {
		from++
	}
	from = skipYAMLMarks(s, from)
	if from >= len(s) || s[from] == '\n' || s[from] == '\r' {
		return
	}
	switch c := s[from]; {
	case c == '"' || c == '\'' || c == '`':
		end := quoteEnd(s, from+1, c)
		if strings.HasPrefix(s[from:], `"""`) || strings.HasPrefix(s[from:], `'''`) {
			from += 2
			end = len(s)
			if n := strings.Index(s[from+1:], s[from-2:from+1]); n >= 0 {
				end = from + 1 + n
			}
		}
		f.addValue(from+1, end)
	case c == '\\' && from+1 < len(s) && s[from+1] == '"':
		end := len(s)
		if n := strings.Index(s[from+2:], `\"`); n >= 0 {
			end = from + 2 + n
		}
		f.addValue(from+2, end)
	case (c == '|' || c == '>') && sep == ':' && f.blockHead(from):
		f.block(from, start)
	case c == '{' || c == '[':
		// A structure: its own fields are looked at one by one, unless it is an
		// expression.
		if !strings.HasPrefix(s[from:], "{{") && strings.TrimRight(lineOf(s, from), " ") != "" {
			return
		}
	default:
		f.addValue(from, f.bareEnd(from, start, sep, quotedName))
	}
}

func (f *spanner) addValue(start, end int) {
	for end > start && (f.s[end-1] == ' ' || f.s[end-1] == '\t' || f.s[end-1] == '\r') {
		end--
	}
	if end > start && !isPlaceholder(f.s[start:end]) && !isExpression(f.s[start:end]) {
		f.add(start, end)
	}
}

// skipYAMLMarks goes over an anchor or tag before a value.
func skipYAMLMarks(s string, i int) int {
	for i < len(s) && (s[i] == '&' || s[i] == '!') {
		n := strings.IndexAny(s[i:], " \n")
		if n < 0 || s[i+n] == '\n' || n > 30 {
			return i
		}
		i += n
		for i < len(s) && s[i] == ' ' {
			i++
		}
	}
	return i
}

// quoteEnd gives the place of the quote that closes a quoted text, or its end. In
// double quotes a backslash escapes; in single ones a quote is doubled.
func quoteEnd(s string, i int, quote byte) int {
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote != '\'':
			i++
		case s[i] == quote:
			if quote == '\'' && i+1 < len(s) && s[i+1] == '\'' {
				i++
				continue
			}
			return i
		}
	}
	return len(s)
}

func lineOf(s string, i int) string {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return s[i : i+n]
	}
	return s[i:]
}

// blockHead says whether a YAML block begins at i: nothing but its signs stand on
// the line.
func (f *spanner) blockHead(i int) bool {
	return strings.Trim(lineOf(f.s, i), "|>+-0123456789 \r") == ""
}

// block masks the lines of a YAML block, which are indented more than the line of
// its key.
func (f *spanner) block(head, start int) {
	s := f.s
	lineStart := strings.LastIndexByte(s[:start], '\n') + 1
	indent := len(s[lineStart:]) - len(strings.TrimLeft(s[lineStart:], " "))
	first := head + len(lineOf(s, head)) + 1
	end := first
	for at := first; at < len(s); {
		line := lineOf(s, at)
		if trimmed := strings.TrimLeft(line, " "); trimmed != "" {
			if len(line)-len(trimmed) <= indent {
				break
			}
			end = at + len(line)
		}
		at += len(line) + 1
	}
	for first < end && s[first] == ' ' {
		first++
	}
	f.add(first, end)
}

// bareEnd gives the end of a value without quotes: all of the line for what is set
// at the start of a line, otherwise up to what separates values where it stands.
func (f *spanner) bareEnd(from, start int, sep byte, quotedName bool) int {
	s := f.s
	line := lineOf(s, from)
	if f.startsLine(start) && !quotedName && !setsMore(line, sep) {
		if n := strings.Index(line, " #"); n >= 0 {
			line = line[:n]
		}
		return from + len(line)
	}
	for i := expressionEnd(line); i < len(line); i++ {
		switch line[i] {
		case ' ', '\t', '"', '\'', '`', ';', '&', ')', '}', ']', '|', '>', '<', '\\':
			return from + i
		case ',':
			if endsValue(line[i+1:]) {
				return from + i
			}
		}
	}
	return from + len(line)
}

// setsMore says whether other values are set on the line behind this one, as in
// "password=a host=b" and "password: a, host: b".
func setsMore(line string, sep byte) bool {
	for i := 0; i < len(line); i++ {
		if line[i] != ' ' && line[i] != ';' && line[i] != ',' && line[i] != '&' {
			continue
		}
		rest := strings.TrimLeft(line[i:], " ;,&")
		end := 0
		for end < len(rest) && nameByte[rest[end]] {
			end++
		}
		if end > 0 && end < len(rest) && rest[end] == sep {
			return true
		}
	}
	return false
}

// endsValue says whether a comma before rest ends a value: nothing follows, a space
// or another name.
func endsValue(rest string) bool {
	if rest == "" || rest[0] == ' ' || rest[0] == '"' || rest[0] == '}' {
		return true
	}
	end := 0
	for end < len(rest) && nameByte[rest[end]] {
		end++
	}
	return end > 0 && end < len(rest) && (rest[end] == '=' || rest[end] == ':')
}
