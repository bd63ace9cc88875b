package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// DNSSettingsChanged reports pods that look names up in another way.
var DNSSettingsChanged = &rule.Rule{
	ID:       "dns-settings-changed",
	Title:    "Pods look names up in another way",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
With dnsPolicy Default pods ask the node's resolvers, which know nothing of Services: cache.prod does not exist for them, while everything outside goes on working.
With None they have what dnsConfig gives them and nothing else. Other nameservers must know the cluster's domain; other search domains decide what a short name means.

ndots is the number of dots from which on a name is tried as it stands first. With 5, which is the default in pods, every name of the outside world
is looked up with each search domain before, for IPv4 and IPv6: ten queries in place of two. A higher ndots multiplies the load of cluster DNS by the
next rollout; a lower one makes short names of Services with dots (cache.prod) cost a query outside first, and musl's resolver does not try the search
domains at all then. A lower one is a note.`,
	Advice:    "Leave dnsPolicy at ClusterFirst (ClusterFirstWithHostNet in the host's network). Set ndots: 2 for those that call the outside a lot, and write their outside names with a dot at the end. Try both kinds of names from one new pod.",
	Incidents: []string{"zalando-coredns-2019"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkDNSSettingsChanged,
}

func checkDNSSettingsChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "dnsPolicy", "dnsConfig") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	was, now := orText(before.PodSpec.Field("dnsPolicy").Text(), "ClusterFirst"), orText(after.PodSpec.Field("dnsPolicy").Text(), "ClusterFirst")
	if was != now {
		f := rule.Finding{Path: after.SpecPath().Key("dnsPolicy"), Message: fmt.Sprintf("dnsPolicy %s becomes %s", was, now)}
		clustered := strings.HasPrefix(was, "ClusterFirst")
		switch {
		case now == "Default" && clustered, now == "None" && clustered && after.PodSpec.At("dnsConfig.nameservers").Len() > 0:
			f.Consequence = "new pods ask other resolvers, which must know the names of Services"
			if now == "Default" {
				f.Consequence = "new pods ask the node's resolvers, and find no Service by its name"
			}
			if named := servicesNamed(p.After, after); named != "" {
				f.Severity = rule.Error
				f.Consequence += ": " + named
			}
		case now == "None" && after.PodSpec.At("dnsConfig.nameservers").Len() == 0:
			f.Severity = rule.Error
			f.Consequence = "the API server refuses None without nameservers in dnsConfig"
		default:
			f.Severity = rule.Note
			f.Consequence = "new pods ask cluster DNS"
		}
		p.Report(c, f)
	}
	if b, a := before.PodSpec.At("dnsConfig.nameservers"), after.PodSpec.At("dnsConfig.nameservers"); !b.Equal(a) && was == now {
		p.Report(c, rule.Finding{Path: after.SpecPath().Key("dnsConfig").Key("nameservers"), Before: b, After: a,
			Message:     change("nameservers", strings.Join(b.Texts(), ", "), strings.Join(a.Texts(), ", ")),
			Consequence: "new pods ask these too; a server that does not know the names of Services answers that they do not exist"})
	}
	if b, a := before.PodSpec.At("dnsConfig.searches"), after.PodSpec.At("dnsConfig.searches"); !b.Equal(a) {
		p.Report(c, rule.Finding{Path: after.SpecPath().Key("dnsConfig").Key("searches"), Before: b, After: a, Severity: rule.Note,
			Message:     change("search domains", strings.Join(b.Texts(), ", "), strings.Join(a.Texts(), ", ")),
			Consequence: "short names mean something else in new pods, and each domain more costs two queries for every name"})
	}
	reportNdots(p, c, before, after)
}

// ndots is the number of dots from which on a name is tried as it stands first
// (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-dns-config).
func ndots(w object.Workload) int64 {
	for _, o := range w.PodSpec.At("dnsConfig.options").Items() {
		if n, ok := o.Field("value").Int(); ok && o.Field("name").Text() == "ndots" {
			return n
		}
	}
	switch w.PodSpec.Field("dnsPolicy").Text() {
	case "Default", "None":
		return 1
	}
	return 5
}

func reportNdots(p *rule.Pass, c diff.Change, before, after object.Workload) {
	b, a := ndots(before), ndots(after)
	if a == b || before.PodSpec.Field("dnsPolicy").Text() != after.PodSpec.Field("dnsPolicy").Text() {
		return
	}
	f := rule.Finding{Path: after.SpecPath().Key("dnsConfig").Key("options"), Message: fmt.Sprintf("ndots goes from %d to %d", b, a)}
	if a > b {
		f.Consequence = "names of the outside world are looked up with every search domain first: ten queries in place of two, from each new pod"
		if w := after.Replicas; w.Known && w.Count > 1 {
			f.Consequence = fmt.Sprintf("names of the outside world are looked up with every search domain first: ten queries in place of two, from each of %d pods", w.Count)
		}
	} else {
		f.Severity = rule.Note
		f.Consequence = fmt.Sprintf("names with %s or more are asked for outside first; in images with musl, such as Alpine's, they are not looked up in the cluster at all", plural(int(a), "dot"))
	}
	p.Report(c, f)
}

// servicesNamed says which Services a workload names by their DNS names.
func servicesNamed(set *object.Set, w object.Workload) string {
	var out []string
	for _, s := range set.Kind("Service") {
		for _, m := range set.Mentions(s.Ref.Namespace, s.Ref.Name) {
			if m.From.Ref == w.Ref {
				out = append(out, fmt.Sprintf("it names %s (%s)", s.Ref, m.Path))
				break
			}
		}
	}
	return listed(out)
}
