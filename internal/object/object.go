// Package object holds what Kubernetes sees after it has read a manifest: names
// for objects, typed values, sets of objects, and the facts that follow from
// them, such as which pods a selector reaches.
//
// Everything in it is pure. Secret values are masked when an object is made, so
// nothing to the right of this package can print one.
package object

import (
	"cmp"
	"fmt"
	"strings"
)

// A Ref names one object in one unit. The API version is not part of a name:
// moving a Deployment from apps/v1beta1 to apps/v1 does not make another object.
type Ref struct {
	Unit      string // the unit that rendered it, as users see it
	Group     string // API group without version; "" is the core group
	Kind      string
	Namespace string // "" for cluster-scoped objects and where none was given
	Name      string // for generateName objects, the prefix followed by "*"
}

// String gives kind, namespace and name in the way kubectl users write them,
// such as "Service prod/cache". Unit and group are left out.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// GroupKind gives "Service" for core kinds and "Deployment.apps" for others, the
// spelling of kubectl and of rule.Rule.Kinds.
func (r Ref) GroupKind() string {
	if r.Group == "" {
		return r.Kind
	}
	return r.Kind + "." + r.Group
}

// Compare orders refs by unit, namespace, kind, group and name, the order of
// every list that prdiff prints.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(
		strings.Compare(r.Unit, o.Unit),
		strings.Compare(r.Namespace, o.Namespace),
		strings.Compare(r.Kind, o.Kind),
		strings.Compare(r.Group, o.Group),
		strings.Compare(r.Name, o.Name),
	)
}

// An Origin is the file behind an object, relative to the root of its tree, with
// forward slashes. Line counts from 1 and may be 0; Path is never empty.
type Origin struct {
	Path string
	Line int
}

// String gives "path:line", or the path alone when no line is known.
func (o Origin) String() string {
	if o.Line == 0 {
		return o.Path
	}
	return fmt.Sprintf("%s:%d", o.Path, o.Line)
}

// An Object is one rendered manifest. Its content is private and read through
// Values: nothing can change it after New.
type Object struct {
	Ref        Ref
	Origin     Origin
	apiVersion string
	root       *mapping
}

// New makes an object of one decoded manifest (the types that encoding/json and
// YAML decoders give: maps with text keys, slices, texts, numbers, booleans,
// nil) and takes ownership of it. Nulls are dropped, integral numbers become
// int64, secret values are masked. It fails when apiVersion, kind, or both
// metadata.name and metadata.generateName are missing or not text.
func New(unit string, origin Origin, manifest map[string]any) (*Object, error) {
	if err := manifestError(manifest["apiVersion"], manifest["kind"]); err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	root, err := normalizeRoot(manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", origin, manifest["kind"], err)
	}
	o, err := newObject(unit, origin, root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	return o, nil
}

// newObject makes an object of a normalised manifest that has apiVersion and kind.
func newObject(unit string, origin Origin, root *mapping) (*Object, error) {
	apiVersion, kind, meta := root.text("apiVersion"), root.text("kind"), root.below("metadata")
	name := meta.text("name")
	if generate := meta.text("generateName"); name == "" && generate != "" {
		name = generate + "*"
	}
	if name == "" {
		return nil, &NoNameError{apiVersion, kind}
	}
	o := &Object{
		Ref:        Ref{Unit: unit, Group: group(apiVersion), Kind: kind, Namespace: meta.text("namespace"), Name: name},
		Origin:     origin,
		apiVersion: apiVersion,
		root:       root,
	}
	o.mask()
	return o, nil
}

// APIVersion gives the manifest's apiVersion, such as "apps/v1".
func (o *Object) APIVersion() string { return o.apiVersion }

// Root gives the whole manifest.
func (o *Object) Root() Value { return Value{o.root} }

// At gives the value at path, such as "spec.template.spec" (see ParsePath for
// the spelling). The zero Value when there is none, or o is nil.
func (o *Object) At(path string) Value {
	if o == nil {
		return Value{}
	}
	return o.Root().At(path)
}

// Text gives the text at path, "" when there is none.
func (o *Object) Text(path string) string { return o.At(path).Text() }

// Strings gives the map of texts at path as a fresh map, such as
// Strings("spec.selector"). Values that are not text are left out.
func (o *Object) Strings(path string) map[string]string { return o.At(path).Strings() }

// Labels gives metadata.labels as a fresh map.
func (o *Object) Labels() map[string]string { return o.Strings("metadata.labels") }

// Annotation gives the value of one annotation, "" when it is not there.
func (o *Object) Annotation(key string) string {
	return o.At("metadata.annotations").Field(key).Text()
}

// Shares says whether both objects have their content in common, as those that are
// read with one Documents do, here or in another process: it is the same then, and
// was written in a file as it is. Content that is the same need not be shared.
func (o *Object) Shares(other *Object) bool {
	return o.root == other.root
}

// WithUnit gives a copy that belongs to another unit; the content is shared.
func (o *Object) WithUnit(unit string) *Object {
	moved := *o
	moved.Ref.Unit = unit
	return &moved
}

func group(apiVersion string) string {
	if i := strings.IndexByte(apiVersion, '/'); i >= 0 {
		return apiVersion[:i]
	}
	return ""
}
