package clientparam

import "strings"

// words takes a name apart: MAX_IDLE_CONNS, max-idle-conns, maxIdleConns and
// max.idle.conns are all max, idle, conns. Digits stay with what is before them.
func words(name string) []string {
	var out []string
	var word []byte
	flush := func() {
		if len(word) > 0 {
			out = append(out, string(word))
			word = word[:0]
		}
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case isLower(c) || isDigit(c):
			word = append(word, c)
		case isUpper(c):
			// A capital starts a word after a small letter, and at the end of a run
			// of capitals: maxTimeMS is max, time, ms; HTTPTimeout is http, timeout.
			if i > 0 && (isLower(name[i-1]) || isDigit(name[i-1]) && hasLower(name) ||
				isUpper(name[i-1]) && i+1 < len(name) && isLower(name[i+1])) {
				flush()
			}
			word = append(word, c+'a'-'A')
		default:
			flush()
		}
	}
	flush()
	return out
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func hasLower(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 'a' && r <= 'z' }) >= 0
}
