package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/prdiff/prdiff/internal/report"
)

// publish writes a report in every format that was asked for, and gives the
// error that makes the exit code.
func (f *reportFlags) publish(ctx context.Context, e env, r *report.Report) error {
	e.linkOwn(r)
	outputs, err := f.outputs()
	if err != nil {
		return err
	}
	for _, o := range outputs {
		options := report.Options{ShowHidden: f.showHidden, Quiet: f.quiet, Times: f.verbose}
		if o.file != "" {
			options.Color = f.color == "always"
			var b bytes.Buffer
			if err := o.write(&b, r, options); err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			if err := os.WriteFile(e.path(o.file), b.Bytes(), 0o644); err != nil {
				return err
			}
			continue
		}
		options.Color = f.colors(e)
		write := func(w io.Writer) error { return o.write(w, r, options) }
		if forPrograms(o.name) {
			err = write(e.stdout)
		} else {
			err = e.page(ctx, write)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return f.verdict(e, r)
}

// colors says whether text on stdout is coloured.
func (f *reportFlags) colors(e env) bool {
	switch f.color {
	case "always":
		return true
	case "never":
		return false
	}
	return e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb" && isTerminal(e.stdout)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// page writes a text for people: through the pager when stdout is a terminal, as
// git does, and so that a line of it is no command when it is a log of GitHub
// Actions.
func (e env) page(ctx context.Context, write func(io.Writer) error) error {
	if e.getenv("GITHUB_ACTIONS") == "true" {
		return write(&logFilter{w: e.stdout})
	}
	pager := e.getenv("PAGER")
	if pager == "" {
		pager = "less"
	}
	words := strings.Fields(pager)
	if !isTerminal(e.stdout) || e.getenv("CI") != "" || len(words) == 0 || words[0] == "cat" {
		return write(e.stdout)
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return write(e.stdout)
	}
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Stdout, cmd.Stderr = e.stdout, e.stderr
	cmd.Env = []string{"LESS=FRX", "LV=-c"}
	for _, name := range []string{"LESS", "LV", "LESSCHARSET", "TERM", "TERMINFO", "HOME", "PATH", "LANG", "LC_ALL", "LC_CTYPE"} {
		if v := e.getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return write(e.stdout)
	}
	_ = write(in) // a reader who has seen enough quits the pager: that is no error
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("pager %s: %w", words[0], err)
	}
	return nil
}

// A logFilter keeps the lines of a log of GitHub Actions from being obeyed: the
// runner takes lines that begin with "::", and "##[" anywhere, for commands
// (https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs).
// Lines are passed on when they are complete, or at the end of one Write.
type logFilter struct {
	w    io.Writer
	open []byte // the line that is not complete yet
}

func (f *logFilter) Write(p []byte) (int, error) {
	f.open = append(f.open, p...)
	for {
		i := bytes.IndexByte(f.open, '\n')
		if i < 0 {
			// Nothing that we write ends within a line but progress, which is not
			// written in Actions.
			return len(p), nil
		}
		if _, err := io.WriteString(f.w, inertLine(string(f.open[:i+1]))); err != nil {
			return 0, err
		}
		f.open = f.open[i+1:]
	}
}

func inertLine(line string) string {
	line = strings.ReplaceAll(line, "##[", `#\#[`)
	rest := strings.TrimLeftFunc(line, unicode.IsSpace)
	if strings.HasPrefix(rest, "::") {
		return line[:len(line)-len(rest)] + `\` + rest
	}
	return line
}

// printable gives an error's line without the characters that drive a terminal.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return '\uFFFD'
		}
		return r
	}, line)
}

// progress tells on a terminal how far the work is, and nothing elsewhere.
func (e env) progress(quiet bool) (tell func(done, total int), finish func()) {
	if quiet || !isTerminal(e.stderr) || e.getenv("CI") != "" {
		return func(int, int) {}, func() {}
	}
	lines := make(chan string, 1)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for l := range lines {
			fmt.Fprintf(e.stderr, "\r\x1b[K%s", l)
		}
		fmt.Fprint(e.stderr, "\r\x1b[K")
	}()
	tell = func(done, total int) {
		select {
		case lines <- fmt.Sprintf("%d of %d units", done, total):
		default: // the terminal is slower than the work: the next number will do
		}
	}
	return tell, func() { close(lines); <-finished }
}
