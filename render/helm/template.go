package helm

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// DefaultKubeVersion is the Kubernetes version that charts see when nothing says
// otherwise. Helm's own default without a cluster is the version of the client
// library it was built with; a fixed one keeps reports the same from one build
// of prdiff to the next.
const DefaultKubeVersion = "v1.34.0"

// A Release is one installation of a chart: what `helm template` takes.
type Release struct {
	Name      string // release name; the chart's name when ""
	Namespace string // "default" when ""
	// Into is where objects go that name no namespace, should it be another one than
	// the templates are told; Namespace when "".
	Into        string         `json:",omitempty"`
	ValuesFiles []string       // paths in the tree, laid over the chart's own values in order
	Values      map[string]any // over the files
	Set         []string       // over the values, in the language of helm --set
	SetString   []string       // over those, in the language of helm --set-string
	SetFile     []string       // over those, as key=file: the file's text becomes the value
	// ReplaceValues makes the values files stand in for the chart's own values.yaml
	// instead of being laid over it, as Flux's valuesFiles do.
	ReplaceValues bool
	KubeVersion   string   // such as "1.30.0"; DefaultKubeVersion when ""
	APIVersions   []string // beside those that Helm knows, such as "example.com/v1"
	IncludeCRDs   bool     // the crds/ folder too
	SkipTests     bool     // leave test hooks out
	NoHooks       bool     // leave all hooks out
}

// A Document is one manifest that a chart rendered to, as text.
type Document struct {
	Path string // the template or CRD file in the tree, or inside the chart when it is packed
	Text string
}

// Template renders the chart in folder dir. Documents come in the order of their
// files, CRDs first; empty ones are left out. Nothing outside t is read, `lookup`
// finds nothing, names are not resolved in DNS, the environment is not visible.
func Template(t *source.Tree, dir string, r Release) ([]Document, error) {
	c, err := loadChart(t, dir)
	if err != nil {
		return nil, err
	}
	return renderChart(t, dir, c, r)
}

func renderChart(t *source.Tree, dir string, c *chart.Chart, r Release) ([]Document, error) {
	if r.ReplaceValues && len(r.ValuesFiles) > 0 {
		own, err := (Release{ValuesFiles: r.ValuesFiles}).values(t)
		if err != nil {
			return nil, err
		}
		c.Values, r.ValuesFiles = own, nil
	}
	values, err := r.values(t)
	if err != nil {
		return nil, err
	}
	if c.Metadata.Type == "library" {
		return nil, fmt.Errorf("%s: a library chart renders nothing on its own", path.Join(dir, chartFile))
	}
	if err := chartutil.ProcessDependenciesWithMerge(c, values); err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(dir, chartFile), err)
	}
	caps, err := r.capabilities()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if kube := c.Metadata.KubeVersion; kube != "" && !chartutil.IsCompatibleRange(kube, caps.KubeVersion.String()) {
		return nil, fmt.Errorf("%s: the chart requires Kubernetes %s, and %s is assumed: set helm.kubeVersion in .prdiff.yaml",
			path.Join(dir, chartFile), kube, caps.KubeVersion.String())
	}
	top, err := chartutil.ToRenderValuesWithSchemaValidation(c, values, chartutil.ReleaseOptions{
		Name:      r.name(c),
		Namespace: r.namespace(),
		Revision:  1,
		IsInstall: true,
	}, caps, unreachableSchema(c))
	if err != nil {
		return nil, fmt.Errorf("%s: values: %w", dir, err)
	}
	var e engine.Engine // zero: no cluster for lookup, no DNS
	rendered, err := e.Render(c, top)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	prefix := c.Name() + "/"
	var docs []Document
	if r.IncludeCRDs {
		for _, crd := range c.CRDObjects() {
			docs = append(docs, split(path.Join(dir, strings.TrimPrefix(crd.Filename, prefix)), string(crd.File.Data))...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(name, "NOTES.txt") || strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		for _, d := range split(path.Join(dir, strings.TrimPrefix(name, prefix)), rendered[name]) {
			keep, err := r.keeps(d)
			if err != nil {
				return nil, err
			}
			if keep {
				docs = append(docs, d)
			}
		}
	}
	return docs, nil
}

// values merges the release's values, the ones with the last word last.
func (r Release) values(t *source.Tree) (map[string]any, error) {
	merged := map[string]any{}
	for _, name := range r.ValuesFiles {
		data, err := t.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("values file: %w", err)
		}
		var file map[string]any
		if err := yaml.Unmarshal(data, &file); err != nil {
			return nil, fmt.Errorf("%s: values: %w", name, err)
		}
		merged = overlay(merged, file)
	}
	merged = overlay(merged, r.Values)
	for _, set := range r.Set {
		if err := strvals.ParseInto(set, merged); err != nil {
			return nil, fmt.Errorf("set %q: %w", set, err)
		}
	}
	for _, set := range r.SetString {
		if err := strvals.ParseIntoString(set, merged); err != nil {
			return nil, fmt.Errorf("set %q: %w", set, err)
		}
	}
	for _, set := range r.SetFile {
		read := func(name []rune) (any, error) {
			data, err := t.ReadFile(string(name))
			return string(data), err
		}
		if err := strvals.ParseIntoFile(set, merged, read); err != nil {
			return nil, fmt.Errorf("set %q: %w", set, err)
		}
	}
	return merged, nil
}

// ReadValues gives the values of a release without those of its chart, all files
// and settings merged.
func ReadValues(t *source.Tree, r Release) (map[string]any, error) { return r.values(t) }

// overlay lays b over a, maps merged key by key, as helm does with --values. A
// null in b stays: it removes the chart's own default later.
func overlay(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		if bv, ok := v.(map[string]any); ok {
			if av, ok := out[k].(map[string]any); ok {
				out[k] = overlay(av, bv)
				continue
			}
		}
		out[k] = v
	}
	return out
}

func (r Release) name(c *chart.Chart) string {
	if r.Name != "" {
		return r.Name
	}
	return c.Name()
}

func (r Release) namespace() string {
	if r.Namespace != "" {
		return r.Namespace
	}
	return "default"
}

// Lands gives objects in the namespaces that they go to: Helm applies what names none
// in that of the release (DefaultNamespace in https://github.com/helm/helm/blob/main/pkg/kube/client.go). Where
// nothing says which one that is, it is the one that templates are told, but what
// deploys others stays without: it is where its controller looks, which is seldom there.
func (r Release) Lands(objects []*object.Object) []*object.Object {
	switch {
	case r.Into != "":
		return render.InNamespace(objects, r.Into)
	case r.Namespace != "":
		return render.InNamespace(objects, r.Namespace)
	}
	landed := render.InNamespace(objects, r.namespace())
	for i, o := range objects {
		if o.Ref.Group == "argoproj.io" || strings.HasSuffix(o.Ref.Group, ".toolkit.fluxcd.io") {
			landed[i] = o
		}
	}
	return landed
}

func (r Release) capabilities() (*chartutil.Capabilities, error) {
	caps := chartutil.DefaultCapabilities.Copy()
	version := r.KubeVersion
	if version == "" {
		version = DefaultKubeVersion
	}
	kube, err := chartutil.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("kube version %q: %w", version, err)
	}
	caps.KubeVersion = *kube
	caps.APIVersions = append(slices.Clone(caps.APIVersions), r.APIVersions...)
	return caps, nil
}

// hookAnnotation marks what Helm runs at a point of a release instead of
// installing it (https://helm.sh/docs/topics/charts_hooks/).
const hookAnnotation = "helm.sh/hook"

// keeps says whether a document is wanted, by its hook annotation.
func (r Release) keeps(d Document) (bool, error) {
	if !r.NoHooks && !r.SkipTests || !strings.Contains(d.Text, hookAnnotation) {
		return true, nil
	}
	var head struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(d.Text), &head); err != nil {
		return false, fmt.Errorf("%s: rendered to invalid YAML: %w", d.Path, err)
	}
	hooks := head.Metadata.Annotations[hookAnnotation]
	if hooks == "" {
		return true, nil
	}
	if r.NoHooks {
		return false, nil
	}
	for _, hook := range strings.Split(hooks, ",") {
		if hook = strings.TrimSpace(hook); hook == "test" || hook == "test-success" || hook == "test-failure" {
			return false, nil
		}
	}
	return true, nil
}

// separator is the line between documents, as Helm's own splitter reads it
// (releaseutil.SplitManifests): blanks before it belong to it.
var separator = regexp.MustCompile(`(?:^|\s*\n)---\s*`)

// split takes rendered text apart and drops what is only comments and blanks.
func split(name, text string) []Document {
	var docs []Document
	for _, part := range separator.Split(strings.TrimPrefix(text, "\ufeff"), -1) {
		if hasContent(part) {
			docs = append(docs, Document{Path: name, Text: part})
		}
	}
	return docs
}

func hasContent(doc string) bool {
	for line := range strings.Lines(doc) {
		if line = strings.TrimSpace(line); line != "" && line != "..." && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}
