package kustomize

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// An Edit is what Flux and Argo CD lay over a kustomization before they build it,
// in the words of a kustomization file. The zero value changes nothing.
type Edit struct {
	// Generate makes a kustomization of all YAML files at and below the folder
	// when there is none, as Flux does.
	Generate bool `json:"generate,omitempty"`
	// Ignore are patterns of files that are then left out, beside those of
	// .sourceignore: one a line.
	Ignore string `json:"ignore,omitempty"`

	Namespace         string            `json:"namespace,omitempty"` // instead of the kustomization's own
	NamePrefix        string            `json:"namePrefix,omitempty"`
	NameSuffix        string            `json:"nameSuffix,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	LabelSelectors    bool              `json:"labelSelectors,omitempty"` // labels go into selectors and templates too
	CommonAnnotations map[string]string `json:"commonAnnotations,omitempty"`
	Images            []map[string]any  `json:"images,omitempty"`   // by name, instead of the kustomization's own
	Replicas          []map[string]any  `json:"replicas,omitempty"` // after its own
	Patches           []map[string]any  `json:"patches,omitempty"`
	Components        []string          `json:"components,omitempty"`
}

// A Change may replace a manifest that was built before it is read as an object.
type Change func(manifest map[string]any) (map[string]any, error)

// Build builds the kustomization in dir with an edit to one part, named like the
// unit. Change may be nil.
func Build(ctx context.Context, t *source.Tree, unit, dir string, e Edit, o Options, change Change) (*render.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	extra, err := e.files(t, dir)
	if err != nil {
		return nil, err
	}
	return scanWith(t, dir, extra).render(unit, dir, o, change)
}

// InputsOf gives what Build reads.
func InputsOf(t *source.Tree, dir string, e Edit) render.Inputs {
	extra, err := e.files(t, dir)
	in := scanWith(t, dir, extra).inputs()
	if e.Generate && !isOverlay(t, dir) || err != nil {
		in.Dirs = append(in.Dirs, dir) // a file that appears is a resource too
		for _, name := range ignoreFiles(dir, nil) {
			if t.Exists(name) {
				in.Files = append(in.Files, name)
			} else {
				in.Missing = append(in.Missing, name)
			}
		}
	}
	return in
}

// Patch applies an edit to manifests that were rendered by something else, as
// Flux's post renderers do.
func Patch(ctx context.Context, t *source.Tree, unit, manifests string, e Edit) (*render.Output, error) {
	const dir, file = "prdiff-post-renderer", "all.yaml"
	whole := map[string]any{"resources": []any{file}}
	e.apply(whole)
	data, err := yaml.Marshal(whole)
	if err != nil {
		return nil, err
	}
	extra := map[string][]byte{path.Join(dir, file): []byte(manifests), path.Join(dir, fileNames[0]): data}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return scanWith(t, dir, extra).render(unit, dir, Options{}, nil)
}

// files gives the kustomization file as edited, and nothing when it stays as it is.
func (e Edit) files(t *source.Tree, dir string) (map[string][]byte, error) {
	_, file, _, err := readKustomization(files{tree: t}, dir)
	var whole map[string]any
	switch {
	case file == "" && e.Generate:
		file = path.Join(dir, fileNames[0])
		resources, err := generate(t, dir, e.Ignore)
		if err != nil {
			return nil, err
		}
		whole = map[string]any{"resources": resources}
	case err != nil:
		return nil, nil // the scan says so
	case e.empty():
		return nil, nil
	default:
		data, err := t.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(data, &whole); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if whole == nil {
			whole = map[string]any{}
		}
	}
	e.apply(whole)
	data, err := yaml.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return map[string][]byte{file: data}, nil
}

func (e Edit) empty() bool {
	return e.Namespace == "" && e.NamePrefix == "" && e.NameSuffix == "" && len(e.Labels) == 0 && len(e.CommonAnnotations) == 0 &&
		len(e.Images) == 0 && len(e.Replicas) == 0 && len(e.Patches) == 0 && len(e.Components) == 0
}

func (e Edit) apply(whole map[string]any) {
	for field, value := range map[string]string{"namespace": e.Namespace, "namePrefix": e.NamePrefix, "nameSuffix": e.NameSuffix} {
		if value != "" {
			whole[field] = value
		}
	}
	add := func(field string, items []any) {
		if len(items) > 0 {
			have, _ := whole[field].([]any)
			whole[field] = append(have, items...)
		}
	}
	if len(e.Labels) > 0 {
		add("labels", []any{map[string]any{"pairs": e.Labels, "includeSelectors": e.LabelSelectors}})
	}
	if len(e.CommonAnnotations) > 0 {
		all, _ := whole["commonAnnotations"].(map[string]any)
		if all == nil {
			all = map[string]any{}
		}
		for k, v := range e.CommonAnnotations {
			all[k] = v
		}
		whole["commonAnnotations"] = all
	}
	for _, image := range e.Images {
		have, _ := whole["images"].([]any)
		have = slices.DeleteFunc(have, func(v any) bool {
			m, _ := v.(map[string]any)
			return m != nil && m["name"] == image["name"]
		})
		whole["images"] = append(have, image)
	}
	add("replicas", anys(e.Replicas))
	add("patches", anys(e.Patches))
	add("components", anys(e.Components))
}

func anys[T any](list []T) []any {
	var out []any
	for _, v := range list {
		out = append(out, v)
	}
	return out
}

func isOverlay(t *source.Tree, dir string) bool {
	return slices.ContainsFunc(fileNames, func(base string) bool { return t.Exists(path.Join(dir, base)) })
}

// ignored are files that Flux's sources leave out by default
// (https://fluxcd.io/flux/components/source/gitrepositories/#excluding-files).
var ignored = []string{".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml",
	".goreleaser.yml", ".goreleaser.yaml", ".sops.yaml", ".flux.yaml"}

// generate gives the resources of the kustomization that Flux makes up for a
// folder without one: every YAML file at and below it, but a sub-folder with a
// kustomization as a whole
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#generate-kustomizationyaml).
// Flux refuses the whole folder for a file that is no manifest, so that is an error.
func generate(t *source.Tree, dir, ignore string) ([]any, error) {
	names, err := t.Files(dir)
	if err != nil {
		return nil, err
	}
	names = kept(t, dir, names, ignore)
	overlays := map[string]bool{}
	for _, name := range names {
		if at := path.Dir(name); at != dir && slices.Contains(fileNames, path.Base(name)) {
			overlays[at] = true
		}
	}
	var out []any
	var errs []error
	seen := map[string]bool{}
	for _, name := range names {
		rel := relativeTo(dir, name)
		if entry := topOverlay(dir, rel, overlays); entry != "" {
			if !seen[entry] {
				seen[entry] = true
				out = append(out, entry)
			}
			continue
		}
		ext := path.Ext(name)
		if ext != ".yaml" && ext != ".yml" || slices.Contains(ignored, path.Base(name)) || inCI(rel) {
			continue
		}
		data, err := t.ReadFile(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, wrong := object.Parse("", name, data); len(wrong) > 0 {
			if err := refused(wrong); err != nil {
				errs = append(errs, fmt.Errorf("%w: the folder %s has no kustomization.yaml, and Flux refuses all of it for a file that is no manifest", err, dir))
				continue
			}
		}
		out = append(out, rel)
	}
	return out, errors.Join(errs...)
}

func refused(errs []error) error {
	for _, err := range errs {
		if !errors.Is(err, object.ErrDuplicateKey) {
			return err
		}
	}
	return nil
}

func inCI(rel string) bool {
	top, _, _ := strings.Cut(rel, "/")
	return top == ".github" || top == ".circleci"
}

func relativeTo(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(name, dir+"/")
}

// topOverlay gives the topmost folder of a name, below dir, that has a kustomization.
func topOverlay(dir, rel string, overlays map[string]bool) string {
	segments := strings.Split(rel, "/")
	for i := 1; i < len(segments); i++ {
		if entry := strings.Join(segments[:i], "/"); overlays[path.Join(dir, entry)] {
			return entry
		}
	}
	return ""
}
