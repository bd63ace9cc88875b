package celrule_test

import (
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/celrule"
)

const policyHead = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limits.example.org}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
`

func TestPolicies(t *testing.T) {
	few := policyHead + `
  validations:
  - expression: object.spec.replicas <= 5
    messageExpression: "'at most 5 replicas, not ' + string(object.spec.replicas)"
`
	binding := func(actions, more string) string {
		return few + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec:\n  policyName: limits.example.org\n  validationActions: [" + actions + "]\n" + more
	}
	const denied = "error limits.example.org Deployment prod/web: spec.replicas: at most 5 replicas, not 9\n"
	three, nine := web("replicas: 3", "app", "x"), web("replicas: 9", "app", "x")
	for _, tt := range []struct{ name, policy, before, after, want string }{
		{"a violation that the change brings", few, three, nine, denied},
		{"a violation that was there", few, nine, web("replicas: 9", "app:2", "x"), ""},
		{"a field that the API server fills in", few, three, web("", "app", "x"), ""},
		{"a created object", few, "", nine, strings.Replace(denied, "spec.replicas: at", ": at", 1)},
		{"an operation that it does not match", few, nine, "", ""},
		{"a binding that warns", binding("Warn, Audit", ""), three, nine, strings.Replace(denied, "error", "warning", 1)},
		{"a binding that audits", binding("Audit", ""), three, nine, strings.Replace(denied, "error", "note", 1)},
		{"a binding for another namespace", binding("Deny", "  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: dev}}}\n"), three, nine, ""},
		{"a binding for this namespace", binding("Deny", "  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: prod}}}\n"), three, nine, denied},
		{"a binding for namespaces with a label that is not known", binding("Deny", "  matchResources: {namespaceSelector: {matchLabels: {tier: x}}}\n"), three, nine, denied},
		{"a binding for other objects", binding("Deny", "  matchResources: {objectSelector: {matchLabels: {tier: x}}}\n"), three, nine, ""},
		{"a binding with exceptions", binding("Deny", "  matchResources: {excludeResourceRules: [{apiGroups: ['*'], operations: ['*'], resources: ['*'], resourceNames: [web]}]}\n"), three, nine, ""},
		{"conditions, variables and the old object", policyHead + `
  matchConditions:
  - {name: kube, expression: "object.metadata.namespace != 'kube-system'"}
  variables:
  - {name: n, expression: object.spec.replicas}
  - {name: old, expression: "oldObject == null ? 0 : oldObject.spec.replicas"}
  validations:
  - {expression: "variables.n <= variables.old + 5", message: too fast}
`, three, nine, "error limits.example.org Deployment prod/web: spec.replicas: too fast\n"},
		{"the request's operation", policyHead + `
  validations:
  - {expression: "request.operation != 'UPDATE' || request.kind.kind != 'Deployment'"}
`, three, nine, "error limits.example.org Deployment prod/web: : failed expression: request.operation != 'UPDATE' || request.kind.kind != 'Deployment'\n"},
		{"a policy that cannot be evaluated fails closed", policyHead + `
  validations:
  - {expression: "object.metadata.labels['team'] != ''"}
`, "", three, "error limits.example.org Deployment prod/web: : the policy cannot be evaluated: no such key: labels\n"},
		{"and is quiet where it failed before", policyHead + `
  validations:
  - {expression: "object.metadata.labels['team'] != ''"}
`, three, nine, ""},
		{"or is let through", strings.Replace(policyHead, "Fail", "Ignore", 1) + `
  validations:
  - {expression: "object.metadata.labels['team'] != ''"}
`, "", three, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := said(compile(t, tt.policy), unit(t, tt.before, tt.after)); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestPoliciesThatOnlyAClusterCanAsk(t *testing.T) {
	for uses, policy := range map[string]string{
		"params":           strings.Replace(policyHead, "  failurePolicy", "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  failurePolicy", 1) + "  validations: [{expression: object.spec.replicas <= int(params.data.most)}]\n",
		"authorizer":       policyHead + "  validations: [{expression: \"authorizer.group('').resource('pods').check('create').allowed()\"}]\n",
		"request.userInfo": policyHead + "  validations: [{expression: request.userInfo.username == 'admin'}]\n",
		"namespaceObject":  policyHead + "  validations: [{expression: namespaceObject.metadata.name == 'admin'}]\n",
	} {
		set := compile(t, policy)
		want := "the policy limits.example.org is not asked: it uses " + uses + ", which only the cluster knows"
		if s := set.Skipped(); len(s) != 1 || s[0].Reason != want || len(set.Rules()) != 0 {
			t.Errorf("Skipped() = %v, want %q", s, want)
		}
	}
	_, err := celrule.Compile([]celrule.File{{Name: "p.yaml", Data: []byte(policyHead + "  validations:\n  - expression: object.spec.replicas <= fiv\n")}}, nil, nil, celrule.Limits{})
	if err == nil || !strings.HasPrefix(err.Error(), "p.yaml:11:41: limits.example.org: undeclared reference to 'fiv'") {
		t.Errorf("Compile() of a broken policy = %v", err)
	}
}
