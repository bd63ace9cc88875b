package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/report"
)

// TestOpenPage opens a page with a program of our own that stands for a browser.
func TestOpenPage(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	browser := filepath.Join(dir, "browser")
	seen := filepath.Join(dir, "seen")
	script := "#!/bin/sh\n{ echo \"$#\"; head -c 15 \"$1\"; echo; env; } >" + seen + "\n"
	if err := os.WriteFile(browser, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	e := withEnv(map[string]string{"BROWSER": browser, "HOME": dir, "GITHUB_TOKEN": "t0ken", "PATH": os.Getenv("PATH")})
	e.stderr = &said
	if err := e.openPage(context.Background(), &report.Report{}, report.Options{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(data); !strings.HasPrefix(got, "1\n<!doctype html>\n") || strings.Contains(got, "t0ken") || !strings.Contains(got, "HOME="+dir) {
		t.Errorf("the browser saw %s", got)
	}
	file := regexp.MustCompile(`^prdiff: the page is (\S+)\n$`).FindStringSubmatch(said.String())
	if file == nil {
		t.Fatalf("it said %q", said.String())
	}
	info, err := os.Stat(file[1])
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the page has the mode %o, want 600", info.Mode().Perm())
	}
}
