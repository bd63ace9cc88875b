package tanka

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render/jsonnet"
)

// An Environment is Tanka's own object (https://tanka.dev/config): where the
// manifests go and what is added to them. Decoding ignores unknown fields and the
// case of names; the names of the types appear in error texts.
type Environment struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata names an environment. Namespace is not Kubernetes': it is the file of
// the entry point, relative to the project's root.
type Metadata struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// Spec is what an environment asks for.
type Spec struct {
	APIServer                   string           `json:"apiServer,omitempty"`
	ContextNames                []string         `json:"contextNames,omitempty"`
	Namespace                   string           `json:"namespace"`
	DiffStrategy                string           `json:"diffStrategy,omitempty"`
	ApplyStrategy               string           `json:"applyStrategy,omitempty"`
	InjectLabels                bool             `json:"injectLabels,omitempty"`
	TankaEnvLabelFromFields     []string         `json:"tankaEnvLabelFromFields,omitempty"`
	ResourceDefaults            ResourceDefaults `json:"resourceDefaults"`
	ExpectVersions              ExpectVersions   `json:"expectVersions"`
	ExportJsonnetImplementation string           `json:"exportJsonnetImplementation,omitempty"`
}

// ResourceDefaults are added to each manifest that does not have them.
type ResourceDefaults struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// ExpectVersions is a constraint on tk itself, and without effect here.
type ExpectVersions struct {
	Tanka string `json:"tanka,omitempty"`
}

func newEnvironment() Environment {
	return Environment{
		APIVersion: "tanka.dev/v1alpha1",
		Kind:       "Environment",
		Spec:       Spec{Namespace: "default"},
	}
}

// readSpec reads a static environment. The note speaks of what is ignored.
func readSpec(side *jsonnet.Side, p project) (env Environment, note string, err error) {
	name := path.Join(p.base, specFile)
	contents, err := side.Read(name)
	if err != nil {
		return env, "", fmt.Errorf("%s: %w", name, err)
	}
	env = newEnvironment()
	if err := json.Unmarshal(contents.Data(), &env); err != nil {
		return env, "", fmt.Errorf("%s: parsing spec.json: %w", jsonPlace(name, contents.Data(), err), err)
	}
	env.Metadata.Name = relative(p.root, p.base)
	env.Metadata.Namespace = relative(p.root, p.entry)
	env.Spec.APIServer = withScheme(env.Spec.APIServer)
	var old struct{ Namespace, Server, Team *string }
	if err := json.Unmarshal(contents.Data(), &old); err == nil && (old.Namespace != nil || old.Server != nil || old.Team != nil) {
		// Tanka only half reads the fields of its first releases: namespace
		// loses against the default of spec.namespace, and the rest of the
		// reading is left out.
		env.Metadata.Namespace = ""
		if old.Server != nil {
			env.Spec.APIServer = *old.Server
		}
		if old.Team != nil {
			if env.Metadata.Labels == nil {
				env.Metadata.Labels = map[string]string{}
			}
			env.Metadata.Labels["team"] = *old.Team
		}
		note = name + ": the top-level fields namespace, server and team are deprecated, and namespace has no effect"
	}
	return env, note, nil
}

// readInline reads an Environment object of an evaluated tree.
func readInline(data map[string]any, p project) (Environment, error) {
	env := newEnvironment()
	fields := make(map[string]any, len(data))
	for k, v := range data {
		if k != "data" {
			fields[k] = v
		}
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return env, err
	}
	if err := json.Unmarshal(b, &env); err != nil {
		return env, fmt.Errorf("%s: reading Environment: %w", p.entry, err)
	}
	env.Metadata.Namespace = relative(p.root, p.entry)
	env.Spec.APIServer = withScheme(env.Spec.APIServer)
	return env, nil
}

// supported says why an environment cannot be rendered.
func (e Environment) supported(p project) error {
	if impl := e.Spec.ExportJsonnetImplementation; impl != "" && impl != "go" {
		return fmt.Errorf("%s: exportJsonnetImplementation %q is not supported: only the evaluator written in Go is", p.entry, impl)
	}
	return nil
}

// target gives what an environment says of where its manifests go and how they are
// applied. What it adds to them is left out: that is seen in them.
func (e environment) target(unit string, p project) (*object.Object, error) {
	origin, name := p.entry, e.env.Metadata.Name
	if !e.inline {
		origin = path.Join(p.base, specFile)
	}
	if name == "" {
		name = unit
	}
	spec := map[string]any{"namespace": e.env.Spec.Namespace}
	if e.env.Spec.InjectLabels {
		spec["injectLabels"] = true
	}
	if e.env.Spec.APIServer != "" {
		spec["apiServer"] = e.env.Spec.APIServer
	}
	if e.env.Spec.ApplyStrategy != "" {
		spec["applyStrategy"] = e.env.Spec.ApplyStrategy
	}
	if len(e.env.Spec.ContextNames) > 0 {
		contexts := make([]any, len(e.env.Spec.ContextNames))
		for i, c := range e.env.Spec.ContextNames {
			contexts[i] = c
		}
		spec["contextNames"] = contexts
	}
	return object.New(unit, object.Origin{Path: origin}, map[string]any{
		"apiVersion": "tanka.dev/v1alpha1", "kind": "Environment", "metadata": map[string]any{"name": name}, "spec": spec,
	})
}

var scheme = regexp.MustCompile(`^.+://`)

func withScheme(server string) string {
	if server == "" || scheme.MatchString(server) {
		return server
	}
	return "https://" + server
}

func relative(root, name string) string {
	if root == "." {
		return name
	}
	if name == root {
		return "."
	}
	return strings.TrimPrefix(name, root+"/")
}

// jsonPlace gives "file:line" for an error of encoding/json.
func jsonPlace(name string, data []byte, err error) string {
	var offset int64
	switch e := err.(type) {
	case *json.SyntaxError:
		offset = e.Offset
	case *json.UnmarshalTypeError:
		offset = e.Offset
	default:
		return name
	}
	line := 1 + strings.Count(string(data[:min(int(offset), len(data))]), "\n")
	return fmt.Sprintf("%s:%d", name, line)
}

// label gives the value of the label that injectLabels adds: the first 48 hex
// digits of the SHA-256 of the chosen fields.
func (e Environment) label() (string, error) {
	paths := e.Spec.TankaEnvLabelFromFields
	if len(paths) == 0 {
		paths = []string{".metadata.name", ".metadata.namespace"}
	}
	values := make([]string, len(paths))
	for i, p := range paths {
		value, err := fieldText(reflect.ValueOf(e), strings.TrimPrefix(p, "."))
		if err != nil {
			return "", fmt.Errorf("tankaEnvLabelFromFields %s: %w", p, err)
		}
		values[i] = value
	}
	sum := sha256.Sum256([]byte(strings.Join(values, ":")))
	return hex.EncodeToString(sum[:])[:48], nil
}

// fieldText follows the JSON names of a path to a text or boolean. In a map, the
// rest of the path is the key; Tanka takes any entry instead.
func fieldText(v reflect.Value, p string) (string, error) {
	switch v.Kind() {
	case reflect.String:
		if p == "" {
			return v.String(), nil
		}
	case reflect.Bool:
		if p == "" {
			return fmt.Sprint(v.Bool()), nil
		}
	case reflect.Map:
		if p == "" {
			break
		}
		item := v.MapIndex(reflect.ValueOf(p))
		if !item.IsValid() {
			return "", fmt.Errorf("no entry %q", p)
		}
		return item.String(), nil
	case reflect.Struct:
		if p == "" {
			break
		}
		head, rest, _ := strings.Cut(p, ".")
		for i := range v.NumField() {
			tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if tag == head {
				return fieldText(v.Field(i), rest)
			}
		}
		return "", fmt.Errorf("no field %q", head)
	}
	return "", fmt.Errorf("unsupported value type: only texts, numbers and booleans can be part of a label")
}
