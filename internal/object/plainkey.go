package object

import (
	"strconv"
	"strings"
)

// maxKey bounds a key: the YAML reader takes none of more than 1,024 characters.
const maxKey = 900

// key reads a key and its colon. found is false, and p.i as it was, when there is
// a scalar here and no key; ok is false for a key that only the full reader knows.
func (p *plainReader) key() (key string, ok, found bool) {
	start := p.i
	if c := p.b[p.i]; c == '"' || c == '\'' {
		s, ok := p.quoted(c)
		if ok && p.colon() {
			return s, len(s) < maxKey, true
		}
		p.i = start
		return "", ok, !ok
	}
	i := start
	for i < len(p.b) && keyByte[p.b[i]] {
		i++
	}
	if i > start && i < len(p.b) && p.b[i] == ':' && (i+1 == len(p.b) || p.b[i+1] == ' ' || p.b[i+1] == '\n') {
		text := p.b[start:i]
		// Of digits alone, 2^63 and above is what YAML can read and JSON has no key for.
		if i-start > maxKey || text[0] == '-' || i-start > 18 && strings.Trim(text, "0123456789_") == "" {
			return "", false, true
		}
		p.i = i + 1
		k, ok := plainKeyText(text)
		return k, ok, true
	}
	// A colon further on in the line makes a key with characters that are rare
	// in keys. Quotes, brackets and the like are scalar values to p.scalar.
	line := p.b[i:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	if c := p.b[start]; c != '{' && c != '[' && c != '|' && c != '>' {
		if strings.Contains(line, ": ") || strings.HasSuffix(line, ":") || strings.Contains(line, ":\t") {
			return "", false, true
		}
	}
	return "", true, false
}

// plainKeyText spells a key without quotes as keyText does. Numbers that are not written
// as they would be, such as 0x10, 1e3 or 0128, are left to the full reader: each is spelled
// in a way of its own.
func plainKeyText(text string) (string, bool) {
	value := resolvePlain(text)
	if n, whole := value.(int64); whole && strconv.FormatInt(n, 10) != text {
		return "", false
	}
	key, err := keyText(value)
	return key, err == nil
}

// colon goes over a colon that ends a key.
func (p *plainReader) colon() bool {
	if p.i < len(p.b) && p.b[p.i] == ':' && (p.i+1 == len(p.b) || p.b[p.i+1] == ' ' || p.b[p.i+1] == '\n') {
		p.i++
		return true
	}
	return false
}

var keyByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '/'
	}
	return t
}()
