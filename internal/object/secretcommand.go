package object

import (
	"path"
	"strings"
)

// A program is how a command line tool takes a secret by flags of which the name
// does not say so. The flags are those of the tools' own manuals.
type program struct {
	glued string // letters: the secret follows the flag in one word, -pSECRET
	apart string // letters: the secret is the next word, or follows as well, -p SECRET
	users string // letters: the next word is user:secret
	long  string // long flags, in words: the value is user:secret
	sep   string // what separates user and secret; ":" when "", and nothing does when alone
}

// alone is the separator of a value that is the secret, without a user.
const alone = "\x00"

var (
	mysqlFlags = program{glued: "p"} // -p alone asks, and what follows is the database
	mongoFlags = program{apart: "p"}
	ldapFlags  = program{apart: "w"}
	loginFlags = program{apart: "p"}
)

var programs = map[string]program{
	"mysql": mysqlFlags, "mysqldump": mysqlFlags, "mysqladmin": mysqlFlags, "mysqlcheck": mysqlFlags, "mysqlimport": mysqlFlags, "mysqlshow": mysqlFlags,
	"mariadb": mysqlFlags, "mariadb-dump": mysqlFlags, "mariadb-admin": mysqlFlags, "mariadb-check": mysqlFlags, "mysqlsh": mysqlFlags, "mariadb-backup": mysqlFlags, "xtrabackup": mysqlFlags,
	"redis-cli": {apart: "a"}, "valkey-cli": {apart: "a"}, "redis-benchmark": {apart: "a"}, "keydb-cli": {apart: "a"},
	"curl":  {users: "uU", long: "--user --proxy-user"},
	"mongo": mongoFlags, "mongosh": mongoFlags, "mongodump": mongoFlags, "mongorestore": mongoFlags, "mongoexport": mongoFlags, "mongoimport": mongoFlags, "mongostat": mongoFlags,
	"ldapsearch": ldapFlags, "ldapadd": ldapFlags, "ldapmodify": ldapFlags, "ldapdelete": ldapFlags, "ldapwhoami": ldapFlags, "ldappasswd": {apart: "was"},
	"docker": loginFlags, "podman": loginFlags, "helm": loginFlags, "crane": loginFlags, "oras": loginFlags, "nerdctl": loginFlags,
	"buildah": {apart: "p", long: "--creds"}, "skopeo": {apart: "p", long: "--creds --src-creds --dest-creds"},
	"sshpass": {apart: "p"}, "sqlcmd": {apart: "P"}, "bcp": {apart: "P"}, "cqlsh": {apart: "p"}, "cypher-shell": {apart: "p"}, "nodetool": {long: "-pw", sep: alone},
	"influx": {apart: "t"}, "etcdctl": {long: "--user"}, "http": {users: "a"}, "https": {users: "a"}, "ab": {users: "A"},
	"smbclient": {users: "U", sep: "%"}, "lftp": {users: "u", sep: ","}, "isql": {apart: "P"}, "ipmitool": {apart: "P"}, "snmpget": {apart: "cAX"}, "snmpwalk": {apart: "cAX"},
}

// loginOnly are tools of which -p is a password in one command alone.
const loginOnly = " docker podman helm crane oras nerdctl buildah skopeo "

// programNamed finds a tool by what a command line begins with.
func programNamed(word string) (name string, p program, ok bool) {
	name = path.Base(word)
	p, ok = programs[name]
	return name, p, ok
}

// takes says what a flag of the program means: how much of the word is the flag,
// when the secret follows in it, and whether the next word is one.
func (p program) takes(word string) (glued int, next, user bool) {
	if len(word) < 2 || word[0] != '-' {
		return 0, false, false
	}
	if p.long != "" {
		name, _, assigned := strings.Cut(word, "=")
		for long := range strings.FieldsSeq(p.long) {
			if name == long {
				if assigned {
					return len(name) + 1, false, true
				}
				return 0, true, true
			}
		}
	}
	if word[1] == '-' {
		return 0, false, false
	}
	has := func(letters string) bool { return strings.IndexByte(letters, word[1]) >= 0 }
	switch {
	case has(p.glued) && len(word) > 2, has(p.apart) && len(word) > 2:
		return 2, false, false
	case has(p.users) && len(word) > 2:
		return 2, false, true
	case has(p.apart):
		return 0, true, false
	case has(p.users):
		return 0, true, true
	}
	return 0, false, false
}

// secretOf gives where in a word of user and secret the secret begins, -1 where
// there is none.
func (p program) secretOf(word string) int {
	sep := p.sep
	switch sep {
	case "":
		sep = ":"
	case alone:
		return 0
	}
	n := strings.Index(word, sep)
	if n <= 0 || n+len(sep) == len(word) {
		return -1
	}
	return n + len(sep)
}

// mayTakeSecret is a cheap test that nearly all flags fail, behind their first dash.
func mayTakeSecret(flag string) bool {
	if len(flag) < 2 {
		return false
	}
	switch flag[0] {
	case '-':
		switch flag[1] {
		case 'u', 'p', 'c', 's', 'd', 'f': // --user, --proxy-user, --creds, --src-creds, --dest-creds, --from-literal
			return true
		}
	case 'a', 'A', 'c', 'p', 'P', 's', 't', 'u', 'U', 'w', 'X':
		return true
	}
	return false
}

// commandFlag masks what a flag at i gives to the tool that the command on its
// line calls.
func (f *spanner) commandFlag(i int) {
	s := f.s
	end := wordEnd(s, i)
	start := commandStart(s, i)
	words := strings.Fields(s[start:i])
	for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "sudo" || words[0] == "exec" || words[0] == "env" || words[0] == "nohup") {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	name, p, ok := programNamed(strings.Trim(words[0], `"'`+"`"))
	if !ok || strings.Contains(loginOnly, " "+name+" ") && !strings.Contains(s[start:i], " login") && s[i+1] != '-' {
		return
	}
	glued, next, user := p.takes(s[i:end])
	at := i + glued
	switch {
	case next:
		at = end
		for at < len(s) && (s[at] == ' ' || s[at] == '\t') {
			at++
		}
		if at == end || at == len(s) || s[at] == '\n' {
			return
		}
	case glued == 0 || at == end:
		return
	}
	if user {
		quote := 0
		if s[at] == '"' || s[at] == '\'' {
			quote = 1
		}
		n := p.secretOf(s[at+quote : wordEnd(s, at+quote)])
		if n < 0 {
			return
		}
		at += quote + n
		if quote == 1 {
			if end := quoteEnd(s, at, s[at-n-1]); !isPlaceholder(s[at:end]) && !isExpression(s[at:end]) {
				f.add(at, end)
			}
			return
		}
	}
	f.token(at)
}

// wordEnd gives the end of the word of a command line that begins at i.
func wordEnd(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\n;|&)", s[i]) < 0 {
		i++
	}
	return i
}

// commandStart gives where the command begins in which i is, a few hundred bytes
// back at most. A line that ends in a backslash goes on.
func commandStart(s string, i int) int {
	const most = 512
	for at := i; at > 0 && i-at < most; at-- {
		switch s[at-1] {
		case ';', '|', '(', '`':
			return at
		case '&':
			return at
		case '\n':
			if at < 2 || s[at-2] != '\\' {
				return at
			}
		}
	}
	return max(0, i-most)
}

// subcommands are commands that take a secret as a word in a fixed place: how many
// words stand between.
var subcommands = []struct {
	words string
	skip  int
}{
	{"rabbitmqctl add_user ", 1}, {"rabbitmqctl change_password ", 1}, {"rabbitmqctl authenticate_user ", 1},
	{"mc alias set ", 3}, {"mc config host add ", 3},
	{"aws configure set aws_secret_access_key ", 0}, {"aws configure set aws_session_token ", 0},
	{"vault login ", 0}, {"htpasswd -b ", 2}, {"htpasswd -bc ", 2}, {"htpasswd -cb ", 2}, {"htpasswd -nb ", 1}, {"htpasswd -nbB ", 1}, {"htpasswd -Bbn ", 1}, {"htpasswd -bnB ", 1},
	{"config set requirepass ", 0}, {"CONFIG SET requirepass ", 0}, {"redis-cli auth ", 0}, {"redis-cli AUTH ", 0},
}

// subcommand masks what such a command takes; i is at its first byte.
func (f *spanner) subcommand(i int) {
	rest := f.s[i:]
	if len(rest) < 10 {
		return
	}
	switch string(rest[:2]) {
	case "ra", "mc", "aw", "va", "ht", "co", "CO", "re":
	default:
		return
	}
	for _, c := range subcommands {
		if !strings.HasPrefix(rest, c.words) {
			continue
		}
		at := i + len(c.words)
		for range c.skip {
			at = wordEnd(f.s, at)
			for at < len(f.s) && f.s[at] == ' ' {
				at++
			}
		}
		if at < len(f.s) && f.s[at] != '-' && f.s[at] != '\n' {
			f.token(at)
		}
		return
	}
}

// literal masks the value of kubectl's --from-literal=key=SECRET; i is at its
// first dash.
func (f *spanner) literal(i int) bool {
	const flag = "--from-literal"
	if !strings.HasPrefix(f.s[i:], flag+"=") && !strings.HasPrefix(f.s[i:], flag+" ") {
		return false
	}
	if !strings.Contains(f.s[commandStart(f.s, i):i], "secret") {
		return false
	}
	at := i + len(flag) + 1
	if n := strings.IndexByte(f.s[at:wordEnd(f.s, at)], '='); n > 0 {
		f.token(at + n + 1)
	}
	return true
}

// arguments masks what the words of a command line, each an item of a list, give
// to the tool that it calls. first is the tool when another list has it.
func (m masker) arguments(items []any, first string) {
	if len(items) == 0 {
		return
	}
	if word, ok := items[0].(string); ok && first == "" {
		first = word
	}
	name, p, ok := programNamed(first)
	if !ok {
		m.subcommandItems(items)
		return
	}
	if strings.Contains(loginOnly, " "+name+" ") {
		login := false
		for _, item := range items {
			login = login || item == "login"
		}
		if !login {
			p.apart = ""
		}
	}
	next, user := false, false
	for i, item := range items {
		word, ok := item.(string)
		if !ok {
			next = false
			continue
		}
		at := -1
		if next {
			at = 0
		}
		glued := 0
		if !next {
			if glued, next, user = p.takes(word); glued > 0 {
				at = glued
			}
		} else {
			next = false
		}
		if at < 0 || at >= len(word) {
			continue
		}
		if user {
			n := p.secretOf(word[at:])
			if n < 0 {
				continue
			}
			at += n
		}
		if secret := word[at:]; !isPlaceholder(secret) && !isExpression(secret) {
			items[i] = maskSpans(word, []span{{at, len(word)}})
		}
	}
	m.subcommandItems(items)
}

// subcommandItems masks the secrets of subcommands, of which each word is an item.
func (m masker) subcommandItems(items []any) {
	for _, c := range subcommands {
		words := strings.Fields(c.words)
		at := len(words) + c.skip
		if at >= len(items) {
			continue
		}
		same := true
		for i, w := range words {
			item, _ := items[i].(string)
			same = same && (item == w || i == 0 && path.Base(item) == w)
		}
		if secret, ok := items[at].(string); same && ok && !isPlaceholder(secret) && !strings.HasPrefix(secret, "-") {
			items[at] = maskWhole(secret)
		}
	}
}
