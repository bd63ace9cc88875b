package rules

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// IngressControllerChanged reports settings of an ingress controller that count for
// every host behind it.
var IngressControllerChanged = &rule.Rule{
	ID:       "ingress-controller-changed",
	Title:    "A setting of the ingress controller changes, for every host behind it",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
One ConfigMap, or one flag, is the configuration of all Ingresses at once, and takes effect within seconds, without a rollout. Worst are those about who the client is. Behind a load
balancer a controller has to believe X-Forwarded-For and X-Forwarded-Proto, or the PROXY protocol; when it stops, programs take every request for plain HTTP from one
address: logins redirect in circles, allow lists refuse everybody, rate limits count all as one. When it begins to believe anybody, clients write their own address. The PROXY
protocol must be switched on both sides at the same moment, or every request is an error.

It knows the ConfigMap of ingress-nginx (by its own keys), the flags and files of Traefik, and the number of trusted hops of Contour, Envoy and Istio. A
value that equals the default is as good as none. Timeouts are told by the rules on clients.`,
	Advice: `Try it on a second controller with a class of its own, or in the smallest environment with the same balancer in front, and look at what a program behind it gets
(a page that echoes headers). For the PROXY protocol add a second listener, move the balancer to it, remove the first.`,
	Incidents: []string{"dfds-traefik-headers-2021"},
	Kinds:     append([]string{"ConfigMap", "EnvoyProxy.gateway.envoyproxy.io", "ClientTrafficPolicy.gateway.envoyproxy.io", "HelmChartConfig.helm.cattle.io"}, servingKinds...),
	Actions:   updates,
	Check:     checkIngressControllerChanged,
}

// A controllerOption is one option of ingress-nginx: its default, and what follows when
// it changes; with lower, only a smaller value is told.
type controllerOption struct {
	def      string
	follows  string
	severity rule.Severity
	lower    bool
}

const whoseRequest = "programs behind it may take every request for plain HTTP from the balancer's address: redirects in circles, allow lists and rate limits that go by one address"

// controllerOptions are those that are worth a word, with the defaults of
// https://github.com/kubernetes/ingress-nginx/blob/main/docs/user-guide/nginx-configuration/configmap.md.
var controllerOptions = map[string]controllerOption{
	"use-forwarded-headers":         {"false", whoseRequest, rule.Error, false},
	"compute-full-forwarded-for":    {"false", "X-Forwarded-For holds other addresses: what takes the first or the last of them takes another", rule.Warning, false},
	"forwarded-for-header":          {"X-Forwarded-For", whoseRequest, rule.Warning, false},
	"enable-real-ip":                {"false", whoseRequest, rule.Warning, false},
	"proxy-real-ip-cidr":            {"0.0.0.0/0", "a balancer outside of these is not believed, and every request has its address", rule.Warning, false},
	"use-proxy-protocol":            {"false", "every request is an error unless the balancer in front changes at the same moment", rule.Error, false},
	"ssl-protocols":                 {"TLSv1.2 TLSv1.3", "clients that speak none of these cannot connect", rule.Warning, false},
	"ssl-ciphers":                   {"", "clients that know none of these cannot connect", rule.Warning, false},
	"ssl-redirect":                  {"true", "plain HTTP is redirected for hosts with TLS, or no longer", rule.Warning, false},
	"force-ssl-redirect":            {"false", "plain HTTP is redirected for every host, or no longer; behind a balancer that ends TLS this can loop", rule.Warning, false},
	"hsts":                          {"true", "browsers keep to HTTPS, or no longer", rule.Note, false},
	"use-http2":                     {"true", "clients and gRPC services lose HTTP/2, or get it", rule.Warning, false},
	"proxy-body-size":               {"1m", "requests larger than this are answered with 413", rule.Warning, true},
	"proxy-buffer-size":             {"4k", "answers with headers larger than this, such as cookies of a login, become 502", rule.Warning, true},
	"large-client-header-buffers":   {"4 8k", "requests with larger headers, such as long cookies, are answered with 400", rule.Warning, true},
	"max-worker-connections":        {"16384", "connections above it are dropped", rule.Warning, true},
	"worker-processes":              {"auto", "it may have fewer processes for the same requests", rule.Warning, true},
	"whitelist-source-range":        {"", "other addresses are let in, of every host", rule.Error, false},
	"denylist-source-range":         {"", "other addresses are kept out, of every host", rule.Warning, false},
	"block-cidrs":                   {"", "other addresses are kept out, of every host", rule.Warning, false},
	"global-auth-url":               {"", "requests of every host are checked elsewhere, or no longer", rule.Error, false},
	"allow-snippet-annotations":     {"", "Ingresses with snippets are refused, or anybody who may write one configures the controller", rule.Warning, false},
	"enable-underscores-in-headers": {"false", "headers with an underscore in their names are dropped, or let through", rule.Warning, false},
	"ignore-invalid-headers":        {"true", "headers with other characters in their names, such as dots, are dropped, or let through", rule.Warning, false},
	"custom-http-errors":            {"", "answers with these codes get the default backend's page in place of the program's own", rule.Warning, false},
	"retry-non-idempotent":          {"false", "an order or a payment that a server answered too late is made twice", rule.Warning, false},
	"load-balance":                  {"round_robin", "requests go to other pods", rule.Note, false},
	"service-upstream":              {"false", "requests go to cluster IPs in place of pods, or the reverse: retries and affinity change", rule.Warning, false},
	"main-snippet":                  {"", "raw configuration changes for every host; a fault in it stops every later reload", rule.Warning, false},
	"http-snippet":                  {"", "raw configuration changes for every host; a fault in it stops every later reload", rule.Warning, false},
	"server-snippet":                {"", "raw configuration changes for every host; a fault in it stops every later reload", rule.Warning, false},
	"location-snippet":              {"", "raw configuration changes for every host; a fault in it stops every later reload", rule.Warning, false},
	"proxy-set-headers":             {"", "programs behind it get other headers, of every host", rule.Warning, false},
}

// trustSettings are parts of names by which other controllers say whom they believe
// (https://doc.traefik.io/traefik/routing/entrypoints/#forwarded-headers,
// https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/headers#x-forwarded-for,
// https://istio.io/latest/docs/ops/configuration/traffic-management/network-topologies/,
// https://projectcontour.io/docs/main/configuration/#network-configuration).
var trustSettings = []string{"forwardedheaders.", "proxyprotocol", "numtrustedproxies", "numtrustedhops", "xffnumtrustedhops", "useremoteaddress", "forwardclientcertdetails"}

func checkIngressControllerChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "ConfigMap" && isIngressNGINX(p, c) {
		checkIngressNGINX(p, c)
		return
	}
	if slices.Contains(servingKinds, c.Ref.GroupKind()) && !touched(c, ".args", ".command") {
		return
	}
	before, after := trustOf(c.Before), trustOf(c.After)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			after[name] = trustSetting{path: before[name].path}
		}
	}
	var what []string
	f := rule.Finding{Severity: rule.Warning, Consequence: whoseRequest}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, now := before[name].value, after[name].value
		if was == now || sameSwitch(was, now) {
			continue
		}
		what = append(what, change(name, was, now))
		if f.Path == "" {
			f.Path = after[name].path
		}
	}
	if len(what) == 0 {
		return
	}
	f.Message = listed(what)
	p.Report(c, f)
}

// A trustSetting is one setting of whom a controller believes.
type trustSetting struct {
	value string
	path  object.Path
}

// undivided takes away what names are divided by: allowSnippetAnnotations is
// allow-snippet-annotations.
var undivided = strings.NewReplacer("-", "", "_", "")

// trustOf gives the settings of an object about whom it believes, by their names.
func trustOf(o *object.Object) map[string]trustSetting {
	out := map[string]trustSetting{}
	take := func(name, value string, path object.Path) {
		plain := strings.ToLower(undivided.Replace(name))
		if slices.ContainsFunc(trustSettings, func(s string) bool { return strings.Contains(plain, s) }) {
			out[name] = trustSetting{value, path}
		}
	}
	var walk func(v object.Value, name string, path object.Path, depth int)
	walk = func(v object.Value, name string, path object.Path, depth int) {
		if depth > 12 {
			return
		}
		if v.Type() == object.Map {
			for key, item := range v.Fields() {
				at := key
				if name != "" {
					at = name + "." + key
				}
				walk(item, at, path, depth+1)
			}
			return
		}
		take(name, v.String(), path)
	}
	if w, ok := object.AsWorkload(o); ok {
		for _, box := range w.Containers() {
			for _, flag := range box.Flags() {
				take(flag.Name, orText(flag.Value, "true"), flag.Path)
			}
		}
		return out
	}
	texts := map[object.Path]string{}
	switch o.Ref.Kind {
	case "ConfigMap":
		for key, v := range o.At("data").Fields() {
			texts[object.Path("data").Key(key)] = v.Text()
		}
	case "HelmChartConfig":
		texts["spec.valuesContent"] = o.Text("spec.valuesContent")
	default:
		walk(o.At("spec"), "", "spec", 0)
	}
	for path, text := range texts {
		plain := strings.ToLower(undivided.Replace(text))
		if !slices.ContainsFunc(trustSettings, func(s string) bool { return strings.Contains(plain, strings.TrimSuffix(s, ".")) }) {
			continue
		}
		if v, ok := object.Embedded(text); ok {
			walk(v, "", path, 0)
		}
	}
	return out
}

// isIngressNGINX says whether a ConfigMap is that of ingress-nginx: a controller names it
// in --configmap, or it is called so and holds its keys.
func isIngressNGINX(p *rule.Pass, c diff.Change) bool {
	known := false
	for key := range controllerOptions {
		known = known || c.Before.At("data").Field(key).Exists() || c.After.At("data").Field(key).Exists()
	}
	if !known {
		return false
	}
	name := strings.ToLower(c.Ref.Namespace + "/" + c.Ref.Name)
	if strings.Contains(name, "ingress") || strings.Contains(name, "nginx") || strings.Contains(strings.ToLower(labelText(c.After.Labels())), "ingress") {
		return true
	}
	for _, w := range p.After.Workloads() {
		for _, box := range w.Running() {
			for _, flag := range box.Flags() {
				if flag.Name == "configmap" && strings.HasSuffix(flag.Value, "/"+c.Ref.Name) {
					return true
				}
			}
		}
	}
	return false
}

func checkIngressNGINX(p *rule.Pass, c diff.Change) {
	for _, key := range slices.Sorted(maps.Keys(controllerOptions)) {
		option := controllerOptions[key]
		b, a := c.Before.At("data").Field(key), c.After.At("data").Field(key)
		was, now := strings.TrimSpace(orText(b.Text(), option.def)), strings.TrimSpace(orText(a.Text(), option.def))
		if was == now || sameSwitch(was, now) || option.lower && !smaller(was, now) || sameWords(was, now) {
			continue
		}
		if b.Exists() != a.Exists() && option.def != "" {
			if a.Exists() {
				was += " by default"
			} else {
				now += " by default"
			}
		}
		p.Report(c, rule.Finding{Path: object.Path("data").Key(key), Severity: option.severity, Message: change(key, was, now), Consequence: option.follows})
	}
}

// sameWords says whether two lists hold the same words in another order.
func sameWords(before, after string) bool {
	words := func(s string) []string {
		out := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
		slices.Sort(out)
		return out
	}
	return slices.Equal(words(before), words(after))
}

// smaller says whether a size, a number or a number of sizes (4 8k) got smaller; what
// cannot be read as one did.
func smaller(before, after string) bool {
	b, ok := bytesOf(before)
	a, alsoOK := bytesOf(after)
	return !ok || !alsoOK || a < b && a > 0 || b == 0 && a > 0
}

// bytesOf reads a size as nginx writes it: 8k, 10m, 1g, 4 8k.
func bytesOf(s string) (int64, bool) {
	total := int64(1)
	fields := strings.Fields(strings.ToLower(s))
	for _, f := range fields {
		unit := int64(1)
		switch {
		case strings.HasSuffix(f, "k"):
			unit = 1 << 10
		case strings.HasSuffix(f, "m"):
			unit = 1 << 20
		case strings.HasSuffix(f, "g"):
			unit = 1 << 30
		}
		n, err := strconv.ParseInt(strings.TrimRight(f, "kmg"), 10, 40)
		if err != nil {
			return 0, false
		}
		total *= n * unit
	}
	return total, len(fields) > 0
}
