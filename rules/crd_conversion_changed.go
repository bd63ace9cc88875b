package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// CRDConversionChanged reports a custom resource whose versions are converted in
// another way, or by a webhook that cannot answer.
var CRDConversionChanged = &rule.Rule{
	ID:       "crd-conversion-changed",
	Title:    "Versions of a custom resource are converted in another way",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
The API server calls the conversion webhook whenever an object is read in another version than it is stored in: in lists, in watches, in
garbage collection, when its namespace is deleted. A webhook that does not answer, is not there, or bears a certificate for another name
makes all of that fail for every object of the kind, and the operator, which is often the same pod, cannot start because it lists them first.

Without a webhook, only the version's name is rewritten: what the versions spell differently is lost.`,
	Advice: `Let the webhook's Service and pods run and answer before the definition names them, and keep them as long as objects of more than one
version are stored. Let cert-manager or the operator write caBundle (` + "`cert-manager.io/inject-ca-from`" + `), and ignore the field in the GitOps tool.`,
	Kinds:   []string{crdKind},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkCRDConversionChanged,
}

func checkCRDConversionChanged(p *rule.Pass, c diff.Change) {
	if _, ok := shownField(c, "spec.conversion"); !ok || len(crdVersions(c.After)) < 2 && len(crdVersions(c.Before)) < 2 {
		return
	}
	const client = "spec.conversion.webhook.clientConfig"
	was, now := conversionOf(c.Before), conversionOf(c.After)
	f := rule.Finding{Path: "spec.conversion.strategy"}
	switch {
	case was == "Webhook" && now == "None":
		f.Message = "no webhook converts between the versions any more"
		f.Consequence = "an object that is read in another version than it is stored in only gets the other name: fields that are spelled differently are lost at the next write"
	case was == "None" && now == "Webhook":
		f.Message = "a webhook converts between the versions from now on"
		f.Consequence = "reads of objects that are stored in another version fail until it answers"
		if service := c.After.At(client + ".service"); service.Exists() {
			f.Message = fmt.Sprintf("%s converts between the versions from now on", serviceText(service))
			if !serviceKnown(p.After, c.Ref.Unit, service) {
				f.Consequence += "; that Service is not among these manifests"
			}
		}
	case was == "Webhook" && serviceText(c.Before.At(client+".service")) != serviceText(c.After.At(client+".service")):
		f.Path = client + ".service"
		f.Message = fmt.Sprintf("the webhook that converts moves from %s to %s", serviceText(c.Before.At(client+".service")), serviceText(c.After.At(client+".service")))
		f.Consequence = "until that one answers, with a certificate for its name, no object that is stored in another version can be read"
	default:
		return
	}
	p.Report(c, f)
}

func conversionOf(o *object.Object) string { return orText(o.Text("spec.conversion.strategy"), "None") }

// serviceText writes a Service that the API server calls: "Service
// NAMESPACE/NAME", with path and port where they are given.
func serviceText(v object.Value) string {
	if !v.Exists() {
		return "a URL"
	}
	text := fmt.Sprintf("Service %s/%s", v.Field("namespace").Text(), v.Field("name").Text())
	if port := v.Field("port"); port.Exists() && port.String() != "443" {
		text += ":" + port.String()
	}
	if path := v.Field("path").Text(); path != "" && path != "/" {
		text += strings.TrimSuffix(" "+path, "/")
	}
	return text
}

// serviceKnown says whether the set has a Service that the API server calls.
func serviceKnown(set *object.Set, unit string, v object.Value) bool {
	name, namespace := v.Field("name").Text(), v.Field("namespace").Text()
	for _, ns := range []string{namespace, ""} {
		if set.Get(object.Ref{Unit: unit, Kind: "Service", Namespace: ns, Name: name}) != nil {
			return true
		}
	}
	return false
}
