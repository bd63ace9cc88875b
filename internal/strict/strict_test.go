package strict_test

import (
	"reflect"
	"testing"

	"github.com/prdiff/prdiff/internal/strict"
)

type sample struct {
	Name  string           `yaml:"name" required:"true" doc:"what it is called"`
	On    bool             `yaml:"on"`
	Count int              `yaml:"count"`
	Tags  []string         `yaml:"tags"`
	Sizes map[string]int64 `yaml:"sizes"`
	Inner *inner           `yaml:"inner"`
	List  []inner          `yaml:"list"`
	Loose loose            `yaml:"loose"`
}

type inner struct {
	Key string `yaml:"key" required:"true"`
}

type loose struct {
	strict.Open
	Key string `yaml:"key"`
}

func decode(t *testing.T, text string) (sample, error) {
	t.Helper()
	var s sample
	docs, err := strict.Documents("f", []byte(text))
	if err != nil {
		return s, err
	}
	d := &strict.Decoder{File: "f"}
	for _, doc := range docs {
		d.Decode(doc, &s, "")
	}
	return s, d.Err()
}

func TestDecode(t *testing.T) {
	got, err := decode(t, "name: a\non: true\ncount: 3\ntags: [b, c]\nsizes: {d: 4}\ninner: {key: e}\nlist: [{key: f}]\nloose: {key: g, other: [1]}\n")
	want := sample{"a", true, 3, []string{"b", "c"}, map[string]int64{"d": 4}, &inner{"e"}, []inner{{"f"}}, loose{Key: "g"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Decode() = %+v, %v, want %+v", got, err, want)
	}
	got, err = decode(t, "name: a\ninner:\ntags:\n")
	if err != nil || !reflect.DeepEqual(got, sample{Name: "a"}) {
		t.Errorf("Decode() of empty keys = %+v, %v", got, err)
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a key that is missing", "on: true\n", "f:1: the file has no name"},
		{"a misspelt key inside", "name: a\ninner: {kee: b}\n", "f:2: unknown key \"kee\" in inner: did you mean \"key\"?\nf:2: inner has no key"},
		{"an item without its key", "name: a\nlist:\n- {}\n", "f:3: an entry of list has no key"},
		{"a text where a number is due", "name: a\ncount: many\n", `f:2: count must be a whole number, not "many"`},
		{"a list where a text is due", "name: [a]\n", "f:1: name must be text, not a list"},
		{"mistakes in the order of lines", "name: a\ncount: x\non: maybe\n", "f:2: count must be a whole number, not \"x\"\nf:3: on must be true or false, not \"maybe\""},
		{"an alias to a mistake", "name: &x [a]\nloose: {key: *x}\n", "f:1: name must be text, not a list\nf:1: loose.key must be text, not a list"},
		{"broken YAML", "name: [a\n", "f:2: did not find expected ',' or ']'"},
	} {
		if _, err := decode(t, tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got\n%v\nwant\n%s", tt.name, err, tt.want)
		}
	}
}

func TestSchema(t *testing.T) {
	s := strict.Schema(sample{})
	properties := s["properties"].(map[string]any)
	if got := properties["name"].(map[string]any); got["type"] != "string" || got["description"] != "what it is called" {
		t.Errorf("schema of name = %v", got)
	}
	if s["additionalProperties"] != false || !reflect.DeepEqual(s["required"], []string{"name"}) {
		t.Errorf("schema = %v", s)
	}
	if _, closed := properties["loose"].(map[string]any)["additionalProperties"]; closed {
		t.Error("an open struct is closed in the schema")
	}
	if got := properties["list"].(map[string]any)["items"].(map[string]any)["type"]; got != "object" {
		t.Errorf("items of list are of type %v", got)
	}
}
