package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// IngressAnnotationChanged reports an annotation by which a controller treats
// requests in another way than before.
var IngressAnnotationChanged = &rule.Rule{
	ID:       "ingress-annotation-changed",
	Title:    "An annotation of an Ingress changes how requests are treated",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
Annotations are the configuration of the ingress controller in disguise, and no schema checks them: a misspelt one is ignored, a dropped
one goes back to a default, and both look harmless in a diff. The rule knows those of ingress-nginx, the AWS Load Balancer Controller,
GKE, Traefik, external-dns and cert-manager that decide where requests go, what they become on the way, who may send them, and which
load balancer, address, DNS record or certificate there is. Timeouts, retries and limits are told by the rules on clients; others are
left alone.`,
	Advice:    `Try the change on a copy of the Ingress under another host. For an annotation that makes another load balancer, see service-recreated.`,
	Incidents: []string{"ingress-rewrite-2019", "moj-externaldns-annotation-2022"},
	Kinds:     []string{"Ingress.networking.k8s.io"},
	Actions:   routeActions,
	Check:     checkIngressAnnotationChanged,
}

// ingressAnnotations says what an annotation decides. Sources:
// https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/,
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/annotations/,
// https://cloud.google.com/kubernetes-engine/docs/how-to/load-balance-ingress,
// https://doc.traefik.io/traefik/routing/providers/kubernetes-ingress/,
// https://kubernetes-sigs.github.io/external-dns/latest/docs/annotations/annotations/,
// https://cert-manager.io/docs/usage/ingress/.
var ingressAnnotations = map[string]struct {
	effect   string
	severity rule.Severity
}{
	"nginx.ingress.kubernetes.io/rewrite-target":         {"the backend is asked for other paths", rule.Error},
	"nginx.ingress.kubernetes.io/use-regex":              {"paths are read as regular expressions, or no longer: all paths of the host match in another way", rule.Error},
	"nginx.ingress.kubernetes.io/app-root":               {"requests for / are redirected elsewhere", rule.Warning},
	"nginx.ingress.kubernetes.io/backend-protocol":       {"the controller speaks another protocol with the pods: they refuse what they do not speak", rule.Error},
	"nginx.ingress.kubernetes.io/ssl-passthrough":        {"TLS ends in another place, with another certificate", rule.Error},
	"nginx.ingress.kubernetes.io/ssl-redirect":           {"plain HTTP is redirected, or no longer", rule.Warning},
	"nginx.ingress.kubernetes.io/force-ssl-redirect":     {"plain HTTP is redirected, or no longer; behind a balancer that ends TLS this can loop", rule.Warning},
	"nginx.ingress.kubernetes.io/whitelist-source-range": {"other addresses are let in: all when it is gone", rule.Error},
	"nginx.ingress.kubernetes.io/allowlist-source-range": {"other addresses are let in: all when it is gone", rule.Error},
	"nginx.ingress.kubernetes.io/denylist-source-range":  {"other addresses are kept out", rule.Warning},
	"nginx.ingress.kubernetes.io/auth-url":               {"requests are checked elsewhere, or no longer", rule.Error},
	"nginx.ingress.kubernetes.io/auth-signin":            {"logins go elsewhere", rule.Warning},
	"nginx.ingress.kubernetes.io/auth-type":              {"requests are checked in another way, or no longer", rule.Error},
	"nginx.ingress.kubernetes.io/auth-secret":            {"requests are checked against other passwords", rule.Error},
	"nginx.ingress.kubernetes.io/auth-tls-secret":        {"client certificates are checked against another authority, or no longer", rule.Error},
	"nginx.ingress.kubernetes.io/auth-tls-verify-client": {"client certificates are asked for, or no longer", rule.Error},
	"nginx.ingress.kubernetes.io/affinity":               {"clients are kept at one pod, or no longer", rule.Warning},
	"nginx.ingress.kubernetes.io/session-cookie-name":    {"clients lose the pod that they were kept at", rule.Note},
	"nginx.ingress.kubernetes.io/upstream-hash-by":       {"requests go to other pods", rule.Warning},
	"nginx.ingress.kubernetes.io/proxy-body-size":        {"requests larger than this are answered with 413 (1m without the annotation)", rule.Warning},
	"nginx.ingress.kubernetes.io/canary":                 {"the Ingress becomes or ceases to be a canary of another one with the same host", rule.Error},
	"nginx.ingress.kubernetes.io/canary-weight":          {"another part of the traffic goes to the canary", rule.Warning},
	"nginx.ingress.kubernetes.io/canary-by-header":       {"other requests go to the canary", rule.Warning},
	"nginx.ingress.kubernetes.io/server-alias":           {"other hosts are answered", rule.Warning},
	"nginx.ingress.kubernetes.io/permanent-redirect":     {"everything is redirected, and browsers remember it", rule.Error},
	"nginx.ingress.kubernetes.io/temporal-redirect":      {"everything is redirected", rule.Error},
	"nginx.ingress.kubernetes.io/enable-cors":            {"browsers may call from other origins, or no longer", rule.Warning},
	"nginx.ingress.kubernetes.io/cors-allow-origin":      {"browsers may call from other origins", rule.Warning},
	"nginx.ingress.kubernetes.io/configuration-snippet":  {"raw configuration of nginx changes; a fault in it stops every later reload, or the Ingress is refused where snippets are off", rule.Warning},
	"nginx.ingress.kubernetes.io/server-snippet":         {"raw configuration of nginx changes; a fault in it stops every later reload, or the Ingress is refused where snippets are off", rule.Warning},
	"nginx.ingress.kubernetes.io/service-upstream":       {"requests go to the cluster IP in place of the pods, or the reverse: retries and affinity change", rule.Warning},
	"alb.ingress.kubernetes.io/scheme":                   {"a new ALB with a new DNS name replaces the old one", rule.Error},
	"alb.ingress.kubernetes.io/group.name":               {"the Ingress moves to the ALB of another group, with another DNS name; a group without members loses its ALB", rule.Error},
	"alb.ingress.kubernetes.io/group.order":              {"rules of the group are tried in another order", rule.Warning},
	"alb.ingress.kubernetes.io/target-type":              {"new target groups: targets are unhealthy until their checks pass", rule.Warning},
	"alb.ingress.kubernetes.io/backend-protocol":         {"new target groups, and another protocol with the pods", rule.Error},
	"alb.ingress.kubernetes.io/healthcheck-path":         {"a path that does not answer takes every target out", rule.Warning},
	"alb.ingress.kubernetes.io/healthcheck-port":         {"a port that does not answer takes every target out", rule.Warning},
	"alb.ingress.kubernetes.io/success-codes":            {"targets that answer otherwise are taken out", rule.Warning},
	"alb.ingress.kubernetes.io/certificate-arn":          {"another certificate is served", rule.Warning},
	"alb.ingress.kubernetes.io/listen-ports":             {"ports that are gone are closed to everybody", rule.Error},
	"alb.ingress.kubernetes.io/ssl-redirect":             {"plain HTTP is redirected, or no longer", rule.Warning},
	"alb.ingress.kubernetes.io/inbound-cidrs":            {"other addresses are let in", rule.Warning},
	"alb.ingress.kubernetes.io/subnets":                  {"zones and addresses of the ALB change", rule.Warning},
	"alb.ingress.kubernetes.io/wafv2-acl-arn":            {"requests pass another firewall, or none", rule.Warning},
	"kubernetes.io/ingress.global-static-ip-name":        {"the load balancer gets another address", rule.Error},
	"kubernetes.io/ingress.regional-static-ip-name":      {"the load balancer gets another address", rule.Error},
	"kubernetes.io/ingress.allow-http":                   {"plain HTTP is answered, or no longer", rule.Warning},
	"networking.gke.io/managed-certificates":             {"a new certificate takes up to an hour before it is served", rule.Warning},
	"networking.gke.io/v1beta1.FrontendConfig":           {"redirects and TLS policy change", rule.Warning},
	"traefik.ingress.kubernetes.io/router.middlewares":   {"requests pass other middlewares: authentication, rewrites and limits among them", rule.Warning},
	"traefik.ingress.kubernetes.io/router.entrypoints":   {"the router listens on other ports", rule.Error},
	"traefik.ingress.kubernetes.io/router.priority":      {"routers are tried in another order", rule.Warning},
	"traefik.ingress.kubernetes.io/router.tls":           {"TLS ends here, or no longer", rule.Error},
	"external-dns.alpha.kubernetes.io/hostname":          {"DNS records of names that are gone are deleted, unless external-dns only adds", rule.Error},
	"external-dns.alpha.kubernetes.io/target":            {"DNS records lead to another place", rule.Error},
	"external-dns.alpha.kubernetes.io/aws-weight":        {"DNS records get another weight, and a record without weight beside weighted ones is refused", rule.Warning},
	"external-dns.alpha.kubernetes.io/set-identifier":    {"DNS records are made anew", rule.Warning},
	"cert-manager.io/cluster-issuer":                     {"the certificate is issued again, by another authority", rule.Warning},
	"cert-manager.io/issuer":                             {"the certificate is issued again, by another authority", rule.Warning},
}

func checkIngressAnnotationChanged(p *rule.Pass, c diff.Change) {
	before, after := c.Before.Strings("metadata.annotations"), c.After.Strings("metadata.annotations")
	keys := gains(before, after)
	maps.Copy(keys, gains(after, before))
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		known, ok := ingressAnnotations[key]
		if !ok || before[key] == after[key] || sameSwitch(before[key], after[key]) {
			continue
		}
		if strings.HasSuffix(key, "/proxy-body-size") && !smaller(orText(before[key], "1m"), orText(after[key], "1m")) {
			continue // it lets more through
		}
		if before[key] == "" && onlyAdds(key) {
			continue
		}
		short := key[strings.LastIndexByte(key, '/')+1:]
		p.Report(c, rule.Finding{
			Path:        object.Path("metadata.annotations").Key(key),
			Severity:    known.severity,
			Message:     change(short, before[key], after[key]),
			Consequence: known.effect,
		})
	}
}

// onlyAdds says whether an annotation that appears takes nothing away: a DNS record for a
// host that the Ingress has, or a first certificate.
func onlyAdds(key string) bool {
	switch key {
	case "external-dns.alpha.kubernetes.io/hostname", "cert-manager.io/cluster-issuer", "cert-manager.io/issuer":
		return true
	}
	return false
}
