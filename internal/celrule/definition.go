package celrule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/strict"
)

// A definition is one rule as it is written, before its expressions are compiled.
type definition struct {
	file      string
	line      int
	id, title string
	doc       string
	advice    string
	severity  rule.Severity
	incidents []string

	match       func(p *rule.Pass, c diff.Change) bool
	variables   []variable
	conditions  []expression
	validations []validation
	standing    bool // what was so before counts too
	lenient     bool // an expression that cannot be evaluated is not about this object

	policy *policy // for one that is a ValidatingAdmissionPolicy
	skip   string  // why a policy cannot be asked here
}

type variable struct {
	name string
	expression
}

type validation struct {
	expression
	fires             bool // the value for which it is a finding
	message           string
	messageExpression expression
	path              object.Path // "" for the first changed field that it looks at
}

// An expression knows where it stands, so that errors say the place in the file.
type expression struct {
	text         string
	line, column int  // of its first character
	block        bool // a literal block: each line of it is a line of the file
	indent       int  // of such a block
}

// DecodeYAML notes the place of the text.
func (e *expression) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	*e = expression{text: d.Text(n, where), line: n.Line, column: n.Column}
	switch n.Style &^ yaml.TaggedStyle {
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		e.column++
	case yaml.LiteralStyle:
		e.line, e.column, e.block = n.Line+1, 1, true
	case yaml.FoldedStyle:
		e.line, e.column = n.Line+1, 0
	}
	if strings.TrimSpace(e.text) == "" && n.Kind == yaml.ScalarNode {
		d.Errorf(n, "%s is empty", where)
	}
}

// JSONSchema says that it is a text.
func (*expression) JSONSchema() map[string]any { return map[string]any{"type": "string"} }

// at gives the place in the file of a place in the expression. A column of 0 is
// not known.
func (e expression) at(line, column int) (int, int) {
	switch {
	case e.block:
		return e.line + line - 1, e.indent + column
	case line == 1 && e.column > 0:
		return e.line, e.column + column - 1
	}
	return e.line, 0
}

// A ruleFile is one rule of the users' own as it is written.
type ruleFile struct {
	ID        string         `yaml:"id" required:"true"`
	Title     string         `yaml:"title" required:"true"`
	Severity  string         `yaml:"severity"`
	Doc       string         `yaml:"doc"`
	Advice    string         `yaml:"advice"`
	Incidents []string       `yaml:"incidents"`
	Match     matchFile      `yaml:"match"`
	Standing  bool           `yaml:"standing"`
	Variables []variableFile `yaml:"variables"`
	// Conditions must all be true for the rule to be asked.
	Conditions []expression `yaml:"conditions"`

	Expression        expression       `yaml:"expression"`
	Message           string           `yaml:"message"`
	MessageExpression expression       `yaml:"messageExpression"`
	Path              string           `yaml:"path"`
	Validations       []validationFile `yaml:"validations"`
}

type matchFile struct {
	Kinds      []string `yaml:"kinds"`
	Actions    []string `yaml:"actions"`
	Namespaces []string `yaml:"namespaces"`
}

type variableFile struct {
	Name       string     `yaml:"name" required:"true"`
	Expression expression `yaml:"expression" required:"true"`
}

type validationFile struct {
	Expression        expression `yaml:"expression" required:"true"`
	Message           string     `yaml:"message"`
	MessageExpression expression `yaml:"messageExpression"`
	Path              string     `yaml:"path"`
}

// usualActions are those that leave an object to look at.
var usualActions = []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename}

var (
	kebab      = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// parse reads one file: rules, one or a list in each document, and policies. Other
// manifests of Kubernetes beside them are no rules and left alone.
func parse(f File) ([]*definition, error) {
	docs, err := strict.Documents(f.Name, f.Data)
	if err != nil {
		return nil, err
	}
	d := &strict.Decoder{File: f.Name}
	var out []*definition
	for _, doc := range docs {
		nodes := []*yaml.Node{doc}
		if doc.Kind == yaml.SequenceNode {
			nodes = doc.Content
		}
		for _, n := range nodes {
			n = strict.Follow(n)
			switch kindOf(n) {
			case "":
				out = append(out, ownRule(d, f, n))
			case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
				if def := policyRule(d, f, n); def != nil {
					out = append(out, def)
				}
			}
		}
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	lines := strings.Split(string(f.Data), "\n")
	for _, def := range out {
		for _, e := range def.expressions() {
			if e.block {
				e.indent = indentOf(lines, e.line)
			}
		}
	}
	return out, nil
}

// indentOf gives the indentation of a block, which its first line of text has.
func indentOf(lines []string, line int) int {
	for ; line-1 < len(lines); line++ {
		if text := strings.TrimLeft(lines[line-1], " "); strings.TrimSpace(text) != "" {
			return len(lines[line-1]) - len(text)
		}
	}
	return 0
}

// kindOf gives the kind of a manifest of Kubernetes, "" for anything else.
func kindOf(n *yaml.Node) string {
	var kind, apiVersion string
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch n.Content[i].Value {
			case "kind":
				kind = n.Content[i+1].Value
			case "apiVersion":
				apiVersion = n.Content[i+1].Value
			}
		}
	}
	if apiVersion == "" {
		return ""
	}
	if !strings.HasPrefix(apiVersion, "admissionregistration.k8s.io/") {
		return "other"
	}
	return kind
}

func (def *definition) expressions() []*expression {
	var out []*expression
	for i := range def.variables {
		out = append(out, &def.variables[i].expression)
	}
	for i := range def.conditions {
		out = append(out, &def.conditions[i])
	}
	for i := range def.validations {
		out = append(out, &def.validations[i].expression, &def.validations[i].messageExpression)
	}
	return out
}

func ownRule(d *strict.Decoder, f File, n *yaml.Node) *definition {
	var in ruleFile
	earlier := d.Mistakes()
	d.Decode(n, &in, "")
	misread := d.Mistakes() > earlier
	out := &definition{
		file: f.Name, line: n.Line, id: in.ID, title: in.Title, doc: in.Doc, advice: in.Advice, severity: rule.Warning,
		incidents: in.Incidents, conditions: in.Conditions, standing: in.Standing,
	}
	if in.ID != "" && !kebab.MatchString(in.ID) {
		d.Errorf(n, "id %q is not in lower-case words with hyphens between them", in.ID)
	}
	if strings.ContainsAny(in.Title, "\n") || strings.HasSuffix(in.Title, ".") {
		d.Errorf(n, "title must be one line without a full stop")
	}
	if in.Severity != "" {
		var err error
		if out.severity, err = rule.ParseSeverity(in.Severity); err != nil {
			d.Errorf(n, "%v", err)
		}
	}
	out.match = in.Match.compile(d, n)
	for _, v := range in.Variables {
		if !identifier.MatchString(v.Name) {
			d.Errorf(n, "the name of the variable %q is none that CEL knows", v.Name)
		}
		out.variables = append(out.variables, variable{v.Name, v.Expression})
	}
	all := in.Validations
	switch one := in.Expression.text != ""; {
	case one && len(all) > 0:
		d.Errorf(n, "the rule has both expression and validations: keep one")
	case one:
		all = []validationFile{{in.Expression, in.Message, in.MessageExpression, in.Path}}
	case len(all) == 0 && !misread:
		d.Errorf(n, "the rule has no expression")
	case in.Message != "" || in.MessageExpression.text != "" || in.Path != "":
		d.Errorf(n, "message, messageExpression and path belong to each of the validations")
	}
	for _, v := range all {
		message := v.Message
		if message == "" {
			message = lowerFirst(in.Title)
		}
		out.validations = append(out.validations, validation{
			expression: v.Expression, message: message, messageExpression: v.MessageExpression, path: object.Path(v.Path),
		})
	}
	return out
}

// compile makes a function of what a rule asks to see.
func (m matchFile) compile(d *strict.Decoder, n *yaml.Node) func(*rule.Pass, diff.Change) bool {
	actions := usualActions
	if len(m.Actions) > 0 {
		actions = nil
		var names []string
		for _, a := range []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Delete, diff.Rename} {
			names = append(names, string(a))
		}
		for _, a := range m.Actions {
			if !slices.Contains(names, a) {
				d.Errorf(n, "match.actions: there is no action %q%s", a, strict.Suggest(a, names))
			}
			actions = append(actions, diff.Action(a))
		}
	}
	settings := rule.Settings{CriticalNamespaces: m.Namespaces} // for its patterns
	return func(_ *rule.Pass, c diff.Change) bool {
		return slices.Contains(actions, c.Action) &&
			(len(m.Kinds) == 0 || slices.Contains(m.Kinds, c.Ref.Kind) || slices.Contains(m.Kinds, c.Ref.GroupKind())) &&
			(len(m.Namespaces) == 0 || settings.Critical(c.Ref.Namespace))
	}
}

// A Trigger is what makes a rule of a postmortem.
type Trigger struct {
	ID       string // of the postmortem; the rule's is "incident-" and that
	Title    string // of the postmortem
	File     string
	Line     int
	When     string        // is true for a change that repeats it
	Kinds    []string      // empty means all
	Severity rule.Severity // 0 is a warning
	Message  string
	Doc      string
}

// TriggerID is the ID of the rule that a postmortem makes.
func TriggerID(incident string) string { return "incident-" + incident }

func (t Trigger) definition() *definition {
	severity := t.Severity
	if severity == 0 {
		severity = rule.Warning
	}
	// A trigger is asked of deletions too: they are what many postmortems are about.
	m := matchFile{Kinds: t.Kinds, Actions: []string{string(diff.Create), string(diff.Update), string(diff.Replace), string(diff.Delete), string(diff.Rename)}}
	return &definition{
		file: t.File, line: t.Line, id: TriggerID(t.ID), title: t.Title, doc: t.Doc, severity: severity, incidents: []string{t.ID},
		match: m.compile(&strict.Decoder{}, &yaml.Node{}), lenient: len(t.Kinds) == 0,
		validations: []validation{{
			expression: expression{text: t.When, line: t.Line}, fires: true, message: t.Message,
		}},
	}
}

func lowerFirst(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

func (def *definition) place(line, column int) string {
	if column > 0 {
		return fmt.Sprintf("%s:%d:%d", def.file, line, column)
	}
	return fmt.Sprintf("%s:%d", def.file, line)
}
