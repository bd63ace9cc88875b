package gitops

import (
	"slices"
	"testing"
)

func TestSubstitute(t *testing.T) {
	variables := map[string]string{"a": "Hello", "empty": "", "path": "x/y/z.tar.gz", "lines": "one\ntwo", "n": "3"}
	for _, tt := range []struct {
		name, in, want string
		missing        []string
	}{
		{"a value", "x ${a} y", "x Hello y", nil},
		{"two, and text around", "${a}${n}", "Hello3", nil},
		{"a dollar without braces", "$a $1", "$a $1", nil},
		{"an escaped one", "$${a} ${a}", "${a} Hello", nil},
		{"an unknown one stays", "${b} ${a}", "${b} Hello", []string{"b"}},
		{"a default", "${b:-d} ${empty:-d} ${empty-d} ${b:=e} ${b=f}", "d d  e f", nil},
		{"a default that is a variable", "${b:-${a}}", "Hello", nil},
		{"a default with braces", "${b:-${c:-x}y}", "xy", nil},
		{"case", "${a^^} ${a,,} ${a,} ${n^}", "HELLO hello hello 3", nil},
		{"length", "${#a}", "5", nil},
		{"a part", "${a:1} ${a:1:3} ${a:9}", "ello ell ", nil},
		{"replacing", "${a/l/L} ${a//l/L} ${a/#H/J} ${a/%o/a}", "HeLlo HeLLo Jello Hella", nil},
		{"trimming", "${path##*/} ${path#*/} ${path%.*} ${path%%.*}", "z.tar.gz y/z.tar.gz x/y/z.tar x/y/z", nil},
		{"line ends go", "${lines}", "onetwo", nil},
		{"what is no variable", "${} ${{ github.sha }} ${1}", "${} ${{ github.sha }} ${1}", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			missing := map[string]bool{}
			got, err := substitute(tt.in, variables, missing)
			if err != nil || got != tt.want {
				t.Errorf("substitute(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
			}
			for _, m := range tt.missing {
				if !missing[m] {
					t.Errorf("%s is not told missing", m)
				}
			}
			if len(missing) != len(tt.missing) {
				t.Errorf("missing = %v, want %v", missing, tt.missing)
			}
		})
	}
	if _, err := substitute("${a", variables, nil); err == nil {
		t.Error("a brace that is not closed gives no error")
	}
}

func TestSubstituteGivesTypes(t *testing.T) {
	got, err := substituteIn(map[string]any{"replicas": "${n}", "name": "${a}"}, map[string]string{"n": "3", "a": "web"}, map[string]bool{})
	if err != nil || got["replicas"] != float64(3) || got["name"] != "web" {
		t.Errorf("substituteIn() = %v, %v: an unquoted value becomes a number", got, err)
	}
}

func TestNormal(t *testing.T) {
	same := []string{"https://github.com/o/r", "https://github.com/O/R.git/", "git@github.com:o/r", "git@github.com/o/r.git", "ssh://git@github.com:22/o/r", "git://github.com/o/r"}
	for _, address := range same {
		if got := normal(address); got != "github.com/o/r" {
			t.Errorf("normal(%s) = %s, want github.com/o/r", address, got)
		}
	}
	for _, other := range []string{"https://github.com/o/r2", "https://gitlab.com/o/r", "https://github.com/o"} {
		if normal(other) == "github.com/o/r" {
			t.Errorf("%s is taken for github.com/o/r", other)
		}
	}
}

func TestHere(t *testing.T) {
	var a addresses
	for _, address := range []string{"https://mirror.example.org/o/r", "git@mirror.example.org:o/r.git", "https://example.org/o/other"} {
		a.vote(address)
	}
	for address, want := range map[string]bool{
		"ssh://git@mirror.example.org/o/r": true, "https://example.org/o/other": false, "https://example.org/unknown": false,
		"REPO_URL": true, "${REPO_URL}": true, "": true,
	} {
		if got := a.here(address); got != want {
			t.Errorf("here(%q) = %v, want %v", address, got, want)
		}
	}
	a.known = []string{normal("https://example.org/o/other")}
	if a.here("https://mirror.example.org/o/r") || !a.here("git@example.org:o/other") {
		t.Error("what the user names does not count alone")
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"apps/*", "apps/a", true}, {"apps/*", "apps/a/b", false}, {"apps/**", "apps/a/b", true}, {"**/x.json", "x.json", true},
		{"**/x.json", "a/b/x.json", true}, {"{a,b}.yaml", "b.yaml", true}, {"{a,b}.yaml", "c.yaml", false}, {"a?.yaml", "ab.yaml", true}, {"a.yaml", "aXyaml", false},
	} {
		if got := glob(tt.pattern, tt.name); got != tt.want {
			t.Errorf("glob(%s, %s) = %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}

func TestParseImage(t *testing.T) {
	for in, want := range map[string]map[string]any{
		"web:2":                           {"name": "web", "newTag": "2"},
		"web=example.org:5000/web:2":      {"name": "web", "newName": "example.org:5000/web", "newTag": "2"},
		"example.org:5000/web":            {"name": "example.org:5000/web"},
		"web@sha256:aa":                   {"name": "web", "digest": "sha256:aa"},
		"web=*:2":                         {"name": "web", "newTag": "2"},
		"web=example.org/web@sha256:aabb": {"name": "web", "newName": "example.org/web", "digest": "sha256:aabb"},
	} {
		got := parseImage(in)
		if len(got) != len(want) {
			t.Errorf("parseImage(%s) = %v, want %v", in, got, want)
		}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("parseImage(%s)[%s] = %v, want %v", in, k, got[k], v)
			}
		}
	}
}

func FuzzSubstitute(f *testing.F) {
	for _, seed := range []string{"${a:-${b}}", "$${a}", "${a##*/}", "${a/", "${a:1:", "${#", "}${"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		missing := map[string]bool{}
		got, err := substitute(in, map[string]string{"a": "x"}, missing)
		if err == nil && !slices.Contains([]byte(in), '$') && got != in {
			t.Errorf("substitute(%q) = %q without a variable", in, got)
		}
	})
}
