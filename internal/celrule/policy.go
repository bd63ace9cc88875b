package celrule

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/strict"
)

// A policy is what only a ValidatingAdmissionPolicy or its binding has.
type policy struct {
	binding   bool
	of        string // of a binding: the policy's name
	actions   []string
	resources *matchResources
	ignores   bool // failurePolicy Ignore: what cannot be evaluated is let through
	kind      string
	bindings  []*policy
}

// policyFile is a ValidatingAdmissionPolicy or a binding, as far as it is read
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
type policyFile struct {
	strict.Open
	Kind     string `yaml:"kind"`
	Metadata struct {
		strict.Open
		Name string `yaml:"name" required:"true"`
	} `yaml:"metadata"`
	Spec struct {
		strict.Open
		ParamKind        present              `yaml:"paramKind"`
		FailurePolicy    string               `yaml:"failurePolicy"`
		MatchConstraints *matchResources      `yaml:"matchConstraints"`
		MatchConditions  []policyCondition    `yaml:"matchConditions"`
		Variables        []policyVariableFile `yaml:"variables"`
		Validations      []policyValidation   `yaml:"validations"`

		PolicyName        string          `yaml:"policyName"`
		ParamRef          present         `yaml:"paramRef"`
		ValidationActions []string        `yaml:"validationActions"`
		MatchResources    *matchResources `yaml:"matchResources"`
	} `yaml:"spec"`
}

type policyCondition struct {
	strict.Open
	Name       string     `yaml:"name"`
	Expression expression `yaml:"expression" required:"true"`
}

type policyVariableFile struct {
	strict.Open
	Name       string     `yaml:"name" required:"true"`
	Expression expression `yaml:"expression" required:"true"`
}

type policyValidation struct {
	strict.Open
	Expression        expression `yaml:"expression" required:"true"`
	Message           string     `yaml:"message"`
	MessageExpression expression `yaml:"messageExpression"`
}

// present says that a key is there.
type present bool

// DecodeYAML notes that there is something.
func (p *present) DecodeYAML(_ *strict.Decoder, n *yaml.Node, _ string) { *p = n.Tag != "!!null" }

// matchResources are the rules by which a policy or its binding picks objects.
type matchResources struct {
	strict.Open
	ResourceRules        []resourceRule `yaml:"resourceRules"`
	ExcludeResourceRules []resourceRule `yaml:"excludeResourceRules"`
	NamespaceSelector    selectorFile   `yaml:"namespaceSelector"`
	ObjectSelector       selectorFile   `yaml:"objectSelector"`
}

type resourceRule struct {
	strict.Open
	APIGroups     []string `yaml:"apiGroups"`
	Operations    []string `yaml:"operations"`
	Resources     []string `yaml:"resources"`
	ResourceNames []string `yaml:"resourceNames"`
	Scope         string   `yaml:"scope"`
}

// A selectorFile is a label selector.
type selectorFile struct {
	value object.LabelSelector
	keys  []string // of the labels that it asks for
}

// DecodeYAML reads the selector.
func (s *selectorFile) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	var raw map[string]any
	if err := n.Decode(&raw); err != nil {
		d.Errorf(n, "%s must be a label selector, not %s", where, strict.Kind(n))
		return
	}
	v := object.Of(raw)
	s.value = v.Selector()
	s.keys = v.Field("matchLabels").Keys()
	for _, e := range v.Field("matchExpressions").Items() {
		s.keys = append(s.keys, e.Field("key").Text())
	}
}

// policyRule reads a policy or a binding; bind joins them.
func policyRule(d *strict.Decoder, f File, n *yaml.Node) *definition {
	var in policyFile
	d.Decode(n, &in, "")
	spec := in.Spec
	out := &definition{file: f.Name, line: n.Line, id: in.Metadata.Name, severity: rule.Error}
	if in.Kind == "ValidatingAdmissionPolicyBinding" {
		out.policy = &policy{binding: true, of: spec.PolicyName, actions: spec.ValidationActions, resources: spec.MatchResources}
		if spec.ParamRef {
			out.skip = "params"
		}
		return out
	}
	out.policy = &policy{resources: spec.MatchConstraints, ignores: spec.FailurePolicy == "Ignore", kind: in.Kind}
	out.title = "The admission policy " + in.Metadata.Name + " refuses it"
	out.doc = "The ValidatingAdmissionPolicy " + in.Metadata.Name + " in " + f.Name + " refuses objects that do not hold to it, when they are applied."
	if spec.ParamKind {
		out.skip = out.reason("params")
	}
	for _, v := range spec.Variables {
		out.variables = append(out.variables, variable{v.Name, v.Expression})
	}
	for _, c := range spec.MatchConditions {
		out.conditions = append(out.conditions, c.Expression)
	}
	for _, v := range spec.Validations {
		message := strings.TrimSpace(v.Message)
		if message == "" {
			message = "failed expression: " + strings.Join(strings.Fields(v.Expression.text), " ")
		}
		out.validations = append(out.validations, validation{expression: v.Expression, message: message, messageExpression: v.MessageExpression})
	}
	if len(out.validations) == 0 {
		d.Errorf(n, "the policy %s has no validations", out.id)
	}
	return out
}

// reason says why a policy that uses something is not asked.
func (def *definition) reason(uses string) string {
	return fmt.Sprintf("the policy %s is not asked: it uses %s, which only the cluster knows", def.id, uses)
}

// bind joins policies with the bindings among the definitions, which are no rules
// and are taken out of the count by rule IDs of their own. A policy without a
// binding is taken to be bound everywhere, and to deny.
func bind(definitions []*definition) {
	for _, def := range definitions {
		if def.policy == nil || def.policy.binding {
			continue
		}
		for _, b := range definitions {
			if b.policy != nil && b.policy.binding && b.policy.of == def.id {
				def.policy.bindings = append(def.policy.bindings, b.policy)
				if b.skip != "" && def.skip == "" {
					def.skip = def.reason(b.skip)
				}
			}
		}
		if len(def.policy.bindings) > 0 {
			def.severity = 0
			for _, b := range def.policy.bindings {
				def.severity = max(def.severity, b.severity())
			}
		}
		def.match = def.policy.match
	}
}

// severity is how much a binding makes of a violation.
func (p *policy) severity() rule.Severity {
	switch {
	case slices.Contains(p.actions, "Deny") || len(p.actions) == 0:
		return rule.Error
	case slices.Contains(p.actions, "Warn"):
		return rule.Warning
	}
	return rule.Note // Audit
}

func (p *policy) match(pass *rule.Pass, c diff.Change) bool {
	if !p.resources.match(pass, c) {
		return false
	}
	return len(p.bindings) == 0 || slices.ContainsFunc(p.bindings, func(b *policy) bool {
		return b.resources == nil || b.resources.match(pass, c)
	})
}

// operation is what the API server is asked to do for a change. A replaced object
// is tried as an update first, a renamed one is created.
func operation(a diff.Action) string {
	switch a {
	case diff.Create, diff.Rename:
		return "CREATE"
	case diff.Delete:
		return "DELETE"
	}
	return "UPDATE"
}

func (m *matchResources) match(pass *rule.Pass, c diff.Change) bool {
	if m == nil {
		return false // a policy must say what it matches
	}
	in := func(r resourceRule) bool { return r.match(c) }
	if len(m.ResourceRules) > 0 && !slices.ContainsFunc(m.ResourceRules, in) || slices.ContainsFunc(m.ExcludeResourceRules, in) {
		return false
	}
	if m.ObjectSelector.value.Exists() && !m.ObjectSelector.value.Matches(c.After.Labels()) && !m.ObjectSelector.value.Matches(c.Before.Labels()) {
		return false
	}
	return m.NamespaceSelector.mayMatch(pass, c.Ref)
}

// mayMatch says whether a namespace selector matches the namespace of an object, as
// far as the manifests tell: labels of a Namespace that is not among them are not
// known, but for its name, which the API server writes into a label.
func (s selectorFile) mayMatch(pass *rule.Pass, ref object.Ref) bool {
	if !s.value.Exists() || s.value.Empty() || ref.Namespace == "" {
		return true
	}
	const nameLabel = "kubernetes.io/metadata.name"
	namespace := pass.After.Get(object.Ref{Unit: ref.Unit, Kind: "Namespace", Name: ref.Namespace})
	if namespace == nil && slices.ContainsFunc(s.keys, func(k string) bool { return k != nameLabel }) {
		return true
	}
	labels := namespace.Labels()
	labels[nameLabel] = ref.Namespace
	return s.value.Matches(labels)
}

func (r resourceRule) match(c diff.Change) bool {
	has := func(list []string, word string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, word)
	}
	resource := resourceOf(c.Ref.Kind)
	switch {
	case !has(r.Operations, operation(c.Action)), !has(r.APIGroups, c.Ref.Group):
		return false
	case !has(r.Resources, resource) && !has(r.Resources, "*/*"):
		return false
	case len(r.ResourceNames) > 0 && !slices.Contains(r.ResourceNames, c.Ref.Name):
		return false
	case r.Scope == "Cluster" && c.Ref.Namespace != "":
		return false
	}
	return true
}

// resourceOf guesses the name of a kind in paths of the API, as apimachinery does
// where it knows no better
// (https://pkg.go.dev/k8s.io/apimachinery/pkg/api/meta#UnsafeGuessKindToResource).
func resourceOf(kind string) string {
	kind = strings.ToLower(kind)
	switch {
	case kind == "" || strings.HasSuffix(kind, "endpoints"):
		return kind
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	case strings.HasSuffix(kind, "y"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}
