package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker when a release is built.
var release string

// version gives the version of this program: that of the release, of the module
// when it was installed with go install, or of the commit that it was built from.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "development"
}

func versionCommand(e env) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version, and with -v what keeps the code of a pull request in its place
while it is rendered. What this machine cannot enforce is marked NO.`,
		Example: "  prdiff version -v",
		Args:    atMost(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(e.stdout, "prdiff %s, %s, %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if err != nil || !verbose {
				return err
			}
			return tellGuards(e.stdout)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "try out and say what rendering is kept from here")
	return cmd
}
