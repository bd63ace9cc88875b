package jsonnet

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

func tree(files map[string]string) *source.Tree {
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return source.NewTree("test", fsys)
}

// eval evaluates main.jsonnet to JSON.
func eval(t *testing.T, files map[string]string, p Program) (string, error) {
	t.Helper()
	var engine Engine
	if p.Entry == "" {
		p.Entry = "main.jsonnet"
	}
	session := engine.On(tree(files)).Open(p)
	defer session.Close()
	value, err := session.Eval(context.Background(), "")
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), nil
}

func TestEval(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		p     Program
		want  string
		err   string // a part of the error; "" when there is none
	}{
		{"a value", map[string]string{"main.jsonnet": "{ b: 1, a: [null, true, 'x'] }"}, Program{}, `{"a":[null,true,"x"],"b":1}`, ""},
		{"std.thisFile is absolute, and not of this machine", map[string]string{"main.jsonnet": "[std.thisFile, import 'lib/a.libsonnet']", "lib/a.libsonnet": "std.thisFile"}, Program{}, `["/main.jsonnet","/lib/a.libsonnet"]`, ""},
		{"a file that is imported as text", map[string]string{"main.jsonnet": "[importstr 'a.txt', importbin 'a.txt']", "a.txt": "a}"}, Program{}, `["a}",[97,125]]`, ""},
		{"the import path, in order", map[string]string{"e/main.jsonnet": "[import 'x', import 'y']", "a/y": "'a/y'", "b/x": "'b/x'", "b/y": "'b/y'"}, Program{Entry: "e/main.jsonnet", Search: []string{"a", "b"}}, `["b/x","a/y"]`, ""},
		{"an absolute path", map[string]string{"main.jsonnet": "import '/etc/passwd'"}, Program{}, "", "main.jsonnet:1: import \"/etc/passwd\": absolute paths are not read"},
		{"the virtual root is no way in", map[string]string{"main.jsonnet": "import '/a.libsonnet'", "a.libsonnet": "1"}, Program{}, "", "absolute paths are not read"},
		{"a path that leaves the tree", map[string]string{"a/main.jsonnet": "import '../../../etc/passwd'"}, Program{Entry: "a/main.jsonnet"}, "", "paths that lead out of the repository are not followed"},
		{"a path that leaves and comes back", map[string]string{"a/main.jsonnet": "import '../a/b.libsonnet'", "a/b.libsonnet": "2"}, Program{Entry: "a/main.jsonnet"}, "2", ""},
		{"a folder", map[string]string{"main.jsonnet": "import 'lib'", "lib/a": "1"}, Program{}, "", `import "lib": lib is a folder`},
		{"an import that is never evaluated", map[string]string{"main.jsonnet": "{ a: 1, b:: import 'gone' }"}, Program{}, `{"a":1}`, ""},
		{"no entry point", map[string]string{"a": ""}, Program{}, "", "main.jsonnet does not exist"},
		{"an LFS pointer", map[string]string{"main.jsonnet": "importstr 'a.bin'", "a.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"}, Program{}, "", "Git LFS pointer"},
		{"endless recursion", map[string]string{"main.jsonnet": "local f(x) = f(x) + 1; f(1)"}, Program{}, "", "main.jsonnet:1: max stack frames exceeded"},
		{"brackets without end", map[string]string{"main.jsonnet": strings.Repeat("[", 2_000_000)}, Program{}, "", "brackets nest more than 5000 deep"},
		{"a library that nests without end", map[string]string{"main.jsonnet": "import 'a'", "a": "1" + strings.Repeat("+1", 200_000)}, Program{}, "", "expressions nest more than 100000 deep"},
		{"text that looks nested", map[string]string{"main.jsonnet": "std.length(importstr 'a')", "a": strings.Repeat("[", 20_000)}, Program{}, "20000", ""},
		{"top-level arguments", map[string]string{"main.jsonnet": "function(a, b='B', c='C') [a, b, c]"}, Program{Vars: Vars{TLAStr: map[string]string{"a": "x'\"y"}, TLACode: map[string]string{"c": "1+1"}}}, `["x'\"y","B",2]`, ""},
		{"top-level arguments for no function", map[string]string{"main.jsonnet": "1"}, Program{Vars: Vars{TLACode: map[string]string{"a": "error 'never'"}}}, "1", ""},
		{"an argument that no function can have", map[string]string{"main.jsonnet": "function(a=1) a"}, Program{Vars: Vars{TLAStr: map[string]string{"local": ""}}}, "", "function has no parameter local"},
		{"one key of several kinds", map[string]string{"main.jsonnet": "[std.extVar('k'), std.extVar('l')]", "f.txt": "file"}, Program{Vars: Vars{ExtCode: map[string]string{"k": "1", "l": "2"}, ExtStr: map[string]string{"k": "3"}, ExtStrFile: map[string]string{"l": "f.txt"}}}, `["3","file"]`, ""},
		{"a built-in library", map[string]string{"main.jsonnet": "import 'tk'", "tk": "'on disk'"}, Program{Builtin: map[string]string{"tk": "'built in'"}}, `"built in"`, ""},
		{"a program that calls the way out itself", map[string]string{"main.jsonnet": "[std.native('<prdiff result>')('wrong'), 1]"}, Program{}, "[null,1]", ""},
		{"a function where data should be", map[string]string{"main.jsonnet": "{ a: { b: [function(x) x] } }"}, Program{}, "", "couldn't manifest function as JSON (in field a.b[0])"},
		{"an argument of the wrong type", map[string]string{"main.jsonnet": "std.native('sha256')(1)"}, Program{}, "", "main.jsonnet:1: sha256: argument 'str' must be a string, got number"},
		{"an indent that would fill the memory", map[string]string{"main.jsonnet": "std.native('manifestJsonFromJson')('[]', 1e15)"}, Program{}, "", "number from 0 to 1000"},
		{"a chart without a renderer", map[string]string{"main.jsonnet": "std.native('helmTemplate')('a', 'c', { calledFrom: std.thisFile })", "c/Chart.yaml": ""}, Program{}, "", "helmTemplate: chart c: this run renders no Helm charts"},
		{"a chart outside of the tree", map[string]string{"main.jsonnet": "std.native('helmTemplate')('a', '../../c', { calledFrom: std.thisFile })"}, Program{}, "", "leads out of the repository"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := eval(t, tt.files, tt.p)
			switch {
			case tt.err == "" && err != nil:
				t.Fatalf("Eval() error = %v", err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Fatalf("Eval() = %s, error %v, want an error with %q", got, err, tt.err)
			case got != tt.want:
				t.Errorf("Eval() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestErrorPlaces(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  Error
	}{
		{"an error in a library", map[string]string{"main.jsonnet": "local a = import 'lib/a';\n{\n  x: { y: a('z') },\n}", "lib/a": "function(n)\n  error 'no ' + n"},
			Error{Path: "lib/a", Line: 2, Msg: "no z", Field: "x.y", Callers: []string{"main.jsonnet:3"}}},
		{"a library that does not parse", map[string]string{"main.jsonnet": "\n{ x: import 'lib/a' }", "lib/a": "{\n  a: 1\n  b: 2 }"},
			Error{Path: "lib/a", Line: 3, Msg: "Expected a comma before next field", Field: "x", Callers: []string{"main.jsonnet:2"}}},
		{"an entry point that does not parse", map[string]string{"main.jsonnet": "{\n a: (1\n}"},
			Error{Path: "main.jsonnet", Line: 3, Msg: "Expected token \")\" but got \"}\""}},
		{"an unknown variable", map[string]string{"main.jsonnet": "{\n a: b }"},
			Error{Path: "main.jsonnet", Line: 2, Msg: "Unknown variable: b"}},
		{"a missing import", map[string]string{"main.jsonnet": "\nimport 'k/k.libsonnet'"},
			Error{Path: "main.jsonnet", Line: 2, Msg: `import "k/k.libsonnet" not found in .`, Missing: "k/k.libsonnet"}},
		{"an error of the standard library", map[string]string{"main.jsonnet": "{\n a: std.map(1, 2) }"},
			Error{Path: "main.jsonnet", Line: 2, Field: "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := eval(t, tt.files, Program{})
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("error = %v, want an *Error", err)
			}
			if tt.want.Msg == "" {
				tt.want.Msg = got.Msg
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("error = %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

func TestValuesDoNotCrossPrograms(t *testing.T) {
	// One library means something else in each environment, although its file
	// is parsed once.
	var engine Engine
	side := engine.On(tree(map[string]string{
		"lib/a": "[import 'own', std.extVar('v')]", "one/main.jsonnet": "import 'a'", "one/own": "1", "two/main.jsonnet": "import 'a'", "two/own": "2",
	}))
	for _, dir := range []string{"one", "two", "one"} {
		session := side.Open(Program{Entry: dir + "/main.jsonnet", Search: []string{dir, "lib"}, Vars: Vars{ExtStr: map[string]string{"v": dir}}})
		value, err := session.Eval(context.Background(), "")
		session.Close()
		want := []any{map[string]float64{"one": 1, "two": 2}[dir], dir}
		if err != nil || !reflect.DeepEqual(value, want) {
			t.Errorf("%s: value = %v, %v, want %v", dir, value, err, want)
		}
	}
	if len(side.idle) != 1 {
		t.Errorf("%d evaluators were made for programs one after another, want 1", len(side.idle))
	}
}

func TestEvalGivesUp(t *testing.T) {
	var engine Engine
	side := engine.On(tree(map[string]string{"main.jsonnet": "std.foldl(function(a, b) a + b, std.range(1, 3000000), 0)"}))
	session := side.Open(Program{Entry: "main.jsonnet"})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := session.Eval(ctx, "")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "main.jsonnet: evaluation given up") {
		t.Errorf("error = %v, want the deadline", err)
	}
	session.Close()
	if len(side.idle) != 0 {
		t.Error("an evaluator that may still run was taken back")
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"repo/main.jsonnet": "import 'v/a'", "repo/libs/a": "import 'b'", "repo/libs/b": "'b'",
		"repo/out.jsonnet": "import 'out/secret'", "repo/loop.jsonnet": "import 'loop/x'", "outside/secret": "'secret'",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"v": "libs", "out": "../outside", "loop": "loop2", "loop2": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, "repo", link)); err != nil {
			t.Fatal(err)
		}
	}
	var engine Engine
	side := engine.On(source.NewTree("test", os.DirFS(filepath.Join(dir, "repo"))))
	run := func(entry string) (any, error) {
		session := side.Open(Program{Entry: entry})
		defer session.Close()
		return session.Eval(context.Background(), "")
	}
	if value, err := run("main.jsonnet"); err != nil || value != "b" {
		t.Errorf("through a link: %v, %v", value, err)
	}
	if _, err := run("out.jsonnet"); err == nil || !strings.Contains(err.Error(), "leads out of the tree") {
		t.Errorf("out of the tree: %v", err)
	}
	if _, err := run("loop.jsonnet"); err == nil || !strings.Contains(err.Error(), "circles") {
		t.Errorf("in circles: %v", err)
	}
	got := side.Reach(Program{Entry: "main.jsonnet"}).Files
	if want := []string{"libs/a", "libs/b", "main.jsonnet", "v", "v/a", "v/b"}; !slices.Equal(got, want) {
		t.Errorf("inputs = %v, want %v", got, want)
	}
	if reach := side.Reach(Program{Entry: "out.jsonnet"}); reach.Unknown == "" {
		t.Errorf("inputs with a link that leads out: %+v, want them to be unknown", reach)
	}
}

func TestReach(t *testing.T) {
	var engine Engine
	side := engine.On(tree(map[string]string{
		"e/main.jsonnet": "import 'a'\n+ import 'gone/x'", "lib/a": "importstr 'a.txt'", "lib/a.txt": "import 'not/code'", "v.json": "{}", "w": "",
	}))
	got := side.Reach(Program{Entry: "e/main.jsonnet", Search: []string{"e", "lib"}, Vars: Vars{
		ExtCodeFile: map[string]string{"a": "v.json"}, TLACode: map[string]string{"b": "importstr 'w'"}, ExtStr: map[string]string{"c": "import 'no'"},
	}})
	want := Reach{
		Inputs: render.Inputs{
			Files:   []string{"e/main.jsonnet", "lib/a", "lib/a.txt", "v.json", "w"},
			Missing: []string{"e/a", "e/gone", "lib/gone"},
		},
		Code:     []string{"e/main.jsonnet", "lib/a", "v.json"},
		NotFound: []NotFound{{Path: "e/main.jsonnet", Line: 2, Import: "gone/x"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Reach() = %+v\nwant %+v", got, want)
	}
}

func TestExtract(t *testing.T) {
	cm := func(name string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"}}`
	}
	tests := []struct{ name, tree, want, err string }{
		{"nothing", "null", "", ""},
		{"fields in byte order, null ones passed over", `{"b":` + cm("1") + `,"B":[` + cm("2") + `,{"x":` + cm("3") + `}],"a":null,"__ksonnet":1}`, ".B.[0] .B.[1].x .b", ""},
		{"a list in a list", `{"l":{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[` + cm("1") + `]},` + cm("2") + `]}}`, ".l.items[0].items[0] .l.items[1]", ""},
		{"a list at the top", `{"apiVersion":"v1","kind":"List","items":[` + cm("1") + `]}`, ".items[0]", ""},
		{"a number", `{"a":{"b":1}}`, "", `(at .a): missing attribute "apiVersion"; b is a number`},
		{"null in an array", `{"a":[null]}`, "", `(at .a): missing attribute "apiVersion"; [0] is null`},
		{"a text in an array at the top", `["x"]`, "", `(at .): not an object; [0] is a string`},
		{"several faults", `{"a":{"apiVersion":"v1","kind":"X","metadata":{"labels":{"b":1,"a":null},"annotations":3}}}`, "", ".a has missing or invalid fields: metadata.annotations: must be an object, but is a number; metadata.labels: contains non-string field 'a' of type 'null'; metadata.labels: contains non-string field 'b' of type 'number'; metadata.name: missing or not of string type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var value any
			if err := json.Unmarshal([]byte(tt.tree), &value); err != nil {
				t.Fatal(err)
			}
			manifests, err := Extract(value)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("Extract() error = %v, want %q", err, tt.err)
			}
			var paths []string
			for _, m := range manifests {
				paths = append(paths, m.Path)
			}
			if got := strings.Join(paths, " "); got != tt.want {
				t.Errorf("Extract() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRenderer(t *testing.T) {
	const cm = `{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'NAME' } }`
	named := func(name string) string { return strings.ReplaceAll(cm, "NAME", name) }
	files := map[string]string{
		"jsonnetfile.json": "{}", "vendor/k": "{ cm(name):: " + strings.ReplaceAll(cm, "'NAME'", "name") + " }",
		"files.jsonnet":  "local k = import 'k'; { 'b.yaml': k.cm('b'), 'a.yaml': std.manifestYamlDoc(k.cm('a')), setup: { 'x.json': k.cm('x') } }",
		"list.jsonnet":   "[" + named("b") + "," + named("a") + "]",
		"stream.jsonnet": "std.manifestYamlStream([" + named("b") + "," + named("a") + "])",
		"text.jsonnet":   "'just words'",
		"fn.jsonnet":     "function(name) " + cm + " + { metadata: { name: name + std.extVar('x') } }",
	}
	r := &Renderer{Engine: &Engine{}, Entries: []Entry{
		{Path: "files.jsonnet"}, {Path: "list.jsonnet"}, {Path: "./stream.jsonnet"}, {Path: "text.jsonnet"},
		{Path: "fn.jsonnet", Vars: Vars{TLAStr: map[string]string{"name": "n"}, ExtCode: map[string]string{"x": "1"}}}, {Path: "gone.jsonnet"},
	}}
	found, err := r.Find(tree(files))
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Units) != 5 || found.Units[0].Path != "files.jsonnet" || len(found.Skipped) != 1 || found.Skipped[0].Path != "gone.jsonnet" {
		t.Errorf("Find() = %+v", found)
	}
	for entry, want := range map[string]string{
		"files.jsonnet": "a b x", "list.jsonnet": "b a", "stream.jsonnet": "b a", "fn.jsonnet": "n1",
		"text.jsonnet": "text.jsonnet: found invalid Kubernetes object (at .): not an object; [0] is a string",
	} {
		var got string
		out, err := r.Render(context.Background(), tree(files), render.Unit{Renderer: "jsonnet", Path: entry})
		if err != nil {
			got = err.Error()
		} else {
			var names []string
			for _, o := range out.Parts[0].Objects {
				names = append(names, o.Ref.Name)
			}
			got = strings.Join(names, " ")
		}
		if got != want {
			t.Errorf("%s renders to %q, want %q", entry, got, want)
		}
	}
	in, err := r.Inputs(tree(files), render.Unit{Renderer: "jsonnet", Path: "files.jsonnet"})
	if err != nil || !slices.Equal(in.Files, []string{"files.jsonnet", "jsonnetfile.json", "vendor/k"}) {
		t.Errorf("Inputs() = %+v, %v", in, err)
	}
}
