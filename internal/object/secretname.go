package object

import "strings"

// isSecretName says whether what bears a name is a secret, going by its words:
// DB_PASSWORD, apiKey and client-secret are, passwordPolicy, secretName, tokenReview
// and TOKEN_TTL are not.
func isSecretName(name string) bool {
	if !mayEndSecret(name) {
		return false
	}
	var buf [12]string
	words := splitWords(name, buf[:0])
	for len(words) > 1 && isFiller(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	before := ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch last {
	case "password", "passwd", "passphrase", "pwd", "pw", "passcode", "secret", "apikey", "requirepass", "masterauth", "authtoken", "credentials":
		return before != "no" && before != "without"
	case "pass":
		// proxy_pass and its kin are addresses in NGINX.
		return before != "proxy" && before != "fastcgi" && before != "uwsgi" && before != "scgi" && before != "grpc" && before != "memcached"
	case "token":
		switch before {
		case "max", "min", "per", "next", "continue", "page", "account", "stop", "pad", "eos", "bos", "unk", "by":
			return before == "account" && len(words) < 3
		}
		return true
	case "key":
		switch before {
		case "api", "access", "secret", "private", "encryption", "encrypt", "signing", "auth", "account", "shared", "master", "hmac", "session",
			"cookie", "jwt", "storage", "preshared", "license", "licence", "aes", "consumer", "rsa", "ssh", "deploy", "webhook", "app", "application", "admin", "service", "client", "registration", "integration", "ingest", "server":
			return true
		}
	case "base":
		return before == "key" && strings.Contains(strings.ToLower(name), "secret")
	case "psk", "passkey":
		return true
	case "auth":
		return before == "basic" || before == "rediscli" || name == "_auth" // of an .npmrc
	case "data":
		return before == "key" && strings.Contains(strings.ToLower(name), "client")
	}
	if strings.HasSuffix(last, "pass") {
		// PGPASS and MYSQLPASS, but not the words that happen to end so.
		switch last {
		case "bypass", "compass", "encompass", "trespass", "surpass", "overpass", "underpass", "proxypass":
			return false
		}
		return true
	}
	for _, end := range []string{"password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey", "authtoken", "accesstoken", "clientsecret", "bindpw", "rootpw", "adminpw"} {
		if strings.HasSuffix(last, end) {
			return true
		}
	}
	return false
}

// isPasswordName is isSecretName for passwords alone: what is a number under
// another name is seldom a secret.
func isPasswordName(name string) bool {
	if !isSecretName(name) {
		return false
	}
	lower := strings.ToLower(name)
	return strings.Contains(lower, "pass") || strings.Contains(lower, "pwd")
}

// mayEndSecret is a cheap test that nearly all names fail: by their last three
// letters, digits left aside.
func mayEndSecret(name string) bool {
	end := len(name)
	for end > 0 && (isDigit(name[end-1]) || name[end-1] == '_' || name[end-1] == '-') {
		end--
	}
	if end < 2 || len(name) > 120 {
		return false
	}
	last := [3]byte{' ', name[end-2] | 0x20, name[end-1] | 0x20}
	if end > 2 {
		last[0] = name[end-3] | 0x20
	}
	switch string(last[:]) {
	case "ord", "swd", "ase", "pwd", "ode", "ret", "key", "ken", "ass", "als", "uth", "ata", "sec":
		return true
	case "lue", "ain", "ext", "raw", "ing", "ash", "ded", "ent", "ral", "old", "new", "ous", "ult":
		return end >= 7 && hasStem(name)
	}
	return last[1] == 'p' && last[2] == 'w' || end < len(name) && hasStem(name)
}

// hasStem says whether a part of a name is one that secrets' names have.
func hasStem(name string) bool {
	for i := 0; i+3 <= len(name); i++ {
		stem := [3]byte{name[i] | 0x20, name[i+1] | 0x20, name[i+2] | 0x20}
		switch string(stem[:]) {
		case "pas", "ecr", "oke", "key", "red":
			return true
		}
		if stem[0] == 'p' && stem[1] == 'w' {
			return true
		}
	}
	return false
}

// isFiller says whether a word after "password" and the like does not change what
// the name means.
func isFiller(word string) bool {
	switch word {
	case "value", "plain", "plaintext", "raw", "base64", "b64", "string", "text", "hash", "encoded", "content", "literal", "old", "new", "current", "previous", "default":
		return true
	}
	return strings.Trim(word, "0123456789") == ""
}

// splitWords gives the words of a name in lower case: at signs, and where a
// capital follows a small letter or begins a word after capitals.
func splitWords(name string, words []string) []string {
	start := -1
	end := func(i int) {
		if start >= 0 && len(words) < cap(words) {
			words = append(words, strings.ToLower(name[start:i]))
		} else if start >= 0 {
			copy(words, words[1:])
			words[len(words)-1] = strings.ToLower(name[start:i])
		}
		start = -1
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case isUpper(c):
			if i > 0 && (isLower(name[i-1]) || isDigit(name[i-1]) || isUpper(name[i-1]) && i+1 < len(name) && isLower(name[i+1])) {
				end(i)
			}
			if start < 0 {
				start = i
			}
		case isLower(c), isDigit(c):
			if start < 0 {
				start = i
			}
		default:
			end(i)
		}
	}
	end(len(name))
	return words
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool { return isUpper(c) || isLower(c) || isDigit(c) }

// namesSecret says whether a field of a manifest that is called some kind of
// secret holds the name of a Secret: `secret: web-tls`, `existingSecret: db`.
func namesSecret(key, text string) bool {
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		key = key[i+1:] // of an annotation
	}
	words := splitWords(key, make([]string, 0, 12))
	if words[len(words)-1] != "secret" && words[len(words)-1] != "credentials" {
		return false
	}
	if len(words) > 1 {
		switch words[len(words)-2] {
		case "client", "cookie", "session", "shared", "jwt", "app", "consumer", "api", "webhook", "access", "token", "signing", "hmac", "oauth", "csrf":
			return false
		}
	}
	for part := range strings.SplitSeq(text, "/") {
		if !dnsSubdomain(part) {
			return false
		}
	}
	return true
}

// dnsSubdomain says whether s can be the name of an object.
func dnsSubdomain(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !dnsLabel(label) {
			return false
		}
	}
	return true
}

// isPlaceholder says whether a text stands where a secret would be and is none: it
// is empty, a switch, a variable, a template's expression, or the path of a file.
func isPlaceholder(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || text == Mask || text == Unsettled {
		return true
	}
	if len(text) <= 11 {
		switch strings.ToLower(text) {
		case "true", "false", "null", "none", "yes", "no", "on", "off", "nil", "~", "enabled", "disabled", "required", "optional", "include", "omit", "same-origin", "{}", "[]", `""`, "''", "<nil>", "undefined", "|", ">", "|-", ">-":
			return true
		}
	}
	return isVariable(text) || isFilePath(text)
}

// isVariable says whether all of a text is one reference to something else.
func isVariable(text string) bool {
	for _, v := range []struct{ open, close string }{
		{"${", "}"}, {"$(", ")"}, {"{{", "}}"}, {"%(", ")s"}, {"%{", "}"}, {"$__env{", "}"}, {"$__file{", "}"}, {"<%", "%>"}, {"<", ">"}, {"@", "@"}, {"%", "%"},
	} {
		inner, ok := strings.CutPrefix(text, v.open)
		if !ok {
			continue
		}
		if inner, ok = strings.CutSuffix(inner, v.close); ok && inner != "" && !strings.Contains(inner, v.open) && !strings.Contains(inner, "\n") && (len(v.open) > 1 || isWordText(inner)) {
			return true
		}
	}
	name, ok := strings.CutPrefix(text, "$")
	return ok && isWordText(name) && !isDigit(name[0])
}

// isWordText says whether s is made of letters, digits and _ . - alone, and is no
// longer than a name.
func isWordText(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// isFilePath says whether a text is the path of a file under one of the usual
// folders; a secret in base64 may begin with a slash too.
func isFilePath(text string) bool {
	if text[0] != '/' || strings.ContainsAny(text, " \n+=") {
		return false
	}
	first, rest, ok := strings.Cut(text[1:], "/")
	if !ok || rest == "" {
		return false
	}
	switch first {
	case "etc", "var", "run", "secrets", "secret", "mnt", "opt", "home", "tmp", "usr", "vault", "config", "data", "app", "certs", "root", "srv", "dev", "proc", "bitnami", "conf", "work", "workspace", "credentials", "keys", "tls", "ssl":
		return true
	}
	return false
}
