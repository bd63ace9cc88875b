package incident

import (
	"strings"
	"unicode"
)

// plain makes one line of a text that is safe to print on a terminal: control
// characters, and those that turn the direction of writing, become "�".
func plain(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '\ufffd'
		}
		return r
	}, s)
}

// markdown makes a text inert in Markdown: nothing in it is a link, a mention,
// markup or HTML. It reads the same after rendering.
func markdown(s string) string {
	s = plain(s)
	var b strings.Builder
	for i, r := range s {
		rest := s[i:]
		switch {
		case r == '@':
			b.WriteString("&#64;") // GitHub mentions people through a backslash
		case r == '#' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			b.WriteString("&#35;") // and links issues
		case strings.HasPrefix(rest, "://"):
			b.WriteString("&#58;") // and addresses that no markup surrounds
		case len(rest) > 4 && strings.EqualFold(rest[:4], "www."):
			b.WriteString("&#119;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]!|~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	// A list or heading begins at the start of a line only, and so does "1.".
	out := b.String()
	if out != "" && strings.ContainsRune("-+=#", rune(out[0])) {
		out = `\` + out
	}
	digits := len(out) - len(strings.TrimLeft(out, "0123456789"))
	if digits > 0 && digits < len(out) && strings.ContainsRune(".)", rune(out[digits])) {
		out = out[:digits] + `\` + out[digits:]
	}
	return out
}

// address gives a URL as the target of a Markdown link; Validate has refused the
// characters that could end it early, and brackets are written in their codes.
func address(u string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", "[", "%5B", "]", "%5D", "|", "%7C").Replace(plain(u))
}
