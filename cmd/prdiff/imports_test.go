package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// module is the path that all our packages begin with.
const module = "github.com/prdiff/prdiff/"

// mayImport says which of our packages each of them may import. Data moves one
// way, source -> render -> object -> diff -> rule -> report -> github; drawn as
// floors, no arrow runs back up. A package that is not here, or an arrow that is
// not, wants a decision, and then a line.
var mayImport = map[string][]string{
	"internal/object":        {},
	"internal/incident":      {},
	"internal/incidentlib":   {},
	"internal/source":        {},
	"internal/impact":        {},
	"internal/github":        {}, // it is handed a finished text
	"internal/diff":          {"internal/object"},
	"internal/clientparam":   {"internal/object"},
	"internal/rule":          {"internal/object", "internal/diff"},
	"internal/rule/fixture":  {"internal/object", "internal/diff", "internal/rule"},
	"internal/rule/ruletest": {"internal/rule", "internal/rule/fixture"},
	"internal/strict":        {},
	"internal/config":        {"internal/object", "internal/rule", "internal/strict"},
	"internal/celrule":       {"internal/object", "internal/diff", "internal/rule", "internal/strict"},
	"internal/report":        {"internal/object", "internal/diff", "internal/incident", "internal/rule"},
	"internal/assist":        {"internal/object", "internal/incident", "internal/report", "internal/rule"}, // rules and the pipeline are handed to it
	"rules":                  {"internal/object", "internal/diff", "internal/rule", "internal/impact", "internal/clientparam"},
	"render":                 {"internal/object", "internal/source"},
	"render/plain":           {"internal/object", "internal/source", "render"},
	"render/jsonnet":         {"internal/object", "internal/source", "render"},
	"render/tanka":           {"internal/object", "internal/source", "render", "render/jsonnet"},
	"render/helm":            {"internal/object", "internal/source", "render"},
	"render/kustomize":       {"internal/object", "internal/source", "render", "render/helm"},
	"render/find":            {"internal/source", "render"},
	"render/gitops":          {"internal/object", "internal/source", "render", "render/find", "render/helm", "render/kustomize", "render/plain"},
	"render/worker":          {"internal/object", "internal/source", "render"},
	"render/cache":           {"internal/object", "internal/source", "render"},
	"cmd/prdiff":             nil, // all of them; the only one that may
}

// frontDoor names the one package through which each outside package comes in:
// replacing it is then work in one room.
var frontDoor = map[string][]string{
	"github.com/google/go-jsonnet":    {"render/jsonnet"},
	"sigs.k8s.io/kustomize":           {"render/kustomize"},
	"helm.sh/helm":                    {"render/helm"},
	"github.com/google/go-github":     {"internal/github"},
	"github.com/pmezard/go-difflib":   {"internal/report"},
	"github.com/google/cel-go":        {"internal/celrule"},
	"k8s.io/apiserver":                {"internal/celrule"},
	"github.com/spf13/cobra":          {"cmd/prdiff"},
	"github.com/landlock-lsm":         {"render/worker"},
	"os/exec":                         {"internal/source", "render/worker", "cmd/prdiff"},
	"net/http":                        {"internal/github", "internal/incidentlib", "render/worker", "cmd/prdiff"},
	"github.com/rogpeppe/go-internal": {},

	"github.com/modelcontextprotocol": {"internal/assist"},
}

// pure packages do no I/O, so that they can be read, tested and fuzzed alone.
var pure = []string{"internal/object", "internal/diff", "internal/clientparam", "internal/impact", "internal/rule", "internal/report", "internal/config", "internal/strict", "internal/celrule", "rules"}

// impure are the packages of the library through which the world comes in.
var impure = []string{"os", "os/exec", "net", "net/http", "context", "path/filepath", "syscall"}

// TestImports holds the packages to the tables above.
func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	seen := 0
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		name, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			t.Errorf("%s is not below %s", p.ImportPath, module)
			continue
		}
		for _, wrong := range brokenArrows(name, p.Imports) {
			t.Error(wrong)
		}
	}
	if seen < 10 {
		t.Errorf("go list gave %d packages: the test looks at nothing", seen)
	}
}

// brokenArrows says which imports of a package must not be, and why.
func brokenArrows(name string, imports []string) []string {
	allowed, known := mayImport[name]
	if !known {
		return []string{name + " is not in the table of imports: say in imports_test.go what it may import"}
	}
	var out []string
	for _, imp := range imports {
		ours, isOurs := strings.CutPrefix(imp, module)
		switch {
		case !isOurs:
			for outside, doors := range frontDoor {
				if (imp == outside || strings.HasPrefix(imp, outside+"/")) && !slices.Contains(doors, name) {
					out = append(out, name+" -> "+imp+" must not be: "+outside+" has one front door, "+strings.Join(doors, " or "))
				}
			}
			if slices.Contains(pure, name) && slices.Contains(impure, imp) {
				out = append(out, name+" -> "+imp+" must not be: "+name+" is pure, it takes values and gives values")
			}
		case name == "cmd/prdiff":
		case strings.HasPrefix(name, "internal/") && (ours == "rules" || strings.HasPrefix(ours, "render")):
			out = append(out, name+" -> "+ours+" must not be: internal holds engines, which know no rule and no renderer by name")
		case ours == "cmd/prdiff":
			out = append(out, name+" -> "+ours+" must not be: the program joins the packages, and nothing depends on it")
		case !slices.Contains(allowed, ours):
			out = append(out, name+" -> "+ours+" must not be: data moves source, render, object, diff, rule, report, github, and never back; "+
				name+" may import "+strings.Join(append([]string{"of ours"}, allowed...), " "))
		}
	}
	return out
}

// TestBrokenArrows shows that the test of imports can fail.
func TestBrokenArrows(t *testing.T) {
	for _, tt := range []struct{ name, imp, want string }{
		{"internal/diff", module + "internal/rule", "internal/diff -> internal/rule must not be: data moves"},
		{"internal/rule", module + "rules", "internal/rule -> rules must not be: internal holds engines"},
		{"internal/object", "os", "internal/object -> os must not be: internal/object is pure"},
		{"render/tanka", "github.com/google/go-jsonnet/ast", "render/tanka -> github.com/google/go-jsonnet/ast must not be: github.com/google/go-jsonnet has one front door, render/jsonnet"},
		{"internal/new", "fmt", "internal/new is not in the table"},
	} {
		got := brokenArrows(tt.name, []string{tt.imp})
		if len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
			t.Errorf("brokenArrows(%s -> %s) = %q, want %q", tt.name, tt.imp, got, tt.want)
		}
	}
}
