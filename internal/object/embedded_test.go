package object

import (
	"strings"
	"testing"
)

func TestEmbedded(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		p, n := string(rune('a'+i)), string(rune('a'+i+1))
		bomb += n + "0: &" + n + "0 [" + strings.Repeat("*"+p+"0, ", 9) + "*" + p + "0]\n"
	}
	for _, tt := range []struct{ name, text, want string }{
		{"YAML is a map", "a: 1\nb: [x, y]\n", `{"a":1,"b":["x","y"]}`},
		{"JSON is a map", `{"a": {"b": 1.5}, "c": [true]}`, `{"a":{"b":1.5},"c":[true]}`},
		{"several documents are a list", "a: 1\n---\nb: 2\n", `[{"a":1},{"b":2}]`},
		{"an anchor is followed", "a: &x {k: v}\nb: *x\n", `{"a":{"k":"v"},"b":{"k":"v"}}`},
		{"null stays apart from absence", "a:\nb: ~\n", `{"a":"null","b":"null"}`},
		{"what only YAML 1.1 reads as number or boolean stays text", "a: 0644\nb: yes\nc: 1_000\nd: 1e3\n", `{"a":"0644","b":"yes","c":"1_000","d":"1e3"}`},
		{"quotes make text", "a: \"1\"\nb: 'true'\n", `{"a":"1","b":"true"}`},
		{"a scalar is no structure", "one\ntwo\n", ""},
		{"one line of prose is no structure", "note: this", ""},
		{"a key twice is no structure that can be compared", "a: 1\na: 2\n", ""},
		{"nor is one in JSON", `{"a":1,"a":2}`, ""},
		{"nor is a quoted null", "a: \"null\"\nb: 1\n", ""},
		{"nor is an explicit tag", "a: !!str 1\n", ""},
		{"nor is a template", "{{ range .x }}\na: {{ .b }}\n{{ end }}\n", ""},
		{"nor are aliases that explode", bomb, ""},
		{"nor is JSON with something behind it", `{"a":1} x`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, ok := Embedded(tt.text)
			if got := v.String(); got != tt.want || ok != (tt.want != "") {
				t.Errorf("Embedded() = %s, %v, want %s", got, ok, tt.want)
			}
		})
	}
}

func TestEmbeddedPair(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		equal, ok           bool
	}{
		{"comments and layout are nothing", "a: 1 # one\nb: [x, z]\n", "b:\n- x\n- 'z'\na: 1\n", true, true},
		{"quotes around what YAML 1.1 takes for a boolean are something", "a: yes\nb: 1\n", "a: \"yes\"\nb: 1\n", false, true},
		{"around a float", "a: 1.0\nb: 1\n", "a: '1.0'\nb: 1\n", false, true},
		{"around a date", "a: 2001-01-01\nb: 1\n", "a: '2001-01-01'\nb: 1\n", false, true},
		{"around digits in groups of sixty", "a: 1:30\nb: 1\n", "a: '1:30'\nb: 1\n", false, true},
		{"around a key", "on: x\nb: 1\n", "'on': x\nb: 1\n", false, true},
		{"around a merge key", "<<: {x: 1}\nb: 1\n", "'<<': {x: 1}\nb: 1\n", false, true},
		{"around a version they are nothing", "a: 1.2.3\nb: 1\n", "a: '1.2.3'\nb: 1\n", true, true},
		{"JSON has quotes in both", `{"a": "yes"}`, `{ "a":"yes" }`, true, true},
		{"JSON against YAML keeps them apart", "{\"a\": \"yes\"}\n", "a: yes\n", false, true},
		{"a line in brackets may be a pattern", "[a,b]", "[a, b]", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, a, ok := EmbeddedPair(tt.before, tt.after)
			if ok != tt.ok || ok && b.Equal(a) != tt.equal {
				t.Errorf("EmbeddedPair() = %q, %q, %v, want equal %v, %v", b, a, ok, tt.equal, tt.ok)
			}
			b, a = Unquoted(b, a)
			if strings.Contains(b.String()+a.String(), quoteMark) {
				t.Errorf("Unquoted() = %q, %q, marks and all", b, a)
			}
		})
	}
}
