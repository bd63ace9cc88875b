package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// RouteBackendChanged reports a host and path that go to another Service or port.
var RouteBackendChanged = &rule.Rule{
	ID:       "route-backend-changed",
	Title:    "A host or path goes to another Service or port",
	Subject:  "traffic",
	Severity: rule.Warning,
	Doc: `
All traffic of a host and path moves as soon as the controller has read the change, not pod by pod: to pods with cold caches, perhaps to
fewer of them. When the Service is in the same manifests and has no such port, every request is answered with 503, which is an error.
A port that is only written otherwise, by name instead of by number, is quiet.`,
	Advice: `Move by weight where the controller can (canary annotations, weights of backendRefs), and make sure that the new Service has as many
ready pods. For another port, let the Service serve both first.`,
	Kinds:   routeKinds,
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkRouteBackendChanged,
}

func checkRouteBackendChanged(p *rule.Pass, c diff.Change) {
	var before []route
	if c.Before != nil {
		before = routesOf(c.Before)
	}
	var told []string
	for _, r := range routesOf(c.After) {
		if r.backend == "" {
			continue
		}
		i := slices.IndexFunc(before, func(b route) bool { return b.host == r.host && b.path == r.path && b.prefix == r.prefix })
		service := p.After.Get(object.Ref{Unit: c.Ref.Unit, Kind: "Service", Namespace: c.Ref.Namespace, Name: serviceName(r.backend)})
		broken := service != nil && !servesPort(service, r.backend)
		if i < 0 && !broken || i >= 0 && before[i].backend == r.backend {
			continue // new and sound, or as before: a Service that changed tells itself
		}
		f := rule.Finding{Path: r.place}
		if i >= 0 {
			f.Message = fmt.Sprintf("%s goes to %s, before to %s", r.url(), r.backend, before[i].backend)
			if sameBackendPort(service, before[i].backend, r.backend) {
				continue
			}
		} else {
			f.Message = fmt.Sprintf("%s goes to %s", r.url(), r.backend)
		}
		if slices.Contains(told, f.Message) {
			continue
		}
		told = append(told, f.Message)
		f.Consequence = "all its traffic moves at once"
		if service != nil {
			f.Related = []object.Ref{service.Ref}
			if n := withPodsOf(p.After, service); n != "" {
				f.Consequence += ", to " + n
			}
		}
		if broken {
			f.Severity = rule.Error
			f.Consequence = fmt.Sprintf("%s has no such port: requests are answered with 503", service.Ref)
		}
		p.Report(c, f)
	}
}

// servesPort says whether a Service has the port of a backend "web:80".
func servesPort(service *object.Object, backend string) bool {
	_, port, named := cutPort(backend)
	if !named || service.Text("spec.type") == "ExternalName" {
		return true
	}
	return slices.ContainsFunc(servicePorts(service), func(p servicePort) bool { return p.number == port || p.name == port })
}

// sameBackendPort says whether two backends are one port of one Service, written by name
// and by number.
func sameBackendPort(service *object.Object, before, after string) bool {
	was, wasPort, _ := cutPort(before)
	now, nowPort, _ := cutPort(after)
	if service == nil || was != now {
		return false
	}
	return slices.ContainsFunc(servicePorts(service), func(p servicePort) bool {
		return (p.number == wasPort || p.name == wasPort) && (p.number == nowPort || p.name == nowPort)
	})
}

func cutPort(backend string) (name, port string, ok bool) {
	for i := len(backend) - 1; i >= 0; i-- {
		if backend[i] == ':' {
			return backend[:i], backend[i+1:], true
		}
	}
	return backend, "", false
}

// withPodsOf counts the pods behind a Service, "" when nothing is known of them.
func withPodsOf(set *object.Set, service *object.Object) string {
	workloads, _ := reached(set, service.Ref.Namespace, service.Strings("spec.selector"))
	return withCount(workloads)
}
