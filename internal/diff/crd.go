package diff

import (
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// customSchemas are the schemas of custom resources, read from the
// CustomResourceDefinitions that are at hand.
type customSchemas struct {
	definitions map[string][]*object.Object // by "group kind"
	roots       map[string]*node            // by "apiVersion kind", as they are asked for
}

func newCustomSchemas(before, after *object.Set, more []*object.Object) *customSchemas {
	s := &customSchemas{definitions: map[string][]*object.Object{}, roots: map[string]*node{}}
	const crd = "CustomResourceDefinition.apiextensions.k8s.io"
	// The state after the change counts first.
	for _, list := range [][]*object.Object{after.Kind(crd), before.Kind(crd), more} {
		for _, o := range list {
			key := o.Text("spec.group") + " " + o.Text("spec.names.kind")
			s.definitions[key] = append(s.definitions[key], o)
		}
	}
	return s
}

// clusterScoped says whether a custom kind is known to live in no namespace.
func (s *customSchemas) clusterScoped(ref object.Ref) bool {
	for _, o := range s.definitions[ref.Group+" "+ref.Kind] {
		return o.Text("spec.scope") == "Cluster"
	}
	return false
}

// root gives the schema of an object: of a built-in kind, of a custom resource
// whose definition is at hand, else one that knows metadata only.
func (s *customSchemas) root(o *object.Object) *node {
	key := o.APIVersion() + " " + o.Ref.Kind
	if n, ok := s.roots[key]; ok {
		return n
	}
	n := builtin().lookup(o.APIVersion(), o.Ref.Kind)
	definitions := s.definitions[o.Ref.Group+" "+o.Ref.Kind]
	if n == nil || len(definitions) > 0 {
		known := n
		n = &node{name: o.Ref.Kind, custom: true, fields: map[string]*node{}}
		version := o.APIVersion()[strings.IndexByte(o.APIVersion(), '/')+1:]
		for _, crd := range definitions {
			if found := customRoot(crd, version); found != nil {
				n, known = found, nil
				break
			}
		}
		if known != nil {
			n = known
		} else {
			n.fields["metadata"] = builtin().types["meta.v1.ObjectMeta"]
		}
	}
	s.roots[key] = n
	return n
}

// customRoot reads the schema of one version of a definition; version v1beta1 of
// the definition itself had one schema for all.
func customRoot(crd *object.Object, version string) *node {
	schema := crd.At("spec.validation.openAPIV3Schema")
	for _, v := range crd.At("spec.versions").Items() {
		if v.Field("name").Text() == version {
			if own := v.At("schema.openAPIV3Schema"); own.Exists() {
				schema = own
			}
		}
	}
	if !schema.Exists() {
		return nil
	}
	n := customNode(schema, 0)
	if n.fields == nil {
		n.fields = map[string]*node{}
	}
	return n
}

// customNode reads a structural schema
// (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/).
func customNode(schema object.Value, depth int) *node {
	n := &node{custom: true}
	if depth > 100 {
		return n
	}
	if yes, _ := schema.Field("x-kubernetes-int-or-string").Bool(); yes {
		n.scalar = intOrString
		if strings.Contains(schema.Field("pattern").Text(), "KMGTPE") {
			n.scalar = quantity // the pattern that controller-gen writes for resource.Quantity
		}
	}
	n.frozen = frozenBy(schema)
	switch {
	case schema.Field("items").Exists():
		n.shape, n.elem = list, customNode(schema.Field("items"), depth+1)
		switch schema.Field("x-kubernetes-list-type").Text() {
		case "map":
			n.shape, n.keys, n.order = keyedBy, schema.Field("x-kubernetes-list-map-keys").Texts(), free
		case "set":
			n.shape, n.order = setOf, free
		}
	case schema.Field("additionalProperties").Type() == object.Map:
		n.shape, n.elem = mapOf, customNode(schema.Field("additionalProperties"), depth+1)
	case schema.Field("properties").Exists():
		n.fields = map[string]*node{}
		for name, property := range schema.Field("properties").Fields() {
			n.fields[name] = customNode(property, depth+1)
			if d := property.Field("default"); d.Exists() {
				if n.defaults == nil {
					n.defaults = map[string]defaultRule{}
				}
				n.defaults[name] = defaultRule{fixed: d}
			}
		}
		if yes, _ := schema.Field("x-kubernetes-embedded-resource").Bool(); yes {
			n.fields["metadata"] = builtin().types["meta.v1.ObjectMeta"]
		}
	}
	return n
}

// frozenBy gives the message of a rule that forbids every change of a value.
func frozenBy(schema object.Value) string {
	for _, rule := range schema.Field("x-kubernetes-validations").Items() {
		switch strings.ReplaceAll(rule.Field("rule").Text(), " ", "") {
		case "self==oldSelf", "oldSelf==self":
			if message := rule.Field("message").Text(); message != "" {
				return "the resource's own schema forbids it: " + message
			}
			return "the resource's own schema forbids a change"
		}
	}
	return ""
}

// habit gives the schema of a field that custom resources commonly take over
// from pods without saying so in their own schema: pod templates, resources,
// affinity, and the lists of a container.
func habit(key string, before, after object.Value) *node {
	v := after
	if !v.Exists() {
		v = before
	}
	types := builtin().types
	switch key {
	case "template", "podTemplate":
		if v.At("spec.containers").Type() == object.List {
			return types["core.v1.PodTemplateSpec"]
		}
	case "resources":
		if v.Field("limits").Type() == object.Map || v.Field("requests").Type() == object.Map {
			return types["core.v1.ResourceRequirements"]
		}
	case "affinity":
		if v.Field("nodeAffinity").Exists() || v.Field("podAffinity").Exists() || v.Field("podAntiAffinity").Exists() {
			return types["core.v1.Affinity"]
		}
	case "containers", "initContainers", "tolerations", "topologySpreadConstraints", "volumes", "imagePullSecrets":
		if v.Item(0).Type() == object.Map {
			return types["core.v1.PodSpec"].fields[key]
		}
	case "env", "volumeMounts":
		if v.Item(0).Field("name").Exists() {
			return types["core.v1.Container"].fields[key]
		}
	}
	return nil
}
