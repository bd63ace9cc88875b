package main

import (
	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/report"
)

func schemaCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of reports",
		Long: `Print the JSON schema (draft 2020-12) of what --format json writes. Field names and
meanings do not change within one version of the format; fields may be added.`,
		Example: `  prdiff schema > report.schema.json`,
		Args:    atMost(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			schema, err := report.JSONSchema()
			if err != nil {
				return err
			}
			_, err = e.stdout.Write(schema)
			return err
		},
	}
}
