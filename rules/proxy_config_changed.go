package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ProxyConfigChanged reports a configuration file of HAProxy or NGINX that leads
// requests elsewhere, to fewer servers, or nowhere.
var ProxyConfigChanged = &rule.Rule{
	ID:       "proxy-config-changed",
	Title:    "A proxy's own configuration loses servers, routes, checks or room",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A proxy that is configured by a file has its Services inside of that file: backends and upstreams with their servers, frontends and locations that
lead to them. No relation of Kubernetes knows of it, and the proxy's own pods stay healthy whatever it says. A backend with fewer servers gives each of them
more; one whose servers are no longer checked sends requests to those that are down; without ` + "`option redispatch`" + ` HAProxy tries a dead server again
instead of another one. A maxconn or a number of worker connections that shrinks makes clients wait, or be refused, at a load that went well the day before.

An error is what the proxy itself refuses: a route to a backend that is not there. HAProxy does not start with it, and a reload keeps the old configuration, so that it shows when the
pod moves. Timeouts, retries and pools are told by the rules on clients; servers, routes and comments that come are left alone. Files that are templates are
not read.`,
	Advice:    "Let the proxy read the file before the merge, in its own image (`haproxy -c -f FILE`, `nginx -t`). Drain a server before it goes (state drain, `down`), look at the queue and session numbers of those that are left, and change one thing at a time.",
	Incidents: []string{"skyscanner-template-2019"},
	Kinds:     []string{"ConfigMap"},
	Actions:   updates,
	Check:     checkProxyConfigChanged,
}

// A proxyFact is one thing that a proxy does otherwise.
type proxyFact struct {
	severity      rule.Severity
	what, follows string
}

func checkProxyConfigChanged(p *rule.Pass, c diff.Change) {
	for _, key := range changedKeys(c) {
		path := object.Path("data").Key(key)
		before, after := c.Before.At("data").Field(key).Text(), c.After.At("data").Field(key).Text()
		var facts []proxyFact
		if b, a := readHAProxy(before), readHAProxy(after); b != nil && a != nil {
			facts = haproxyFacts(b, a)
		} else if b, a := readNGINX(before), readNGINX(after); b != nil && a != nil {
			facts = nginxFacts(b, a)
		}
		if len(facts) == 0 {
			continue
		}
		slices.SortStableFunc(facts, func(a, b proxyFact) int { return int(b.severity - a.severity) })
		var what, follows []string
		for _, f := range facts {
			what = append(what, f.what)
			if f.follows != "" && !slices.Contains(follows, f.follows) && len(follows) < 2 {
				follows = append(follows, f.follows)
			}
		}
		p.Report(c, rule.Finding{Path: path, Severity: facts[0].severity, Message: listed(what), Consequence: strings.Join(follows, "; ")})
	}
}

// A serverLine is one server of a HAProxy backend or an NGINX upstream.
type serverLine struct {
	name, address string
	checked       bool
	off           bool // down, disabled, or for emergencies only
}

// lostServers compares the servers of one backend.
func lostServers(where string, before, after []serverLine) []proxyFact {
	serves := func(all []serverLine) (n int) {
		for _, s := range all {
			if !s.off {
				n++
			}
		}
		return n
	}
	var lost, spare []string
	for _, b := range before {
		i := slices.IndexFunc(after, func(a serverLine) bool { return a.address == b.address })
		if i < 0 && !slices.ContainsFunc(after, func(a serverLine) bool { return a.name == b.name && b.name != "" }) {
			if b.off {
				spare = append(spare, b.address)
				continue
			}
			lost = append(lost, b.address)
		} else if i >= 0 && after[i].off && !b.off {
			lost = append(lost, b.address+" (switched off)")
		}
	}
	var facts []proxyFact
	was, now := serves(before), serves(after)
	if len(lost) > 0 {
		f := proxyFact{severity: rule.Warning, what: fmt.Sprintf("%s loses %s: %s left", where, listed(lost), isAre(now, fmt.Sprintf("of %d is", was), fmt.Sprintf("of %d are", was)))}
		switch {
		case now == 0:
			f.severity = rule.Error
			f.what = fmt.Sprintf("%s loses %s, and has none that serves", where, listed(lost))
			f.follows = "its requests are answered with 503 or 502"
		case now >= was:
			f.severity = rule.Note
			f.what = fmt.Sprintf("%s loses %s, and others come", where, listed(lost))
			f.follows = "requests go to other servers at once"
		case now < was:
			f.follows = fmt.Sprintf("each server that is left takes %s its share", times(float64(was)/float64(now)))
		}
		facts = append(facts, f)
	}
	if len(spare) > 0 {
		facts = append(facts, proxyFact{rule.Note, fmt.Sprintf("%s loses %s, which stood by", where, listed(spare)), "nothing takes over when the others are down"})
	}
	var moved []string
	for _, a := range after {
		i := slices.IndexFunc(before, func(b serverLine) bool { return b.name == a.name && b.name != "" })
		if i >= 0 && before[i].address != a.address && !slices.ContainsFunc(before, func(b serverLine) bool { return b.address == a.address }) {
			moved = append(moved, fmt.Sprintf("%s of %s goes from %s to %s", a.name, where, before[i].address, a.address))
		}
	}
	if len(moved) > 0 {
		facts = append(facts, proxyFact{rule.Warning, "server " + listed(moved), "requests go there at once, whether it serves them or not"})
	}
	if slices.ContainsFunc(before, func(s serverLine) bool { return s.checked }) && len(after) > 0 &&
		!slices.ContainsFunc(after, func(s serverLine) bool { return s.checked }) {
		facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("the servers of %s are no longer checked", where), "a server that is down keeps its share of the requests, and each of them fails"})
	}
	return facts
}

// shrunk compares a number of connections; none means that nothing bounds it.
func shrunk(where, what, before, after string) []proxyFact {
	b, err := strconv.Atoi(before)
	a, alsoErr := strconv.Atoi(after)
	if err != nil || alsoErr != nil || b <= 0 || a <= 0 || 4*a > 3*b {
		return nil
	}
	return []proxyFact{{rule.Warning, fmt.Sprintf("%s: %s goes from %d to %d", where, what, b, a), "what comes above it waits in a queue, or is refused"}}
}

// haproxyFacts compares two configurations of HAProxy.
func haproxyFacts(before, after []directive) []proxyFact {
	var facts []proxyFact
	find := func(all []directive, name string) (directive, bool) {
		i := slices.IndexFunc(all, func(d directive) bool { return d.text() == name })
		if i < 0 {
			return directive{}, false
		}
		return all[i], true
	}
	missing := missingBackends(after)
	after = underOldNames(before, after)
	known := missingBackends(before)
	for _, name := range missing {
		if !slices.Contains(known, name) {
			facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("requests are led to backend %s, which is not there", name), "HAProxy refuses the configuration: it does not start with it, and a reload keeps the old one"})
		}
	}
	for _, b := range before {
		a, ok := find(after, b.text())
		if !ok {
			if b.name() == "backend" && slices.Contains(missing, b.arg(1)) || b.name() == "defaults" {
				continue // told above, or of no name
			}
			follows := "requests that came in by it are refused"
			severity := rule.Warning
			if b.name() == "backend" {
				follows, severity = "", rule.Note // nothing leads to it any more
			}
			facts = append(facts, proxyFact{severity, b.text() + " goes", follows})
			continue
		}
		facts = append(facts, haproxySection(b, a, sharedOf(before), sharedOf(after))...)
	}
	return facts
}

// underOldNames gives the sections after with the names that they had before, where one
// was only renamed, so that they compare as the same.
func underOldNames(before, after []directive) []directive {
	has := func(all []directive, text string) bool {
		return slices.ContainsFunc(all, func(d directive) bool { return d.text() == text })
	}
	same := func(x, y directive) bool { return x.text() == y.text() }
	was := map[string]string{}
	out := slices.Clone(after)
	for i, a := range out {
		if len(a.words) < 2 || has(before, a.text()) {
			continue
		}
		for _, b := range before {
			if b.name() == a.name() && len(b.words) > 1 && !has(after, b.text()) && len(b.block) > 0 && slices.EqualFunc(a.block, b.block, same) {
				was[a.arg(1)] = b.arg(1)
				out[i].words = b.words
				break
			}
		}
	}
	for i := range out {
		block := slices.Clone(out[i].block)
		for j, d := range block {
			if old, ok := was[d.arg(1)]; ok && (d.name() == "use_backend" || d.name() == "default_backend") {
				block[j].words = slices.Concat(d.words[:1], []string{old}, d.words[2:])
			}
		}
		out[i].block = block
	}
	return out
}

// missingBackends gives the backends that are named and not defined.
func missingBackends(all []directive) []string {
	var defined, out []string
	for _, s := range all {
		if s.name() == "backend" || s.name() == "listen" {
			defined = append(defined, s.arg(1))
		}
	}
	for _, s := range all {
		for _, d := range s.block {
			name := d.arg(1)
			if (d.name() == "use_backend" || d.name() == "default_backend") && name != "" && !strings.ContainsAny(name, "%$") &&
				!slices.Contains(defined, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// sharedOf gives the statements that sections of HAProxy have in common.
func sharedOf(all []directive) []directive {
	var out []directive
	for _, s := range all {
		if s.name() == "defaults" {
			out = append(out, s.block...)
		}
	}
	return out
}

// serverDefault finds a setting that a section, or what it shares with others, gives to
// each server (https://docs.haproxy.org/3.0/configuration.html#default-server).
func serverDefault(section directive, shared []directive, name string) (value string, ok bool) {
	for _, d := range slices.Concat(shared, section.block) {
		if v, is := d.setting(name); d.name() == "default-server" && is {
			value, ok = v, true
		}
	}
	return value, ok
}

// haproxySection compares a section; shared is what each side has in its defaults.
func haproxySection(before, after directive, sharedBefore, sharedAfter []directive) []proxyFact {
	where := before.text()
	servers := func(s directive, shared []directive) (out []serverLine) {
		_, all := serverDefault(s, shared, "check")
		for _, d := range s.block {
			if (d.name() == "server" || d.name() == "server-template") && len(d.words) >= 3 {
				address := d.arg(2)
				if d.name() == "server-template" {
					address = d.arg(3)
				}
				_, backup := d.setting("backup")
				_, disabled := d.setting("disabled")
				_, checked := d.setting("check")
				_, unchecked := d.setting("no-check")
				out = append(out, serverLine{d.arg(1), address, checked || all && !unchecked, backup || disabled})
			}
		}
		return out
	}
	facts := lostServers(where, servers(before, sharedBefore), servers(after, sharedAfter))
	for _, b := range before.block {
		gone := !slices.ContainsFunc(after.block, func(a directive) bool { return a.text() == b.text() })
		if !gone {
			continue
		}
		same := slices.IndexFunc(after.block, func(a directive) bool { return a.name() == b.name() })
		switch b.name() {
		case "maxconn":
			if same >= 0 {
				facts = append(facts, shrunk(where, "maxconn", b.arg(1), after.block[same].arg(1))...)
			}
		case "server", "default-server":
			i := slices.IndexFunc(after.block, func(a directive) bool { return a.name() == b.name() && a.arg(1) == b.arg(1) })
			if i < 0 {
				continue
			}
			was, _ := b.setting("maxconn")
			now, bounded := after.block[i].setting("maxconn")
			if !bounded {
				now, bounded = serverDefault(after, sharedAfter, "maxconn")
			}
			facts = append(facts, shrunk("server "+b.arg(1)+" of "+where, "maxconn", was, now)...)
			if was != "" && !bounded {
				facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("server %s of %s loses its maxconn of %s", b.arg(1), where, was), "what was queued in the proxy falls on the server at once"})
			}
		case "option":
			facts = append(facts, lostOption(where, b, slices.Concat(sharedAfter, after.block))...)
		case "bind":
			if !slices.ContainsFunc(after.block, func(a directive) bool { return a.name() == "bind" && a.arg(1) == b.arg(1) }) {
				facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("%s no longer listens on %s", where, b.arg(1)), "connections to it are refused from the next reload on"})
			} else if slices.Contains(b.words, "accept-proxy") && !slices.ContainsFunc(after.block, func(a directive) bool { return a.name() == "bind" && slices.Contains(a.words, "accept-proxy") }) {
				facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("%s no longer accepts the PROXY protocol on %s", where, b.arg(1)), "a balancer that goes on sending it gets errors for every request"})
			}
		case "use_backend", "default_backend":
			if b.name() == "default_backend" && same >= 0 {
				facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("the default of %s goes from backend %s to %s", where, b.arg(1), after.block[same].arg(1)), "all that no rule leads elsewhere goes there at once"})
			} else {
				facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("%s no longer has %q", where, clipped(b.text(), 80)), "requests that it led go to the default backend, or are answered with 503"})
			}
		case "http-request", "tcp-request":
			if a := b.arg(1); a == "deny" || a == "auth" || a == "reject" || a == "connection" || a == "track-sc0" || a == "redirect" {
				facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("%s no longer has %q", where, clipped(b.text(), 80)), "requests that it held back go through"})
			}
		case "mode":
			if same >= 0 {
				facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("%s goes from mode %s to %s", where, b.arg(1), after.block[same].arg(1)), "rules, checks and headers of the other mode are ignored or refused"})
			}
		case "balance":
			if same >= 0 {
				facts = append(facts, proxyFact{rule.Note, fmt.Sprintf("%s balances by %s, by %s before", where, after.block[same].arg(1), b.arg(1)), "clients reach other servers than before, with cold caches and without their sessions"})
			}
		}
	}
	return facts
}

// lostOption tells of options whose absence shows only when a server is down.
func lostOption(where string, b directive, after []directive) []proxyFact {
	off := slices.ContainsFunc(after, func(a directive) bool { return a.name() == "no" && a.arg(2) == b.arg(1) })
	if !off && slices.ContainsFunc(after, func(a directive) bool { return a.name() == "option" && a.arg(1) == b.arg(1) }) {
		return nil
	}
	switch option := b.arg(1); option {
	case "redispatch": // https://docs.haproxy.org/3.0/configuration.html#option%20redispatch
		return []proxyFact{{rule.Warning, where + " loses option redispatch", "a request whose server does not answer is tried at the same server again, and fails with it"}}
	case "httpchk", "mysql-check", "pgsql-check", "redis-check", "tcp-check", "ldap-check", "smtpchk":
		return []proxyFact{{rule.Warning, fmt.Sprintf("%s loses option %s", where, option), "a server counts as up as long as its port opens, whatever it answers"}}
	case "forwardfor":
		return []proxyFact{{rule.Warning, where + " loses option forwardfor", "servers no longer see whose request it is: allow lists, rate limits and logs go by the proxy's address"}}
	}
	return nil
}
