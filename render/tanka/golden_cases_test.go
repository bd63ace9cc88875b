package tanka

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/render/jsonnet"
)

type goldenCase struct {
	set, name, verb string
	args            []string            // without flags
	flags           map[string][]string // by long name
	expected        string              // folder
	root            string              // the project's folder
}

func readCases(t *testing.T, dir string) []goldenCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	var out []goldenCase
	for line := range strings.Lines(string(data)) {
		name, command, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		c := goldenCase{set: filepath.Base(dir), name: name, expected: filepath.Join(dir, "expected", name), root: filepath.Join(dir, "input"), flags: map[string][]string{}}
		words := shellWords(command)
		if words[0] == "cd" {
			c.root = filepath.Join(c.root, words[1])
			words = words[slices.Index(words, "tk")+1:]
		}
		c.verb, words = words[0], words[1:]
		if c.verb == "env" || c.verb == "tool" {
			c.verb, words = c.verb+" "+words[0], words[1:]
		}
		c.parse(words)
		out = append(out, c)
	}
	return out
}

// shellWords splits a command line with single quotes.
func shellWords(s string) []string {
	var words []string
	var word strings.Builder
	quoted, any := false, false
	for _, r := range s + " " {
		switch {
		case r == '\'':
			quoted, any = !quoted, true
		case r == ' ' && !quoted:
			if any || word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(r)
		}
	}
	return words
}

var shortFlags = map[string]string{"-r": "recursive", "-l": "selector", "-t": "target", "-V": "ext-str", "-A": "tla-str", "-e": "eval", "-d": "debug"}

var switches = set("recursive", "debug", "names", "json", "dangerous-allow-redirect", "skip-manifest")

func (c *goldenCase) parse(words []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") {
			c.args = append(c.args, w)
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(w, "--"), "=")
		if long, ok := shortFlags[w]; ok {
			name, given = long, false
		}
		if !given && !switches[name] {
			i++
			value = words[i]
		}
		c.flags[name] = append(c.flags[name], value)
	}
}

func (c *goldenCase) has(flag string) bool { _, ok := c.flags[flag]; return ok }

func (c *goldenCase) flag(name string) string { return strings.Join(c.flags[name], "") }

func (c *goldenCase) options() Options {
	vars := func(flag string) map[string]string {
		out := map[string]string{}
		for _, kv := range c.flags[flag] {
			k, v, _ := strings.Cut(kv, "=")
			out[k] = v
		}
		return out
	}
	return Options{
		Name: c.flag("name"), Selector: c.flag("selector"), Targets: c.flags["target"],
		Vars: jsonnet.Vars{
			ExtStr: vars("ext-str"), ExtCode: vars("ext-code"), ExtStrFile: vars("ext-str-file"), ExtCodeFile: vars("ext-code-file"),
			TLAStr: vars("tla-str"), TLACode: vars("tla-code"), TLAStrFile: vars("tla-str-file"), TLACodeFile: vars("tla-code-file"),
		},
	}
}

func TestShellWords(t *testing.T) {
	got := shellWords(`a -f '{{.x | y}}' 'b c'=d ''`)
	if want := []string{"a", "-f", "{{.x | y}}", "b c=d", ""}; !reflect.DeepEqual(got, want) {
		t.Errorf("shellWords() = %q, want %q", got, want)
	}
}
