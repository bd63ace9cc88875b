package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceExposed reports a Service that was for the cluster alone and is reached from
// outside.
var ServiceExposed = &rule.Rule{
	ID:       "service-exposed",
	Title:    "A Service that only the cluster could reach is opened to the outside",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
Type LoadBalancer asks the cloud for a load balancer, and with most providers that is one with a public address unless an annotation says internal. Every port of
the Service is open on it, metrics and admin ports included, past the Ingress and its TLS, logins and limits. Type NodePort opens the ports on each node, and whoever
reaches a node reaches them. What was written for callers inside, without a login, is then asked by everybody, scanners first.

One with an internal load balancer, or with loadBalancerSourceRanges that leave most out, is a note.`,
	Advice: `Publish it by a route of the gateway that is there, or by a second Service that has just the port which is meant. Where a load balancer of its own is wanted, make it internal or
name loadBalancerSourceRanges in the same change.`,
	Kinds:   []string{"Service"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkServiceExposed,
}

// internalBalancers are annotations, with their values, by which a provider makes a load balancer that
// is not public; an empty value means any but false. Sources:
// https://kubernetes.io/docs/concepts/services-networking/service/#internal-load-balancer and the
// providers named there.
var internalBalancers = map[string]string{
	"service.beta.kubernetes.io/aws-load-balancer-internal":              "",
	"service.beta.kubernetes.io/aws-load-balancer-scheme":                "internal",
	"networking.gke.io/load-balancer-type":                               "internal",
	"cloud.google.com/load-balancer-type":                                "internal",
	"service.beta.kubernetes.io/azure-load-balancer-internal":            "",
	"service.beta.kubernetes.io/openstack-internal-load-balancer":        "",
	"service.beta.kubernetes.io/oci-load-balancer-internal":              "",
	"service.kubernetes.io/ibm-load-balancer-cloud-provider-ip-type":     "private",
	"service.kubernetes.io/qcloud-loadbalancer-internal-subnetid":        "",
	"service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type": "intranet",
	"load-balancer.hetzner.cloud/disable-public-network":                 "",
	"service.beta.kubernetes.io/vultr-loadbalancer-private-network":      "",
	"service.beta.kubernetes.io/scw-loadbalancer-private":                "",
	"service.beta.kubernetes.io/do-loadbalancer-network":                 "internal",
}

func checkServiceExposed(p *rule.Pass, c diff.Change) {
	was, now := serviceType(c.Before), serviceType(c.After)
	f := rule.Finding{Path: "spec.type"}
	switch {
	case was == "ClusterIP" && now == "LoadBalancer", was == "NodePort" && now == "LoadBalancer":
		f.Message = fmt.Sprintf("type %s becomes LoadBalancer", was)
		f.Consequence = "the cloud makes a load balancer, with a public address unless its default is another one"
		switch {
		case internalBalancer(c.After):
			f.Severity = rule.Note
			f.Consequence = "the cloud makes an internal load balancer: the network around the cluster reaches the Service"
		case leavesMostOut(c.After):
			f.Severity = rule.Note
			f.Consequence = fmt.Sprintf("the cloud makes a load balancer that lets %s in", listed(c.After.At("spec.loadBalancerSourceRanges").Texts()))
		case c.After.Text("spec.loadBalancerClass") != "" || strings.Contains(strings.Join(c.After.At("metadata.annotations").Keys(), " "), "metallb") || strings.Contains(strings.Join(c.After.At("metadata.annotations").Keys(), " "), "lbipam"):
			f.Severity = rule.Note
			f.Consequence = "it gets a load balancer and an address of its class: who reaches that decides who reaches the Service"
		}
	case was == "ClusterIP" && now == "NodePort":
		f.Message = "type ClusterIP becomes NodePort"
		f.Consequence = "each node answers on the port: whoever reaches a node reaches the Service"
	default:
		return
	}
	if ports := servicePorts(c.After); len(ports) > 1 {
		var all []string
		for _, port := range ports {
			text := port.number
			if port.name != "" {
				text += " (" + port.name + ")"
			}
			all = append(all, text)
		}
		f.Consequence += fmt.Sprintf("; all its ports are open there: %s", listed(all))
	}
	running, _ := servicePods(p, c)
	f.Related = refs(running)
	p.Report(c, f)
}

func internalBalancer(o *object.Object) bool {
	for key, want := range internalBalancers {
		value := o.Annotation(key)
		if value != "" && !strings.EqualFold(value, "false") && (want == "" || strings.EqualFold(value, want)) {
			return true
		}
	}
	return false
}

// leavesMostOut says whether a Service names who may come in, and not everybody.
func leavesMostOut(o *object.Object) bool {
	ranges := o.At("spec.loadBalancerSourceRanges").Texts()
	return len(ranges) > 0 && !slices.ContainsFunc(ranges, func(r string) bool { return strings.HasSuffix(strings.TrimSpace(r), "/0") })
}
