package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/github"
)

// actionCommand is what action.yml calls. It makes a command line of the inputs,
// which come as environment variables so that no shell ever reads them.
func actionCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:    "action",
		Short:  "Run as the GitHub Action, with its inputs from the environment",
		Hidden: true,
		Args:   atMost(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			in := actionInputs{e}
			if n := in.input("shards"); n != "" {
				return in.matrix(cmd.Context(), n)
			}
			dir, err := os.MkdirTemp(e.getenv("RUNNER_TEMP"), "prdiff-report-")
			if err != nil {
				return err
			}
			args, err := in.args(dir)
			if err != nil {
				return err
			}
			if err := e.announce(dir); err != nil {
				return err
			}
			return e.command(cmd.Context(), args)
		},
	}
}

// command runs a command line of prdiff.
func (e env) command(ctx context.Context, args []string) error {
	inner := rootCommand(e)
	inner.SetArgs(args)
	inner.SetIn(e.stdin)
	inner.SetOut(e.stdout)
	inner.SetErr(e.stderr)
	return inner.ExecuteContext(ctx)
}

// matrix divides the units into at most n jobs, and gives their matrix to later
// jobs as an output.
func (in actionInputs) matrix(ctx context.Context, n string) error {
	var out bytes.Buffer
	e := in.env
	e.stdout = &out
	args := []string{"units", "--affected", "--shards=" + n}
	for _, flag := range []string{"base", "config"} {
		if v := in.input(flag); v != "" {
			args = append(args, "--"+flag+"="+v)
		}
	}
	if err := e.command(ctx, append(append(args, "--"), in.lines("paths")...)); err != nil {
		return err
	}
	matrix := strings.TrimSpace(out.String())
	if _, err := fmt.Fprintln(in.stdout, matrix); err != nil {
		return err
	}
	file := in.getenv("GITHUB_OUTPUT")
	if file == "" {
		return nil
	}
	return github.WriteOutputs(file, []github.Output{{Name: "matrix", Value: matrix}}, rand.Text)
}

// announce tells later steps where the reports will be. It comes first, as a run
// that fails may have written some.
func (e env) announce(dir string) error {
	file := e.getenv("GITHUB_OUTPUT")
	if file == "" {
		return nil
	}
	outputs := []github.Output{{Name: "report-directory", Value: dir}}
	for _, f := range actionFormats {
		if reporterOf(f.format) != nil {
			outputs = append(outputs, github.Output{Name: "report-" + f.format, Value: filepath.Join(dir, f.file)})
		}
	}
	return github.WriteOutputs(file, outputs, rand.Text)
}

// actionFormats are the files that the action writes.
var actionFormats = []struct{ format, file string }{
	{"json", "report.json"}, {"markdown", "report.md"}, {"html", "report.html"}, {"sarif", "report.sarif"},
}

type actionInputs struct{ env }

// input gives an input of the action, trimmed.
func (in actionInputs) input(name string) string {
	return strings.TrimSpace(in.getenv("PRDIFF_INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))))
}

// lines gives the lines of an input that are not empty.
func (in actionInputs) lines(name string) []string {
	var out []string
	for line := range strings.Lines(in.input(name)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// on reads an input that is true or false.
func (in actionInputs) on(name string) (bool, error) {
	switch v := strings.ToLower(in.input(name)); v {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	default:
		return false, usage("the input %s is true or false, not %q", name, v)
	}
}

// args gives the command line that the inputs ask for, with reports in dir.
func (in actionInputs) args(dir string) ([]string, error) {
	fork, parts := in.input("from-fork"), in.lines("parts")
	args := []string{"diff"}
	if fork != "" || len(parts) > 0 {
		args = []string{"report"}
	}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, "--"+flag+"="+value)
		}
	}
	args = append(args, "--color=always", "--format=text")
	for _, f := range actionFormats {
		if reporterOf(f.format) != nil {
			add("format", f.format+"="+filepath.Join(dir, f.file))
		}
	}
	switch {
	case fork != "":
	case in.input("shard") != "":
		add("fail-on", "never") // the merged report decides
	default:
		add("fail-on", in.input("fail-on"))
	}
	published, err := in.places()
	if err != nil {
		return nil, err
	}
	add("publish", strings.Join(published, ","))
	if when := in.input("comment"); when != "never" && when != "false" {
		add("comment", when)
	}
	add("comment-key", in.input("key"))
	add("comment-author", in.input("comment-author"))
	switch {
	case fork != "":
		return append(args, "--from-fork", "--", fork), nil
	case len(parts) > 0:
		files, err := in.files(parts)
		return append(append(args, "--"), files...), err
	}
	add("base", in.input("base"))
	add("config", in.input("config"))
	add("shard", in.input("shard"))
	add("timeout", in.input("timeout"))
	add("time-limit", in.input("time-limit"))
	add("cache", in.input("cache"))
	return append(append(args, "--"), in.lines("paths")...), nil
}

// places gives the value of --publish.
func (in actionInputs) places() ([]string, error) {
	var out []string
	if when := in.input("comment"); when != "never" && when != "false" {
		out = append(out, placeComment)
	}
	for _, place := range []string{placeSummary, placeAnnotations, placeCheck, placeScanning} {
		on, err := in.on(place)
		if err != nil {
			return nil, err
		}
		if on {
			out = append(out, place)
		}
	}
	// A shard's report is a part: only the merged one is for readers.
	if in.input("shard") != "" {
		return []string{placeOutputs}, nil
	}
	if len(out) == 0 {
		out = []string{placeOutputs}
	}
	return out, nil
}

// files gives the files that patterns name. One that names none is an error: the
// part that it stands for is missing.
func (in actionInputs) files(patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		found, err := filepath.Glob(in.path(p))
		if err != nil {
			return nil, usage("the input parts: %s: %v", p, err)
		}
		if len(found) == 0 {
			return nil, usage("the input parts: there is no file %s", p)
		}
		for _, f := range found {
			abs, err := filepath.Abs(f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f, err)
			}
			out = append(out, abs)
		}
	}
	return out, nil
}
