package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/render/worker"
)

// formats are the ways to write a report.
var formats = []struct {
	name  string
	write report.Reporter
}{
	{"text", report.Text},
	{"markdown", report.Markdown},
	{"gitlab", report.GitLab},
	{"json", report.JSON},
	{"html", report.HTML},
	{"sarif", report.SARIF},
	{"github", report.GitHub},
}

// forPrograms says whether a format is read by a program, which wants its bytes as
// they are: no pager, and nothing changed for a log.
func forPrograms(format string) bool {
	return !slices.Contains([]string{"text", "markdown", "gitlab"}, format)
}

func formatNames() string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// reportFlags say how a report is written and what it makes of the exit code.
type reportFlags struct {
	formats        []string
	failOn         string
	color          string
	showHidden     bool
	quiet, verbose bool
	open           bool
}

func (f *reportFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.formats, "format", nil, "write `NAME[=FILE]`, may be repeated: "+formatNames()+"; without FILE to stdout (default text)")
	fs.StringVar(&f.failOn, "fail-on", "", "exit 1 at this or worse: never, note, warning, error, or change for any visible change (default never, in GitHub Actions error)")
	fs.StringVar(&f.color, "color", "auto", "colour text: auto, always, never")
	fs.BoolVar(&f.showHidden, "show-hidden", false, "show what the noise filters hide")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "only the verdict, what failed, and findings")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "say how long each unit took")
	fs.BoolVar(&f.open, "open", false, "show the report as a page in the browser, too")
}

// An output is one report to be written.
type output struct {
	name  string
	write report.Reporter
	file  string // "" for stdout
}

// outputs reads --format.
func (f *reportFlags) outputs() ([]output, error) {
	if len(f.formats) == 0 {
		return []output{{"text", report.Text, ""}}, nil
	}
	var out []output
	for _, text := range f.formats {
		name, file, hasFile := strings.Cut(text, "=")
		if hasFile && file == "" {
			return nil, usage("--format %s: the file's name is missing", text)
		}
		i := slices.IndexFunc(formats, func(f struct {
			name  string
			write report.Reporter
		}) bool {
			return f.name == name
		})
		if i < 0 {
			return nil, usage("--format %s: there is no such format: %s", name, formatNames())
		}
		if slices.ContainsFunc(out, func(o output) bool { return o.file == file }) {
			if file == "" {
				return nil, usage("--format: only one format can go to stdout: write %s=FILE", name)
			}
			return nil, usage("--format: two formats go to %s", file)
		}
		out = append(out, output{name, formats[i].write, file})
	}
	return out, nil
}

// check reads the flags that have fixed words, before any work is done.
func (f *reportFlags) check() error {
	if _, err := f.outputs(); err != nil {
		return err
	}
	if f.failOn != "" && f.failOn != "never" && f.failOn != "change" {
		if _, err := rule.ParseSeverity(f.failOn); err != nil {
			return usage("--fail-on %s: it is never, note, warning, error or change", f.failOn)
		}
	}
	if !slices.Contains([]string{"auto", "always", "never"}, f.color) {
		return usage("--color %s: it is auto, always or never", f.color)
	}
	return nil
}

// verdict gives the error that makes the exit code of a report.
func (f *reportFlags) verdict(e env, r *report.Report) error {
	if r.Count(report.Failed) > 0 {
		return errIncomplete
	}
	failOn := f.failOn
	if failOn == "" {
		failOn = "never"
		if e.getenv("GITHUB_ACTIONS") == "true" {
			failOn = "error"
		}
	}
	switch failOn {
	case "never":
		return nil
	case "change":
		if len(r.Visible()) > 0 || r.Worst() > 0 {
			return errFound
		}
		return nil
	}
	least, err := rule.ParseSeverity(failOn)
	if err != nil {
		return err
	}
	if r.Worst() >= least {
		return errFound
	}
	return nil
}

// workFlags say how the work is done.
type workFlags struct {
	config  string
	jobs    int
	timeout time.Duration
	cache   string
}

func (f *workFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.config, "config", "", "read this `FILE` instead of "+config.File+" on either side; "+os.DevNull+" for none")
	fs.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "units rendered at the same time")
	fs.DurationVar(&f.timeout, "timeout", worker.DefaultTimeout, "give up on a unit that takes longer; 0 for no limit")
	fs.StringVar(&f.cache, "cache", "", "keep what units render to in this `DIR`, or "+cacheOff+" (default prdiff in the user's cache folder, in CI none)")
}

// forced reads the file of --config, nil when there is none.
func (f *workFlags) forced(e env) (*config.Config, error) {
	if f.config == "" {
		return nil, nil
	}
	data, err := os.ReadFile(e.path(f.config))
	if err != nil {
		return nil, usage("--config: %v", err)
	}
	return config.Parse(f.config, data, knownWords())
}

func (f *workFlags) check() error {
	if f.jobs < 1 {
		return usage("--jobs %d: at least one unit must be rendered at a time", f.jobs)
	}
	if f.timeout < 0 {
		return usage("--timeout %s: a time cannot be negative", f.timeout)
	}
	return nil
}

// usage makes an error about how prdiff was called.
func usage(format string, args ...any) error {
	return fmt.Errorf(format, args...)
}

// atMost is cobra.MaximumNArgs with a sentence of ours.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("%s takes %s: %q is too much (see %s --help)", cmd.CommandPath(), what, args[n], cmd.CommandPath())
		}
		return nil
	}
}
