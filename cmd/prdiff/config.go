package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/rules"
)

func configCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check " + config.File + ", or print its JSON schema",
		Example: `  prdiff config check
  prdiff config schema > .prdiff.schema.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("prdiff config has check and schema, not %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of " + config.File + ", for editors",
		Long: `Print the JSON schema of ` + config.File + `, with the rules that there are. An editor with a
YAML language server reads it by a first line in ` + config.File + `:

  # yaml-language-server: $schema=.prdiff.schema.json`,
		Example: "  prdiff config schema > .prdiff.schema.json",
		Args:    atMost(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, err := e.own(cmd.Context())
			if err != nil {
				return err
			}
			schema, err := config.Schema(knownWords(), slices.Concat(rules.All, own.set.Rules()))
			if err != nil {
				return err
			}
			_, err = e.stdout.Write(schema)
			return err
		},
	}, &cobra.Command{
		Use:   "check",
		Short: "Check " + config.File + ", your rules and your postmortems",
		Long: `Check ` + config.File + ` of the working tree, and the rules and postmortems that it names.
All mistakes are told at once.

Exit codes: 0 all is sound, 2 something is not.`,
		Example: "  prdiff config check",
		Args:    atMost(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := source.Open(cmd.Context(), e.dir, "", source.Options{Getenv: e.getenv})
			if err != nil {
				return err
			}
			defer t.Close()
			if !t.Exists(config.File) {
				return usage("there is no %s here: prdiff init writes one", config.File)
			}
			data, err := t.ReadFile(config.File)
			if err != nil {
				return err
			}
			c, own, err := checkConfig(t, data)
			if err != nil {
				return err
			}
			for _, s := range c.Suppressions {
				if s.Expired(e.now()) {
					fmt.Fprintf(e.stdout, "%s: %s: expired after %s\n", printable(s.Place()), printable(s.About()), s.Expires)
				}
			}
			for _, s := range own.set.Skipped() {
				fmt.Fprintf(e.stdout, "%s: %s\n", printable(s.File), printable(s.Reason))
			}
			_, err = fmt.Fprintf(e.stdout, "%s is sound, with %s and %s of your own\n", config.File, countRules(own.set.Rules()), count(len(own.incidents), "postmortem"))
			return err
		},
	})
	return cmd
}

// checkConfig reads a configuration and what it names, and goes on after a mistake: the
// error has all that can be found at once.
func checkConfig(t *source.Tree, data []byte) (*config.Config, ownRules, error) {
	c, configErr := config.Draft(config.File, data, knownWords())
	own, ownErr := readOwn(t, c)
	known := slices.Concat(rules.All, own.set.Rules())
	ids, all := own.declared()
	for _, id := range ids { // those that are there, and not sound
		if !slices.ContainsFunc(known, func(r *rule.Rule) bool { return r.ID == id }) {
			known = append(known, &rule.Rule{ID: id})
		}
	}
	check := c.CheckRules
	if !all {
		check = c.CheckParameters
	}
	return c, own, errors.Join(configErr, ownErr, check(known))
}
