package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// rootCommand builds the command line. Bare prdiff is prdiff diff.
func rootCommand(e env) *cobra.Command {
	root := diffCommand(e)
	root.Use = "prdiff"
	root.Short = "Show what merging a change would do to a Kubernetes cluster"
	root.Long = `prdiff renders both sides of a change, compares what Kubernetes would see, and
says which of it has taken production down before.

Without a command it compares the working tree with the point where the branch
left the branch that it will be merged into.`
	root.Example = `  prdiff                              what this branch and the uncommitted files change
  prdiff demo                         three outages, replayed
  prdiff diff --base main             against another revision
  prdiff diff before/ after/          two folders, git or not
  prdiff render environments/prod     the manifests of one unit`
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("there is no command %q%s: prdiff --help lists them, and prdiff diff takes paths", args[0], meant(cmd, args[0]))
		}
		return nil
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v (see %s --help)", err, cmd.CommandPath())
	})
	root.AddCommand(
		diffCommand(e), renderCommand(e), unitsCommand(e), reportCommand(e),
		rulesCommand(e), incidentsCommand(e), configCommand(e), schemaCommand(e), initCommand(e), actionCommand(e), demoCommand(e), mcpCommand(e), versionCommand(e),
	)
	e.complete(root)
	return root
}

// meant names the command that was probably meant.
func meant(cmd *cobra.Command, typed string) string {
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if names := cmd.SuggestionsFor(typed); len(names) > 0 {
		return fmt.Sprintf(" (did you mean %s?)", names[0])
	}
	return ""
}
