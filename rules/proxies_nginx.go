package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it compares configurations of NGINX for the rule about proxies.

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
			facts = append(facts, nginxStatements(was, now, around(a, was.place))...)
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

// around gives the statements of the blocks in which a place is, which count there too
// as long as it has none of the kind itself.
func around(all []placed, place string) []directive {
	var out []directive
	for _, p := range all {
		if p.place == "http" || strings.HasPrefix(place, p.place+": ") {
			out = append(out, p.block...)
		}
	}
	return out
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

// nginxStatements compares a block; outer is what stands around it after.
func nginxStatements(before, after placed, outer []directive) []proxyFact {
	var facts []proxyFact
	for _, b := range before.block {
		same := func(a directive) bool { return a.text() == b.text() }
		if b.block != nil || slices.ContainsFunc(after.block, same) {
			continue
		}
		if slices.ContainsFunc(outer, same) && !slices.ContainsFunc(after.block, func(a directive) bool { return a.name() == b.name() }) {
			continue // it moved to where several have it in common
		}
		at := slices.IndexFunc(after.block, func(a directive) bool { return a.name() == b.name() })
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
			if at >= 0 {
				facts = append(facts, shrunk(before.place, name, b.arg(1), after.block[at].arg(1))...)
			}
		case name == "listen" && at < 0:
			facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("%s no longer listens on %s", before.place, b.arg(1)), "connections to it are refused from the next reload on"})
		case name == "listen" && !slices.ContainsFunc(after.block, func(a directive) bool { return a.name() == "listen" && a.arg(1) == b.arg(1) }):
			facts = append(facts, proxyFact{rule.Error, fmt.Sprintf("%s listens on %s in place of %s", before.place, after.block[at].arg(1), b.arg(1)), "connections to the old port are refused from the next reload on"})
		case strings.HasSuffix(name, "_pass") && at >= 0:
			facts = append(facts, proxyFact{rule.Warning, fmt.Sprintf("%s passes requests to %s, to %s before", before.place, after.block[at].arg(1), b.arg(1)), passFollows(b.arg(1), after.block[at].arg(1))})
		case name == "proxy_next_upstream" && at >= 0:
			now := after.block[at].words
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
