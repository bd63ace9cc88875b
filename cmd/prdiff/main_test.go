package main

import (
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"prdiff": main})
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
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
	})
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
