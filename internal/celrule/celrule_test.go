package celrule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/celrule"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// unit parses both sides of a unit and compares them.
func unit(t testing.TB, before, after string) *rule.Unit {
	t.Helper()
	side := func(text string) *object.Set {
		objects, errs := object.Parse("prod", "all.yaml", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return object.NewSet(objects)
	}
	u := &rule.Unit{Name: "prod", Before: side(before), After: side(after)}
	u.Changes = diff.Compare(u.Before, u.After, diff.Options{})
	return u
}

func compile(t testing.TB, text string) *celrule.Set {
	t.Helper()
	set, err := celrule.Compile([]celrule.File{{Name: "rules.yaml", Data: []byte(text)}}, nil, nil, celrule.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// said gives findings and problems, a line each.
func said(set *celrule.Set, u *rule.Unit) string {
	var b strings.Builder
	for _, f := range rule.Run(set.Rules(), []*rule.Unit{u}) {
		fmt.Fprintf(&b, "%s %s %s: %s: %s\n", f.Severity, f.Rule, f.Ref, f.Path, f.Message)
	}
	for _, p := range set.Problems() {
		fmt.Fprintf(&b, "problem %s %s %s: %s\n", p.File, p.Rule, p.Ref, p.Text)
	}
	return b.String()
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: prod}
spec:
  %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "%s", env: [{name: PASSWORD, value: "%s"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: prod}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

func web(spec, image, password string) string { return fmt.Sprintf(deployment, spec, image, password) }

func TestOwnRules(t *testing.T) {
	for _, tt := range []struct{ name, rule, before, after, want string }{
		{"a state that the change brings",
			`{id: r, title: No tag, match: {kinds: [Deployment.apps]}, expression: "object.spec.template.spec.containers.all(c, c.image.contains(':'))"}`,
			web("replicas: 1", "app:1", "x"), web("replicas: 1", "app", "x"),
			"warning r Deployment prod/web: spec.template.spec.containers[name=app].image: no tag\n"},
		{"a state that was so before",
			`{id: r, title: No tag, match: {kinds: [Deployment]}, expression: "object.spec.template.spec.containers.all(c, c.image.contains(':'))"}`,
			web("replicas: 1", "app", "x"), web("replicas: 2", "app", "x"), ""},
		{"a state that was so before, and is told all the same",
			`{id: r, title: No tag, standing: true, match: {kinds: [Deployment]}, expression: "object.spec.template.spec.containers.all(c, c.image.contains(':'))"}`,
			web("replicas: 1", "app", "x"), web("replicas: 2", "app", "x"), "warning r Deployment prod/web: : no tag\n"},
		{"a created object",
			`{id: r, title: No tag, severity: error, match: {kinds: [Deployment]}, expression: "oldObject != null || object.spec.replicas > 1"}`,
			"", web("replicas: 1", "app", "x"), "error r Deployment prod/web: : no tag\n"},
		{"a transition",
			`{id: r, title: Fewer, match: {kinds: [Deployment]}, expression: object.spec.replicas >= oldObject.spec.replicas, messageExpression: "string(oldObject.spec.replicas) + ' become ' + string(object.spec.replicas)"}`,
			web("replicas: 4", "app", "x"), web("", "app", "x"), "warning r Deployment prod/web: spec.replicas: 4 become 1\n"},
		{"a transition asked of a created object is about nothing",
			`{id: r, title: Fewer, match: {kinds: [Deployment]}, expression: object.spec.replicas >= oldObject.spec.replicas}`,
			"", web("replicas: 4", "app", "x"), ""},
		{"an action that is not asked for",
			`{id: r, title: Gone, match: {kinds: [Service]}, expression: "false"}`,
			web("", "app", "x"), "", ""},
		{"an action that is asked for",
			`{id: r, title: Gone, match: {kinds: [Service], actions: [delete]}, expression: "object != null"}`,
			web("", "app", "x"), "", "warning r Service prod/web: : gone\n"},
		{"fields of the change",
			`{id: r, title: Image, match: {kinds: [Deployment]}, expression: "!change.fields.exists(f, f.path.endsWith('.image') && f.op == 'change')", path: spec.template}`,
			web("", "app:1", "x"), web("", "app:2", "x"), "warning r Deployment prod/web: spec.template: image\n"},
		{"conditions",
			`{id: r, title: Image, match: {kinds: [Deployment]}, conditions: ["change.namespace != 'prod'"], expression: "false"}`,
			web("", "app:1", "x"), web("", "app:2", "x"), ""},
		{"variables",
			`{id: r, title: Image, match: {kinds: [Deployment]}, variables: [{name: images, expression: "object.spec.template.spec.containers.map(c, c.image)"}, {name: n, expression: "size(variables.images)"}],
			  expression: "variables.n == 1 && variables.images[0] == 'app:1'"}`,
			web("", "app:1", "x"), web("", "app:2", "x"), "warning r Deployment prod/web: spec.template.spec.containers[name=app].image: image\n"},
		{"several validations",
			`{id: r, title: Image, match: {kinds: [Deployment]}, validations: [{expression: "false", message: one}, {expression: "true"}, {expression: "1 > 2", message: two}], standing: true}`,
			web("", "app:1", "x"), web("", "app:2", "x"), "warning r Deployment prod/web: : one\nwarning r Deployment prod/web: : two\n"},
		{"pods that a selector reaches",
			`{id: r, title: Nobody, match: {kinds: [Service]}, expression: "pods(object.spec.selector, object.metadata.namespace).size() > 0"}`,
			web("", "app:1", "x"), strings.Replace(web("", "app:1", "x"), "{selector: {app: web}, ports", "{selector: {app: api}, ports", 1),
			"warning r Service prod/web: spec.selector.app: nobody\n"},
		{"pods on both sides",
			`{id: r, title: Fewer pods, match: {kinds: [Service]}, expression: "pods(object.spec.selector, 'prod').size() >= podsBefore(oldObject.spec.selector, 'prod').size()",
			  messageExpression: "podsBefore(oldObject.spec.selector, 'prod')[0].name + string(podsBefore(oldObject.spec.selector, 'prod')[0].replicas)"}`,
			web("", "app:1", "x"), strings.Replace(web("", "app:1", "x"), "{selector: {app: web}, ports", "{selector: {app: api}, ports", 1),
			"warning r Service prod/web: spec.selector.app: web1\n"},
		{"pods that an operator makes are not known",
			`{id: r, title: Nobody, match: {kinds: [Service]}, expression: "pods(object.spec.selector, 'prod').size() > 0"}`,
			web("", "app:1", "x"), strings.Replace(web("", "app:1", "x"), "{selector: {app: web}, ports", "{selector: {app.kubernetes.io/name: prometheus}, ports", 1) +
				"---\n{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: p, namespace: prod}, spec: {}}\n", ""},
		{"services of a workload, and a lookup",
			`{id: r, title: Served, standing: true, match: {kinds: [Deployment]}, expression: "services(object).exists(s, s.metadata.name == 'other') || lookup('Deployment', 'prod', 'web') == null || objects('Service').size() != 1 || budgets(object).size() > 0"}`,
			web("", "app:1", "x"), web("", "app:2", "x"), "warning r Deployment prod/web: : served\n"},
		{"secrets that stay are equal, masked in messages",
			`{id: r, title: Secret, match: {kinds: [Deployment]}, expression: "object.spec.template.spec.containers[0].env == oldObject.spec.template.spec.containers[0].env", messageExpression: "'now ' + object.spec.template.spec.containers[0].env[0].value"}`,
			web("", "app:1", "hunter2hunter2"), web("", "app:2", "hunter2hunter2"), ""},
		{"secrets that change are not equal, masked in messages",
			`{id: r, title: Secret, match: {kinds: [Deployment]}, expression: "object.spec.template.spec.containers[0].env == oldObject.spec.template.spec.containers[0].env", messageExpression: "'now ' + object.spec.template.spec.containers[0].env[0].value"}`,
			web("", "app:1", "hunter2hunter2"), web("", "app:1", "hunter3hunter3"), "warning r Deployment prod/web: spec.template.spec.containers[name=app].env[name=PASSWORD].value: now ***\n"},
		{"functions of Kubernetes",
			`{id: r, title: Functions, match: {kinds: [Deployment]}, standing: true, expression: "!(quantity('1Gi').isGreaterThan(quantity('512Mi')) && 'a-b'.matches('^[a-z-]+$') && [1, 2].sum() == 3 && isURL('https://a.b') && cidr('10.0.0.0/8').containsIP('10.1.2.3') && semver('1.2.3').major() == 1)"}`,
			web("", "app:1", "x"), web("", "app:2", "x"), "warning r Deployment prod/web: : functions\n"},
		{"an expression that fails is a problem",
			`{id: r, title: Fails, match: {kinds: [Deployment]}, expression: object.spec.nothing > 1}`,
			web("", "app:1", "x"), web("", "app:2", "x"), "problem rules.yaml r Deployment prod/web: no such key: nothing\n"},
		{"an expression that costs too much is a problem",
			`{id: r, title: Costs, match: {kinds: [Deployment]}, variables: [{name: l, expression: "[1,2,3,4,5,6,7,8,9,10]"}], expression: "variables.l.all(a, variables.l.all(b, variables.l.all(c, variables.l.all(d, variables.l.all(e, variables.l.all(f, a + b + c + d + e + f > 0))))))"}`,
			web("", "app:1", "x"), web("", "app:2", "x"), "problem rules.yaml r Deployment prod/web: operation cancelled: actual cost limit exceeded\n"},
		{"the unit whole",
			`{id: r, title: Unit, match: {kinds: [Deployment]}, expression: "unit.name != 'prod' || unit.after.size() != 2 || unit.before.exists(o, o.kind == 'Gateway') || !unit.production"}`,
			web("", "app:1", "x"), web("", "app:2", "x"), "warning r Deployment prod/web: : unit\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := unit(t, tt.before, tt.after)
			set := compile(t, tt.rule)
			if got := said(set, u); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
			if again := said(set, u); again != tt.want {
				t.Errorf("the second run says\n%swant\n%s", again, tt.want)
			}
		})
	}
}

func TestCompileSaysWhereAMistakeStands(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a variable that is none, in one line", "id: r\ntitle: T\nexpression: objet.spec == 1\n", "rules.yaml:3:13: r: undeclared reference to 'objet'"},
		{"in quotes", "id: r\ntitle: T\nexpression: \"objet.spec == 1\"\n", "rules.yaml:3:14: r: undeclared reference to 'objet'"},
		{"in a block", "id: r\ntitle: T\nexpression: |\n  true &&\n    objet.spec == 1\n", "rules.yaml:5:5: r: undeclared reference to 'objet'"},
		{"a folded text", "id: r\ntitle: T\nexpression: >\n  true &&\n  objet.spec == 1\n", "rules.yaml:4: r: undeclared reference to 'objet'"},
		{"a field that change does not have", "id: r\ntitle: T\nexpression: change.acton == 'x'\n", "rules.yaml:3:19: r: undefined field 'acton': see prdiff rules --help for what change, unit and request have"},
		{"a field of a pod", "id: r\ntitle: T\nexpression: pods(object.spec.selector, 'a')[0].nam == 'x'\n", "rules.yaml:3:47: r: undefined field 'nam': see prdiff rules --help for what change, unit and request have"},
		{"types that do not fit", "id: r\ntitle: T\nexpression: change.name + 1 == 'x'\n", "rules.yaml:3:25: r: found no matching overload for '_+_' applied to '(string, int)'"},
		{"not a boolean", "id: r\ntitle: T\nexpression: object.spec.paused\n", "rules.yaml:3:13: r: the expression gives dyn, not bool: compare it with something, such as == true"},
		{"a message that is no text", "id: r\ntitle: T\nexpression: 'true'\nmessageExpression: 1 + 1\n", "rules.yaml:4:20: r: messageExpression gives int, not string"},
		{"params", "id: r\ntitle: T\nexpression: params.x == 1\n", "rules.yaml:3:13: r: undeclared reference to 'params': parameters of policies are only in the cluster"},
		{"a syntax error", "id: r\ntitle: T\nexpression: object.spec ==\n", "rules.yaml:3:27: r: Syntax error: mismatched input '<EOF>' expecting"},
		{"no expression", "id: r\ntitle: T\n", "rules.yaml:1: the rule has no expression"},
		{"an unknown key", "id: r\ntitle: T\nexpresion: 'true'\n", `rules.yaml:3: unknown key "expresion": did you mean "expression"?`},
		{"an unknown action", "id: r\ntitle: T\nexpression: 'true'\nmatch: {actions: [remove]}\n", `rules.yaml:1: match.actions: there is no action "remove"`},
		{"a severity that is none", "id: r\ntitle: T\nexpression: 'true'\nseverity: fatal\n", `rules.yaml:1: unknown severity "fatal": it is note, warning or error`},
		{"an id that is none", "id: My Rule\ntitle: T\nexpression: 'true'\n", `rules.yaml:1: id "My Rule" is not in lower-case words with hyphens between them`},
		{"an id of another rule", "id: taken\ntitle: T\nexpression: 'true'\n", `rules.yaml:1: the id "taken" is that of another rule: choose one of your own`},
		{"one id twice", "- {id: r, title: T, expression: 'true'}\n- {id: r, title: T, expression: 'true'}\n", `rules.yaml:2: the rule "r" is there twice, also in rules.yaml`},
		{"broken YAML", "id: [r\n", "rules.yaml:2: did not find expected ',' or ']'"},
	} {
		_, err := celrule.Compile([]celrule.File{{Name: "rules.yaml", Data: []byte(tt.in)}}, nil, []string{"taken"}, celrule.Limits{})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: Compile() =\n%v\nwant\n%s", tt.name, err, tt.want)
		}
	}
}

func TestRunLimit(t *testing.T) {
	set, err := celrule.Compile([]celrule.File{{Name: "rules.yaml", Data: []byte(
		`{id: r, title: T, match: {kinds: [Deployment, Service]}, expression: "objects('Service').all(s, s.kind == 'Service')"}`)}}, nil, nil, celrule.Limits{Run: 5})
	if err != nil {
		t.Fatal(err)
	}
	got := said(set, unit(t, "", web("", "app", "x")))
	if strings.Count(got, "problem") != 1 || !strings.Contains(got, "cost too much together") {
		t.Errorf("got %q, want one rule asked and one that is not", got)
	}
}

func TestTriggers(t *testing.T) {
	triggers := []celrule.Trigger{
		{ID: "pm-1", Title: "Too few", File: "docs/pm.md", Line: 3, When: "object.spec.replicas < oldObject.spec.replicas / 2", Message: "as in March", Severity: rule.Error},
		{ID: "pm-2", Title: "Gone", File: "docs/pm.md", Line: 9, When: "object == null", Kinds: []string{"Service"}, Message: "it was needed"},
	}
	set, err := celrule.Compile(nil, triggers, nil, celrule.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	before := web("replicas: 9", "app", "x")
	after, _, _ := strings.Cut(web("replicas: 2", "app", "x"), "---")
	u := unit(t, before, after)
	const want = "error incident-pm-1 Deployment prod/web: spec.replicas: as in March\nwarning incident-pm-2 Service prod/web: : it was needed\n"
	if got := said(set, u); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	f := rule.Run(set.Rules(), []*rule.Unit{u})[0]
	if !slices.Equal(f.Incidents, []string{"pm-1"}) {
		t.Errorf("incidents = %v, want the postmortem", f.Incidents)
	}
	triggers[0].When = "objct == null"
	if _, err := celrule.Compile(nil, triggers, nil, celrule.Limits{}); err == nil || !strings.HasPrefix(err.Error(), "docs/pm.md:3: incident-pm-1: undeclared reference to 'objct'") {
		t.Errorf("Compile() of a broken trigger = %v", err)
	}
}

func TestNothingToCompile(t *testing.T) {
	set, err := celrule.Compile(nil, nil, nil, celrule.Limits{})
	if err != nil || len(set.Rules()) != 0 {
		t.Errorf("Compile() of nothing = %v, %v", set, err)
	}
	other := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	if set := compile(t, other); len(set.Rules()) != 0 {
		t.Errorf("a manifest beside rules makes %v", set.Rules())
	}
	var none *celrule.Set
	if none.Rules() != nil || none.Problems() != nil || none.Skipped() != nil {
		t.Error("a nil Set is not empty")
	}
}

func BenchmarkCompile(b *testing.B) {
	text := []byte(`{id: r, title: T, match: {kinds: [Deployment]}, expression: "object.spec.template.spec.containers.all(c, c.image.contains(':'))"}`)
	for b.Loop() {
		if _, err := celrule.Compile([]celrule.File{{Name: "r.yaml", Data: text}}, nil, nil, celrule.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	set := compile(b, `{id: r, title: T, match: {kinds: [Deployment]}, expression: "object.spec.template.spec.containers.all(c, c.image.contains(':'))"}`)
	var before, after strings.Builder
	for i := range 1000 {
		before.WriteString(strings.ReplaceAll(web("replicas: 1", "app:1", "x"), "name: web,", fmt.Sprintf("name: web-%d,", i)) + "---\n")
		after.WriteString(strings.ReplaceAll(web("replicas: 1", "app:2", "x"), "name: web,", fmt.Sprintf("name: web-%d,", i)) + "---\n")
	}
	u := unit(b, before.String(), after.String())
	b.ReportAllocs()
	for b.Loop() {
		rule.Run(set.Rules(), []*rule.Unit{u})
	}
}

func FuzzCompile(f *testing.F) {
	f.Add([]byte(`{id: r, title: T, expression: "object.a == 1"}`))
	f.Add([]byte("- {id: r, title: T, validations: [{expression: 'true'}]}\n- &a {id: b, match: *a}\n"))
	f.Add([]byte(policyHead + "  validations: [{expression: object.spec.replicas <= 5}]\n"))
	f.Add([]byte("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nspec: {matchResources: {objectSelector: &s {matchLabels: *s}}}\n"))
	u := unit(f, web("replicas: 1", "app:1", "x"), web("replicas: 9", "app", "y"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := celrule.Compile([]celrule.File{{Name: "f", Data: data}}, nil, nil, celrule.Limits{Evaluation: 10000, Run: 100000})
		if set == nil && err == nil {
			t.Fatal("Compile() gave neither a set nor an error")
		}
		if set != nil { // the sound rules, beside an error too
			rule.Run(set.Rules(), []*rule.Unit{u})
		}
	})
}
