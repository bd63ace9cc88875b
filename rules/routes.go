package rules

import (
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads Ingresses and routes of all kinds alike, for the
// rules that compare what comes in from outside.

// A route is one host and path that comes in, and where it goes.
type route struct {
	host, path string // "*" for any host; for Traefik the whole match rule stands as the host
	prefix     bool   // the path is the beginning of those that match
	backend    string // the Service, "web:80" or "stage/web:80", "" when it is another thing
	place      object.Path
	written    string // the path as it is written, where that is an expression; "" otherwise
}

// routeKinds are the kinds that routesOf reads.
var routeKinds = []string{
	"Ingress.networking.k8s.io", "HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io",
	"VirtualService.networking.istio.io", "IngressRoute.traefik.io", "IngressRoute.traefik.containo.us", "HTTPProxy.projectcontour.io",
}

// url writes host and path as a browser would.
func (r route) url() string {
	path := orText(r.written, r.path)
	if r.host == "*" {
		return "any host" + path
	}
	return r.host + path
}

// hostTakes says whether requests for a host are requests for another one, which may
// be a wildcard: any number of labels in its place
// (https://gateway-api.sigs.k8s.io/reference/spec/#hostname).
func hostTakes(wide, host string) bool {
	return wide == host || wide == "*" || strings.HasPrefix(wide, "*.") && strings.HasSuffix(host, wide[1:])
}

// covers says whether a request for o goes through r as well.
func (r route) covers(o route) bool {
	if !hostTakes(r.host, o.host) {
		return false
	}
	if r.path == o.path {
		return r.prefix || !o.prefix
	}
	return r.prefix && (r.path == "/" || r.path == "" || strings.HasPrefix(o.path, strings.TrimSuffix(r.path, "/")+"/"))
}

// routesOf gives what an object lets in.
func routesOf(o *object.Object) []route {
	if o == nil {
		return nil
	}
	switch o.Ref.Kind {
	case "Ingress":
		return ingressRoutes(o)
	case "HTTPRoute", "GRPCRoute":
		return gatewayRoutes(o)
	case "VirtualService":
		return istioRoutes(o)
	case "IngressRoute":
		var out []route
		for i, r := range o.At("spec.routes").Items() {
			service := r.At("services").Item(0)
			out = append(out, route{host: r.Field("match").Text(), prefix: true, backend: backendText(service.Field("namespace"), service.Field("name"), service.Field("port")),
				place: object.Path("spec.routes").Index(i)})
		}
		return out
	case "HTTPProxy":
		host := orText(o.Text("spec.virtualhost.fqdn"), "*")
		var out []route
		for i, r := range o.At("spec.routes").Items() {
			service := r.At("services").Item(0)
			out = append(out, route{host: host, path: orText(r.At("conditions").Item(0).Field("prefix").Text(), "/"), prefix: true,
				backend: backendText(service.Field("namespace"), service.Field("name"), service.Field("port")), place: object.Path("spec.routes").Index(i)})
		}
		return out
	}
	return nil
}

func ingressRoutes(o *object.Object) []route {
	backend := func(b object.Value) string {
		if s := b.Field("service"); s.Exists() {
			port := s.At("port.name")
			if !port.Exists() {
				port = s.At("port.number")
			}
			return backendText(object.Value{}, s.Field("name"), port)
		}
		return backendText(object.Value{}, b.Field("serviceName"), b.Field("servicePort"))
	}
	var out []route
	for _, field := range []string{"defaultBackend", "backend"} {
		if b := o.At("spec." + field); b.Exists() {
			out = append(out, route{host: "*", path: "/", prefix: true, backend: backend(b), place: object.Path("spec").Key(field)})
		}
	}
	expressions := readsExpressions(o)
	for i, r := range o.At("spec.rules").Items() {
		for j, p := range r.At("http.paths").Items() {
			x := route{
				host: orText(r.Field("host").Text(), "*"), path: orText(p.Field("path").Text(), "/"),
				prefix:  p.Field("pathType").Text() != "Exact",
				backend: backend(p.Field("backend")),
				place:   object.Path("spec.rules").Index(i).Key("http").Key("paths").Index(j),
			}
			if plain, ok := beforeTail(x.path); ok && expressions {
				x.written, x.path, x.prefix = x.path, plain, true
			}
			out = append(out, x)
		}
	}
	return out
}

// readsExpressions says whether ingress-nginx reads the paths of an Ingress as regular
// expressions (https://kubernetes.github.io/ingress-nginx/user-guide/ingress-path-matching/).
func readsExpressions(o *object.Object) bool {
	const nginx = "nginx.ingress.kubernetes.io/"
	return o.Annotation(nginx+"use-regex") == "true" || o.Annotation(nginx+"rewrite-target") != ""
}

// pathTails are endings of expressions by which people say "and all that is below".
var pathTails = []string{"(/|$)(.*)", "(/|$).*", "(/.*|$)", "(/.*)?$", "(/.*)?", "/?(.*)", "/(.*)", "(.*)", "/.*", ".*"}

// beforeTail gives what stands before such an ending, when it has nothing else of an expression.
func beforeTail(path string) (plain string, ok bool) {
	for _, tail := range pathTails {
		if plain, ok = strings.CutSuffix(path, tail); ok {
			return orText(strings.TrimPrefix(plain, "^"), "/"), !strings.ContainsAny(plain, `()[]{}|*+?\$`)
		}
	}
	return path, false
}

func gatewayRoutes(o *object.Object) []route {
	hosts := o.At("spec.hostnames").Texts()
	if len(hosts) == 0 {
		hosts = []string{"*"}
	}
	var out []route
	for i, r := range o.At("spec.rules").Items() {
		ref := r.At("backendRefs").Item(0)
		base := route{path: "/", prefix: true, backend: backendText(ref.Field("namespace"), ref.Field("name"), ref.Field("port")), place: object.Path("spec.rules").Index(i)}
		matches := []route{base}
		if n := r.Field("matches"); n.Len() > 0 {
			matches = nil
			for _, m := range n.Items() {
				x := base
				if path := m.Field("path"); path.Exists() {
					x.path, x.prefix = orText(path.Field("value").Text(), "/"), orText(path.Field("type").Text(), "PathPrefix") == "PathPrefix"
				} else if method := m.Field("method"); method.Field("service").Exists() {
					x.path = "/" + method.Field("service").Text() + "/" + method.Field("method").Text()
				}
				matches = append(matches, x)
			}
		}
		for _, host := range hosts {
			for _, m := range matches {
				m.host = host
				out = append(out, m)
			}
		}
	}
	return out
}

func istioRoutes(o *object.Object) []route {
	hosts := o.At("spec.hosts").Texts()
	var out []route
	for i, r := range o.At("spec.http").Items() {
		d := r.At("route").Item(0).Field("destination")
		base := route{path: "/", prefix: true, backend: backendText(object.Value{}, d.Field("host"), d.At("port.number")), place: object.Path("spec.http").Index(i)}
		matches := []route{base}
		if n := r.Field("match"); n.Len() > 0 {
			matches = nil
			for _, m := range n.Items() {
				x := base
				switch uri := m.Field("uri"); {
				case uri.Field("prefix").Exists():
					x.path = uri.Field("prefix").Text()
				case uri.Field("exact").Exists():
					x.path, x.prefix = uri.Field("exact").Text(), false
				case uri.Field("regex").Exists():
					x.path, x.prefix = uri.Field("regex").Text(), false
				}
				matches = append(matches, x)
			}
		}
		for _, host := range hosts {
			for _, m := range matches {
				m.host = host
				out = append(out, m)
			}
		}
	}
	return out
}

func backendText(namespace, name, port object.Value) string {
	if name.Text() == "" {
		return ""
	}
	text := name.Text()
	if namespace.Text() != "" {
		text = namespace.Text() + "/" + text
	}
	if port.Exists() {
		text += ":" + port.String()
	}
	return text
}
