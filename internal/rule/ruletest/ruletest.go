// Package ruletest runs rules on their fixtures and writes the catalogue of
// rules, so that every example in it is one that the tests ran.
//
// A fixture is a txtar file, testdata/RULE-ID/NAME.txtar: a sentence that says
// what the case is about, manifests as before/FILE and after/FILE, and a want
// section with what the rule must say. A case of several units has a folder for
// each, before/UNIT/FILE. A file named quiet_*.txtar has no want: the rule must
// say nothing there, and what other rules say of it stands in its also section.
package ruletest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/rule"
)

// Run checks each rule against its fixtures in dir/testdata, and dir/README.md
// against the catalogue of all. With update it writes want and also sections and
// the README instead of comparing them.
//
// It fails too when a rule is not well formed, has no fixture that fires or none
// that is quiet, when a folder belongs to no rule, and when there is nothing to run.
func Run(t *testing.T, rules []*rule.Rule, dir string, update bool) {
	if len(rules) == 0 {
		t.Fatal("no rules to run")
	}
	for _, err := range Vet(rules) {
		t.Error(err)
	}
	fsys := os.DirFS(dir)
	fixtures := make(map[string][]*Fixture)
	for _, r := range rules {
		t.Run(r.ID, func(t *testing.T) {
			folder := path.Join("testdata", r.ID)
			loaded, err := Load(fsys, folder)
			if err != nil {
				t.Fatal(err)
			}
			fixtures[r.ID] = loaded
			fires := slices.ContainsFunc(loaded, func(f *Fixture) bool { return !f.Quiet })
			quiet := slices.ContainsFunc(loaded, func(f *Fixture) bool { return f.Quiet })
			if !fires || !quiet {
				t.Errorf("%s needs a fixture that fires and one that is quiet (quiet_*.txtar)", folder)
			}
			for _, f := range loaded {
				t.Run(f.Name, func(t *testing.T) {
					data, errs := f.check(r, rules)
					if update && data != nil {
						name := filepath.Join(dir, filepath.FromSlash(folder), f.Name+".txtar")
						if err := os.WriteFile(name, data, 0o644); err != nil {
							t.Fatal(err)
						}
					}
					for _, err := range errs {
						if !update || !errors.As(err, new(*stale)) {
							t.Error(err)
						}
					}
				})
			}
		})
	}
	if err := strangers(fsys, rules); err != nil {
		t.Error(err)
	}
	t.Run("README", func(t *testing.T) {
		readme := filepath.Join(dir, "README.md")
		want := Catalogue(rules, fixtures)
		if update {
			if err := os.WriteFile(readme, want, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		got, err := os.ReadFile(readme)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the rules say; run the test with -update", readme)
		}
	})
}

// stale is a section that -update can write anew.
type stale struct{ section, got, want string }

func (s *stale) Error() string {
	return fmt.Sprintf("%s section:\ngot:\n%s\nwant:\n%s\n(-update writes what was got)", s.section, s.got, s.want)
}

// check runs r alone on the fixture, and all rules too where it is quiet. It
// gives the file as it should be when that differs from the file as it is.
func (f *Fixture) check(r *rule.Rule, all []*rule.Rule) (data []byte, errs []error) {
	got := f.Text(f.Find(r))
	compare := func(section, got string) {
		if want := f.Section(section); got != want {
			errs = append(errs, &stale{section, got, want})
			data = f.With(section, got)
		}
	}
	if !f.Quiet {
		if got == "" {
			return nil, []error{fmt.Errorf("%s says nothing here; is this a quiet_ case?", r.ID)}
		}
		compare("want", got)
		return data, errs
	}
	if got != "" {
		return nil, []error{fmt.Errorf("%s must be quiet here and says:\n%s", r.ID, got)}
	}
	if f.Section("want") != "" {
		errs = append(errs, errors.New("a quiet case has no want section"))
	}
	compare("also", f.text(f.Find(all...), true))
	return data, errs
}

// strangers finds folders of fixtures that no rule runs.
func strangers(fsys fs.FS, rules []*rule.Rule) error {
	entries, err := fs.ReadDir(fsys, "testdata")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.ContainsFunc(rules, func(r *rule.Rule) bool { return r.ID == e.Name() }) {
			return fmt.Errorf("testdata/%s belongs to no rule in the list", e.Name())
		}
	}
	return nil
}

var kebab = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Vet says what is wrong with rules as data: ids, texts, severities, and checks.
func Vet(rules []*rule.Rule) []error {
	var errs []error
	seen := make(map[string]bool)
	for _, r := range rules {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("rule %q: %s", r.ID, fmt.Sprintf(format, args...)))
		}
		if !kebab.MatchString(r.ID) {
			bad("the id is not kebab-case")
		}
		if seen[r.ID] {
			bad("the id is there twice")
		}
		seen[r.ID] = true
		if r.Title == "" || strings.ContainsAny(r.Title, "\n") || strings.HasSuffix(r.Title, ".") {
			bad("the title must be one line without a full stop")
		}
		if !slices.Contains(rule.Subjects, r.Subject) {
			bad("the subject %q is none of %s", r.Subject, strings.Join(rule.Subjects, ", "))
		}
		if r.Severity.String() == "none" {
			bad("no severity")
		}
		if strings.TrimSpace(r.Doc) == "" {
			bad("no doc")
		}
		if strings.TrimSpace(r.Advice) == "" {
			bad("no advice")
		}
		if strings.Contains(strings.TrimSpace(r.Advice), "\n\n") {
			bad("the advice must be one paragraph")
		}
		if (r.Check == nil) == (r.CheckAll == nil) {
			bad("exactly one of Check and CheckAll must be set")
		}
		if r.CheckAll != nil && len(r.Kinds)+len(r.Actions) > 0 {
			bad("CheckAll sees all changes: Kinds and Actions have no effect")
		}
	}
	return errs
}
