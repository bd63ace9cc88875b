package celrule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// A program is one compiled expression.
type program struct {
	cel.Program
	expression
	// transition says that it looks at more than the state of one side.
	transition bool
	needs      []string   // of object and oldObject, those that it reads
	paths      [][]string // the fields of object and oldObject that it reads, as keys
}

// compiled is a definition with its programs.
type compiled struct {
	*definition
	set         *Set
	variables   map[string]program // by "variables.NAME"
	conditions  []program
	validations []check
}

type check struct {
	validation
	holds   program
	message *program // of messageExpression, nil for none
}

// compile type-checks and compiles the expressions of a definition.
func (s *Set) compile(d *definition) (*compiled, error) {
	out := &compiled{definition: d, set: s, variables: map[string]program{}}
	if d.skip != "" {
		return out, nil
	}
	env := s.env
	var errs []error
	try := func(e expression, want *cel.Type, what string) program {
		p, output, err := s.program(env, d, e, want, what, out.variables)
		if err != nil {
			errs = append(errs, err)
		}
		if want == nil && output != nil {
			extended, err := env.Extend(cel.Variable(what, output))
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", d.place(e.at(1, 1)), d.id, err))
				return p
			}
			env = extended
		}
		return p
	}
	for _, v := range d.variables {
		name := "variables." + v.name
		out.variables[name] = try(v.expression, nil, name)
	}
	for _, c := range d.conditions {
		out.conditions = append(out.conditions, try(c, cel.BoolType, "a condition"))
	}
	for _, v := range d.validations {
		c := check{validation: v, holds: try(v.expression, cel.BoolType, "the expression")}
		if v.messageExpression.text != "" {
			p := try(v.messageExpression, cel.StringType, "messageExpression")
			c.message = &p
		}
		out.validations = append(out.validations, c)
	}
	if len(errs) > 0 && d.policy != nil {
		if uses := s.clusterOnly(d); uses != "" {
			d.skip = d.reason(uses)
			return out, nil
		}
	}
	return out, errors.Join(errs...)
}

// program compiles one expression, which must give the wanted type, nil for any.
func (s *Set) program(env *cel.Env, d *definition, e expression, want *cel.Type, what string, variables map[string]program) (program, *cel.Type, error) {
	p := program{expression: e}
	checked, issues := env.Compile(e.text)
	if issues.Err() != nil {
		var errs []error
		for _, x := range issues.Errors() {
			errs = append(errs, fmt.Errorf("%s: %s: %s", d.place(e.at(x.Location.Line(), x.Location.Column()+1)), d.id, explain(x.Message)))
			if len(errs) == 3 {
				break // the rest follows from these
			}
		}
		return p, nil, errors.Join(errs...)
	}
	output := checked.OutputType()
	if want != nil && !output.IsExactType(want) {
		hint := ""
		if output.IsExactType(cel.DynType) && want.IsExactType(cel.BoolType) {
			hint = ": compare it with something, such as == true"
		} else if output.IsExactType(cel.DynType) {
			hint = ": write string(...) around it"
		}
		return p, nil, fmt.Errorf("%s: %s: %s gives %s, not %s%s", d.place(e.at(1, 1)), d.id, what, output, want, hint)
	}
	program, err := env.Program(checked, s.programOptions()...)
	if err != nil {
		return p, nil, fmt.Errorf("%s: %s: %w", d.place(e.at(1, 1)), d.id, err)
	}
	p.Program = program
	p.study(checked.NativeRep().Expr(), variables)
	return p, output, nil
}

// explain makes a sentence of a message of the type checker.
func explain(message string) string {
	message = strings.ReplaceAll(message, " (in container '')", "")
	for word, hint := range map[string]string{
		"params":          "parameters of policies are only in the cluster",
		"authorizer":      "who may do what is only known in the cluster",
		"namespaceObject": "it is only in the cluster: lookup('Namespace', '', change.namespace) gives the one in the manifests, or null",
		"variables":       "a variable stands in variables before it is used",
		"old_object":      "did you mean oldObject?",
		"oldobject":       "did you mean oldObject?",
	} {
		if strings.Contains(message, "undeclared reference to '"+word+"'") {
			return message + ": " + hint
		}
	}
	if m := undefinedField.FindStringSubmatch(message); m != nil {
		return message + ": see prdiff rules --help for what change, unit and request have"
	}
	return message
}

var undefinedField = regexp.MustCompile(`^undefined field '`)

// clusterOnly gives what an expression of a policy uses that only a cluster knows,
// "" for nothing.
func (s *Set) clusterOnly(d *definition) string {
	found := ""
	for _, e := range d.expressions() {
		parsed, issues := s.env.Parse(e.text)
		if issues.Err() != nil {
			continue
		}
		ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(x ast.Expr) {
			switch {
			case found != "":
			case x.Kind() == ast.IdentKind && slices.Contains([]string{"params", "authorizer", "namespaceObject"}, x.AsIdent()):
				found = x.AsIdent()
			case x.Kind() == ast.SelectKind && x.AsSelect().Operand().Kind() == ast.IdentKind && x.AsSelect().Operand().AsIdent() == "request":
				if _, known := requestType.Fields[x.AsSelect().FieldName()]; !known {
					found = "request." + x.AsSelect().FieldName()
				}
			}
		}))
	}
	return found
}

// stateOf are the fields of change that say nothing of a transition.
var stateOf = []string{"kind", "group", "namespace", "name", "unit", "file"}

// study notes what an expression looks at.
func (p *program) study(e ast.Expr, variables map[string]program) {
	inner := map[int64]bool{} // operands of selects that were looked at as a whole
	need := func(name string) {
		if !slices.Contains(p.needs, name) {
			p.needs = append(p.needs, name)
		}
	}
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.CallKind:
			name := x.AsCall().FunctionName()
			if strings.HasSuffix(name, "Before") && ours()[name] {
				p.transition = true
			}
			if path, root := chain(x); root != "" && !inner[x.ID()] {
				p.note(path, root, inner, x)
			}
		case ast.SelectKind:
			if path, root := chain(x); root != "" && !inner[x.ID()] {
				p.note(path, root, inner, x)
			}
		}
		if x.Kind() != ast.IdentKind {
			return
		}
		switch name := x.AsIdent(); {
		case name == "object":
			need(name)
		case name == "oldObject":
			need(name)
			p.transition = true
		case (name == "change" || name == "unit" || name == "request") && !inner[x.ID()]:
			p.transition = true // as a whole
		case strings.HasPrefix(name, "variables."):
			v := variables[name]
			p.transition = p.transition || v.transition
			p.paths = append(p.paths, v.paths...)
			for _, n := range v.needs {
				need(n)
			}
		}
	}))
}

// note takes in one chain of fields, such as object.spec.replicas.
func (p *program) note(path []string, root string, inner map[int64]bool, x ast.Expr) {
	for y := x; ; {
		var operand ast.Expr
		switch y.Kind() {
		case ast.SelectKind:
			operand = y.AsSelect().Operand()
		case ast.CallKind:
			if args := y.AsCall().Args(); len(args) > 0 {
				operand = args[0]
			}
		}
		if operand == nil {
			break
		}
		inner[operand.ID()] = true
		if operand.Kind() == ast.IdentKind {
			break
		}
		y = operand
	}
	switch root {
	case "object", "oldObject":
		p.paths = append(p.paths, path)
	case "change":
		p.transition = p.transition || !slices.Contains(stateOf, path[0])
	case "unit":
		p.transition = p.transition || path[0] == "before"
	case "request":
		p.transition = p.transition || path[0] == "operation"
	}
}

// chain gives the keys of a.b["c"].?d and the identifier that it begins with, ""
// when it begins with anything else.
func chain(e ast.Expr) (path []string, root string) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent()
	case ast.SelectKind:
		path, root = chain(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), root
	case ast.CallKind:
		call := e.AsCall()
		if name := call.FunctionName(); name != "_[_]" && name != "_?._" && name != "_[?_]" || len(call.Args()) != 2 {
			return nil, ""
		}
		path, root = chain(call.Args()[0])
		if key := call.Args()[1]; key.Kind() == ast.LiteralKind {
			if word, ok := key.AsLiteral().Value().(string); ok {
				return append(path, word), root
			}
		}
		return path, root
	}
	return nil, ""
}

// firstChanged gives the first field of a change that the expression looks at, ""
// when it looks at none.
func (p program) firstChanged(fields []object.Path) object.Path {
	for _, f := range fields {
		var keys []string
		for _, seg := range f.Segments() {
			if seg.Index < 0 && seg.Select == nil {
				keys = append(keys, seg.Key)
			}
		}
		for _, path := range p.paths {
			if len(path) > 0 && len(path) <= len(keys) && slices.Equal(path, keys[:len(path)]) {
				return f
			}
		}
	}
	return ""
}

// rule makes the rule.
func (c *compiled) rule() *rule.Rule {
	incidents := c.incidents
	if incidents == nil {
		incidents = []string{}
	}
	return &rule.Rule{
		ID: c.id, Title: c.title, Subject: Subject, Severity: c.severity, Doc: c.doc, Advice: c.advice,
		Incidents: incidents, Check: c.check,
	}
}
