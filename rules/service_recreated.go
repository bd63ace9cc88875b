package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceRecreated reports a Service that gets another address: by a field that
// only a new Service can have, another name, or another load balancer.
var ServiceRecreated = &rule.Rule{
	ID:       "service-recreated",
	Title:    "A Service gets another address: it, or its load balancer, is made anew",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
A Service's cluster IP is given once and cannot be changed in place. A change of clusterIP, to or from headless, or of the load
balancer class is refused by the API server: nothing is applied, or a tool with force deletes the Service and creates it again.
A rename and a move to another namespace are a delete and a create too. The old address is gone at once; the new one reaches a
client only when it asks DNS again, and many never do while a connection is open or a resolver caches. An ExternalName Service
and a headless one answer DNS with something else altogether: a CNAME, or the addresses of the pods, among which the client
must choose by itself.

Behind a type LoadBalancer stands a cloud load balancer, and its scheme and kind are annotations of the Service. Changed on a
Service that exists, the provider deletes one load balancer and builds another with new addresses; others ignore the change and
leave the old one standing. DNS records, allow lists and certificates that name the old one do not follow.`,
	Advice: `Create a second Service under another name with the settings wanted, move the clients and the DNS record to it, and remove the
first one when nothing uses it any more. Where the address must stay, reserve it with the provider and name it in the new Service
first. If a short outage is accepted, do it on purpose: lower the DNS TTL beforehand, and delete and create by hand.`,
	Incidents: []string{"helmcharts-clusterip-2019", "awslbc-nlb-replaced-2023", "altinity-lb-recreate-2025", "deckhouse-lbclass-2025"},
	Kinds:     []string{"Service"},
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:     checkServiceRecreated,
}

func checkServiceRecreated(p *rule.Pass, c diff.Change) {
	if c.Action == diff.Rename {
		if !toldByMove(p.Unit, c) {
			p.Report(c, renamedService(c))
		}
		return
	}
	typeBefore, typeAfter := serviceType(c.Before), serviceType(c.After)
	switch {
	case typeBefore != typeAfter:
		reportServiceType(p, c, typeBefore, typeAfter)
	case typeAfter != "ExternalName":
		reportClusterIP(p, c)
	}
	if typeBefore == "ExternalName" && typeAfter == "ExternalName" && c.Before.Text("spec.externalName") != c.After.Text("spec.externalName") {
		p.Report(c, rule.Finding{Path: "spec.externalName", Severity: rule.Warning,
			Message:     change("externalName", c.Before.Text("spec.externalName"), c.After.Text("spec.externalName")),
			Consequence: "clients reach another host as soon as they resolve again; TLS names and Host headers that they send are those of before"})
	}
	if typeAfter == "NodePort" && typeBefore == "NodePort" {
		reportNodePorts(p, c)
	}
	if typeBefore == "LoadBalancer" && typeAfter == "LoadBalancer" {
		reportLoadBalancer(p, c)
	}
}

// serviceType gives spec.type, ClusterIP where it is not written.
func serviceType(o *object.Object) string {
	if t := o.Text("spec.type"); t != "" {
		return t
	}
	return "ClusterIP"
}

func renamedService(c diff.Change) rule.Finding {
	f := rule.Finding{Path: "metadata.name", Related: []object.Ref{c.Before.Ref},
		Before: c.Before.At("metadata.name"), After: c.After.At("metadata.name")}
	old, now := c.Before.Ref, c.After.Ref
	f.Message = fmt.Sprintf("Service %s becomes %s", old.Name, now.Name)
	if old.Namespace != now.Namespace {
		f.Path = "metadata.namespace"
		f.Before, f.After = c.Before.At("metadata.namespace"), c.After.At("metadata.namespace")
		f.Message = fmt.Sprintf("the Service moves from namespace %s to %s", orDefault(old.Namespace), orDefault(now.Namespace))
	}
	f.Consequence = fmt.Sprintf("%s is deleted and a new one created: the name %s no longer resolves, the cluster IP is another one", old, dnsName(old))
	if serviceType(c.Before) == "LoadBalancer" {
		f.Consequence += ", and so is the load balancer with its addresses"
	}
	return f
}

func orDefault(namespace string) string {
	if namespace == "" {
		return "(none given)"
	}
	return namespace
}

// dnsName is how other pods name a Service.
func dnsName(r object.Ref) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Name + "." + r.Namespace + ".svc"
}

func reportServiceType(p *rule.Pass, c diff.Change, before, after string) {
	f := rule.Finding{Path: "spec.type", Message: fmt.Sprintf("type %s becomes %s", before, after)}
	switch {
	case after == "ExternalName":
		f.Consequence = fmt.Sprintf("the cluster IP is released and DNS answers a CNAME to %s: open connections to the old address break, and ports, selector and TLS names of the Service count no longer", c.After.Text("spec.externalName"))
	case before == "ExternalName":
		f.Consequence = fmt.Sprintf("DNS answers a cluster IP in place of the CNAME to %s; clients reach the pods of the selector as soon as they resolve again", c.Before.Text("spec.externalName"))
	case before == "LoadBalancer":
		f.Consequence = "the cloud load balancer is deleted, and its addresses with it unless they are reserved: everybody outside the cluster loses the Service"
	case before == "NodePort" && after == "ClusterIP":
		f.Severity = rule.Warning
		f.Consequence = "the node ports are released: whoever reaches the Service from outside by a node's address loses it" + nodePorts(c.Before)
	default:
		return // it becomes reachable from outside, and keeps what it has
	}
	p.Report(c, f)
}

// nodePorts lists the node ports that were written down, so that their users can be asked.
func nodePorts(o *object.Object) string {
	var ports []string
	for _, port := range o.At("spec.ports").Items() {
		if n, ok := port.Field("nodePort").Int(); ok {
			ports = append(ports, fmt.Sprint(n))
		}
	}
	if len(ports) == 0 {
		return ""
	}
	return " (" + listed(ports) + ")"
}

// reportNodePorts tells of node ports that were written down and are others now.
func reportNodePorts(p *rule.Pass, c diff.Change) {
	for _, pair := range pairPorts(c) {
		if pair.after == nil {
			continue
		}
		was, ok := c.Before.At(string(pair.before.path.Key("nodePort"))).Int()
		now, written := c.After.At(string(pair.after.path.Key("nodePort"))).Int()
		if !ok || !written || was == now {
			continue
		}
		p.Report(c, rule.Finding{Path: pair.after.path.Key("nodePort"), Severity: rule.Warning,
			Message:     fmt.Sprintf("the node port of port %s goes from %d to %d", pair.after.number, was, now),
			Consequence: "whoever reaches the Service by a node's address, a load balancer outside of the cluster included, is refused until it asks for the new one"})
	}
}

func reportClusterIP(p *rule.Pass, c diff.Change) {
	before, after := c.Before.Text("spec.clusterIP"), c.After.Text("spec.clusterIP")
	if before == after {
		return
	}
	const refused = "the API server refuses it in place, and nothing of this Service is applied until it is deleted and created again; "
	f := rule.Finding{Path: "spec.clusterIP"}
	switch {
	case after == "None":
		f.Message = "the Service becomes headless"
		f.Consequence = refused + "then DNS answers with the addresses of the pods, the cluster IP is gone, and nothing balances between pods but the client itself" + unmapped(c.After)
	case before == "None":
		f.Message = "the Service is headless no more"
		f.Consequence = refused + "then DNS answers with one cluster IP, and the names of single pods are gone"
		f.Related = governed(p, c)
		if len(f.Related) > 0 {
			f.Consequence += fmt.Sprintf(", by which the pods of %s find each other", f.Related[0])
		}
	case before == "":
		f.Message = fmt.Sprintf("clusterIP is set to %s, where the cluster had chosen one", after)
		f.Consequence = "unless it is the address that the Service has already, " + strings.TrimSuffix(refused, "; ")
	case after == "":
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("clusterIP %s is no longer written down", before)
		f.Consequence = "the Service keeps it while it lives (servers before 1.20 refuse an empty value); made anew, it gets another one, and what names " + before + " literally is lost"
	default:
		f.Message = fmt.Sprintf("clusterIP %s becomes %s", before, after)
		f.Consequence = refused + "clients that hold the old address wait for timeouts until they resolve again"
	}
	p.Report(c, f)
}

// unmapped says which ports lead elsewhere when nothing maps them to their target.
func unmapped(o *object.Object) string {
	for _, p := range servicePorts(o) {
		if p.target.String() != p.number {
			return fmt.Sprintf("; port %s no longer leads to targetPort %s: clients must ask for the port of the pod", p.number, p.target)
		}
	}
	return ""
}

// governed gives the StatefulSets whose pods have their DNS names from this Service.
func governed(p *rule.Pass, c diff.Change) []object.Ref {
	var out []object.Ref
	for _, o := range p.After.Kind("StatefulSet.apps") {
		if o.Ref.Namespace == c.After.Ref.Namespace && o.Text("spec.serviceName") == c.After.Ref.Name {
			out = append(out, o.Ref)
		}
	}
	return out
}

// loadBalancerAnnotations are those that decide which load balancer there is. A
// change of one on a Service that exists replaces it, moves its address, or is
// ignored, by provider:
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/service/annotations/,
// https://cloud.google.com/kubernetes-engine/docs/how-to/internal-load-balancing,
// https://cloud-provider-azure.sigs.k8s.io/topics/loadbalancer/.
var loadBalancerAnnotations = map[string]string{
	"service.beta.kubernetes.io/aws-load-balancer-type":                   "another controller and another kind of AWS load balancer: a new DNS name and new addresses, and the old one may be left standing",
	"service.beta.kubernetes.io/aws-load-balancer-scheme":                 "the AWS controller builds a new load balancer with a new DNS name and new addresses, inside or outside the VPC, and deletes the old one",
	"service.beta.kubernetes.io/aws-load-balancer-internal":               "the AWS Load Balancer Controller builds a new load balancer with a new DNS name; the in-tree provider ignores the change on a load balancer that exists",
	"service.beta.kubernetes.io/aws-load-balancer-eip-allocations":        "the addresses of the load balancer change",
	"service.beta.kubernetes.io/aws-load-balancer-subnets":                "a zone that is added brings addresses, one that is removed drops its connections",
	"networking.gke.io/load-balancer-type":                                "GKE deletes the load balancer before it makes the other, inside or outside the VPC, with another address",
	"cloud.google.com/load-balancer-type":                                 "GKE deletes the load balancer before it makes the other, inside or outside the VPC, with another address",
	"networking.gke.io/load-balancer-ip-addresses":                        "the address of the load balancer changes",
	"networking.gke.io/internal-load-balancer-subnet":                     "the address of the load balancer changes",
	"cloud.google.com/l4-rbs":                                             "GKE serves it by another kind of load balancer, with another address unless one is reserved",
	"cloud.google.com/network-tier":                                       "Standard and Premium tier have different addresses",
	"service.beta.kubernetes.io/azure-load-balancer-internal":             "the Service moves between the public and the internal Azure load balancer, with another address",
	"service.beta.kubernetes.io/azure-load-balancer-internal-subnet":      "the address comes from another subnet",
	"service.beta.kubernetes.io/azure-load-balancer-ipv4":                 "the address of the load balancer changes",
	"service.beta.kubernetes.io/azure-pip-name":                           "another public address",
	"service.beta.kubernetes.io/aws-load-balancer-private-ipv4-addresses": "the addresses of the load balancer change",
	"service.beta.kubernetes.io/azure-load-balancer-ipv6":                 "the address of the load balancer changes",
	"service.beta.kubernetes.io/azure-pip-prefix-id":                      "another public address",
	"service.beta.kubernetes.io/azure-load-balancer-resource-group":       "the public address is looked for in another resource group",
	"metallb.io/address-pool":                                             "MetalLB gives an address of another pool",
	"metallb.universe.tf/address-pool":                                    "MetalLB gives an address of another pool",
	"metallb.io/loadBalancerIPs":                                          "the address of the load balancer changes",
	"metallb.universe.tf/loadBalancerIPs":                                 "the address of the load balancer changes",
}

func reportLoadBalancer(p *rule.Pass, c diff.Change) {
	for _, path := range []object.Path{"spec.loadBalancerClass", "spec.loadBalancerIP"} {
		before, after := c.Before.Text(string(path)), c.After.Text(string(path))
		if before == after {
			continue
		}
		f := rule.Finding{Path: path, Message: change(strings.TrimPrefix(string(path), "spec."), before, after)}
		if path == "spec.loadBalancerClass" {
			f.Consequence = "the API server refuses it while the type stays LoadBalancer; deleted and created again, the Service has another load balancer, made by another controller, with another address"
		} else {
			f.Severity = rule.Warning
			f.Consequence = "the provider moves the load balancer to another address, or ignores the change: the field is deprecated and providers differ"
		}
		p.Report(c, f)
	}
	before, after := c.Before.Strings("metadata.annotations"), c.After.Strings("metadata.annotations")
	for key := range gains(before, after) {
		reportAnnotation(p, c, key, before[key], after[key])
	}
	for key := range gains(after, before) {
		if _, ok := after[key]; !ok {
			reportAnnotation(p, c, key, before[key], "")
		}
	}
}

// balancerTraffic are annotations that change how a load balancer that stays talks to pods
// and to clients; sources as above.
var balancerTraffic = map[string]string{
	"service.beta.kubernetes.io/aws-load-balancer-proxy-protocol":              "pods must speak the PROXY protocol, or cease to, in the same moment: until then every request breaks",
	"service.beta.kubernetes.io/do-loadbalancer-enable-proxy-protocol":         "pods must speak the PROXY protocol, or cease to, in the same moment: until then every request breaks",
	"load-balancer.hetzner.cloud/uses-proxyprotocol":                           "pods must speak the PROXY protocol, or cease to, in the same moment: until then every request breaks",
	"service.beta.kubernetes.io/scw-loadbalancer-proxy-protocol-v2":            "pods must speak the PROXY protocol, or cease to, in the same moment: until then every request breaks",
	"service.beta.kubernetes.io/aws-load-balancer-backend-protocol":            "new target groups that speak another protocol with the pods",
	"service.beta.kubernetes.io/aws-load-balancer-nlb-target-type":             "new target groups: targets are unhealthy until their checks pass, and pods see other addresses of clients",
	"service.beta.kubernetes.io/aws-load-balancer-ssl-cert":                    "another certificate is served",
	"service.beta.kubernetes.io/aws-load-balancer-ssl-ports":                   "TLS ends on other ports, or on none",
	"service.beta.kubernetes.io/aws-load-balancer-healthcheck-path":            "a path that does not answer takes every target out",
	"service.beta.kubernetes.io/aws-load-balancer-healthcheck-port":            "a port that does not answer takes every target out",
	"service.beta.kubernetes.io/aws-load-balancer-healthcheck-protocol":        "a check that pods do not answer takes every target out",
	"service.beta.kubernetes.io/azure-load-balancer-health-probe-request-path": "a path that does not answer takes every node out",
	"service.beta.kubernetes.io/azure-load-balancer-health-probe-protocol":     "a probe that pods do not answer takes every node out",
	"service.beta.kubernetes.io/azure-dns-label-name":                          "the DNS name that the provider gave is released",
	"service.beta.kubernetes.io/azure-allowed-service-tags":                    "other addresses are let in",
	"cloud.google.com/neg": "the load balancer asks pods in place of nodes, or the reverse: backends are made anew and unhealthy until their checks pass",
	"service.beta.kubernetes.io/azure-load-balancer-disable-tcp-reset": "clients learn, or no longer learn, that their idle connection ended",
}

func reportAnnotation(p *rule.Pass, c diff.Change, key, before, after string) {
	what, ok := loadBalancerAnnotations[key]
	if sameSwitch(before, after) {
		return
	}
	if traffic, known := balancerTraffic[key]; known && !ok {
		_, short, _ := strings.Cut(key, "/")
		p.Report(c, rule.Finding{Path: object.Path("metadata.annotations").Key(key), Severity: rule.Warning, Message: change(short, before, after), Consequence: traffic})
		return
	}
	if !ok {
		return
	}
	_, short, _ := strings.Cut(key, "/")
	p.Report(c, rule.Finding{
		Path:        object.Path("metadata.annotations").Key(key),
		Message:     change(short, before, after),
		Consequence: what,
	})
}

// sameSwitch says whether two values of an annotation both mean no.
func sameSwitch(before, after string) bool {
	off := func(s string) bool { return s == "" || strings.EqualFold(s, "false") }
	return off(before) && off(after)
}

// change words a value that appears, disappears or becomes another.
func change(what, before, after string) string {
	switch {
	case before == "":
		return fmt.Sprintf("%s appears: %s", what, after)
	case after == "":
		return fmt.Sprintf("%s disappears: it was %s", what, before)
	}
	return fmt.Sprintf("%s %s becomes %s", what, before, after)
}
