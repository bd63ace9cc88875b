package ruletest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// A Fixture is one case of a rule: manifests before and after, and what the
// rule says of them.
type Fixture struct {
	Name    string // the file's name without .txtar
	Comment string // the sentence on top
	Quiet   bool   // the rule must say nothing
	Units   []*rule.Unit

	archive *txtar.Archive
}

// oneUnit is the name of the unit of a fixture that does not name its units.
const oneUnit = "unit"

// Parse reads one fixture; name is its file name, with or without a folder. It
// fails when a section has another name than before/..., after/..., want or
// also, when a manifest cannot be read, and when both sides are the same in
// Kubernetes' eyes, because such a case shows nothing.
func Parse(name string, data []byte) (*Fixture, error) {
	archive := txtar.Parse(data)
	base := strings.TrimSuffix(path.Base(name), ".txtar")
	f := &Fixture{
		Name:    base,
		Comment: strings.TrimSpace(string(archive.Comment)),
		Quiet:   strings.HasPrefix(base, "quiet_"),
		archive: archive,
	}
	if f.Comment == "" {
		return nil, fmt.Errorf("%s: no sentence on top that says what the case is about", name)
	}
	sides := map[string]map[string][]*object.Object{"before": {}, "after": {}}
	depth := 0
	for _, file := range archive.Files {
		side, rest, _ := strings.Cut(file.Name, "/")
		units, ok := sides[side]
		if !ok || rest == "" {
			if file.Name == "want" || file.Name == "also" {
				continue
			}
			return nil, fmt.Errorf("%s: section %q is none of before/FILE, after/FILE, before/UNIT/FILE, after/UNIT/FILE, want, also", name, file.Name)
		}
		steps := strings.Count(rest, "/")
		if steps > 1 || depth != 0 && depth != steps+1 {
			return nil, fmt.Errorf("%s: section %q: either every manifest stands in the folder of a unit, or none", name, file.Name)
		}
		depth = steps + 1
		unit := oneUnit
		if steps == 1 {
			unit = path.Dir(rest)
		}
		objects, errs := object.Parse(unit, path.Base(rest), file.Data)
		if len(errs) > 0 {
			return nil, fmt.Errorf("%s: %s: %w", name, side, errors.Join(errs...))
		}
		units[unit] = append(units[unit], objects...)
	}
	if err := f.compare(sides["before"], sides["after"]); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// compare makes the units, each with its changes.
func (f *Fixture) compare(before, after map[string][]*object.Object) error {
	var names []string
	for name := range before {
		names = append(names, name)
	}
	for name := range after {
		names = append(names, name)
	}
	slices.Sort(names)
	changes := 0
	for _, name := range slices.Compact(names) {
		u := &rule.Unit{Name: name}
		for _, side := range []struct {
			to      **object.Set
			objects []*object.Object
		}{{&u.Before, before[name]}, {&u.After, after[name]}} {
			if side.objects == nil {
				continue
			}
			*side.to = object.NewSet(side.objects)
			if d := (*side.to).Duplicates(); len(d) > 0 {
				return fmt.Errorf("%s is there twice", d[0].Ref)
			}
		}
		u.Changes = diff.Compare(u.Before, u.After, diff.Options{})
		changes += len(u.Changes)
		f.Units = append(f.Units, u)
	}
	if changes == 0 {
		return errors.New("before and after are the same, so the case shows nothing")
	}
	return nil
}

// Find runs rules on the fixture and gives the findings as run would show them,
// identical ones of several units folded.
func (f *Fixture) Find(rules ...*rule.Rule) []rule.Finding {
	return rule.Fold(rule.Run(rules, f.Units))
}

// Section gives the text of a section such as "before/cache.yaml" or "want", ""
// when there is none.
func (f *Fixture) Section(name string) string {
	for _, file := range f.archive.Files {
		if file.Name == name {
			return string(file.Data)
		}
	}
	return ""
}

// With gives the fixture's file with a section replaced, or taken out where text
// is empty. New sections go to the end.
func (f *Fixture) With(section, text string) []byte {
	out := &txtar.Archive{Comment: f.archive.Comment}
	placed := text == ""
	for _, file := range f.archive.Files {
		if file.Name != section {
			out.Files = append(out.Files, file)
			continue
		}
		if !placed {
			out.Files = append(out.Files, txtar.File{Name: section, Data: []byte(text)})
			placed = true
		}
	}
	if !placed {
		out.Files = append(out.Files, txtar.File{Name: section, Data: []byte(text)})
	}
	f.archive = out
	return txtar.Format(out)
}

// Text writes findings as the want section has them: a line for each with
// severity, object, path and message, and indented below it the consequence, the
// related objects and, in fixtures of several units, the units.
func (f *Fixture) Text(findings []rule.Finding) string {
	return f.text(findings, false)
}

func (f *Fixture) text(findings []rule.Finding, ids bool) string {
	var b strings.Builder
	for _, x := range findings {
		if ids {
			fmt.Fprintf(&b, "%s: ", x.Rule)
		}
		fmt.Fprintf(&b, "%s %s: ", x.Severity, x.Ref)
		if x.Path != "" {
			fmt.Fprintf(&b, "%s: ", x.Path)
		}
		fmt.Fprintf(&b, "%s\n", x.Message)
		if ids {
			continue
		}
		if x.Consequence != "" {
			fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(x.Consequence, "\n", "\n    "))
		}
		if len(x.Related) > 0 {
			b.WriteString("    related: ")
			for i, r := range x.Related {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString(r.String())
			}
			b.WriteByte('\n')
		}
		if len(f.Units) > 1 || f.Units[0].Name != oneUnit {
			fmt.Fprintf(&b, "    in: %s\n", strings.Join(x.Units, ", "))
		}
	}
	return b.String()
}

// Load reads the fixtures of one rule, dir/*.txtar, in the order of their names.
func Load(fsys fs.FS, dir string) ([]*Fixture, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var out []*Fixture
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		f, err := Parse(name, bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
