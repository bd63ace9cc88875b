// Package ruletest runs rules on their fixtures in a Go test, and holds the
// catalogue against them. It is for tests only: what the program needs of
// fixtures is in package fixture.
package ruletest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/rule/fixture"
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
	for _, err := range fixture.Vet(rules) {
		t.Error(err)
	}
	fsys := os.DirFS(dir)
	fixtures := make(map[string][]*fixture.Case)
	for _, r := range rules {
		t.Run(r.ID, func(t *testing.T) {
			folder := path.Join("testdata", r.ID)
			loaded, err := fixture.Load(fsys, folder)
			if err != nil {
				t.Fatal(err)
			}
			fixtures[r.ID] = loaded
			fires := slices.ContainsFunc(loaded, func(f *fixture.Case) bool { return !f.Quiet })
			quiet := slices.ContainsFunc(loaded, func(f *fixture.Case) bool { return f.Quiet })
			if !fires || !quiet {
				t.Errorf("%s needs a fixture that fires and one that is quiet (quiet_*.txtar)", folder)
			}
			for _, f := range loaded {
				t.Run(f.Name, func(t *testing.T) {
					data, errs := f.Check(r, rules)
					if update && data != nil {
						name := filepath.Join(dir, filepath.FromSlash(folder), f.Name+".txtar")
						if err := os.WriteFile(name, data, 0o644); err != nil {
							t.Fatal(err)
						}
					}
					for _, err := range errs {
						if !update || !errors.As(err, new(*fixture.Stale)) {
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
		want := fixture.Catalogue(rules, fixtures)
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
