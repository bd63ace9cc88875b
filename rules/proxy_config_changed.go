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
		facts = append(facts, haproxySection(b, a)...)
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

func haproxySection(before, after directive) []proxyFact {
	where := before.text()
	servers := func(s directive) (out []serverLine) {
		for _, d := range s.block {
			if (d.name() == "server" || d.name() == "server-template") && len(d.words) >= 3 {
				address := d.arg(2)
				if d.name() == "server-template" {
					address = d.arg(3)
				}
				_, backup := d.setting("backup")
				_, disabled := d.setting("disabled")
				_, checked := d.setting("check")
				out = append(out, serverLine{d.arg(1), address, checked, backup || disabled})
			}
		}
		return out
	}
	facts := lostServers(where, servers(before), servers(after))
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
			facts = append(facts, shrunk("server "+b.arg(1)+" of "+where, "maxconn", was, now)...)
			if was != "" && !bounded {
				facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("server %s of %s loses its maxconn of %s", b.arg(1), where, was), "what was queued in the proxy falls on the server at once"})
			}
		case "option":
			facts = append(facts, lostOption(where, b, after)...)
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
func lostOption(where string, b, after directive) []proxyFact {
	if slices.ContainsFunc(after.block, func(a directive) bool { return a.name() == "option" && a.arg(1) == b.arg(1) }) {
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

// nginxFacts compares two configurations of NGINX.
func nginxFacts(before, after []directive) []proxyFact {
	b, a := flatNGINX(before), flatNGINX(after)
	var facts []proxyFact
	servers := func(d directive) (out []serverLine) {
		for _, s := range d.block {
			if s.name() == "server" && len(s.words) >= 2 {
				out = append(out, serverLine{"", s.arg(1), false, slices.Contains(s.words, "down") || slices.Contains(s.words, "backup")})
			}
		}
		return out
	}
	for _, was := range b {
		now, ok := findPlace(a, was.place)
		switch {
		case was.name() == "upstream" && ok:
			facts = append(facts, lostServers("upstream "+was.arg(1), servers(was.directive), servers(now.directive))...)
		case was.name() == "upstream":
			if user := passing(a, was.arg(1)); user != "" {
				facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("upstream %s goes, and %s still passes requests to it", was.arg(1), user), "NGINX takes the name for a host: it refuses the configuration when DNS does not know it, so that a pod that restarts stays down"})
			}
		case was.name() == "location" && !ok:
			facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("%s goes", was.place), "its requests go to another location of the server, or are answered with 404"})
		case was.name() == "server" && !ok && was.inHTTP && !serverStays(a, was):
			facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("%s goes", was.place), "requests for it end at the default server, with its certificate and its locations"})
		case ok:
			facts = append(facts, nginxStatements(was, now)...)
		}
	}
	return facts
}

// A placed directive is a block with the way to it.
type placed struct {
	directive
	place  string
	inHTTP bool
}

// flatNGINX gives the blocks of a configuration with their places: "server
// shop.example.com: location /api".
func flatNGINX(all []directive) []placed {
	var out []placed
	var walk func(list []directive, under string, http bool)
	walk = func(list []directive, under string, http bool) {
		for _, d := range list {
			if d.block == nil && d.name() != "server" || d.name() == "server" && len(d.words) > 1 {
				continue
			}
			place := d.text()
			if d.name() == "server" {
				place = "server " + serverName(d)
			}
			if under != "" {
				place = under + ": " + place
			}
			out = append(out, placed{d, place, http})
			switch d.name() {
			case "http", "stream", "events":
				walk(d.block, "", d.name() == "http")
			default:
				walk(d.block, place, http)
			}
		}
	}
	out = append(out, placed{directive{words: []string{"main"}, block: all}, "the main section", false})
	top := slices.ContainsFunc(all, func(d directive) bool {
		return d.name() == "server" || d.name() == "upstream" || d.name() == "location"
	})
	walk(all, "", top)
	return out
}

// serverName is how a server block is told from others.
func serverName(d directive) string {
	var listens []string
	for _, s := range d.block {
		if s.name() == "server_name" && s.arg(1) != "_" && s.arg(1) != "" {
			return s.arg(1)
		}
		if s.name() == "listen" {
			listens = append(listens, s.arg(1))
		}
	}
	if len(listens) == 0 {
		return "without a name"
	}
	return "on " + listens[0]
}

// serverStays says whether another server block answers for the names of one that goes.
func serverStays(all []placed, gone placed) bool {
	for _, s := range gone.block {
		if s.name() != "server_name" && s.name() != "listen" {
			continue
		}
		for _, x := range all {
			if x.name() == "server" && slices.ContainsFunc(x.block, func(d directive) bool { return d.name() == s.name() && d.arg(1) == s.arg(1) }) && s.name() == "server_name" {
				return true
			}
		}
	}
	return false
}

func findPlace(all []placed, place string) (placed, bool) {
	i := slices.IndexFunc(all, func(p placed) bool { return p.place == place })
	if i < 0 {
		return placed{}, false
	}
	return all[i], true
}

// passing gives the place that passes requests to an upstream, "" when none does.
func passing(all []placed, upstream string) string {
	for _, p := range all {
		for _, d := range p.block {
			if strings.HasSuffix(d.name(), "_pass") {
				_, host, ok := strings.Cut(d.arg(1), "://")
				if !ok {
					host = d.arg(1)
				}
				if host == upstream || strings.HasPrefix(host, upstream+"/") {
					return p.place
				}
			}
		}
	}
	return ""
}

// guards are statements that keep requests out, or say whose they are.
var guards = map[string]string{
	"auth_request":      "requests go through unchecked",
	"auth_basic":        "requests go through unchecked",
	"auth_jwt":          "requests go through unchecked",
	"deny":              "addresses that it kept out get in",
	"limit_req":         "what it held back falls on the servers behind",
	"limit_conn":        "what it held back falls on the servers behind",
	"set_real_ip_from":  "clients are taken for the balancer in front: allow lists, rate limits and logs go by its address",
	"real_ip_header":    "clients are taken for the balancer in front: allow lists, rate limits and logs go by its address",
	"ssl_verify_client": "clients need no certificate any more",
}

// forwarding are headers by which the program behind learns whom it serves, and how.
var forwarding = []string{"Host", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "X-Real-IP", "Upgrade", "Connection"}

func nginxStatements(before, after placed) []proxyFact {
	var facts []proxyFact
	for _, b := range before.block {
		if b.block != nil || slices.ContainsFunc(after.block, func(a directive) bool { return a.text() == b.text() }) {
			continue
		}
		same := slices.IndexFunc(after.block, func(a directive) bool { return a.name() == b.name() })
		switch name := b.name(); {
		case guards[name] != "" && !slices.ContainsFunc(after.block, func(a directive) bool { return a.name() == name && a.arg(1) != "off" }) && b.arg(1) != "off":
			facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("%s loses %s", before.place, clipped(b.text(), 60)), guards[name]})
		case name == "proxy_set_header" && slices.ContainsFunc(forwarding, func(h string) bool { return strings.EqualFold(h, b.arg(1)) }):
			i := slices.IndexFunc(after.block, func(a directive) bool { return a.name() == name && strings.EqualFold(a.arg(1), b.arg(1)) })
			f := proxyFact{rule.Warning, fmt.Sprintf("%s no longer sets the header %s", before.place, b.arg(1)), "the program behind takes requests for others than they are: wrong links and redirects, wrong addresses in allow lists"}
			if i >= 0 {
				f.what = fmt.Sprintf("%s sets the header %s to %s, to %s before", before.place, b.arg(1), after.block[i].arg(2), b.arg(2))
			}
			facts = append(facts, f)
		case name == "worker_connections" || name == "worker_rlimit_nofile":
			if same >= 0 {
				facts = append(facts, shrunk(before.place, name, b.arg(1), after.block[same].arg(1))...)
			}
		case name == "listen" && same < 0:
			facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("%s no longer listens on %s", before.place, b.arg(1)), "connections to it are refused from the next reload on"})
		case name == "listen" && !slices.ContainsFunc(after.block, func(a directive) bool { return a.name() == "listen" && a.arg(1) == b.arg(1) }):
			facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("%s listens on %s in place of %s", before.place, after.block[same].arg(1), b.arg(1)), "connections to the old port are refused from the next reload on"})
		case strings.HasSuffix(name, "_pass") && same >= 0:
			facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("%s passes requests to %s, to %s before", before.place, after.block[same].arg(1), b.arg(1)), passFollows(b.arg(1), after.block[same].arg(1))})
		case name == "proxy_next_upstream" && same >= 0:
			now := after.block[same].words
			if slices.Contains(now, "non_idempotent") && !slices.Contains(b.words, "non_idempotent") {
				facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("%s repeats requests that are not safe to repeat (non_idempotent)", before.place), "an order or a payment that a server answered too late is made twice"})
			} else if more := len(now) - len(b.words); more > 0 {
				facts = append(facts, proxyFact{rule.Note, fmt.Sprintf("%s tries other servers in more cases: %s", before.place, strings.Join(now[1:], " ")), "requests that fail everywhere are sent to every server"})
			}
		}
	}
	return facts
}

// passFollows says what becomes of requests that are passed elsewhere. With a path, be
// it a slash, NGINX puts it in place of the location's
// (https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_pass).
func passFollows(before, after string) string {
	if strings.TrimSuffix(before, "/") == strings.TrimSuffix(after, "/") {
		return "with a slash at the end the location's own path is cut off, without it is passed on: the servers behind are asked for other paths"
	}
	return "all its requests go there at once"
}
