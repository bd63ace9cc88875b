package object

import (
	"encoding/base64"
	"strings"
)

// textRules says what is looked for in a text.
type textRules int

const (
	anyText    textRules = iota // shapes of secrets, and what stands beside names of secrets
	shapesOnly                  // shapes alone: prose speaks of passwords without giving any
)

// A spanner finds secrets in one text, byte by byte: at a byte that can begin or
// separate one it looks closer.
type spanner struct {
	s     string
	rules textRules
	spans []span
	skip  int // the byte behind the last span
	names map[string]bool
}

// interesting marks the bytes at which a secret can begin or be separated from
// its name.
var interesting = func() (t [256]byte) {
	t[':'], t['='], t['-'], t['$'], t['>'] = ':', '=', '-', '$', '>'
	for c, shapes := range shapesByFirst {
		if len(shapes) > 0 {
			t[c] = 'w'
		}
	}
	for _, c := range []byte("EBbhdarmivLcCp") {
		t[c] = 'w'
	}
	return t
}()

// secretSpans gives the parts of a text that are secret: private keys, tokens of
// known shape, passwords in URLs and, by the rules, what is assigned to the name of
// a secret. It reads the text once.
func secretSpans(text string, rules textRules) []span {
	if len(text) < 6 {
		return nil
	}
	f := spanner{s: text, rules: rules}
	for i := 0; i < len(text); i++ {
		switch interesting[text[i]] {
		case 0:
			continue
		case ':':
			if strings.HasPrefix(text[i:], "://") {
				f.url(i)
			} else if rules == anyText {
				f.userinfo(i)
				f.assignment(i)
			}
		case '>':
			if rules == anyText {
				f.element(i)
			}
		case '=':
			if rules == anyText {
				f.assignment(i)
			}
		case '-':
			if strings.HasPrefix(text[i:], "-----BEGIN ") {
				f.pem(i)
			} else if rules == anyText && (i == 0 || !isAlnum(text[i-1]) && text[i-1] != '-') {
				f.flag(i)
				if f.skip <= i && mayTakeSecret(text[i+1:]) && !f.literal(i) {
					f.commandFlag(i)
				}
			}
		case '$':
			f.crypt(i)
		case 'w':
			if i == 0 || !isAlnum(text[i-1]) && text[i-1] != '_' {
				f.word(i)
			}
		}
		if f.skip > i+1 {
			i = f.skip - 1
		}
	}
	return f.spans
}

// add notes a span and goes on behind it.
func (f *spanner) add(start, end int) {
	if end <= start || f.s[start:end] == Mask {
		return
	}
	f.spans = append(f.spans, span{start, end})
	f.skip = max(f.skip, end)
}

// url masks the password of a URL; i is at the colon of "://".
func (f *spanner) url(i int) {
	start := i + 3
	at := -1
	end := start
scan:
	for ; end < len(f.s); end++ {
		switch f.s[end] {
		case '@':
			at = end
		case '/', '?', '#':
			// A password should have these escaped and often has not: an @ may
			// still follow. What follows a path is none of ours.
			if at >= 0 || f.s[end] == '/' {
				break scan
			}
		case ' ', '\t', '\n', '"', '\'', '`', '<', '>', '|', ',':
			break scan
		}
	}
	if at < 0 {
		if end < len(f.s) && f.s[end] == '/' {
			at = f.slashPassword(start, end)
		}
		if at < 0 {
			return
		}
	}
	user, password, found := strings.Cut(f.s[start:at], ":")
	switch {
	case found && password != "" && !isVariable(password) && !isExpression(password):
		f.add(at-len(password), at)
	case !found && len(user) >= 20 && !isExpression(user) && hasDigit(user):
		f.add(start, at) // a token in the place of a user, as Sentry has it
	}
}

// slashPassword finds the @ of userinfo that has a bare slash in its password:
// "user:pa/ss@host". A port before a slash is digits and no userinfo.
func (f *spanner) slashPassword(start, slash int) int {
	_, password, found := strings.Cut(f.s[start:slash], ":")
	if !found || strings.Trim(password, "0123456789") == "" {
		return -1
	}
	rest := f.s[slash:]
	if n := strings.IndexAny(rest, " \t\n\"'`<>|,"); n >= 0 {
		rest = rest[:n]
	}
	if n := strings.LastIndexByte(rest, '@'); n >= 0 {
		return slash + n
	}
	return -1
}

// isExpression says whether a text has a template's or shell's expression for the secret.
func isExpression(s string) bool {
	return strings.HasPrefix(s, "{{") && strings.HasSuffix(s, "}}") || strings.HasPrefix(s, "${") && strings.HasSuffix(s, "}") || strings.HasPrefix(s, "$(") && strings.HasSuffix(s, ")")
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// pem masks the body of a private key; i is at its first dash.
func (f *spanner) pem(i int) {
	rest := f.s[i+len("-----BEGIN "):]
	close := strings.Index(rest, "-----")
	if close < 0 || close > 60 || !strings.Contains(rest[:close], "PRIVATE KEY") {
		return
	}
	start := i + len("-----BEGIN ") + close + len("-----")
	end := len(f.s)
	if n := strings.Index(f.s[start:], "-----END"); n >= 0 {
		end = start + n
	}
	f.add(start, end)
}

// crypt masks a hash of a password as crypt(3) and htpasswd write it; i is at the
// first dollar sign.
func (f *spanner) crypt(i int) {
	rest := f.s[i:]
	for _, id := range []string{"$2a$", "$2b$", "$2y$", "$apr1$", "$5$", "$6$", "$y$", "$argon2i$", "$argon2d$", "$argon2id$", "$pbkdf2"} {
		if strings.HasPrefix(rest, id) {
			end := len(id)
			for end < len(rest) && (isAlnum(rest[end]) || strings.IndexByte("./$=,+-", rest[end]) >= 0) {
				end++
			}
			if end-len(id) >= 20 {
				f.add(i, i+end)
			}
			return
		}
	}
}

// word looks at a word that may be a token, or announce one; i is its first byte.
func (f *spanner) word(i int) {
	rest := f.s[i:]
	for _, sh := range shapesByFirst[rest[0]] {
		if strings.HasPrefix(rest, sh.prefix) {
			if n := sh.match(rest); n > 0 {
				f.add(i, i+n)
				return
			}
		}
	}
	switch rest[0] {
	case 'E':
		if strings.HasPrefix(rest, "ENC[") {
			if n := strings.IndexByte(rest, ']'); n > 0 {
				f.add(i, i+n+1)
			}
		}
	case 'B', 'b':
		f.authorization(i)
	case 'h', 'd', 'a':
		f.webhook(i)
	case 'L':
		if strings.HasPrefix(rest, "LS0tLS1CRUdJTi") {
			f.encodedKey(i)
		}
	case 'r', 'm', 'i', 'c', 'v', 'C', 'p':
		if f.rules == anyText {
			f.directive(i)
		}
	}
	if f.rules == anyText && (rest[0] == 'a' || rest[0] == 'h') {
		f.subcommand(i)
	}
}

// authorization masks the credentials of an HTTP Authorization header.
func (f *spanner) authorization(i int) {
	rest := f.s[i:]
	// Behind the header's name, or as a value by itself, whatever stands there is
	// meant as a credential; elsewhere the words are prose more often than not.
	header := strings.Contains(strings.ToLower(f.s[max(0, i-24):i]), "authorization")
	switch {
	case len(rest) > 7 && strings.EqualFold(rest[:7], "bearer "):
		end := tokenEnd(rest, 7)
		credential := header || i == 0 && end == len(rest)
		if end-7 >= 16 && hasDigit(rest[7:end]) || credential && end-7 >= 6 && !isPlaceholder(rest[7:end]) {
			f.add(i+7, i+end)
		}
	case len(rest) > 6 && strings.EqualFold(rest[:6], "basic "):
		end := tokenEnd(rest, 6)
		if credential := header || i == 0 && end == len(rest); credential && end-6 >= 6 && hasDigit(rest[6:end]) {
			f.add(i+6, i+end)
			return
		}
		if decoded, err := base64.StdEncoding.DecodeString(rest[6:end]); err == nil && len(decoded) > 3 && strings.IndexByte(string(decoded), ':') > 0 {
			f.add(i+6, i+end)
		}
	}
}

// tokenEnd gives the end of a run of token characters that begins at from.
func tokenEnd(s string, from int) int {
	for from < len(s) && (isAlnum(s[from]) || strings.IndexByte("._~+/=-", s[from]) >= 0) {
		from++
	}
	return from
}

// webhook masks the secret path of a webhook's address.
func (f *spanner) webhook(i int) {
	rest := f.s[i:]
	for _, host := range []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "api.telegram.org/bot"} {
		if strings.HasPrefix(rest, host) {
			end := len(host)
			for end < len(rest) && (isAlnum(rest[end]) || strings.IndexByte("/_-:", rest[end]) >= 0) {
				end++
			}
			f.add(i+len(host), i+end)
			return
		}
	}
}

// encodedKey masks a private key in base64 of its PEM text. Certificates begin
// alike and are no secret.
func (f *spanner) encodedKey(i int) {
	rest := f.s[i:]
	end := 0
	for end < len(rest) && (isAlnum(rest[end]) || rest[end] == '+' || rest[end] == '/' || rest[end] == '=') {
		end++
	}
	head, err := base64.StdEncoding.DecodeString(rest[:min(end, 64)/4*4])
	if err == nil && strings.Contains(string(head), "PRIVATE KEY") {
		f.add(i, i+end)
	}
}

// directive masks what follows the words by which Redis, HAProxy and Keepalived
// set a password without a sign between.
func (f *spanner) directive(i int) {
	rest := f.s[i:]
	if len(rest) < 8 {
		return
	}
	switch rest[:2] {
	case "re", "ma", "in", "pa", "ra", "mc", "va", "co", "CO":
	default:
		return
	}
	for _, word := range []string{"requirepass ", "masterauth ", "insecure-password "} {
		if strings.HasPrefix(rest, word) {
			f.token(i + len(word))
			return
		}
	}
	switch {
	case strings.HasPrefix(rest, "pass:") && strings.Contains(f.s[commandStart(f.s, i):i], " -pass"):
		f.token(i + len("pass:")) // openssl -passin pass:SECRET
	case strings.HasPrefix(rest, "machine "):
		f.netrc(i)
	default:
		f.subcommand(i)
	}
}

// netrc masks the password of an entry of a .netrc: machine, login and password are
// words, on one line or several. i is at "machine".
func (f *spanner) netrc(i int) {
	rest := f.s[i+len("machine "):]
	if n := strings.Index(rest, "machine "); n >= 0 {
		rest = rest[:n]
	}
	if n := strings.Index(rest, "password "); n > 0 && strings.Contains(rest[:n], "login ") && n < 512 {
		skip := f.skip
		f.token(i + len("machine ") + n + len("password "))
		f.skip = skip // what stands between is still to be read
	}
}

// element masks the text of an XML element that is called as secrets are; i is at
// the end of its tag.
func (f *spanner) element(i int) {
	start := i
	for start > 0 && i-start < 120 && nameByte[f.s[start-1]] {
		start--
	}
	if start == i || start == 0 || f.s[start-1] != '<' && f.s[start-1] != ':' || !f.isSecret(f.s[start:i]) {
		return
	}
	if n := strings.IndexByte(f.s[i+1:], '<'); n > 0 && strings.HasPrefix(f.s[i+1+n:], "</") {
		f.addValue(i+1, i+1+n)
	}
}

// userinfo masks the password of user:password@host/path and
// user:password@tcp(host)/path where no scheme stands before it, as in images and
// the data source names of MySQL's driver for Go; i is at the colon.
func (f *spanner) userinfo(i int) {
	s := f.s
	if i+2 >= len(s) || strings.IndexByte(" \t\n\"'/:", s[i+1]) >= 0 {
		return
	}
	start := i
	for start > 0 && nameByte[s[start-1]] && i-start < 64 {
		start--
	}
	if start == i || start > 0 && strings.IndexByte("/@%+:", s[start-1]) >= 0 || s[start:i] == "mailto" || s[start:i] == "thin" {
		if s[start:i] == "thin" {
			f.oracle(i)
		}
		return
	}
	end := i + 1
	for end < len(s) && end-i < 256 && strings.IndexByte(" \t\n\"'`<>|,/@;", s[end]) < 0 {
		end++
	}
	if end == i+1 || end+1 >= len(s) || s[end] != '@' {
		return
	}
	host := end + 1
	after := host
	for after < len(s) && nameByte[s[after]] {
		after++
	}
	if after == host || after == len(s) || strings.IndexByte("/:(", s[after]) < 0 ||
		s[after] == ':' && (strings.HasPrefix(s[host:], "sha256:") || strings.HasPrefix(s[host:], "sha512:") || after+1 == len(s) || !isDigit(s[after+1])) {
		return
	}
	if password := s[i+1 : end]; !isVariable(password) && !isExpression(password) {
		f.add(i+1, end)
	}
}

// oracle masks the password of jdbc:oracle:thin:user/password@host; i is at the
// colon behind thin.
func (f *spanner) oracle(i int) {
	line := lineOf(f.s[:min(len(f.s), i+256)], i+1)
	user, rest, ok := strings.Cut(line, "/")
	password, _, at := strings.Cut(rest, "@")
	if !ok || !at || user == "" || strings.ContainsAny(user, "@ ") || password == "" || strings.ContainsAny(password, " \"'") || isVariable(password) {
		return
	}
	start := i + 1 + len(user) + 1
	f.add(start, start+len(password))
}

// token masks the word that begins at start, quoted or not, unless it stands for
// something else.
func (f *spanner) token(start int) {
	for start < len(f.s) && f.s[start] == ' ' {
		start++
	}
	if start == len(f.s) {
		return
	}
	if q := f.s[start]; q == '"' || q == '\'' {
		if end := quoteEnd(f.s, start+1, q); !isPlaceholder(f.s[start+1 : end]) {
			f.add(start+1, end)
		}
		return
	}
	end := start + expressionEnd(f.s[start:])
	for end < len(f.s) && strings.IndexByte(" \t\n\"'`;|&)>", f.s[end]) < 0 {
		end++
	}
	if !isPlaceholder(f.s[start:end]) {
		f.add(start, end)
	}
}

// expressionEnd gives the length of the template's or shell's expression that s
// begins with, 0 when it begins with none.
func expressionEnd(s string) int {
	for _, e := range []struct{ open, close string }{{"{{", "}}"}, {"${", "}"}, {"$(", ")"}} {
		if strings.HasPrefix(s, e.open) {
			if n := strings.Index(lineOf(s, 0), e.close); n > 0 {
				return n + len(e.close)
			}
		}
	}
	return 0
}

// flag masks the word after a flag for a secret: `--password hunter2`; i is at its
// first dash.
func (f *spanner) flag(i int) {
	start := i
	for start < len(f.s) && f.s[start] == '-' {
		start++
	}
	end := start
	for end < len(f.s) && nameByte[f.s[end]] {
		end++
	}
	if end == start || start-i > 2 || end+1 >= len(f.s) || f.s[end] != ' ' || f.s[end+1] == '-' || f.s[end+1] == '\n' || !f.isSecret(f.s[start:end]) {
		return
	}
	f.token(end + 1)
}

// isSecret is isSecretName, remembered: long texts repeat their names.
func (f *spanner) isSecret(name string) bool {
	if !mayEndSecret(name) {
		return false
	}
	known, ok := f.names[name]
	if !ok {
		if f.names == nil {
			f.names = map[string]bool{}
		}
		known = isSecretName(name)
		f.names[name] = known
	}
	return known
}

// nameByte marks the bytes of names.
var nameByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = isAlnum(byte(c)) || c == '_' || c == '-' || c == '.'
	}
	return t
}()
