package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// WebhookServiceChanged reports an admission webhook that calls another Service,
// or trusts another certificate.
var WebhookServiceChanged = &rule.Rule{
	ID:       "webhook-service-changed",
	Title:    "An admission webhook calls another Service, or trusts another certificate",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
The API server calls a webhook by the name NAME.NAMESPACE.svc, and the certificate must be valid for exactly that and signed by what stands in
caBundle. Another name needs another certificate; where only one of the two changes, every call fails with an x509 error, and a webhook that
fails closed refuses everything it is asked about.

It looks at the Service, its namespace, port and path, and at caBundle, which is left alone where cert-manager or the webhook itself writes it.
A cert-manager Certificate among the manifests is looked into for the new name.`,
	Advice: `Issue the certificate for both names first, let the pods load it, then move the configuration, then drop the old name. Turn failurePolicy
to Ignore for the time of the move.`,
	Incidents: []string{"moj-webhook-name-2021"},
	Kinds:     webhookKinds,
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkWebhookServiceChanged,
}

func checkWebhookServiceChanged(p *rule.Pass, c diff.Change) {
	for _, h := range hooks(c.After) {
		was, ok := hookOf(c.Before, h)
		if !ok {
			continue
		}
		fails := "while calls fail, the requests go through unchecked and unchanged"
		if h.failsClosed() {
			fails, _ = h.stops(p.After)
		}
		if before, after := serviceText(was.At("clientConfig.service")), serviceText(h.At("clientConfig.service")); before != after {
			f := rule.Finding{Path: h.path.Key("clientConfig").Key("service"), Before: was.At("clientConfig.service"), After: h.At("clientConfig.service"),
				Message: fmt.Sprintf("%s calls %s, %s before", h.name, after, before), Consequence: fails}
			if !h.failsClosed() {
				f.Severity = rule.Note
			}
			ref, _ := h.service()
			if old, _ := was.service(); ref.Name != old.Name || ref.Namespace != old.Namespace {
				judgeName(p, &f, h, ref)
			}
			p.Report(c, f)
		}
		b, a := was.At("clientConfig.caBundle"), h.At("clientConfig.caBundle")
		if b.Exists() && !a.Exists() && !bundleWritten(c.After) {
			f := rule.Finding{Path: h.path.Key("clientConfig").Key("caBundle"),
				Message:     fmt.Sprintf("%s has no caBundle any more, and no annotation asks cert-manager for one", h.name),
				Consequence: "unless something else writes it, the API server trusts its own authorities only, and the call fails; " + fails}
			if !h.failsClosed() {
				f.Severity = rule.Note
			}
			p.Report(c, f)
		}
	}
}

// judgeName asks whether the new Service is there, and a certificate for its name.
func judgeName(p *rule.Pass, f *rule.Finding, h hook, ref object.Ref) {
	if ref.Name == "" {
		return
	}
	if !serviceKnown(p.After, ref.Unit, h.At("clientConfig.service")) {
		f.Message += "; that Service is not among these manifests"
	}
	want := ref.Name + "." + ref.Namespace + ".svc"
	for _, cert := range p.After.Kind("Certificate.cert-manager.io") {
		from := h.config.Annotation("cert-manager.io/inject-ca-from")
		if from != cert.Ref.Namespace+"/"+cert.Ref.Name {
			continue
		}
		f.Related = append(f.Related, cert.Ref)
		if !slices.Contains(cert.At("spec.dnsNames").Texts(), want) {
			f.Message += fmt.Sprintf("; %s is not valid for %s", cert.Ref, want)
			if h.failsClosed() {
				f.Severity = rule.Error
			}
		}
		return
	}
	f.Message += fmt.Sprintf("; its certificate must be valid for %s", want)
}

// bundleWritten says whether something else than the manifest brings caBundle
// (https://cert-manager.io/docs/concepts/ca-injector/, and OpenShift's service CA).
func bundleWritten(o *object.Object) bool {
	for _, key := range []string{"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca",
		"certmanager.k8s.io/inject-ca-from", "service.beta.openshift.io/inject-cabundle"} {
		if o.Annotation(key) != "" {
			return true
		}
	}
	return false
}
