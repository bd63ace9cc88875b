package object

import "strings"

// proseSpans gives the parts of an error text that are likely a secret because a
// sentence calls them so: what stands in quotes behind "password", and a word
// there that is none of any language, for it has a digit or a sign.
func proseSpans(text string) []span {
	var out []span
	lower := lowerASCII(text)
	for _, cue := range []string{"password", "passwd", "passphrase", "passcode", "token", "api key", "apikey", "access key", "secret key", "private key", "credential", "secret"} {
		for from := 0; ; {
			n := strings.Index(lower[from:], cue)
			if n < 0 {
				break
			}
			at := from + n
			from = at + len(cue)
			// An object of the kind Secret, and what a parser calls a token, are none.
			before := strings.TrimRight(lower[max(0, at-14):at], ` "'`+"`")
			if cue == "secret" && text[at] == 'S' || cue == "token" && (strings.HasSuffix(before, "expected") || strings.HasSuffix(before, "any") || strings.HasSuffix(before, "invalid") || strings.HasSuffix(before, "unknown")) {
				continue
			}
			// What is masked already stays as it is.
			if s, ok := saidSecret(text, from, cue == "secret" || cue == "credential"); ok && !strings.Contains(text[s.start:s.end], Mask) {
				out = append(out, s)
			}
		}
	}
	return append(out, literalSpans(text)...)
}

// lowerASCII makes capitals small and leaves all else, so that what stands in it
// stands at the same byte of s.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if isUpper(c) {
			b[i] = c - 'A' + 'a'
		}
	}
	return string(b)
}

// quotingErrors are the words behind which readers quote a value that may be any,
// and what ends it: kustomize on the literals of a generator of Secrets
// (sigs.k8s.io/kustomize/api/kv), a YAML reader on a password that begins with a
// star, or that is no number (go.yaml.in/yaml).
var quotingErrors = []struct{ open, close string }{
	{"literal sources [", "]"}, {"literal source ", ", expected"}, {"unknown anchor '", "' referenced"}, {"!!str `", "` into"},
}

func literalSpans(text string) []span {
	var out []span
	for _, e := range quotingErrors {
		for from := 0; ; {
			n := strings.Index(text[from:], e.open)
			if n < 0 {
				break
			}
			from += n + len(e.open)
			if end := strings.Index(text[from:], e.close); end > 0 {
				out = append(out, span{from, from + end})
				from += end
			}
		}
	}
	return out
}

// saidSecret finds what a sentence calls a secret, behind the word at i.
func saidSecret(text string, i int, quotedOnly bool) (span, bool) {
	for i < len(text) && (isAlnum(text[i]) || text[i] == '_') {
		i++ // passwords, tokenValue
	}
	if i == len(text) || strings.IndexByte(" :=,", text[i]) < 0 {
		return span{}, false
	}
	for range 4 { // "is", "value", "was set to"
		for i < len(text) && strings.IndexByte(" :=,(", text[i]) >= 0 {
			i++
		}
		if i == len(text) || text[i] == '\n' {
			return span{}, false
		}
		if q := text[i]; q == '"' || q == '\'' || q == '`' {
			end := quoteEnd(text[:min(len(text), i+1024)], i+1, q)
			if isPlaceholder(text[i+1 : end]) {
				return span{}, false
			}
			return span{i + 1, end}, true
		}
		end := i
		for end < len(text) && strings.IndexByte(" \t\n,;)\"'`", text[end]) < 0 {
			end++
		}
		word := strings.TrimRight(text[i:end], ".:")
		if !quotedOnly && oddWord(word) {
			return span{i, i + len(word)}, true
		}
		switch strings.ToLower(word) {
		case "is", "was", "value", "of", "the", "a", "an", "given", "set", "to", "not", "invalid", "bad", "wrong", "weak", "short", "too", "got", "has", "be", "must":
			i = end
			continue
		}
		return span{}, false
	}
	return span{}, false
}

// oddWord says whether a word is more likely made up than one of a language: it
// has letters, and digits or signs among them, and is no path, name with dots, or
// template.
func oddWord(word string) bool {
	if len(word) < 5 || isPlaceholder(word) || strings.ContainsAny(word, "/<>{}[]()") {
		return false
	}
	letters, others := 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case isLower(c) || isUpper(c):
			letters++
		case c == '-' || c == '_' || c == '.' || c == ':' || c == '\'':
		default:
			others++
		}
	}
	return letters > 0 && others > 0
}
