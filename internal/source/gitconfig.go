package source

import (
	"fmt"
	"slices"
	"strings"
)

// A gitConfig is what git's configuration says, in the order in which git reads it.
type gitConfig []setting

type setting struct {
	scope string // system, global, local, worktree or command
	key   string // section and name in lower case, what is between them as it is
	value string
}

// parseConfig reads the output of git config --list --show-scope -z.
func parseConfig(out string) (gitConfig, error) {
	var c gitConfig
	for out != "" {
		scope, rest, ok := strings.Cut(out, "\x00")
		if !ok {
			return nil, fmt.Errorf("git config: unexpected answer %.80q", out)
		}
		item, rest, ok := strings.Cut(rest, "\x00")
		if !ok {
			return nil, fmt.Errorf("git config: unexpected answer %.80q", out)
		}
		key, value, has := strings.Cut(item, "\n")
		if !has {
			value = "true" // a key without "=" is a boolean
		}
		c = append(c, setting{scope, key, value})
		out = rest
	}
	return c, nil
}

// get gives the value that counts, "" when there is none.
func (c gitConfig) get(key string) string {
	for _, s := range slices.Backward(c) {
		if s.key == key {
			return s.value
		}
	}
	return ""
}

func (c gitConfig) bool(key string, otherwise bool) bool {
	switch strings.ToLower(c.get(key)) {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	}
	return otherwise
}

// trusted is get without what the repository itself says.
func (c gitConfig) trusted(key string) string {
	return slices.DeleteFunc(slices.Clone(c), func(s setting) bool { return !s.isTrusted() }).get(key)
}

func (s setting) isTrusted() bool { return s.scope == "system" || s.scope == "global" }

// subsections lists, once each, the b of all keys a.b.name.
func (c gitConfig) subsections(section string, names ...string) []string {
	var out []string
	for _, s := range c {
		rest, ok := strings.CutPrefix(s.key, section+".")
		i := strings.LastIndexByte(rest, '.')
		if ok && i >= 0 && slices.Contains(names, rest[i+1:]) && !slices.Contains(out, rest[:i]) {
			out = append(out, rest[:i])
		}
	}
	return out
}

// promisors lists the remotes that a partial clone fetches missing objects from.
func (c gitConfig) promisors() []string {
	out := c.subsections("remote", "promisor", "partialclonefilter")
	if name := c.get("extensions.partialclone"); name != "" && !slices.Contains(out, name) {
		out = append(out, name)
	}
	return out
}

// fetchProgram gives the setting by which the repository itself has fetching run
// a program that no override switches off: of these, git takes the first.
func (c gitConfig) fetchProgram() string {
	for _, s := range c {
		if !s.isTrusted() && strings.HasPrefix(s.key, "remote.") && (strings.HasSuffix(s.key, ".uploadpack") || strings.HasSuffix(s.key, ".vcs")) {
			return s.key
		}
	}
	return ""
}

// overrides gives the settings that switch off the programs which this
// configuration would have git run: filters, whoever named them, since prdiff
// compares what is stored; and for fetching in a partial clone, those that the
// repository itself names.
func (c gitConfig) overrides() ([]string, error) {
	var out []string
	for _, name := range c.subsections("filter", "clean", "smudge", "process") {
		if strings.ContainsAny(name, "=\n") {
			return nil, fmt.Errorf("git's configuration has a filter named %q, which cannot be switched off: rename it without '='", name)
		}
		for _, key := range []string{"clean=", "smudge=", "process=", "required=false"} {
			out = append(out, "filter."+name+"."+key)
		}
	}
	if len(c.promisors()) == 0 {
		return out, nil
	}
	return append(append(out, "credential.helper="), c.helpers()...), nil
}

// helpers gives the credential helpers that are not the repository's own: an empty
// one before them clears the list, those of the repository included.
func (c gitConfig) helpers() []string {
	var out []string
	for _, s := range c {
		if s.isTrusted() && strings.HasPrefix(s.key, "credential.") && strings.HasSuffix(s.key, ".helper") && !strings.Contains(s.key, "=") {
			out = append(out, s.key+"="+s.value)
		}
	}
	return out
}
