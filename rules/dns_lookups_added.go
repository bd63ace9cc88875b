package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// DNSLookupsAdded reports pods that reached something without a name and look one
// up for every connection from now on.
var DNSLookupsAdded = &rule.Rule{
	ID:       "dns-lookups-added",
	Title:    "Pods look a name up where they had an address",
	Subject:  "capacity and names",
	Severity: rule.Note,
	Doc: `
localhost and plain addresses cost no query. A host name in their place costs one, or several with search domains, for each connection that the program opens: a program that
opens thousands in a second, such as a cache client in PHP, multiplies the load of cluster DNS as soon as it is rolled out, and depends on it.

A note; with ten pods and more, or on every node, a warning.`,
	Advice:    "End the name with a dot, so that it is looked up once and not with every search domain; keep connections open; look at queries per second and memory of cluster DNS before the rollout reaches all pods.",
	Incidents: []string{"wikimedia-mcrouter-dns-2024"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkDNSLookupsAdded,
}

const manyPods = 10

func checkDNSLookupsAdded(p *rule.Pass, c diff.Change) {
	before, after, ok := bothWorkloads(p, c)
	if !ok || !templateChanged(c, after) {
		return
	}
	report := func(path object.Path, name, was, now string) {
		from, to := hostOf(was), hostOf(now)
		if from == "" || to == "" || !isAddress(from) || isAddress(to) {
			return
		}
		f := rule.Finding{Path: path, Message: fmt.Sprintf("%s has the name %s in place of the address %s", name, to, from),
			Consequence: fmt.Sprintf("%s ask cluster DNS for each connection", podsOf(after))}
		if after.Replicas.Count >= manyPods || after.Replicas.From == "one per node" {
			f.Severity = rule.Warning
		}
		if !strings.HasSuffix(to, ".") && strings.Contains(to, ".") {
			f.Consequence += ", with every search domain first, as it does not end with a dot"
		}
		p.Report(c, f)
	}
	for _, pair := range pairContainers(before, after) {
		env := map[string]string{}
		for _, e := range pair.before.Env() {
			env[e.Name] = e.Value.Text()
		}
		for _, e := range pair.after.Env() {
			report(e.Path.Key("value"), e.Name, env[e.Name], e.Value.Text())
		}
		flags := map[string]string{}
		for _, f := range pair.before.Flags() {
			flags[f.Name] = f.Value
		}
		for _, f := range pair.after.Flags() {
			report(f.Path, "--"+f.Name, flags[f.Name], f.Value)
		}
	}
}

// hostOf gives the host of "host:port" or "scheme://host:port/path", "" for any other
// text.
func hostOf(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
		if _, after, ok := strings.Cut(s, "@"); ok {
			s = after
		}
		s, _, _ = strings.Cut(s, "/")
	}
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.Contains(s[i:], "]") && (!strings.Contains(s[:i], ":") || strings.HasSuffix(s[:i], "]")) {
		host, port = strings.Trim(s[:i], "[]"), s[i+1:]
	}
	if host == "" || strings.ContainsAny(host, " /,=\n") || port == "" && !isAddress(host) && !strings.Contains(host, ".") {
		return ""
	}
	return host
}

// isAddress says whether a host needs no lookup in DNS.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil || strings.HasPrefix(host, "$(")
}
