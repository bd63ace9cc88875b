package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// CertificateChanged reports certificates that no longer have a name, or that another one
// takes the place of.
var CertificateChanged = &rule.Rule{
	ID:       "certificate-changed",
	Title:    "A certificate loses a name or its maker, or another one is served",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A certificate is made anew as soon as its names change, and the Secret is overwritten while it is in use: clients of a name that is gone refuse the connection within seconds, probes
and other clusters' callers among them. With a wildcard or the default certificate of an ingress controller that is every host at once. Another issuer
is another authority, which clients may not trust, and a limit on how many it issues; one for tests is trusted by none. A Certificate that is no longer
rendered leaves its Secret behind: all is well until it expires, weeks later, and nobody renews it.

Pods that mount another Secret serve another certificate after their next start, which is where a default that was changed elsewhere shows.`,
	Advice:    "Add names before you remove others, and remove a name only when no route asks for it any more. Try another issuer with a Certificate and a Secret of its own, and move the routes afterwards. Compare the names in the new Secret with those that clients ask for (`openssl x509 -text`).",
	Incidents: []string{"moj-default-cert-2022", "moj-default-cert-2021", "wikimedia-tls-default-2023"},
	Kinds:     append([]string{certificateKind, "ClusterIssuer.cert-manager.io", "Issuer.cert-manager.io"}, servingKinds...),
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Rename, diff.Delete},
	Check:     checkCertificateChanged,
}

const certificateKind = "Certificate.cert-manager.io"

func checkCertificateChanged(p *rule.Pass, c diff.Change) {
	switch {
	case c.Ref.Group == "cert-manager.io" && c.Ref.Kind != "Certificate":
		if c.Before != nil && c.After != nil {
			checkIssuer(p, c)
		}
	case c.Ref.Kind != "Certificate":
		if c.After != nil {
			checkServedCertificate(p, c)
		}
	case c.After == nil:
		checkCertificateGone(p, c)
	default:
		checkCertificateNames(p, c)
	}
}

// servedWith gives who serves with a Secret: routes, gateways and pods.
func servedWith(set *object.Set, secret object.Ref) []object.Ref {
	var out []object.Ref
	for _, r := range set.ReferencesTo(secret) {
		if r.Use != object.UseMadeSecret && !slices.Contains(out, r.From.Ref) {
			out = append(out, r.From.Ref)
		}
	}
	// A Gateway of Istio names the Secret without a namespace: it lies beside the pods of the
	// gateway (https://istio.io/latest/docs/reference/config/networking/gateway/#ServerTLSSettings),
	// which is mostly where the Gateway is.
	for _, g := range set.Kind("Gateway.networking.istio.io") {
		for _, s := range g.At("spec.servers").Items() {
			if g.Ref.Namespace == secret.Namespace && s.At("tls.credentialName").Text() == secret.Name && !slices.Contains(out, g.Ref) {
				out = append(out, g.Ref)
			}
		}
	}
	return out
}

// checkIssuer looks at the authority that an issuer asks by ACME.
func checkIssuer(p *rule.Pass, c diff.Change) {
	const server = "spec.acme.server"
	was, now := c.Before.Text(server), c.After.Text(server)
	if was == now || was == "" || now == "" {
		return
	}
	f := rule.Finding{Path: server, Message: fmt.Sprintf("certificates come from %s, from %s before", now, was),
		Consequence: "each certificate is another authority's from its next renewal on, and clients that do not trust that refuse the connection"}
	// https://letsencrypt.org/docs/staging-environment/
	if strings.Contains(now, "acme-staging") {
		f.Severity = rule.Error
		f.Consequence = "that authority is one for tests, which no client trusts: connections are refused from the next renewal or the next new certificate on"
	} else if strings.Contains(was, "acme-staging") {
		f.Severity = rule.Note
		f.Consequence = "its rate limits are much lower than those for tests"
	}
	for _, o := range p.After.Kind(certificateKind) {
		if o.Text("spec.issuerRef.name") == c.Ref.Name && orText(o.Text("spec.issuerRef.kind"), "Issuer") == c.Ref.Kind && len(f.Related) < 10 &&
			(c.Ref.Kind == "ClusterIssuer" || o.Ref.Namespace == c.Ref.Namespace) {
			f.Related = append(f.Related, o.Ref)
		}
	}
	p.Report(c, f)
}

func madeSecret(o *object.Object) object.Ref {
	return object.Ref{Unit: o.Ref.Unit, Kind: "Secret", Namespace: o.Ref.Namespace, Name: o.Text("spec.secretName")}
}

func checkCertificateNames(p *rule.Pass, c diff.Change) {
	if was, now := madeSecret(c.Before), madeSecret(c.After); was != now {
		if users := servedWith(p.After, was); len(users) > 0 && !secretThere(p.After, was.Namespace, was.Name) {
			p.Report(c, rule.Finding{Path: "spec.secretName", Related: users,
				Message:     fmt.Sprintf("it writes Secret %s in place of %s, which %s still serves with", now.Name, was.Name, refNames(users)),
				Consequence: "the old Secret is left behind and no longer renewed: it expires"})
		}
	}
	const names, issuer = "spec.dnsNames", "spec.issuerRef"
	all := func(o *object.Object) []string {
		out := o.At(names).Texts()
		if n := o.Text("spec.commonName"); n != "" {
			out = append(out, n)
		}
		return out
	}
	var lost []string
	now := all(c.After)
	for _, name := range all(c.Before) {
		if !slices.ContainsFunc(now, func(x string) bool { return x == name || wildcardTakes(x, name) }) && !slices.Contains(lost, name) {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		f := rule.Finding{Path: names, Related: servedWith(p.After, madeSecret(c.After)), Message: fmt.Sprintf("it no longer has the name %s", listed(lost)),
			Consequence: "clients that ask for it refuse the connection as soon as it is issued anew"}
		if len(lost) > 1 {
			f.Message = fmt.Sprintf("it no longer has the names %s", listed(lost))
			f.Consequence = "clients that ask for them refuse the connection as soon as it is issued anew"
		}
		for host, all := range unitRoutes(p.After) {
			if slices.ContainsFunc(lost, func(name string) bool { return name == host || wildcardTakes(name, host) }) && len(all) > 0 &&
				!slices.ContainsFunc(now, func(x string) bool { return x == host || wildcardTakes(x, host) }) {
				f.Severity = rule.Error
			}
		}
		if f.Severity == rule.Error {
			f.Consequence += "; routes of this unit still serve such a host"
		}
		p.Report(c, f)
	}
	if b, a := c.Before.At(issuer), c.After.At(issuer); b.Field("name").Text() != a.Field("name").Text() {
		p.Report(c, rule.Finding{Path: issuer + ".name", Message: fmt.Sprintf("it is issued by %s, by %s before", orText(a.Field("name").Text(), "nobody"), orText(b.Field("name").Text(), "nobody")),
			Consequence: "clients that do not trust the new authority refuse the connection as soon as it is issued anew"})
	}
}

// wildcardTakes says whether a name such as *.example.com stands for another one: one
// label in its place (https://www.rfc-editor.org/rfc/rfc9525#section-6.3).
func wildcardTakes(wildcard, name string) bool {
	rest, ok := strings.CutPrefix(wildcard, "*.")
	_, tail, dotted := strings.Cut(name, ".")
	return ok && dotted && tail == rest
}

func checkCertificateGone(p *rule.Pass, c diff.Change) {
	secret := madeSecret(c.Before)
	users := servedWith(p.After, secret)
	if len(users) == 0 || secretThere(p.After, secret.Namespace, secret.Name) {
		return
	}
	p.Report(c, rule.Finding{Related: users, Message: fmt.Sprintf("nothing renews Secret %s any more, which %s still serves with", secret.Name, refNames(users)),
		Consequence: "it is served until it expires, and refused by clients from then on"})
}

// checkServedCertificate looks at pods that serve with another Secret.
func checkServedCertificate(p *rule.Pass, c diff.Change) {
	if !touched(c, "volumes", ".args", ".command") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	volumes := func(w object.Workload) map[string]string {
		out := map[string]string{}
		for _, v := range w.PodSpec.Field("volumes").Items() {
			if name := v.At("secret.secretName").Text(); name != "" && forTLS(p, w, v) {
				out[v.Field("name").Text()] = name
			}
		}
		return out
	}
	was := volumes(before)
	now := volumes(after)
	for i, v := range after.PodSpec.Field("volumes").Items() {
		name := v.Field("name").Text()
		if was[name] == "" || now[name] == "" || was[name] == now[name] {
			continue
		}
		f := rule.Finding{Path: after.SpecPath().Key("volumes").Index(i).Key("secret").Key("secretName"), Before: object.TextOf(was[name]), After: object.TextOf(now[name]),
			Message:     fmt.Sprintf("pods take their certificate from Secret %s in place of %s", now[name], was[name]),
			Consequence: "whoever asks them by a name that it does not have refuses the connection, probes over HTTPS of other proxies included"}
		if o := p.After.Get(object.Ref{Unit: c.Ref.Unit, Kind: "Secret", Namespace: after.Ref.Namespace, Name: now[name]}); o != nil {
			f.Related = []object.Ref{o.Ref}
		}
		p.Report(c, f)
	}
	const flag = "default-ssl-certificate"
	for _, pair := range pairContainers(before, after) {
		b, a := flagValue(pair.before, flag), flagValue(pair.after, flag)
		if b.Value == a.Value || b.Value == "" {
			continue
		}
		path := a.Path
		if path == "" {
			path = pair.after.Path.Key("args")
		}
		p.Report(c, rule.Finding{Path: path, Before: object.TextOf(b.Value), After: object.TextOf(a.Value), Message: change(flag, b.Value, a.Value),
			Consequence: "every host without a certificate of its own is served with another one"})
	}
}

func flagValue(box object.Container, name string) object.Flag {
	for _, f := range box.Flags() {
		if f.Name == name {
			return f
		}
	}
	return object.Flag{}
}

// forTLS says whether a volume of a pod holds a certificate: by the type of its Secret, its
// keys, or its names.
func forTLS(p *rule.Pass, w object.Workload, volume object.Value) bool {
	secret := p.After.Get(object.Ref{Unit: w.Ref.Unit, Kind: "Secret", Namespace: w.Ref.Namespace, Name: volume.At("secret.secretName").Text()})
	if secret != nil && secret.Text("type") == "kubernetes.io/tls" {
		return true
	}
	words := []string{volume.Field("name").Text(), volume.At("secret.secretName").Text()}
	for _, item := range volume.At("secret.items").Items() {
		words = append(words, item.Field("key").Text())
	}
	return slices.ContainsFunc(words, func(s string) bool {
		s = strings.ToLower(s)
		return strings.Contains(s, "tls") || strings.Contains(s, "cert") || strings.Contains(s, "ssl")
	})
}
