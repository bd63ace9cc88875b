package jsonnet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/prdiff/prdiff/internal/source"
)

// A HelmCall is one std.native('helmTemplate') call, read and checked.
type HelmCall struct {
	Tree    *source.Tree
	Release string
	Chart   string // folder of the chart, relative to the tree's root; it exists
	HelmOptions
}

// HelmOptions are the options of helmTemplate. IncludeCRDs is true unless the
// call turns it off. Namespace "" means Helm's default: the environment's
// namespace is not passed on.
type HelmOptions struct {
	Values      map[string]any `json:"values"`
	APIVersions []string       `json:"apiVersions"`
	IncludeCRDs bool           `json:"includeCRDs"`
	SkipTests   bool           `json:"skipTests"`
	KubeVersion string         `json:"kubeVersion"`
	Namespace   string         `json:"namespace"`
	NoHooks     bool           `json:"noHooks"`
	placing
}

// A KustomizeCall is one std.native('kustomizeBuild') call, read and checked.
type KustomizeCall struct {
	Tree *source.Tree
	Path string // folder of the kustomization, relative to the tree's root; it exists
}

// A HelmFunc renders a chart to one text of YAML documents, as `helm template`
// prints it.
type HelmFunc func(ctx context.Context, call HelmCall) (string, error)

// A KustomizeFunc builds a kustomization to one text of YAML documents, as
// `kustomize build` prints it.
type KustomizeFunc func(ctx context.Context, call KustomizeCall) (string, error)

// placing is what both functions need to find their folder and to name results.
type placing struct {
	CalledFrom string `json:"calledFrom"`
	NameFormat string `json:"nameFormat"`
}

// defaultNameFormat is Tanka's (https://tanka.dev/helm).
const defaultNameFormat = `{{ print .kind "_" .metadata.name | snakecase }}`

func (n *nativeCalls) helmTemplate(args []any) (any, error) {
	call := HelmCall{Tree: n.side.tree, HelmOptions: HelmOptions{IncludeCRDs: true}}
	var ok bool
	if call.Release, ok = args[0].(string); !ok {
		return nil, fmt.Errorf("helmTemplate: first argument 'name' must be a string, got %s", typeName(args[0]))
	}
	chart, ok := args[1].(string)
	if !ok {
		return nil, fmt.Errorf("helmTemplate: second argument 'chart' must be a string, got %s", typeName(args[1]))
	}
	// Option names are matched without regard to case, and unknown ones ignored,
	// as encoding/json does.
	if err := options(args[2], &call.HelmOptions); err != nil {
		return nil, fmt.Errorf("helmTemplate: third argument 'opts': %w", err)
	}
	if call.CalledFrom == "" {
		return nil, errors.New("helmTemplate: 'opts.calledFrom' is unset or empty; charts are found from the file it names, so give std.thisFile")
	}
	var err error
	if call.Chart, err = n.side.beside(call.CalledFrom, chart); err != nil {
		return nil, fmt.Errorf("helmTemplate: no chart at %q: %w", chart, err)
	}
	if n.side.natives.Helm == nil {
		return nil, fmt.Errorf("helmTemplate: chart %s: this run renders no Helm charts from jsonnet", call.Chart)
	}
	text, err := n.side.natives.Helm(n.ctx, call)
	if err != nil {
		return nil, fmt.Errorf("helmTemplate: chart %s: %w", call.Chart, err)
	}
	objects, err := named(text, call.NameFormat)
	if err != nil {
		return nil, fmt.Errorf("helmTemplate: chart %s: %w", call.Chart, err)
	}
	return objects, nil
}

func (n *nativeCalls) kustomizeBuild(args []any) (any, error) {
	call := KustomizeCall{Tree: n.side.tree}
	folder, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("kustomizeBuild: first argument 'path' must be a string, got %s", typeName(args[0]))
	}
	var opts placing
	if err := options(args[1], &opts); err != nil {
		return nil, fmt.Errorf("kustomizeBuild: second argument 'opts': %w", err)
	}
	if opts.CalledFrom == "" {
		return nil, errors.New("kustomizeBuild: 'opts.calledFrom' is unset or empty; kustomizations are found from the file it names, so give std.thisFile")
	}
	var err error
	if call.Path, err = n.side.beside(opts.CalledFrom, folder); err != nil {
		return nil, fmt.Errorf("kustomizeBuild: no kustomization at %q: %w", folder, err)
	}
	if n.side.natives.Kustomize == nil {
		return nil, fmt.Errorf("kustomizeBuild: %s: this run builds no kustomizations from jsonnet", call.Path)
	}
	text, err := n.side.natives.Kustomize(n.ctx, call)
	if err != nil {
		return nil, fmt.Errorf("kustomizeBuild: %s: %w", call.Path, err)
	}
	objects, err := named(text, opts.NameFormat)
	if err != nil {
		return nil, fmt.Errorf("kustomizeBuild: %s: %w", call.Path, err)
	}
	return objects, nil
}

func options(from, into any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	err = json.Unmarshal(b, into)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		if mistyped.Field == "" {
			return fmt.Errorf("must be an object, got %s", article(mistyped.Value))
		}
		return fmt.Errorf("option '%s' cannot be %s", mistyped.Field, article(mistyped.Value))
	}
	return err
}

// beside resolves a path that is relative to the folder of a file, and says that
// it is not there, or not in the tree.
func (s *Side) beside(calledFrom, name string) (string, error) {
	if path.IsAbs(name) {
		return "", errors.New("absolute paths are not read, only folders of the repository")
	}
	full := path.Join(path.Dir(strings.TrimPrefix(calledFrom, "/")), name)
	if outside(full) {
		return "", errors.New("it leads out of the repository")
	}
	found, err := s.Find(full)
	if err != nil {
		return "", err
	}
	if found.Missing != "" {
		return "", fmt.Errorf("%s does not exist", full)
	}
	return full, nil
}

// named turns the manifests of a text into an object keyed by a name made of each.
func named(text, format string) (any, error) {
	if format == "" {
		format = defaultNameFormat
	}
	name, err := template.New("nameFormat").Funcs(nameFuncs()).Parse(format)
	if err != nil {
		return nil, fmt.Errorf("parsing nameFormat: %w", err)
	}
	docs, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		m, ok := doc.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the output holds %s where a manifest should be", article(typeName(doc)))
		}
		if faults := check(m); len(faults) > 0 {
			return nil, &FaultyError{Faults: faults}
		}
		var key bytes.Buffer
		if err := name.Execute(&key, m); err != nil {
			return nil, fmt.Errorf("nameFormat: %w", err)
		}
		if _, ok := out[key.String()]; ok {
			return nil, fmt.Errorf("two resources share the name '%s'; adapt nameFormat '%s'", key.String(), format)
		}
		out[key.String()] = m
	}
	return out, nil
}

// nameFuncs are sprig's functions without those that read the machine: its
// environment, network, clock and random numbers.
func nameFuncs() template.FuncMap {
	return sprig.HermeticTxtFuncMap()
}
