package object

import (
	"maps"
	"slices"
	"strings"
)

// A Mention is a place in a text that names a Service by its DNS name.
type Mention struct {
	From *Object
	Path Path
	Host string // as written, such as "cache.prod.svc.cluster.local"
	Port string // what follows the colon, "" when nothing does
}

// hostKey names a Service; a namespace of "*" stands for any.
type hostKey struct{ namespace, name string }

// Mentions gives the places in env values, command lines, annotations, ConfigMap
// data and custom resources that name a Service of that namespace by a DNS name:
// NAME.NAMESPACE.svc with or without a domain, NAME.NAMESPACE, and in the same
// namespace also NAME:PORT and SCHEME://NAME. The Service need not be in the set;
// one without a namespace is found by NAME.NAMESPACE.svc of any namespace.
func (s *Set) Mentions(namespace, name string) []Mention {
	if s == nil {
		return nil
	}
	found := s.relations().mentions()
	if namespace != "" {
		return found[hostKey{namespace, name}]
	}
	return slices.Concat(found[hostKey{"", name}], found[hostKey{"*", name}])
}

// MentionsIn gives the places in o that name a Service by a DNS name, by the namespace
// and name of the Service, in the order in which they stand. From is o.
func MentionsIn(o *Object) map[Ref][]Mention {
	if o == nil {
		return nil
	}
	x := mentionIndex{}
	x.object(o)
	out := make(map[Ref][]Mention, len(x))
	for k, m := range x {
		if k.namespace != "*" {
			out[Ref{Unit: o.Ref.Unit, Kind: "Service", Namespace: k.namespace, Name: k.name}] = m
		}
	}
	return out
}

// ServiceHost reads a host as the DNS name of a Service, seen from a pod in the
// given namespace (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/):
// "cache" is in that namespace, "cache.prod", "cache.prod.svc" and
// "cache.prod.svc.cluster.local" in prod. Names of single pods before a Service's
// name are left out. ok is false for a name that no Service can have.
func ServiceHost(host, from string) (name, namespace string, ok bool) {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	at := slices.Index(labels, "svc")
	switch {
	case len(labels) == 1:
		name, namespace = labels[0], from
	case at >= 2:
		name, namespace = labels[at-2], labels[at-1]
	case at >= 0 || len(labels) > 3:
		return "", "", false
	default:
		name, namespace = labels[len(labels)-2], labels[len(labels)-1]
	}
	return name, namespace, dnsLabel(name) && (namespace == from || dnsLabel(namespace))
}

// dnsLabel says whether s can be the name of a Service or namespace.
func dnsLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

func indexMentions(s *Set) map[hostKey][]Mention {
	x := mentionIndex{}
	for _, o := range s.objects {
		x.object(o)
	}
	return x
}

type mentionIndex map[hostKey][]Mention

func (x mentionIndex) object(o *Object) {
	for k, v := range o.At("metadata.annotations").Fields() {
		x.text(o, Path("metadata.annotations").Key(k), v.Text())
	}
	if w, ok := AsWorkload(o); ok {
		for _, k := range slices.Sorted(maps.Keys(w.PodAnnotations)) {
			x.text(o, w.Template.Key("metadata").Key("annotations").Key(k), w.PodAnnotations[k])
		}
		for _, c := range w.Containers() {
			for _, e := range c.Env() {
				x.text(o, e.Path.Key("value"), e.Value.Text())
			}
			for _, a := range c.CommandLine() {
				x.text(o, a.Path, a.Text)
			}
		}
		return
	}
	switch {
	case o.Ref.Kind == "ConfigMap" && o.Ref.Group == "":
		for k, v := range o.At("data").Fields() {
			x.text(o, Path("data").Key(k), v.Text())
		}
	case strings.Contains(o.Ref.Group, ".") && !strings.HasSuffix(o.Ref.Group, ".k8s.io"):
		x.value(o, "spec", o.At("spec"))
	}
}

func (x mentionIndex) value(o *Object, path Path, v Value) {
	switch v.Type() {
	case Map:
		for k, item := range v.Fields() {
			x.value(o, path.Key(k), item)
		}
	case List:
		for i, item := range v.Items() {
			x.value(o, path.Index(i), item)
		}
	case String:
		x.text(o, path, v.Text())
	}
}

// text finds the hosts in a text: whole words of host characters that stand after
// a space, quote, sign or "//", not inside a path.
func (x mentionIndex) text(o *Object, path Path, text string) {
	for i := 0; i < len(text); {
		if !hostByte[text[i]] {
			i++
			continue
		}
		start := i
		dotted := false
		for i < len(text) && hostByte[text[i]] {
			dotted = dotted || text[i] == '.'
			i++
		}
		scheme := strings.HasSuffix(text[:start], "//")
		if start > 0 && !scheme && strings.IndexByte(" \t\n\"'`=,;@([{<|:\\", text[start-1]) < 0 {
			continue
		}
		port := portAfter(text[i:])
		if !dotted && !scheme && port == "" {
			continue
		}
		x.host(o, path, text[start:i], port)
	}
}

func (x mentionIndex) host(o *Object, path Path, host, port string) {
	name, namespace, ok := ServiceHost(host, o.Ref.Namespace)
	if !ok {
		return
	}
	m := Mention{From: o, Path: path, Host: host, Port: port}
	x[hostKey{namespace, name}] = append(x[hostKey{namespace, name}], m)
	if strings.Contains(host, ".svc") {
		x[hostKey{"*", name}] = append(x[hostKey{"*", name}], m)
	}
}

// hostByte marks the bytes of host names; an underscore is one so that words with
// it are seen whole, and are no names.
var hostByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_'
	}
	return t
}()

// portAfter gives the digits of a port that follow a host.
func portAfter(s string) string {
	if len(s) < 2 || s[0] != ':' {
		return ""
	}
	i := 1
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i > 6 || i < len(s) && hostByte[s[i]] {
		return ""
	}
	return s[1:i]
}
