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
	var all strings.Builder
	for _, t := range texts {
		all.WriteString(words(t))
		all.WriteByte(' ')
	}
	text := all.String()
	out := []string{}
	for _, s := range l.software() {
		if strings.Contains(text, s.words) {
			out = append(out, s.name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A spelling is one way in which the name of a piece of software is written.
type spelling struct{ words, name string }

// spellings gives those of all software in the library.
func (l *Library) spellings() []spelling {
	known := map[string]bool{}
	var out []spelling
	for _, e := range l.entries {
		for _, name := range e.Software {
			if !known[name] {
				known[name] = true
				out = append(out, spelling{words(name), name})
			}
		}
	}
	for alias, name := range aliases {
		if known[name] {
			out = append(out, spelling{words(alias), name})
		}
	}
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
