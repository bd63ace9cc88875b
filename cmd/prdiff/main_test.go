package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/prdiff/prdiff/internal/report"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"prdiff": main, "helm": fakeHelm})
}

// TestScript runs the whole program as a user meets it, in git repositories that
// the scripts make.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, kv := range [][2]string{
				{"HOME", e.WorkDir}, {"GIT_CONFIG_NOSYSTEM", "1"}, {"GIT_CEILING_DIRECTORIES", filepath.Dir(e.WorkDir)},
				{"GIT_AUTHOR_NAME", "a"}, {"GIT_AUTHOR_EMAIL", "a@example.org"}, {"GIT_COMMITTER_NAME", "a"}, {"GIT_COMMITTER_EMAIL", "a@example.org"},
				{"GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"}, {"GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"},
				{"GITHUB_ACTIONS", ""}, {"GITHUB_EVENT_NAME", ""}, {"CI", ""}, {"NO_COLOR", ""}, {"PAGER", ""},
			} {
				e.Setenv(kv[0], kv[1])
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "valid": valid},
	})
}

// valid holds reports in JSON against the schema that is published: valid FILE ...
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: valid FILE ...")
	}
	text, err := report.JSONSchema()
	ts.Check(err)
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	ts.Check(err)
	c := jsonschema.NewCompiler()
	ts.Check(c.AddResource("mem:report", schema))
	s, err := c.Compile("mem:report")
	ts.Check(err)
	for _, file := range args {
		data, err := os.ReadFile(ts.MkAbs(file))
		ts.Check(err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		ts.Check(err)
		if err := s.Validate(doc); err != nil {
			ts.Fatalf("%s: %#v", file, err)
		}
	}
}

// exits runs a program and wants one exit code: exits 2 prdiff diff a b.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
