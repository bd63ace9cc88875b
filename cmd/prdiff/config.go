package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/config"
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

Exit codes: 0 all is sound, 2 something is not.`,
		Example: "  prdiff config check",
		Args:    atMost(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := e.workplace(cmd.Context())
			if err != nil {
				return err
			}
			defer w.tree.Close()
			if w.config == nil {
				return usage("there is no %s here: prdiff init writes one", config.File)
			}
			own, err := readOwn(w.tree, w.config)
			if err != nil {
				return err
			}
			all := slices.Concat(rules.All, own.set.Rules())
			if err := w.config.CheckRules(all); err != nil {
				return err
			}
			for _, s := range w.config.Suppressions {
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
