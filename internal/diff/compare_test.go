package diff_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

var update = flag.Bool("update", false, "rewrite the want sections of testdata/compare")

// TestCompare holds every pair of testdata/compare against its want section. The
// sentence on top of a file says what it is about.
func TestCompare(t *testing.T) {
	for _, p := range pairs(t) {
		t.Run(p.name, func(t *testing.T) {
			got := print(diff.Compare(p.before, p.after, diff.Options{}))
			if *update {
				p.save(t, got)
				return
			}
			if got != p.want {
				t.Errorf("%s\nCompare() =\n%s\nwant\n%s", p.story, got, p.want)
			}
		})
	}
}

// A pairFile is one file of testdata/compare.
type pairFile struct {
	name, file, story, want string
	beforeText, afterText   string
	before, after           *object.Set
	archive                 *txtar.Archive
}

func pairs(t testing.TB) []pairFile {
	t.Helper()
	files, err := filepath.Glob("testdata/compare/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pairs in testdata/compare: %v", err)
	}
	var out []pairFile
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := pairFile{file: file, name: strings.TrimSuffix(filepath.Base(file), ".txtar"), story: strings.TrimSpace(string(archive.Comment)), archive: archive}
		for _, f := range archive.Files {
			switch f.Name {
			case "before.yaml":
				p.beforeText, p.before = string(f.Data), parse(t, string(f.Data))
			case "after.yaml":
				p.afterText, p.after = string(f.Data), parse(t, string(f.Data))
			case "want":
				p.want = string(f.Data)
			default:
				t.Fatalf("%s: unknown section %s", file, f.Name)
			}
		}
		out = append(out, p)
	}
	return out
}

func (p pairFile) save(t *testing.T, want string) {
	t.Helper()
	files := p.archive.Files[:0:0]
	for _, f := range p.archive.Files {
		if f.Name != "want" {
			files = append(files, f)
		}
	}
	p.archive.Files = append(files, txtar.File{Name: "want", Data: []byte(want)})
	if err := os.WriteFile(p.file, txtar.Format(p.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, text string) *object.Set {
	t.Helper()
	objects, errs := object.Parse("unit", "x.yaml", []byte(text))
	for _, err := range errs {
		t.Fatal(err)
	}
	return object.NewSet(objects)
}

// print spells changes for the want sections: hidden fields in parentheses.
func print(changes []diff.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s", c.Action, c.Ref)
		if c.Action == diff.Rename {
			fmt.Fprintf(&b, " from %s", c.RenamedFrom)
		}
		if !c.Visible() {
			b.WriteString(" (hidden)")
		}
		b.WriteString("\n")
		for _, f := range c.Fields {
			line := fmt.Sprintf("%s %s", f.Op, f.Path)
			if f.Reordered {
				line = fmt.Sprintf("reorder %s", f.Path)
			}
			if f.Before.Exists() {
				line += fmt.Sprintf(" %q", f.Before)
			}
			if f.After.Exists() {
				line += fmt.Sprintf(" -> %q", f.After)
			}
			if f.Hidden != "" {
				line = fmt.Sprintf("(%s: %s)", f.Hidden, line)
			}
			if f.Immutable != "" {
				line += " !! " + f.Immutable
			}
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for _, e := range c.Effects {
			fmt.Fprintf(&b, "  = %s: %s\n", e.Kind, e.Text)
		}
	}
	return b.String()
}
