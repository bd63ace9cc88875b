package kustomize

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render/helm"
)

// A helmChart is one entry of helmCharts (types.HelmChart of kustomize).
type helmChart struct {
	Name                  string         `json:"name"`
	Version               string         `json:"version"`
	Repo                  string         `json:"repo"`
	ReleaseName           string         `json:"releaseName"`
	Namespace             string         `json:"namespace"`
	ValuesFile            string         `json:"valuesFile"`
	AdditionalValuesFiles []string       `json:"additionalValuesFiles"`
	ValuesInline          map[string]any `json:"valuesInline"`
	ValuesMerge           string         `json:"valuesMerge"`
	IncludeCRDs           bool           `json:"includeCRDs"`
	SkipHooks             bool           `json:"skipHooks"`
	SkipTests             bool           `json:"skipTests"`
	APIVersions           []string       `json:"apiVersions"`
	KubeVersion           string         `json:"kubeVersion"`
}

// An oldChart is an entry of the deprecated helmChartInflationGenerator field.
type oldChart struct {
	ChartName        string         `json:"chartName"`
	ChartVersion     string         `json:"chartVersion"`
	ChartRepoURL     string         `json:"chartRepoUrl"`
	ChartHome        string         `json:"chartHome"`
	Values           string         `json:"values"`
	ValuesLocal      map[string]any `json:"valuesLocal"`
	ValuesMerge      string         `json:"valuesMerge"`
	ReleaseName      string         `json:"releaseName"`
	ReleaseNamespace string         `json:"releaseNamespace"`
}

// allCharts gives the charts that k inflates, each with its folder.
func (k *kustomization) allCharts(dir string) (charts []helmChart, folders []string) {
	home := k.HelmGlobals.ChartHome
	if home == "" {
		home = "charts" // types.HelmDefaultHome
	}
	for _, c := range k.HelmCharts {
		charts = append(charts, c)
		folders = append(folders, path.Join(dir, home, c.Name))
	}
	for _, o := range k.HelmOld {
		at := o.ChartHome
		if at == "" {
			at = home
		}
		charts = append(charts, helmChart{
			Name: o.ChartName, Version: o.ChartVersion, Repo: o.ChartRepoURL, ReleaseName: o.ReleaseName,
			Namespace: o.ReleaseNamespace, ValuesFile: o.Values, ValuesInline: o.ValuesLocal, ValuesMerge: o.ValuesMerge,
		})
		folders = append(folders, path.Join(dir, at, o.ChartName))
	}
	return charts, folders
}

// charts notes the folders of the charts that the kustomization in dir inflates.
func (s *scan) charts(dir, file string, k *kustomization) {
	charts, folders := k.allCharts(dir)
	for i, c := range charts {
		at := folders[i]
		if strings.HasPrefix(at, "../") {
			s.fail("%s: helmCharts: %s leads outside the repository", file, c.Name)
			continue
		}
		if !s.tree.Exists(path.Join(at, "Chart.yaml")) {
			s.missing = append(s.missing, path.Join(at, "Chart.yaml"))
			s.needs = append(s.needs, need{dir: dir, entry: c.Name, resource: true, chart: &helm.Need{Name: c.Name, Version: c.Version, Repository: c.Repo, At: at},
				text: fmt.Sprintf("%s: helmCharts: needs chart %s %s from %s, which is not vendored: run `helm pull --untar --untardir %s %s --repo %s --version %s` and commit it",
					file, c.Name, c.Version, c.Repo, path.Dir(at), c.Name, c.Repo, c.Version)})
			continue
		}
		in := helm.InputsOf(s.tree, at, helm.Release{})
		s.dirs = append(s.dirs, in.Dirs...)
	}
}

// Needs gives the charts that building dir with an edit takes from outside of the
// repository, each once.
func Needs(t *source.Tree, dir string, e Edit) []helm.Need {
	extra, err := e.files(t, dir)
	if err != nil {
		return nil // rendering says so
	}
	var out []helm.Need
	for _, n := range scanWith(t, dir, extra).needs {
		if n.chart != nil && !slices.Contains(out, *n.chart) {
			out = append(out, *n.chart)
		}
	}
	return out
}

// renderedPrefix begins the names of the files that stand in for charts. They
// are only ever seen by kustomize.
const renderedPrefix = "prdiff-rendered-"

// inflate renders the charts of every kustomization of the scan and gives the
// files that kustomize is shown instead of those of the tree: the rendered
// manifests as one more resource, and the kustomization without its helmCharts and
// without the resources that are not in the repository. Patches, namespaces and
// the rest then apply to them as they do to what kustomize's own generator gives.
func (s *scan) inflate() (map[string][]byte, []string, error) {
	extra := maps.Clone(s.extra)
	if extra == nil {
		extra = map[string][]byte{}
	}
	var notes []string
	for _, dir := range s.order {
		k := s.visited[dir]
		charts, folders := k.allCharts(dir)
		drop := s.dropped(dir)
		if len(charts) == 0 && len(drop) == 0 {
			continue
		}
		file := s.names[dir]
		data, err := files{s.tree, s.extra}.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		var whole map[string]any
		if err := yaml.Unmarshal(data, &whole); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		delete(whole, "helmCharts")
		delete(whole, "helmChartInflationGenerator")
		for _, field := range []string{"resources", "bases", "components", "generators", "transformers", "validators"} {
			if list, ok := whole[field].([]any); ok {
				whole[field] = slices.DeleteFunc(list, func(v any) bool {
					entry, ok := v.(string)
					return ok && drop[entry]
				})
			}
		}
		resources, _ := whole["resources"].([]any)
		for i, c := range charts {
			if drop[c.Name] {
				continue
			}
			rel, err := c.release(s.tree, dir, folders[i])
			if err != nil {
				return nil, nil, fmt.Errorf("%s: helmCharts: %s: %w", file, c.Name, err)
			}
			text, note, err := helm.Text(s.tree, folders[i], rel)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: helmCharts: %w", file, err)
			}
			if note != "" {
				notes = append(notes, folders[i]+": "+note)
			}
			base := fmt.Sprintf("%s%d-%s.yaml", renderedPrefix, i, path.Base(c.Name))
			extra[path.Join(dir, base)] = []byte(text)
			resources = append(resources, base)
		}
		whole["resources"] = resources
		if extra[file], err = yaml.Marshal(whole); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return extra, notes, nil
}

// release gives what kustomize's generator would install: its defaults and its
// three ways of merging inline values (HelmChartInflationGenerator).
func (c helmChart) release(t *source.Tree, dir, chart string) (helm.Release, error) {
	rel := helm.Release{
		Name: c.ReleaseName, Namespace: c.Namespace, KubeVersion: c.KubeVersion, APIVersions: c.APIVersions,
		IncludeCRDs: c.IncludeCRDs, NoHooks: c.SkipHooks, SkipTests: c.SkipTests,
	}
	if rel.Name == "" {
		rel.Name = "release-name" // what `helm template` calls a release without a name
	}
	file := path.Join(chart, "values.yaml")
	if c.ValuesFile != "" {
		file = path.Join(dir, c.ValuesFile)
	}
	var base map[string]any
	if data, err := t.ReadFile(file); err == nil {
		if err := yaml.Unmarshal(data, &base); err != nil {
			return rel, fmt.Errorf("%s: %w", file, err)
		}
	} else if c.ValuesFile != "" {
		return rel, err
	}
	merged := base
	switch c.ValuesMerge {
	case "", "override":
		merged = merge(base, c.ValuesInline, true)
	case "merge":
		merged = merge(base, c.ValuesInline, false)
	case "replace":
		if c.ValuesInline != nil {
			merged = c.ValuesInline
		}
	default:
		return rel, fmt.Errorf("valuesMerge %q: must be merge, override or replace", c.ValuesMerge)
	}
	// Additional files come after the values file, as later --values arguments.
	for _, f := range c.AdditionalValuesFiles {
		at := path.Join(dir, f)
		data, err := t.ReadFile(at)
		if err != nil {
			return rel, err
		}
		var more map[string]any
		if err := yaml.Unmarshal(data, &more); err != nil {
			return rel, fmt.Errorf("%s: %w", at, err)
		}
		merged = merge(merged, more, true)
	}
	rel.Values = merged
	return rel, nil
}

// merge lays b over a; where both have a value that is no map, b wins when
// override is set and a otherwise.
func merge(a, b map[string]any, override bool) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		old, exists := out[k]
		am, aok := old.(map[string]any)
		bm, bok := v.(map[string]any)
		switch {
		case aok && bok:
			out[k] = merge(am, bm, override)
		case !exists || override:
			out[k] = v
		}
	}
	return out
}
