package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/prdiff/prdiff/internal/report"
)

// publish writes a report in every format that was asked for, and gives the
// error that makes the exit code. A format that cannot be written takes no other
// one with it.
func (f *reportFlags) publish(ctx context.Context, e env, r *report.Report) error {
	e.linkOwn(r)
	outputs, err := f.outputs()
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range outputs {
		options := report.Options{ShowHidden: f.showHidden, Quiet: f.quiet, Times: f.verbose}
		if o.file != "" {
			options.Color = f.color == "always"
			errs = append(errs, e.writeFile(o, r, options))
			continue
		}
		options.Color = f.colors(e)
		e.fit(&options)
		write := func(w io.Writer) error { return o.write(w, r, options) }
		if forPrograms(o.name) {
			err = write(e.stdout)
		} else {
			err = e.page(ctx, write)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.name, err))
		}
	}
	if f.open {
		errs = append(errs, e.openPage(ctx, r, report.Options{ShowHidden: f.showHidden, Times: f.verbose}))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return f.verdict(e, r)
}

// writeFile writes a report to the file that a flag names.
func (e env) writeFile(o output, r *report.Report, options report.Options) error {
	var b bytes.Buffer
	err := o.write(&b, r, options)
	if err == nil {
		err = os.WriteFile(e.path(o.file), b.Bytes(), 0o644)
	}
	if err == nil {
		return nil
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // the path stands in the flag
	}
	return fmt.Errorf("--format %s=%s: %w", o.name, o.file, err)
}

// fit says how large the terminal is, and what it can do.
func (e env) fit(o *report.Options) {
	width, height := e.size()
	if width == 0 || e.inActions() {
		return
	}
	pager := e.pager()
	o.Width = width
	if pager == nil {
		o.Height = height
	}
	// Terminals that know no hyperlinks pass them over; the console of Linux, and
	// pagers other than less, may not.
	o.Links = o.Color && e.getenv("TERM") != "linux" && (pager == nil || filepath.Base(pager[0]) == "less")
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

// pager gives the command that long texts go through, nil for none: what
// PRDIFF_PAGER says, else PAGER. There is none unless one of them is set, as a pager
// waits for keys, and a terminal may have nobody before it.
func (e env) pager() []string {
	words := strings.Fields(e.getenv("PRDIFF_PAGER"))
	if len(words) == 0 {
		words = strings.Fields(e.getenv("PAGER"))
	}
	if len(words) == 0 || words[0] == "cat" || e.getenv("CI") != "" || e.getenv("TERM") == "dumb" || !isTerminal(e.stdout) || !isTerminal(e.stdin) {
		return nil
	}
	// A terminal of no size is one that a program made for us (script, expect): nobody
	// sees it, and no key will be pressed.
	if width, height := e.size(); width == 0 || height == 0 {
		return nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil
	}
	return append([]string{path}, words[1:]...)
}

// size gives the columns and rows of the terminal, 0 when stdout is none or they are
// not known.
func (e env) size() (width, height int) {
	f, ok := e.stdout.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// page writes a text for people: through a pager when there is one and stdout is a
// terminal, and so that a line of it is no command when it is a log of GitHub Actions.
func (e env) page(ctx context.Context, write func(io.Writer) error) error {
	if e.inActions() {
		return write(&logFilter{w: e.stdout})
	}
	pager := e.pager()
	if pager == nil {
		return write(e.stdout)
	}
	cmd := exec.CommandContext(ctx, pager[0], pager[1:]...)
	cmd.Stdout, cmd.Stderr = e.stdout, e.stderr
	cmd.Env = append([]string{"LESS=FRX", "LV=-c"}, e.some("LESS", "LV", "LESSCHARSET", "TERM", "TERMINFO", "HOME", "PATH", "LANG", "LC_ALL", "LC_CTYPE")...)
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
		return fmt.Errorf("pager %s: %w", filepath.Base(pager[0]), err)
	}
	return nil
}

// some gives those of the environment variables that are set, for a program that we
// start. Nothing else of our environment reaches it, no token above all.
func (e env) some(names ...string) []string {
	var out []string
	for _, name := range names {
		if v := e.getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
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
