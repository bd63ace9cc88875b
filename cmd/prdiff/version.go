package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is set by the linker when a release is built.
var release string

// version gives the version of this program: that of the release, of the module
// when it was installed with go install, or of the commit that it was built from.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(release, info)
}

func versionOf(release string, info *debug.BuildInfo) string {
	switch {
	case release != "":
		return release
	case info == nil:
		return "unknown"
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	if c := commitOf(info); c != "" {
		return "development-" + c
	}
	return "development"
}

// commitOf gives the commit that a program was built from, "" where the build was
// told to leave it out, as go run does.
func commitOf(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + dirty
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
			from := ""
			info, _ := debug.ReadBuildInfo()
			if commit := commitOf(info); commit != "" && !strings.Contains(version(), strings.TrimSuffix(commit, "+dirty")) {
				from = "commit " + commit + ", "
			}
			_, err := fmt.Fprintf(e.stdout, "prdiff %s, %s%s, %s/%s\n", version(), from, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if err != nil || !verbose {
				return err
			}
			return tellGuards(e.stdout)
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "try out and say what rendering is kept from here")
	return cmd
}
