package incident

import (
	"slices"
	"strings"
	"unicode"
)

// SoftwareIn gives the software that texts such as image references, chart names
// and label values name, of that which the library knows, sorted. A name counts
// where it stands as a whole word: "registry.k8s.io/coredns/coredns:v1.12" names
// coredns, "mycorednsfork" names nothing.
func (l *Library) SoftwareIn(texts ...string) []string {
	known := map[string]bool{}
	for _, e := range l.entries {
		for _, s := range e.Software {
			known[s] = true
		}
	}
	found := map[string]bool{}
	for _, t := range texts {
		text := words(t)
		for name := range known {
			if strings.Contains(text, words(name)) {
				found[name] = true
			}
		}
		for alias, name := range aliases {
			if known[name] && strings.Contains(text, words(alias)) {
				found[name] = true
			}
		}
	}
	out := make([]string, 0, len(found))
	for name := range found {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// words puts one hyphen between the words of a text and around it.
func words(text string) string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return "-" + strings.Join(fields, "-") + "-"
}

// aliases are the names of images and workloads that do not hold the name of
// their software.
var aliases = map[string]string{
	"nginx-ingress":       "ingress-nginx",
	"node-local-dns":      "nodelocaldns",
	"k8s-dns-node-cache":  "nodelocaldns",
	"kube-dns":            "coredns", // CoreDNS runs under the old Service name and label
	"aws-node":            "aws-vpc-cni",
	"amazon-k8s-cni":      "aws-vpc-cni",
	"postgresql":          "postgres",
	"k8s-hub":             "jupyterhub",
	"opa":                 "gatekeeper",
	"open-policy-agent":   "gatekeeper",
	"kube-mgmt":           "gatekeeper",
	"envoyproxy":          "envoy",
	"istio-proxy":         "envoy",
	"proxyv2":             "envoy",
	"aws-lb-controller":   "aws-load-balancer-controller",
	"grafana-loki":        "loki",
	"cilium-agent":        "cilium",
	"calico-node":         "calico",
	"calico-typha":        "calico",
	"kafka-broker":        "kafka",
	"kube-prometheus":     "prometheus",
	"prometheus-operator": "prometheus",
}
