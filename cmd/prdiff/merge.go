package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/report"
)

func reportCommand(e env) *cobra.Command {
	var shown reportFlags
	var published publishFlags
	var fromFork bool
	cmd := &cobra.Command{
		Use:   "report PART.json ...",
		Short: "Merge the parts of several shards into one report",
		Long: `Merge reports that prdiff diff --shard wrote with --format json into one. The
exit code is that of the whole. A part that is missing, broken or of another run
is an error: nothing is said to be unchanged that was not looked at.

With --from-fork, in a workflow_run of GitHub Actions, the files are what the run
of a fork wrote without any right. They are taken for a stranger's: nothing in them
is believed but what can be shown as text, and GitHub says which pull request it is.`,
		Example: `  prdiff report parts/*.json
  prdiff report parts/*.json --format markdown=comment.md --fail-on error
  prdiff report --publish parts/*.json
  prdiff report --from-fork --publish "$RUNNER_TEMP/prdiff-report"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(shown.check(), published.check()); err != nil {
				return err
			}
			if len(args) == 0 {
				return usage("prdiff report needs the files that prdiff diff --format json=FILE wrote")
			}
			if fromFork {
				return published.fromFork(cmd.Context(), e, &shown, args)
			}
			rep, err := e.mergeFiles(args)
			if err != nil {
				return published.publishFailure(cmd.Context(), e, err)
			}
			return published.publish(cmd.Context(), e, &shown, rep)
		},
	}
	shown.register(cmd.Flags())
	published.register(cmd.Flags())
	cmd.Flags().BoolVar(&fromFork, "from-fork", false, "publish what the run of a fork wrote, which may be anything")
	return cmd
}

// mergeFiles reads the parts of one run and makes one report of them.
func (e env) mergeFiles(files []string) (*report.Report, error) {
	var parts []*report.Report
	for _, file := range files {
		data, err := os.ReadFile(e.path(file))
		if err != nil {
			return nil, err
		}
		part, err := report.ParseJSON(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		parts = append(parts, part)
	}
	if err := report.CheckParts(parts); err != nil {
		return nil, err
	}
	return report.Merge(parts)
}
