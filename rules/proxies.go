package rules

import (
	"slices"
	"strings"
)

// This file is no rule: it reads the configuration files of HAProxy and NGINX as far
// as the rules about them ask.

// A directive is one statement of a proxy's configuration, with what stands in its
// block when it opens one.
type directive struct {
	words []string
	block []directive
}

// name is the first word.
func (d directive) name() string { return d.words[0] }

// text writes the statement on one line, without its block.
func (d directive) text() string { return strings.Join(d.words, " ") }

// arg is a word after the name, "" when there is none.
func (d directive) arg(i int) string {
	if i < len(d.words) {
		return d.words[i]
	}
	return ""
}

// setting gives the word after another one, as HAProxy writes options of a server:
// "maxconn 200".
func (d directive) setting(name string) (string, bool) {
	i := slices.Index(d.words, name)
	if i < 0 {
		return "", false
	}
	return d.arg(i + 1), true
}

// Bounds of what is read from one file.
const (
	maxProxyFile  = 1 << 20 // bytes: what a ConfigMap can hold
	maxProxyDepth = 16
)

// templated says whether a file has to be filled in before a proxy can read it.
func templated(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "<%") }

// haproxySections are what a line at its beginning opens
// (https://docs.haproxy.org/3.0/configuration.html#2.1).
var haproxySections = []string{"global", "defaults", "frontend", "backend", "listen"}

// readHAProxy reads a haproxy.cfg into its sections; nil when the text is none.
func readHAProxy(text string) []directive {
	if len(text) > maxProxyFile || templated(text) || !strings.Contains(text, "backend") && !strings.Contains(text, "listen") {
		return nil
	}
	var out []directive
	proxies := 0
	for line := range strings.Lines(text) {
		words := haproxyWords(line)
		if len(words) == 0 {
			continue
		}
		if len(words) <= 4 && slices.Contains(haproxySections, words[0]) && line[0] != ' ' && line[0] != '\t' {
			if words[0] != "global" && words[0] != "defaults" {
				if len(words) < 2 {
					return nil
				}
				proxies++
			}
			out = append(out, directive{words: words})
			continue
		}
		if len(out) == 0 {
			return nil // something stands before the first section: it is another language
		}
		last := &out[len(out)-1]
		last.block = append(last.block, directive{words: words})
	}
	if proxies == 0 {
		return nil
	}
	return out
}

// haproxyWords splits a line at blanks outside of quotes, without its comment.
func haproxyWords(line string) []string {
	var words []string
	var word strings.Builder
	quote, open := rune(0), false
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for _, c := range line {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteRune(c)
			}
		case c == '"' || c == '\'':
			quote, open = c, true
		case c == '#':
			end()
			return words
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			end()
		default:
			open = true
			word.WriteRune(c)
		}
	}
	end()
	return words
}

// readNGINX reads an nginx.conf, or a file that one includes, into its statements;
// nil when the text is none.
func readNGINX(text string) []directive {
	if len(text) > maxProxyFile || templated(text) || !strings.Contains(text, ";") || !strings.Contains(text, "{") {
		return nil
	}
	if !slices.ContainsFunc([]string{"server", "upstream", "location", "events"}, func(s string) bool { return strings.Contains(text, s) }) {
		return nil
	}
	r := nginxReader{text: text}
	out, ok := r.block(0)
	if !ok || r.at < len(text) {
		return nil
	}
	known := func(d directive) bool {
		return slices.Contains([]string{"http", "server", "upstream", "events", "stream", "location"}, d.name())
	}
	if !slices.ContainsFunc(out, known) {
		return nil
	}
	return out
}

type nginxReader struct {
	text string
	at   int
}

// block reads statements up to the closing brace or the end.
func (r *nginxReader) block(depth int) (out []directive, ok bool) {
	var words []string
	for {
		word, sign := r.next()
		switch {
		case word != "":
			words = append(words, word)
			continue
		case sign == ';':
			if len(words) > 0 {
				out = append(out, directive{words: words})
			}
		case sign == '{':
			if len(words) == 0 || depth >= maxProxyDepth {
				return nil, false
			}
			inner, ok := r.block(depth + 1)
			if !ok {
				return nil, false
			}
			out = append(out, directive{words: words, block: inner})
		case sign == '}':
			return out, depth > 0 && len(words) == 0
		default: // the end
			return out, depth == 0 && len(words) == 0
		}
		words = nil
	}
}

// next gives the next word, or the sign that ends a statement; neither at the end.
func (r *nginxReader) next() (word string, sign byte) {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n':
			r.at++
		case '#':
			if i := strings.IndexByte(r.text[r.at:], '\n'); i >= 0 {
				r.at += i
			} else {
				r.at = len(r.text)
			}
		case ';', '{', '}':
			r.at++
			return "", c
		case '"', '\'':
			end := r.at + 1
			for end < len(r.text) && r.text[end] != c {
				if r.text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(r.text) {
				end = len(r.text) - 1
			}
			word = r.text[r.at : end+1]
			r.at = end + 1
			return word, 0
		default:
			start := r.at
			for r.at < len(r.text) && strings.IndexByte(" \t\r\n;", r.text[r.at]) < 0 {
				// A brace is a part of a word in ${name} and in regular expressions such as \d{3}.
				if r.text[r.at] == '{' && r.at > start && r.text[r.at-1] != '$' && !strings.ContainsAny(r.text[start:r.at], "^\\[(") {
					break
				}
				if r.text[r.at] == '}' && !strings.Contains(r.text[start:r.at], "{") {
					break
				}
				r.at++
			}
			return r.text[start:r.at], 0
		}
	}
	return "", 0
}
