package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// An Error is a fault of a jsonnet program, at the place where it can be mended.
type Error struct {
	Path string // file, relative to the tree's root; "" when no file is to blame
	Line int    // 0 when not known
	Msg  string // the cause, without place and without stack
	// Field is the field whose value was being written out, such as
	// "web.metadata.name"; "" when not known.
	Field string
	// Callers are the places in the tree's files that led there, nearest first,
	// as "path:line".
	Callers []string
	// Missing is the import that was not found, as written; "" for other faults.
	Missing string
}

// Error gives "path:line: cause", followed by the field and the callers.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Field != "" {
		fmt.Fprintf(&b, " (in field %s)", e.Field)
	}
	if len(e.Callers) > 0 {
		fmt.Fprintf(&b, " (called from %s)", strings.Join(e.Callers, ", "))
	}
	return b.String()
}

// maxCallers is how many callers an error names: enough to lead from a library
// to the environment that uses it.
const maxCallers = 3

// explain turns an error of the VM into one for the program's author.
func (e *evaluator) explain(err error) error {
	if ctxErr := e.importer.ctx.Err(); ctxErr != nil {
		return fmt.Errorf("%s: evaluation given up: %w", e.importer.program.Entry, context.Cause(e.importer.ctx))
	}
	out := &Error{Msg: err.Error(), Missing: e.importer.missing}
	var frames []gojsonnet.TraceFrame
	var runtime gojsonnet.RuntimeError
	var static interface{ Loc() ast.LocationRange }
	switch {
	case errors.As(err, &runtime):
		out.Msg, frames = runtime.Msg, runtime.StackTrace
	case errors.As(err, &static):
		loc := static.Loc()
		out.Msg = strings.TrimPrefix(out.Msg, loc.String()+" ")
		out.Path, out.Line = place(loc)
	default:
		// A crash of the VM carries Go's stack behind its first line.
		out.Msg, _, _ = strings.Cut(out.Msg, "\n")
	}
	if out.Missing != "" && !strings.Contains(out.Msg, strconv.Quote(out.Missing)) {
		out.Missing = "" // found wanting, but not what this error is about
	}
	out.addFrames(frames)
	// What does not parse in an imported file comes as the text of an error at
	// the import.
	if m := located.FindStringSubmatch(out.Msg); m != nil {
		if out.Path != "" {
			out.Callers = append([]string{out.Path + ":" + strconv.Itoa(out.Line)}, out.Callers...)
		}
		out.Path, out.Msg = m[1], m[3]
		out.Line, _ = strconv.Atoi(m[2])
	}
	if out.Path == "" {
		out.Path = e.importer.program.Entry
	}
	if len(out.Callers) > maxCallers {
		// The last one is the entry point, the one its author knows.
		out.Callers = append(out.Callers[:maxCallers-1:maxCallers-1], out.Callers[len(out.Callers)-1])
	}
	return out
}

// located matches the beginning of a static error: "/file:1:2-3 message".
var located = regexp.MustCompile(`(?s)^/([^:\n]+):\(?(\d+):\d+(?:-\d+|\)-\(\d+:\d+\))? (.*)$`)

// place gives the file and line of a location, "" when it is not in the tree.
func place(loc ast.LocationRange) (name string, line int) {
	if loc.File == nil || loc.Begin.Line == 0 {
		return "", 0
	}
	name, ok := strings.CutPrefix(string(loc.File.DiagnosticFileName), "/")
	if !ok {
		return "", 0
	}
	return name, loc.Begin.Line
}

// addFrames reads places and fields from a stack, of which the last frame is the
// innermost.
func (e *Error) addFrames(frames []gojsonnet.TraceFrame) {
	var field string
	last := ""
	for i := len(frames) - 1; i >= 0; i-- {
		frame := frames[i]
		name, line := place(frame.Loc)
		if name == "" {
			if f, ok := strings.CutPrefix(frame.Loc.FileName, "Field "); ok {
				if key, err := strconv.Unquote(f); err == nil {
					field = key + "." + field
				}
			} else if n, ok := strings.CutPrefix(frame.Loc.FileName, "Array element "); ok {
				field = "[" + n + "]." + field
			}
			continue
		}
		at := name + ":" + strconv.Itoa(line)
		switch {
		case e.Path == "":
			e.Path, e.Line = name, line
		case at != last && at != e.Path+":"+strconv.Itoa(e.Line):
			e.Callers = append(e.Callers, at)
		}
		last = at
	}
	e.Field = strings.TrimSuffix(strings.ReplaceAll(field, ".[", "["), ".")
}
