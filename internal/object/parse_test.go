package object

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

func TestParse(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n"
	tests := []struct {
		name, text string
		objects    []string // "Kind name at line"
		errs       []string
	}{
		{"nothing", "", nil, nil},
		{"comments only", "# a\n---\n# b\n---\n\n...\n", nil, nil},
		{"several documents", fmt.Sprintf(pod, "a") + "---\n" + fmt.Sprintf(pod, "b"), []string{"Pod a at 1", "Pod b at 6"}, nil},
		{"markers with comments, spaces and no line break", "--- # first\n" + fmt.Sprintf(pod, "a") + "---  \n\n# c\n" + fmt.Sprintf(pod, "b") + "---", []string{"Pod a at 2", "Pod b at 9"}, nil},
		{"content beside the marker", "--- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n--- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n", []string{"Pod a at 1", "Pod b at 2"}, nil},
		{"document ends and directives", "%YAML 1.1\n---\n" + fmt.Sprintf(pod, "a") + "...\n%YAML 1.1\n# c\n---\n" + fmt.Sprintf(pod, "b"), []string{"Pod a at 3", "Pod b at 11"}, nil},
		{"a marker inside a block is one", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    x\n    ---\n    y\n", []string{"ConfigMap a at 1"}, nil},
		{"byte-order mark and carriage returns", "\xEF\xBB\xBF# c\r\n" + strings.ReplaceAll(fmt.Sprintf(pod, "a"), "\n", "\r\n"), []string{"Pod a at 2"}, nil},
		{"UTF-16", "\xFF\xFE" + utf16le(fmt.Sprintf(pod, "é")), []string{"Pod é at 1"}, nil},
		{"List", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n-\n  apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n", []string{"Pod a at 4", "Pod b at 7"}, nil},
		{"typed list without kinds", "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}]\n", []string{"ConfigMap a at 1"}, nil},
		{"empty lists", "apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: PodList\nitems:\n", nil, nil},
		{"an object whose kind ends in List", "apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [a]\n", []string{"AllowList a at 1"}, nil},
		{"JSON documents", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n\n{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}},\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"c\"}}]}", []string{"Pod a at 1", "Pod b at 4", "Pod c at 5"}, nil},
		{"YAML that starts like JSON", "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n" + fmt.Sprintf(pod, "b"), []string{"Pod a at 1", "Pod b at 3"}, nil},
		{"generateName", "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}\n", []string{"Job run-* at 1"}, nil},
		{"a bad document costs itself", fmt.Sprintf(pod, "a") + "---\na: [\n---\n" + fmt.Sprintf(pod, "b"), []string{"Pod a at 1", "Pod b at 8"}, []string{"f.yaml:6: not valid YAML: did not find expected node content"}},
		{"bad JSON costs what follows it", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n{\"a\":\n x}", []string{"Pod a at 1"}, []string{"f.yaml:3: not valid JSON: a value was expected"}},
		{"double keys", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  name: b\n", []string{"Pod b at 1"}, []string{`f.yaml:5: key stands twice in one map: "name"; the last one counts`}},
		{"double keys, full reader", "apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: a\n  name: b\n", []string{"Pod b at 1"}, []string{`f.yaml:5: key stands twice in one map: "name"; the last one counts`}},
		{"double keys, JSON", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\n\"name\":\"b\"}}", []string{"Pod b at 1"}, []string{`f.yaml:2: key stands twice in one map: "name"; the last one counts`}},
		{"a merged key may be set again", "apiVersion: v1\nkind: Pod\nx: &x {name: a, labels: {a: b}}\nmetadata:\n  <<: *x\n  name: b\n", []string{"Pod b at 1"}, nil},
		{"no manifest", "a: b\n", nil, []string{"f.yaml:1: not a Kubernetes object: it has neither apiVersion nor kind"}},
		{"no map", "- a\n", nil, []string{"f.yaml:1: not a Kubernetes object: a map was expected at the top"}},
		{"no name", "\napiVersion: apps/v1\nkind: Deployment\n", nil, []string{"f.yaml:2: apps/v1 Deployment has no metadata.name"}},
		{"a number is no kind", "apiVersion: v1\nkind: 5\n", nil, []string{"f.yaml:1: not a Kubernetes object: kind is missing or not text"}},
		{"infinity", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nx: .inf\n", nil, []string{"f.yaml:1: a number is infinite or not a number, which JSON cannot carry to the API server"}},
		{"tab as indentation", "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n", nil, []string{"f.yaml:4: not valid YAML: found character that cannot start any token"}},
		{"a value in an error stays unsaid", "apiVersion: v1\nkind: Pod\n? {password: hunter2}\n: x\n", nil, []string{"f.yaml:1: not valid YAML: a map or list stands as the key of a map, which JSON does not have"}},
		{"a tag in an error too", "apiVersion: v1\nx: !!int hunter2\n", nil, []string{"f.yaml:1: not valid YAML: a value does not fit its explicit tag"}},
		{"binary", "\x00\x01", nil, []string{"f.yaml: not text: it has a zero byte at offset 0"}},
		{"git-crypt", "\x00GITCRYPT\x00", nil, []string{"f.yaml: not text: the file is encrypted by git-crypt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, errs := Parse("unit", "f.yaml", []byte(tt.text))
			var objects, texts []string
			for _, o := range found {
				objects = append(objects, fmt.Sprintf("%s %s at %d", o.Ref.Kind, o.Ref.Name, o.Origin.Line))
			}
			for _, err := range errs {
				texts = append(texts, err.Error())
			}
			if !slices.Equal(objects, tt.objects) {
				t.Errorf("objects %q, want %q", objects, tt.objects)
			}
			if !slices.Equal(texts, tt.errs) {
				t.Errorf("errors %q, want %q", texts, tt.errs)
			}
		})
	}
}

func utf16le(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

func TestParseTellsForeignDocumentsApart(t *testing.T) {
	tests := []struct {
		text string
		want error
	}{
		{"a: b\n", ErrNotManifest}, {"apiVersion: v2\nname: chart\n", ErrNotManifest}, {"apiVersion: v1\nkind: Pod\n", ErrNoName},
		{"apiVersion: v1\nkind: Pod\nkind: Pod\nmetadata: {name: a}\n", ErrDuplicateKey}, {"\x00", ErrNotText},
	}
	for _, tt := range tests {
		_, errs := Parse("unit", "f.yaml", []byte(tt.text))
		if len(errs) != 1 || !errors.Is(errs[0], tt.want) {
			t.Errorf("Parse(%q) gives %v, want %v", tt.text, errs, tt.want)
		}
	}
}

func TestYAMLMeansWhatKubectlTakesItFor(t *testing.T) {
	// As sigs.k8s.io/yaml turns YAML 1.1 into JSON.
	const text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n" +
		"v: [yes, off, y, 010, 0x10, 0b11, 1_000, 1e3, 1.50, ~, 2001-01-01, 12:30:45, '1', \"true\", 1.0, 1e400, =]\n" +
		"keys: {true: a, 80: b, 1.5: c, on: d}\nnull_value: ~\nlist: [{a: null}]\n"
	objects, errs := Parse("unit", "f.yaml", []byte(text))
	if len(errs) > 0 {
		// on and true are one key.
		if len(errs) != 1 || !errors.Is(errs[0], ErrDuplicateKey) {
			t.Fatal(errs)
		}
	}
	root := objects[0].Root()
	if got, want := root.Field("v").String(), `[true,false,true,8,16,3,1000,1000,1.5,null,"2001-01-01","12:30:45","1","true",1,"1e400","="]`; got != want {
		t.Errorf("values\n got %s\nwant %s", got, want)
	}
	if got, want := root.Field("keys").String(), `{"1.5":"c","80":"b","true":"d"}`; got != want {
		t.Errorf("keys %s, want %s", got, want)
	}
	if root.Field("null_value").Exists() || root.At("list[0].a").Exists() {
		t.Error("a null is there")
	}
}

func TestHostileInputIsRefusedQuickly(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i+1, i+1, i, i, i, i, i, i, i, i, i)
	}
	long := strings.Repeat("x", 1<<20)
	tests := []struct{ name, text, err string }{
		{"brackets", strings.Repeat("[", 200_000), "f.yaml:1: nested more than 1000 levels deep"},
		{"braces", strings.Repeat(`{"a":`, 200_000), "f.yaml:1: nested more than 1000 levels deep"},
		{"brackets below a key", "a: " + strings.Repeat("[", 200_000), "f.yaml:1: not valid YAML: nested more than 1000 levels deep"},
		{"closed brackets", "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "f.yaml:1: nested more than 1000 levels deep"},
		{"dashes", strings.Repeat("- ", 200_000), "f.yaml:1: not valid YAML: nested more than 1000 levels deep"},
		{"aliases", bomb, "f.yaml:1: not valid YAML: aliases expand to too many values"},
		{"aliases of a long text", "a: &a " + long + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n", "f.yaml:1: aliases expand to too much text"},
		{"an alias of itself", "a: &a [*a]\n", "f.yaml:1: not valid YAML: anchor 'a' value contains itself"},
		{"lists inside lists", strings.Repeat("{apiVersion: v1, kind: List, items: [", 20) + strings.Repeat("]}", 20), "f.yaml:1: more than 8 lists inside each other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			done := make(chan []error, 1)
			go func() {
				_, errs := Parse("unit", "f.yaml", []byte(tt.text))
				done <- errs
			}()
			select {
			case errs := <-done:
				if len(errs) != 1 || errs[0].Error() != tt.err {
					t.Errorf("errors %v, want %s", errs, tt.err)
				}
			case <-time.After(time.Minute):
				t.Fatal("no answer within a minute")
			}
		})
	}
}

func TestLongLinesAndManyDocumentsAreRead(t *testing.T) {
	line := strings.Repeat("word ", 1<<20)
	objects, errs := Parse("unit", "f.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: "+line+"\n  b: \""+line+"\"\n"))
	if len(errs) > 0 || len(objects[0].Text("data.b")) != len(line) {
		t.Fatal(errs)
	}
	many := bytes.Repeat([]byte("---\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n"), 20_000)
	if objects, errs = Parse("unit", "f.yaml", many); len(errs) > 0 || len(objects) != 20_000 {
		t.Fatal(len(objects), errs)
	}
}

func TestKeysThatBecomeOneAreRefused(t *testing.T) {
	_, errs := Parse("unit", "f.yaml", []byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: {1: a, \"1\": b}\n"))
	if want := `f.yaml:1: two keys of a map become one in JSON: "1"`; len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("errors %v, want %s", errs, want)
	}
}
