package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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

// TestPagerOfATerminal opens a terminal of our own. Until somebody gives it a size,
// nobody sits before it.
func TestPagerOfATerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	pager := func(vars map[string]string) string {
		e := withEnv(vars)
		e.stdin, e.stdout = terminal, terminal
		return strings.Join(e.pager(), " ")
	}
	if got := pager(map[string]string{"PAGER": "sh -c cat"}); got != "" {
		t.Errorf("a terminal that nobody sees has the pager %q", got)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"none is asked for", nil, ""},
		{"PAGER", map[string]string{"PAGER": "sh -c cat"}, "/sh -c cat"},
		{"ours before the others'", map[string]string{"PAGER": "sh", "PRDIFF_PAGER": "env -i"}, "/env -i"},
		{"cat is no pager", map[string]string{"PAGER": "cat"}, ""},
		{"one that is not there", map[string]string{"PAGER": "no-such-pager"}, ""},
		{"CI", map[string]string{"PAGER": "sh", "CI": "1"}, ""},
		{"a terminal that can do nothing", map[string]string{"PAGER": "sh", "TERM": "dumb"}, ""},
	} {
		if got := pager(tt.env); !strings.HasSuffix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: pager() = %q, want %q at its end", tt.name, got, tt.want)
		}
	}
	e := withEnv(map[string]string{"TERM": "xterm"})
	e.stdin, e.stdout = terminal, terminal
	o := report.Options{Color: true}
	e.fit(&o)
	if o.Width != 80 || o.Height != 24 || !o.Links {
		t.Errorf("fit() = %+v, want 80 columns, 24 rows and links", o)
	}
}
