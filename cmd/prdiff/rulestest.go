package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/celrule"
	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/rule/fixture"
)

func rulesTestCommand(e env) *cobra.Command {
	var update bool
	cmd := &cobra.Command{
		Use:   "test [PATH ...]",
		Short: "Run rules of your own on their fixtures",
		Long: `Run the rules in the files and folders, or those that rules.paths in ` + config.File + `
names, on their fixtures: testdata/RULE-ID/*.txtar beside the rule's file. A fixture
is a sentence, manifests, and what the rule must say of them:

  The image loses its tag.

  -- before/web.yaml --
  (manifests)
  -- after/web.yaml --
  (manifests)
  -- want --
  warning Deployment prod/web: spec.template.spec.containers[name=app].image: without a tag: web

In a file named quiet_*.txtar there is no want: the rule must say nothing. Several
units have a folder each, before/UNIT/web.yaml.

Exit codes: 0 all pass, 1 a fixture fails, 2 a rule or fixture is broken, or there
is nothing to run.`,
		Example: `  prdiff rules test
  prdiff rules test policies/no-latest.yaml --update`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := e.workplace(cmd.Context())
			if err != nil {
				return err
			}
			defer w.tree.Close()
			paths := []string{}
			for _, a := range args {
				name, err := w.tree.Name(a)
				if err != nil {
					return err
				}
				paths = append(paths, name)
			}
			if len(args) == 0 && w.config != nil {
				paths = w.config.RulePaths
			}
			if len(paths) == 0 {
				return usage("there is nothing to test: name files or folders with rules, here or as rules.paths in %s", config.File)
			}
			files, err := ruleFiles(w.tree, paths)
			if err != nil {
				return err
			}
			set, err := celrule.Compile(files, nil, builtInIDs(), celrule.Limits{})
			if err != nil {
				return err
			}
			return e.testRules(w, set, update)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write want and also sections anew instead of comparing them")
	return cmd
}

// testRules runs every fixture and says what came of it, a line each.
func (e env) testRules(w workplace, set *celrule.Set, update bool) error {
	var broken []error
	cases, failed, rewritten := 0, 0, 0
	var untested []string
	for _, r := range set.Rules() {
		folder := fixtureFolder(set.FileOf(r.ID), r.ID)
		found, err := fixture.Load(w.tree, folder)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		if len(found) == 0 {
			untested = append(untested, r.ID)
		}
		for _, f := range found {
			cases++
			name := path.Join(folder, f.Name+".txtar")
			data, errs := f.Check(r, set.Rules())
			for _, p := range set.Problems() {
				errs = append(errs, fmt.Errorf("%s cannot be asked about %s: %s", p.Rule, p.Ref, p.Text))
			}
			if update && data != nil {
				if err := e.rewrite(w, name, data); err != nil {
					return err
				}
				rewritten++
				errs = withoutStale(errs)
			}
			if len(errs) == 0 {
				fmt.Fprintf(e.stdout, "ok    %s\n", printable(name))
				continue
			}
			failed++
			fmt.Fprintf(e.stdout, "FAIL  %s\n", printable(name))
			for line := range strings.Lines(errors.Join(errs...).Error()) {
				fmt.Fprintf(e.stdout, "      %s\n", printable(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	for _, s := range set.Skipped() {
		fmt.Fprintf(e.stdout, "skip  %s: %s\n", printable(s.File), printable(s.Reason))
	}
	for _, id := range untested {
		fmt.Fprintf(e.stdout, "none  %s has no fixture\n", printable(id))
	}
	if len(broken) > 0 {
		return errors.Join(broken...)
	}
	if cases == 0 {
		return usage("there is nothing to run: %s, and no fixture in testdata/RULE-ID beside their files", countRules(set.Rules()))
	}
	fmt.Fprintf(e.stdout, "%s, %d of %d fixtures pass", countRules(set.Rules()), cases-failed, cases)
	if rewritten > 0 {
		fmt.Fprintf(e.stdout, ", %d written anew", rewritten)
	}
	fmt.Fprintln(e.stdout)
	if failed > 0 {
		return errFound
	}
	return nil
}

func countRules(list []*rule.Rule) string { return count(len(list), "rule") }

func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func withoutStale(errs []error) []error {
	var out []error
	for _, err := range errs {
		if !errors.As(err, new(*fixture.Stale)) {
			out = append(out, err)
		}
	}
	return out
}

// rewrite writes a file of the working tree.
func (e env) rewrite(w workplace, name string, data []byte) error {
	rel, err := filepath.Rel(filepath.FromSlash(w.tree.Prefix), filepath.FromSlash(name))
	if err != nil {
		return err
	}
	return os.WriteFile(e.path(rel), data, 0o644)
}
