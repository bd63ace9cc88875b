package main

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/rule/fixture"
	"github.com/prdiff/prdiff/rules"
)

func rulesCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "rules [ID]",
		Short: "List the rules, or tell one with its examples and incidents",
		Example: `  prdiff rules
  prdiff rules service-selector-narrowed`,
		Args: atMost(1, "the id of one rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return e.page(cmd.Context(), listRules)
			}
			i := slices.IndexFunc(rules.All, func(r *rule.Rule) bool { return r.ID == args[0] })
			if i < 0 {
				return usage("there is no rule %q%s: prdiff rules lists them", args[0], closest(args[0]))
			}
			return e.page(cmd.Context(), func(w io.Writer) error { return tellRule(w, rules.All[i]) })
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, r := range rules.All {
				ids = append(ids, r.ID+"\t"+r.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// closest names the rules that share a word with what was typed.
func closest(typed string) string {
	var found []string
	words := strings.Split(strings.ToLower(typed), "-")
	for _, r := range rules.All {
		shared := 0
		for _, w := range words {
			if len(w) > 2 && strings.Contains(r.ID, w) {
				shared++
			}
		}
		if shared > 0 && shared*2 >= len(words) {
			found = append(found, r.ID)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(found[:min(3, len(found))], " or ") + "?)"
}

func listRules(w io.Writer) error {
	for _, subject := range rule.Subjects {
		titled := false
		for _, r := range rules.All {
			if r.Subject != subject {
				continue
			}
			if !titled {
				titled = true
				if _, err := fmt.Fprintf(w, "%s\n", subject); err != nil {
					return err
				}
			}
			if _, err := fmt.Fprintf(w, "  %-8s %-34s %s\n", r.Severity, r.ID, r.Title); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellRule prints the story of a rule: why, what to do instead, its fixtures as
// examples, and the incidents.
func tellRule(w io.Writer, r *rule.Rule) error {
	sub, err := fs.Sub(rules.Fixtures, "testdata")
	if err != nil {
		return err
	}
	fixtures, err := fixture.Load(sub, path.Join(".", r.ID))
	if err != nil {
		return err
	}
	if _, err := w.Write(fixture.Story(r, fixtures)); err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range incident.Embedded().Rank(incident.Query{Rule: r.ID, Cited: r.Incidents}) {
		fmt.Fprintf(&b, "- %s, %s: %s (prdiff incidents show %s)\n", m.Org, yearOf(m.Date), m.Title, m.ID)
	}
	if b.Len() > 0 {
		_, err = fmt.Fprintf(w, "\nIncidents\n\n%s", b.String())
	}
	return err
}
