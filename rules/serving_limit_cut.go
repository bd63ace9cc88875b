package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServingLimitCut reports servers, proxies and meshes that take at most half of the requests
// that they took.
var ServingLimitCut = &rule.Rule{
	ID:       "serving-limit-cut",
	Title:    "A server or proxy takes at most half of what it took, and refuses the rest",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
A limit on requests, connections or ingested data is invisible until the load reaches it. Cut below what comes on a usual day, it refuses a part of it from the moment at which the program reads it: with 429 where a
rate limit holds ([Loki](https://grafana.com/docs/loki/latest/operations/request-validation-rate-limits/), [Envoy's rate limit service](https://github.com/envoyproxy/ratelimit#configuration)), with 503 where a
circuit breaker does ([Envoy](https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/circuit_breaking), whose thresholds count for each proxy of its own, and the connectionPool of Istio with them), and in NGINX with 503, too
([limit_req](https://nginx.org/en/docs/http/ngx_http_limit_req_module.html)). Clients that try again make the load larger, and a limit by address hits all who come from behind one balancer together.

A value at most half as large as before is told. Limits of connections to stores are in store-room-cut, those of DNS in dns-capacity, sizes of pools in client-retry-or-timeout-changed.`,
	Advice: `Look at the highest rate of the last weeks, by the key that the limit counts by, and keep a margin for retries. Watch in shadow mode or with a log line first, where there is one, and count what would be refused.`,
	Kinds:  append([]string{"ConfigMap", destinationRuleKind}, servingKinds...), Actions: updates,
	Check: checkServingLimitCut,
}

// servingLimits are names of limits, with words joined by underscores, and what is refused above them.
var servingLimits = []struct {
	name     string
	software []string // as in keepings
	follows  string
}{
	// https://grafana.com/docs/loki/latest/configure/#limits_config, https://grafana.com/docs/mimir/latest/configure/configuration-parameters/#limits
	{"ingestion_rate_mb", nil, "what tenants send above it is refused with 429, and lost when the sender gives up"},
	{"ingestion_burst_size_mb", nil, "what tenants send above it is refused with 429, and lost when the sender gives up"},
	{"ingestion_rate", []string{"mimir", "cortex"}, "what tenants send above it is refused with 429, and lost when the sender gives up"},
	{"ingestion_burst_size", []string{"mimir", "cortex"}, "what tenants send above it is refused with 429, and lost when the sender gives up"},
	{"ingestion_rate_limit_bytes", nil, "what tenants send above it is refused with 429, and lost when the sender gives up"},
	{"max_global_streams_per_user", nil, "new streams above it are refused with 429, and their lines are lost"},
	{"max_global_series_per_user", nil, "new series above it are refused, and their samples are lost"},
	{"per_stream_rate_limit", nil, "lines of a stream above it are refused with 429, and lost when the sender gives up"},
	// https://github.com/envoyproxy/ratelimit#configuration
	{"rate_limit_requests_per_unit", nil, "requests above it are answered with 429"},
	// https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/circuit_breaker.proto
	{"thresholds_max_pending_requests", nil, "requests above it are answered with 503"},
	{"thresholds_max_requests", nil, "requests above it are answered with 503"},
	{"token_bucket_max_tokens", nil, "requests above it are answered with 429"},
	{"token_bucket_tokens_per_fill", nil, "requests above it are answered with 429"},
}

// servingWords are in the names of all of these limits.
var servingWords = []string{"ingestion", "global_s", "per_stream", "requests_per_unit", "max_pending", "max_requests", "token", "limit_req"}

func checkServingLimitCut(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "DestinationRule" {
		checkConnectionPool(p, c)
		return
	}
	if c.Ref.Kind != "ConfigMap" && !touched(c, ".args", ".command", ".env") || !hasAnyWord(c, servingWords...) {
		return
	}
	before, after := clientparam.Settings(c.Before), clientparam.Settings(c.After)
	kind := strings.ToLower(c.Ref.Kind)
	for _, l := range servingLimits {
		k := keeping{software: l.software, name: l.name}
		was, now := limitsAt(before, k, kind), limitsAt(after, k, kind)
		for _, place := range placesOf(was) {
			b, a := was[place], now[place]
			if len(a) != len(b) {
				continue // some come or go, and which is which is not known
			}
			for i := range b {
				if f, cut := cutLimit(b[i], a[i], l.follows); cut {
					p.Report(c, f)
					break
				}
			}
		}
	}
	checkRequestRate(p, c)
}

// limitsAt gives the settings of a name, by place, each with the values in their order.
func limitsAt(all []clientparam.Setting, k keeping, kind string) map[string][]clientparam.Setting {
	out := map[string][]clientparam.Setting{}
	for _, s := range all {
		if one := []clientparam.Setting{s}; keptAt(one, k, kind).set {
			key := strings.Join([]string{string(s.Place), s.Scope, s.Name}, "\x00")
			out[key] = append(out[key], s)
		}
	}
	return out
}

func placesOf(all map[string][]clientparam.Setting) []string {
	var out []string
	for key := range all {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

func cutLimit(before, after clientparam.Setting, follows string) (rule.Finding, bool) {
	b, okB := amountKept(strings.TrimSpace(before.Value))
	a, okA := amountKept(strings.TrimSpace(after.Value))
	// 0 switches most of them off.
	if !okA || !okB || a <= 0 || b <= 0 || 2*a > b {
		return rule.Finding{}, false
	}
	name := after.Name[strings.LastIndexAny(after.Name, " .")+1:]
	return rule.Finding{Path: after.Path, Before: object.TextOf(before.Value), After: object.TextOf(after.Value),
		Message: fmt.Sprintf("%s goes from %s to %s", name, before.Value, after.Value), Consequence: follows}, true
}

// checkConnectionPool looks at the circuit breakers of a mesh
// (https://istio.io/latest/docs/reference/config/networking/destination-rule/#ConnectionPoolSettings).
func checkConnectionPool(p *rule.Pass, c diff.Change) {
	const pool = "spec.trafficPolicy.connectionPool"
	for _, field := range []string{"tcp.maxConnections", "http.http1MaxPendingRequests", "http.http2MaxRequests"} {
		path := pool + "." + field
		b, okB := c.Before.At(path).Int()
		a, okA := c.After.At(path).Int()
		if !okA || a <= 0 || okB && 2*a > b {
			continue
		}
		f := rule.Finding{Path: object.Path(path), Message: fmt.Sprintf("%s towards %s goes from %d to %d", field[strings.IndexByte(field, '.')+1:], c.After.Text("spec.host"), b, a),
			Consequence: "each proxy answers requests above it with 503 (overflow)"}
		if !okB {
			// Up to 2^31-1 by default.
			f.Message = fmt.Sprintf("%s towards %s becomes %d, without a bound before", field[strings.IndexByte(field, '.')+1:], c.After.Text("spec.host"), a)
		}
		if !okB && a >= 100 {
			f.Severity = rule.Note
		}
		p.Report(c, f)
	}
}

// checkRequestRate looks at the zones of limit_req in configurations of NGINX.
func checkRequestRate(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind != "ConfigMap" {
		return
	}
	for _, key := range changedKeys(c) {
		was, now := requestRates(c.Before.At("data").Field(key).Text()), requestRates(c.After.At("data").Field(key).Text())
		var zones []string
		for zone, b := range was {
			if a, ok := now[zone]; ok && a.perMinute > 0 && 2*a.perMinute <= b.perMinute {
				zones = append(zones, zone)
			}
		}
		slices.Sort(zones)
		for _, zone := range zones {
			p.Report(c, rule.Finding{Path: object.Path("data").Key(key), Before: object.TextOf(was[zone].text), After: object.TextOf(now[zone].text),
				Message:     fmt.Sprintf("limit_req_zone %s goes from %s to %s", zone, was[zone].text, now[zone].text),
				Consequence: "requests above it, with the burst that a location allows, are answered with 503; clients behind one address share it"})
		}
	}
}

type requestRate struct {
	text      string
	perMinute int
}

// requestRates reads limit_req_zone KEY zone=NAME:SIZE rate=NUMBERr/s
// (https://nginx.org/en/docs/http/ngx_http_limit_req_module.html#limit_req_zone).
func requestRates(text string) map[string]requestRate {
	out := map[string]requestRate{}
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ";"))
		if len(words) < 4 || words[0] != "limit_req_zone" {
			continue
		}
		var zone, rate string
		for _, w := range words[1:] {
			if s, ok := strings.CutPrefix(w, "zone="); ok {
				zone, _, _ = strings.Cut(s, ":")
			}
			if s, ok := strings.CutPrefix(w, "rate="); ok {
				rate = s
			}
		}
		number, unit, _ := strings.Cut(rate, "r/")
		n, err := strconv.Atoi(number)
		if err != nil || zone == "" || n < 0 || n > 1<<24 {
			continue
		}
		if unit == "s" {
			n *= 60
		}
		out[zone] = requestRate{rate, n}
	}
	return out
}
