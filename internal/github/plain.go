package github

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain gives s in one line of at most limit bytes, without characters that
// drive a terminal or turn text around; they are spelled out.
func plain(s string, limit int) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := s[i : i+size]
		switch {
		case r == utf8.RuneError && size == 1:
			piece = fmt.Sprintf(`\x%02x`, s[i])
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			piece = " "
		case r == '\r':
			piece = ""
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			piece = fmt.Sprintf(`\u%04x`, r)
		}
		if b.Len()+len(piece) > limit-len("…") {
			b.WriteString("…")
			break
		}
		b.WriteString(piece)
		i += size
	}
	return b.String()
}

// cutLines gives s, whose lines stay, in at most limit bytes. It cuts between
// characters and says that it did.
func cutLines(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	const mark = "\n…"
	n := limit - len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)] + mark
}
