// Command gen writes the table of list keys, ../schema.txt, from the schema that
// Kubernetes compiles into client-go for server-side apply. Run it with
// `go generate ./internal/diff` after raising the Kubernetes version in go.mod,
// and read the diff of the table.
package main

import (
	"bytes"
	"fmt"
	"log"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// scalars are the named types whose values have a meaning of their own.
var scalars = map[string]string{
	"io.k8s.apimachinery.pkg.api.resource.Quantity":   "quantity",
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Duration":   "duration",
	"io.k8s.apimachinery.pkg.runtime.RawExtension":    "-",
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":   "-",
	"io.k8s.apimachinery.pkg.apis.meta.v1.Time":       "-",
	"io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime":  "-",
}

func main() {
	if err := generate("../schema.txt"); err != nil {
		log.Fatal(err)
	}
}

type generator struct {
	atoms map[string]schema.Atom // by full name, of every schema seen
	types map[string][]string    // type -> lines
}

func generate(file string) error {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		return err
	}
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		return err
	}
	builtin, crd := applyconfigurations.NewTypeConverter(s), apiextensions.NewTypeConverter(s)

	g := generator{atoms: map[string]schema.Atom{}, types: map[string][]string{}}
	kinds := map[string]string{}
	for gvk := range s.AllKnownTypes() {
		obj, err := s.New(gvk)
		if err != nil {
			return err
		}
		obj.GetObjectKind().SetGroupVersionKind(gvk)
		converter := builtin
		if gvk.Group == "apiextensions.k8s.io" {
			converter = crd
		}
		typed, err := converter.ObjectToTyped(obj)
		if err != nil {
			continue // lists, options and kinds that are never stored have no schema
		}
		ref := typed.TypeRef()
		if ref.NamedType == nil || strings.HasPrefix(*ref.NamedType, "__") {
			continue // the fallback for what has no schema
		}
		for _, t := range typed.Schema().Types {
			g.atoms[t.Name] = t.Atom
		}
		kinds[gvk.GroupVersion().String()+" "+gvk.Kind] = *ref.NamedType
	}
	if len(kinds) < 100 {
		return fmt.Errorf("only %d kinds have a schema", len(kinds))
	}
	for _, name := range kinds {
		g.visit(name)
	}

	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by internal/diff/gen from the server-side-apply schema of %s; do not edit.\n", clientGo())
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&b, "kind %s %s\n", kind, short(kinds[kind]))
	}
	for _, name := range slices.Sorted(maps.Keys(g.types)) {
		if len(g.types[name]) == 0 {
			continue // nothing but plain scalars
		}
		fmt.Fprintf(&b, "type %s\n", short(name))
		for _, line := range g.types[name] {
			fmt.Fprintf(&b, "\t%s\n", line)
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// visit writes down the fields of one type that lead on, and goes into them.
func (g generator) visit(name string) {
	if _, seen := g.types[name]; seen {
		return
	}
	g.types[name] = nil
	atom, ok := g.atoms[name]
	if !ok || atom.Map == nil {
		return
	}
	var lines []string
	for _, f := range atom.Map.Fields {
		if line, ok := g.field(f.Type); ok {
			lines = append(lines, f.Name+" "+line)
		}
	}
	slices.Sort(lines)
	g.types[name] = lines
}

// field spells the type of a field as "SHAPE TYPE [KEYS]": shape one, map, list
// (atomic), set or keyed; type a name of the table, a scalar with a meaning, or "-".
func (g generator) field(ref schema.TypeRef) (string, bool) {
	atom, name := g.resolve(ref)
	switch {
	case scalars[name] != "":
		return "one " + scalars[name], scalars[name] != "-"
	case anything(atom):
		return "", false
	case atom.List != nil:
		elem := g.element(atom.List.ElementType)
		if atom.List.ElementRelationship != schema.Associative {
			return "list " + elem, true
		}
		if len(atom.List.Keys) == 0 {
			return "set " + elem, true
		}
		return "keyed " + elem + " " + strings.Join(atom.List.Keys, ","), true
	case atom.Map != nil && len(atom.Map.Fields) > 0:
		if name == "" {
			log.Fatalf("a struct without a name")
		}
		g.visit(name)
		return "one " + short(name), true
	case atom.Map != nil:
		if values, _ := g.resolve(atom.Map.ElementType); anything(values) {
			return "", false // a struct without fields, of which the presence counts
		}
		return "map " + g.element(atom.Map.ElementType), true
	}
	return "", false
}

// element spells the type of a list's items or a map's values; "[]" is a list of
// scalars.
func (g generator) element(ref schema.TypeRef) string {
	atom, name := g.resolve(ref)
	switch {
	case scalars[name] != "":
		return scalars[name]
	case anything(atom):
		return "-"
	case atom.List != nil:
		return "[]" // an atomic list of scalars
	case atom.Map != nil && len(atom.Map.Fields) > 0:
		g.visit(name)
		return short(name)
	}
	return "-"
}

// anything says whether a type may be scalar, list and map alike.
func anything(atom schema.Atom) bool {
	return atom.Scalar != nil && atom.List != nil && atom.Map != nil
}

func (g generator) resolve(ref schema.TypeRef) (schema.Atom, string) {
	if ref.NamedType == nil {
		return ref.Inlined, ""
	}
	return g.atoms[*ref.NamedType], *ref.NamedType
}

// short leaves out the prefixes that nearly all type names share.
func short(name string) string {
	name = strings.TrimPrefix(name, "io.k8s.api.")
	name = strings.TrimPrefix(name, "io.k8s.apimachinery.pkg.apis.")
	return strings.TrimPrefix(name, "io.k8s.apiextensions-apiserver.pkg.apis.")
}

func clientGo() string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/client-go" {
			return dep.Path + " " + dep.Version
		}
	}
	return "k8s.io/client-go"
}
