package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/report"
)

func reportCommand(e env) *cobra.Command {
	var shown reportFlags
	cmd := &cobra.Command{
		Use:   "report PART.json ...",
		Short: "Merge the parts of several shards into one report",
		Long: `Merge reports that prdiff diff --shard wrote with --format json into one. The
exit code is that of the whole. A part that is missing, broken or of another run
is an error: nothing is said to be unchanged that was not looked at.`,
		Example: `  prdiff report parts/*.json
  prdiff report parts/*.json --format markdown=comment.md --fail-on error`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shown.check(); err != nil {
				return err
			}
			if len(args) == 0 {
				return usage("prdiff report needs the files that prdiff diff --format json=FILE wrote")
			}
			var parts []*report.Report
			for _, file := range args {
				data, err := os.ReadFile(e.path(file))
				if err != nil {
					return err
				}
				part, err := report.ParseJSON(data)
				if err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
				parts = append(parts, part)
			}
			rep, err := report.Merge(parts)
			if err != nil {
				return err
			}
			return shown.publish(cmd.Context(), e, rep)
		},
	}
	shown.register(cmd.Flags())
	return cmd
}
