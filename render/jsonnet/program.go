package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// A Program is one entry point with all that decides about its value.
type Program struct {
	Entry  string   // the file, relative to the tree's root
	Search []string // folders of the import path, in order, after the importing file's own
	Vars   Vars
	// ExtCode are external variables that Vars do not override.
	ExtCode map[string]string
	// Builtin are libraries by the exact text that imports them.
	Builtin map[string]string
}

// A Session evaluates expressions over one program. Values are kept between its
// evaluations, so that a file is evaluated once. Not safe for concurrent use.
type Session struct {
	side    *Side
	eval    *evaluator
	program Program
	lost    bool // an evaluation still runs; the evaluator cannot be used again
}

// Open makes a session. It must be closed.
func (s *Side) Open(p Program) *Session {
	s.mu.Lock()
	var e *evaluator
	if n := len(s.idle); n > 0 {
		e, s.idle = s.idle[n-1], s.idle[:n-1]
	}
	s.mu.Unlock()
	if e == nil {
		e = newEvaluator(s)
	}
	session := &Session{side: s, eval: e, program: p}
	e.load(&session.program)
	return session
}

// Close gives the session's evaluator back.
func (s *Session) Close() {
	if s.lost || s.eval == nil {
		return
	}
	s.eval.importer.program = nil
	s.side.mu.Lock()
	s.side.idle = append(s.side.idle, s.eval)
	s.side.mu.Unlock()
	s.eval = nil
}

// Eval evaluates the program, or, when expr is not empty, a jsonnet expression
// in which `main` is the program's value, called with the top-level arguments
// when it is a function. The value is made of the types of encoding/json, all
// numbers float64, and belongs to the caller. Errors are of type *Error where
// they come from the program.
func (s *Session) Eval(ctx context.Context, expr string) (any, error) {
	if s.lost {
		return nil, errors.New("an earlier evaluation was given up")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: not evaluated: %w", s.program.Entry, err)
	}
	type result struct {
		value any
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := s.eval.run(ctx, expr)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		s.lost = true
		return nil, fmt.Errorf("%s: evaluation given up: %w", s.program.Entry, ctx.Err())
	}
}

// An evaluator is one jsonnet VM. It keeps parsed files across programs; values
// are dropped whenever variables are set.
type evaluator struct {
	vm       *gojsonnet.VM
	importer *importer
	natives  *nativeCalls
	result   any
}

// resultName is the native function that takes the value out of the VM, without
// a detour over JSON text. A program that calls it itself changes nothing: the
// call around it comes last.
const resultName = "<prdiff result>"

func newEvaluator(s *Side) *evaluator {
	e := &evaluator{vm: gojsonnet.MakeVM(), importer: &importer{side: s, builtin: map[string]gojsonnet.Contents{}}}
	e.natives = &nativeCalls{side: s}
	e.vm.MaxStack = maxStack
	e.vm.SetTraceOut(io.Discard)
	e.vm.Importer(e.importer)
	for _, f := range e.natives.functions() {
		e.vm.NativeFunction(f)
	}
	e.vm.NativeFunction(&gojsonnet.NativeFunction{
		Name:   resultName,
		Params: ast.Identifiers{"value"},
		Func: func(args []any) (any, error) {
			e.result = args[0]
			return nil, nil
		},
	})
	return e
}

// load makes p the program that is evaluated next.
func (e *evaluator) load(p *Program) {
	e.importer.program = p
	e.vm.ExtReset() // also drops the values of the program before
	e.vm.TLAReset()
	setVars(p.Vars.ExtCode, p.Vars.ExtStr, p.Vars.ExtCodeFile, p.Vars.ExtStrFile, e.vm.ExtCode, e.vm.ExtVar)
	setVars(p.Vars.TLACode, p.Vars.TLAStr, p.Vars.TLACodeFile, p.Vars.TLAStrFile, e.vm.TLACode, e.vm.TLAVar)
	for _, k := range slices.Sorted(maps.Keys(p.ExtCode)) {
		e.vm.ExtCode(k, p.ExtCode[k])
	}
}

func setVars(code, str, codeFile, strFile map[string]string, setCode, setStr func(k, v string)) {
	for k, v := range code {
		setCode(k, v)
	}
	for k, v := range str {
		setStr(k, v)
	}
	for k, v := range codeFile {
		setCode(k, "import "+verbatim(v))
	}
	for k, v := range strFile {
		setCode(k, "importstr "+verbatim(v))
	}
}

func verbatim(s string) string { return `@"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func (e *evaluator) run(ctx context.Context, expr string) (value any, err error) {
	e.importer.ctx, e.importer.missing = ctx, ""
	e.natives.ctx = ctx
	e.result = nil
	program := e.importer.program
	for _, vars := range []map[string]string{program.Vars.ExtCode, program.Vars.TLACode} {
		for _, k := range slices.Sorted(maps.Keys(vars)) {
			if err := ScanSource([]byte(vars[k])).tooDeep(); err != nil {
				return nil, fmt.Errorf("variable %s: %w", k, err)
			}
		}
	}
	node, err := gojsonnet.SnippetToAST(snippetName, snippet(program, expr))
	if err != nil {
		return nil, e.explain(err)
	}
	if _, err := e.vm.Evaluate(node); err != nil {
		return nil, e.explain(err)
	}
	value, e.result = e.result, nil
	return value, nil
}

// identifier matches names that a parameter can have.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var keywords = map[string]bool{
	"assert": true, "else": true, "error": true, "false": true, "for": true, "function": true, "if": true,
	"import": true, "importstr": true, "importbin": true, "in": true, "local": true, "null": true,
	"tailstrict": true, "then": true, "self": true, "super": true, "true": true, "std": true,
}

// snippet is the program around an entry point: it hands on the top-level
// arguments when the entry point is a function, and ignores them otherwise.
func snippet(p *Program, expr string) string {
	names := map[string]bool{}
	for _, vars := range []map[string]string{p.Vars.TLACode, p.Vars.TLAStr, p.Vars.TLACodeFile, p.Vars.TLAStrFile} {
		for k := range vars {
			names[k] = true
		}
	}
	var params, args []string
	refuse := ""
	for _, k := range slices.Sorted(maps.Keys(names)) {
		if !identifier.MatchString(k) || keywords[k] {
			refuse = k // no function has such a parameter
			continue
		}
		params = append(params, k)
		args = append(args, k+"="+k)
	}
	call := "value(" + strings.Join(args, ", ") + ")"
	if refuse != "" {
		call = "error " + verbatim("function has no parameter "+refuse)
	}
	if expr == "" {
		expr = "main"
	}
	body := "std.native(" + verbatim(resultName) + ")((local value = import " + verbatim("/"+p.Entry) + ";\n" +
		"local main = if std.isFunction(value) then " + call + " else value;\n" + expr + "\n))"
	if len(params) > 0 {
		return "function(" + strings.Join(params, ", ") + ") " + body
	}
	return body
}
