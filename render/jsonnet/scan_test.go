package jsonnet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/toolutils"
)

func TestScanSource(t *testing.T) {
	tests := []struct {
		name, src string
		want      []Import
	}{
		{"the three statements", "import 'a'\n + importstr \"b\" + importbin @'c'", []Import{{Code, "a", 1}, {Text, "b", 2}, {Bin, "c", 2}}},
		{"comments do not count", "// import 'a'\n# import 'b'\n/* import 'c'\n*/ import 'd'", []Import{{Code, "d", 4}}},
		{"strings do not count", `{a: "import 'x'", b: 'it\'s import "y"', c: @'import ''z'''}`, nil},
		{"text blocks do not count", "{ a: |||\n    import 'x'\n\n    |||x\n  |||, b: import 'y' }", []Import{{Code, "y", 5}}},
		{"a text block cut short of its newline", "{ a: |||-\n\timport 'x'\n|||, b: import 'y' }", []Import{{Code, "y", 3}}},
		{"dead code counts", "if false then import 'never' else {}", []Import{{Code, "never", 1}}},
		{"escapes are resolved", `import "a\u002fb\tc"`, []Import{{Code, "a/b\tc", 1}}},
		{"computed imports do not exist", "import 'a' + 'b'", []Import{{Code, "a", 1}}},
		{"a word that only begins like it", "local imports = 'x'; imports", nil},
		{"an unfinished string", "import 'a' + 'b", []Import{{Code, "a", 1}}},
		{"a comment after an operator", "1 +// import 'a'\n import 'b'", []Import{{Code, "b", 2}}},
		{"a keyword right after a number", "if 1==1then import 'x' else 2", []Import{{Code, "x", 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ScanSource([]byte(tt.src)).Imports; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ScanSource(%q).Imports = %v, want %v", tt.src, got, tt.want)
			}
		})
	}
}

func TestScanNatives(t *testing.T) {
	tests := []struct {
		name, src string
		want      []string
		computed  bool
	}{
		{"a name", "std.native('helmTemplate')('a', 'b', {})", []string{"helmTemplate"}, false},
		{"a name with spaces and a comment", "std . native ( /* x */ 'sha256' )('a')", []string{"sha256"}, false},
		{"a trailing comma", "std.native('sha256',)('a')", []string{"sha256"}, false},
		{"a computed name", "std.native('helm' + 'Template')", nil, true},
		{"a variable", "local n = 'helmTemplate'; std.native(n)", nil, true},
		{"the function handed on", "local f = std.native; f('x')", nil, true},
		{"looked up by text", "std['native']('x')", nil, true},
		{"a field of that name", "{ native: 'x' }", nil, false},
		{"looked up by text put together", "std['nat' + 'ive']('x')", nil, true},
		{"std handed to a function", "std.get(std, 'nat' + 'ive')('x')", nil, true},
		{"std under another name", "local s = std; s['nat' + 'ive']('x')", nil, true},
		{"std with a field that looks another one up", "(std { x:: self['nat' + 'ive'] }).x('x')", nil, true},
		{"std asked for what it has", "if std.objectHas(std, 'trim') && 'trim' in std then std.trim('x')", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ScanSource([]byte(tt.src))
			if !slices.Equal(got.Natives, tt.want) || got.ComputedNative != tt.computed {
				t.Errorf("ScanSource(%q) = %v, computed %v, want %v, %v", tt.src, got.Natives, got.ComputedNative, tt.want, tt.computed)
			}
		})
	}
}

func TestScanNesting(t *testing.T) {
	deep := strings.Repeat
	tests := []struct {
		name, src string
		min, max  int
	}{
		{"a flat object", "{" + deep("a: [1, 2],", 1000) + "}", 1, 10},
		{"an object with its own variable", "{ local x = 1," + deep("a: [1, 2],", 1000) + "}", 1, 10},
		{"brackets", deep("[", 1000) + deep("]", 1000), 1000, 1010},
		{"operators", "1" + deep("+1", 1000), 1000, 1010},
		{"signs", deep("!", 1000) + "true", 1000, 1010},
		{"variables, with commas between", deep("local a = 1, b = 2; ", 1000) + "a", 1000, 6000},
		{"calls in a row", "f" + deep("(1)", 1000), 1000, 2010},
		{"conditions", deep("if a then b else ", 1000) + "c", 1000, 3010},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ScanSource([]byte(tt.src)).Nesting; got < tt.min || got > tt.max {
				t.Errorf("Nesting = %d, want between %d and %d", got, tt.min, tt.max)
			}
		})
	}
}

// FuzzScanSource holds the scanner against the parser: what parses has exactly
// the imports that the scanner finds.
func FuzzScanSource(f *testing.F) {
	for _, seed := range []string{
		"import 'a' + importstr @\"b\"\"\" + importbin 'c'",
		"{ a: |||\n  import 'x'\n|||, [if true then 'b']: import '\\u0061' }",
		"local a = 1, b = import 'b'; // import 'c'\nfunction(x=import 'd') x { e+: import 'e' } tailstrict",
		"1e+5 +-+ 2 || !true && |||\n \t\n|||", "@'", "import", "|||", "/*", "'\\", "std.native('a')",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		scan := ScanSource(src)
		if scan.tooDeep() != nil {
			return
		}
		node, err := gojsonnet.SnippetToAST("x", string(src))
		if err != nil {
			return
		}
		if scan.Broken {
			t.Fatalf("%q parses, but the scanner could not read it", src)
		}
		want := map[string]bool{}
		collectImports(node, want)
		got := map[string]bool{}
		for _, i := range scan.Imports {
			got[fmt.Sprint(i.Kind, " ", i.Path)] = true
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("imports of %q = %v, want %v", src, got, want)
		}
	})
}

func collectImports(node ast.Node, into map[string]bool) {
	switch n := node.(type) {
	case *ast.Import:
		into[fmt.Sprint(Code, " ", n.File.Value)] = true
	case *ast.ImportStr:
		into[fmt.Sprint(Text, " ", n.File.Value)] = true
	case *ast.ImportBin:
		into[fmt.Sprint(Bin, " ", n.File.Value)] = true
	}
	for _, child := range toolutils.Children(node) {
		if child != nil {
			collectImports(child, into)
		}
	}
}
