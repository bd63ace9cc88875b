package main

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/celrule"
	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/rule/fixture"
	"github.com/prdiff/prdiff/rules"
)

func rulesCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules [ID]",
		Short: "List the rules, or tell one with its examples and incidents",
		Long: `List the rules, or tell one: why it hurts, what to do instead, its parameters,
examples that the tests ran, and incidents. Your own are among them: files and
folders that rules.paths in ` + config.File + ` names.

A rule of your own is YAML, one or a list in each document:

  id: no-latest                     # lower-case words with hyphens
  title: An image has no fixed tag
  severity: warning                 # note, warning or error
  doc: Why it hurts.
  advice: What to do instead.
  incidents: [some-incident]
  match:
    kinds: [Deployment.apps]        # left out: all
    actions: [create, update]       # left out: all but delete
    namespaces: [prod-*]
  variables:
    - name: images
      expression: object.spec.template.spec.containers.map(c, c.image)
  conditions: [change.namespace != 'sandbox']
  expression: variables.images.all(i, i.contains(':'))
  messageExpression: "'without a tag: ' + variables.images.filter(i, !i.contains(':')).join(', ')"

The expression is CEL, as in admission policies, and must hold; several stand under
validations, each with expression, message or messageExpression, and path. What did
not hold before the change either is the standing state and is not told, unless the
rule says standing: true; an expression about the transition itself always counts.
A ValidatingAdmissionPolicy is a rule as it is, where its variables are known.

  object, oldObject   the manifests after and before, defaults filled in; or null
  change              action, kind, group, namespace, name, unit, renamedFrom, file,
                      fields (path, op, before, after, hidden), effects
  unit                name, production, before, after
  pods(selector, namespace)    kind, name, namespace, labels, replicas (absent when
                      not known), spec, object of the workloads that it reaches
  services(workload), budgets(workload), policies(workload), autoscalers(workload)
  references(object), referencesTo(object), mentions(namespace, service)
  lookup(kind, namespace, name), objects(kind)
  podsBefore(...) and so on            the same on the side before the change

Secrets are masked, and equal where they are the same.`,
		Example: `  prdiff rules
  prdiff rules service-selector-narrowed
  prdiff rules test`,
		Args: atMost(1, "the id of one rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			own, err := e.own(cmd.Context())
			if err != nil {
				return err
			}
			all := slices.Concat(rules.All, own.set.Rules())
			if len(args) == 0 {
				return e.page(cmd.Context(), func(w io.Writer) error { return listRules(w, all) })
			}
			i := slices.IndexFunc(all, func(r *rule.Rule) bool { return r.ID == args[0] })
			if i < 0 {
				return usage("there is no rule %q%s: prdiff rules lists them", args[0], closest(all, args[0]))
			}
			library, err := incident.Embedded().With(own.incidents...)
			if err != nil {
				return err
			}
			var fixtures []*fixture.Case
			if file := own.set.FileOf(all[i].ID); file != "" {
				fixtures, err = e.ownFixtures(cmd, file, all[i].ID)
			} else {
				fixtures, err = builtInFixtures(all[i].ID)
			}
			if err != nil {
				return err
			}
			return e.page(cmd.Context(), func(w io.Writer) error { return tellRule(w, all[i], fixtures, library) })
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, r := range rules.All {
				ids = append(ids, r.ID+"\t"+r.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.AddCommand(rulesTestCommand(e))
	return cmd
}

func builtInFixtures(id string) ([]*fixture.Case, error) {
	sub, err := fs.Sub(rules.Fixtures, "testdata")
	if err != nil {
		return nil, err
	}
	return fixture.Load(sub, id)
}

func (e env) ownFixtures(cmd *cobra.Command, file, id string) ([]*fixture.Case, error) {
	w, err := e.workplace(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer w.tree.Close()
	return fixture.Load(w.tree, fixtureFolder(file, id))
}

// fixtureFolder is where the fixtures of a rule of the users' own are.
func fixtureFolder(file, id string) string { return path.Join(path.Dir(file), "testdata", id) }

// closest names the rules that share a word with what was typed.
func closest(all []*rule.Rule, typed string) string {
	var found []string
	words := strings.Split(strings.ToLower(typed), "-")
	for _, r := range all {
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

func listRules(w io.Writer, all []*rule.Rule) error {
	for _, subject := range append(slices.Clone(rule.Subjects), celrule.Subject) {
		titled := false
		for _, r := range all {
			if r.Subject != subject {
				continue
			}
			if !titled {
				titled = true
				if _, err := fmt.Fprintf(w, "%s\n", subject); err != nil {
					return err
				}
			}
			if _, err := fmt.Fprintf(w, "  %-8s %-34s %s\n", r.Severity, printable(r.ID), printable(r.Title)); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellRule prints the story of a rule: why, what to do instead, its fixtures as
// examples, and the incidents.
func tellRule(w io.Writer, r *rule.Rule, fixtures []*fixture.Case, library *incident.Library) error {
	for line := range strings.Lines(string(fixture.Page(r, fixtures))) {
		if _, err := fmt.Fprintln(w, printable(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	var b strings.Builder
	for _, m := range library.Rank(incident.Query{Rule: r.ID, Cited: r.Incidents}) {
		where := "prdiff incidents show " + m.ID
		lines := wrap(fmt.Sprintf("%s, %s: %s", printable(cmp.Or(m.Org, "your own")), yearOf(m.Date), printable(m.Title)), 88)
		fmt.Fprintf(&b, "  - %s\n    %s\n", strings.Join(lines, "\n    "), where)
	}
	if b.Len() > 0 {
		_, err := fmt.Fprintf(w, "\nIncidents\n\n%s", b.String())
		return err
	}
	return nil
}
