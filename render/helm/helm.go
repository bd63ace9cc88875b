package helm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// An Installation is a release of a chart that the configuration names.
type Installation struct {
	Chart   string // the chart's folder
	Variant string // tells several releases of a chart apart in names; the release name when ""
	Release
}

// Options tunes the renderer; the zero value is the default.
type Options struct {
	// Installations replace guessing for the charts that they name.
	Installations []Installation
	KubeVersion   string   // for all charts; see Release.KubeVersion
	APIVersions   []string // for all charts
}

// A Renderer renders the charts of a tree, each with its own values and once
// more with every values file that lies beside it by convention.
type Renderer struct{ opts Options }

// New makes a renderer.
func New(opts Options) *Renderer { return &Renderer{opts} }

// Name is "helm".
func (*Renderer) Name() string { return "helm" }

func (in Installation) variant() string {
	if in.Variant != "" {
		return in.Variant
	}
	return in.Name
}

// release gives what a unit installs. A variant is the values file that is laid
// over the chart's own, relative to the chart or, when it lies elsewhere, to the root.
func (r *Renderer) release(t *source.Tree, u render.Unit) Release {
	for _, in := range r.opts.Installations {
		if path.Clean(in.Chart) == u.Path && in.variant() == u.Variant {
			return r.withDefaults(in.Release)
		}
	}
	rel := Release{IncludeCRDs: true}
	if u.Variant != "" {
		file := path.Join(u.Path, u.Variant)
		if !t.Exists(file) && t.Exists(u.Variant) {
			file = u.Variant
		}
		rel.ValuesFiles = append(under(t, file), file)
	}
	return r.withDefaults(rel)
}

func (r *Renderer) withDefaults(rel Release) Release {
	if rel.KubeVersion == "" {
		rel.KubeVersion = r.opts.KubeVersion
	}
	rel.APIVersions = append(slices.Clone(rel.APIVersions), r.opts.APIVersions...)
	return rel
}

// Inputs is the whole chart folder, charts that it depends on by file://, and
// the values files. A chart can read any of its files by a computed name.
func (r *Renderer) Inputs(t *source.Tree, u render.Unit) (render.Inputs, error) {
	return InputsOf(t, u.Path, r.release(t, u)), nil
}

// InputsOf gives what rendering a release of the chart in dir reads.
func InputsOf(t *source.Tree, dir string, rel Release) render.Inputs {
	in := render.Inputs{Dirs: []string{dir}, Files: slices.Clone(rel.ValuesFiles)}
	addLocalDependencies(t, dir, &in, 0)
	return in
}

func addLocalDependencies(t *source.Tree, dir string, in *render.Inputs, depth int) {
	if depth > maxNesting {
		return
	}
	var m struct {
		Dependencies []struct{ Repository string } `json:"dependencies"`
	}
	for _, name := range []string{chartFile, "requirements.yaml"} {
		data, err := t.ReadFile(path.Join(dir, name))
		if err != nil || yaml.Unmarshal(data, &m) != nil {
			continue // the folder is an input already, and rendering says what is wrong
		}
		for _, d := range m.Dependencies {
			rel, local := strings.CutPrefix(d.Repository, "file://")
			at := path.Join(dir, rel)
			if local && !strings.HasPrefix(at, "../") && !slices.Contains(in.Dirs, at) {
				in.Dirs = append(in.Dirs, at)
				addLocalDependencies(t, at, in, depth+1)
			}
		}
	}
}

// Render renders one chart with one set of values. A chart that uses random or
// time-dependent functions is rendered twice, and what differs between the two
// is replaced by render.Nondeterministic, so that it is no change.
func (r *Renderer) Render(ctx context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rel := r.release(t, u)
	out, err := RenderRelease(t, u.Name(), u.Path, rel)
	if err == nil && u.Variant != "" && !t.Exists(path.Join(u.Path, u.Variant)) && t.Exists(u.Variant) {
		out.Notes = append(out.Notes, "the values file is laid over the chart by its name and place: a guess, which helm.releases in .prdiff.yaml replaces")
	}
	return out, err
}

// RenderRelease renders a release of the chart in dir to one part, named like the
// unit. A chart whose dependencies are not in the repository is not rendered: the
// output is then partial, and holds the values of the release.
func RenderRelease(t *source.Tree, unit, dir string, rel Release) (*render.Output, error) {
	objects, settled, problems, err := Objects(t, unit, dir, rel)
	var missing *MissingDependencies
	if errors.As(err, &missing) {
		o, err := valuesOf(t, unit, dir, rel)
		if err != nil {
			return nil, err
		}
		return &render.Output{Partial: missing.Error(), Parts: []render.Part{{Name: unit, Objects: []*object.Object{o}}}}, nil
	}
	if err != nil {
		return nil, err
	}
	out := &render.Output{Parts: []render.Part{{Name: unit, Objects: objects}}, Problems: problems}
	if !settled {
		out.Notes = append(out.Notes, unsettledNote)
	}
	return out, nil
}

// valuesOf gives what is known of a release without rendering it: the chart's
// Chart.yaml, and its values with those of the release over them.
func valuesOf(t *source.Tree, unit, dir string, rel Release) (*object.Object, error) {
	data, err := t.ReadFile(path.Join(dir, chartFile))
	if err != nil {
		return nil, err
	}
	var chart map[string]any
	if err := yaml.Unmarshal(data, &chart); err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(dir, chartFile), err)
	}
	all := rel
	if own := path.Join(dir, "values.yaml"); t.Exists(own) && !rel.ReplaceValues {
		all.ValuesFiles = append([]string{own}, rel.ValuesFiles...)
	}
	values, err := all.values(t)
	if err != nil {
		return nil, err
	}
	return Values(unit, object.Origin{Path: path.Join(dir, chartFile)}, path.Base(dir), rel, chart, values)
}

// Values gives an object that stands in a comparison for a chart that cannot be
// rendered: what is known of the chart, and the values it is given.
func Values(unit string, at object.Origin, name string, rel Release, chart, values map[string]any) (*object.Object, error) {
	if rel.Name != "" {
		name = rel.Name
	}
	meta := map[string]any{"name": name}
	if rel.Namespace != "" {
		meta["namespace"] = rel.Namespace
	}
	root := map[string]any{"apiVersion": "helm.sh/v3", "kind": "ChartValues", "metadata": meta, "values": values}
	if len(chart) > 0 {
		root["chart"] = chart
	}
	return object.New(unit, at, root)
}

// Objects renders a release of the chart in folder dir to objects of unit, in the
// namespaces that they go to. Settled is false when it renders to other objects each time.
func Objects(t *source.Tree, unit, dir string, rel Release) (objects []*object.Object, settled bool, problems []render.Problem, err error) {
	docs, settled, err := documents(t, dir, rel)
	if err != nil {
		return nil, false, nil, err
	}
	for _, d := range docs {
		parsed, errs := object.Parse(unit, d.Path, []byte(d.Text))
		for _, o := range parsed {
			o.Origin.Line = 0 // the line is that of the rendered text, which nobody can open
			objects = append(objects, o)
		}
		for _, err := range errs {
			problems = append(problems, render.Problem{Path: d.Path, Err: fmt.Errorf("rendered to what is no manifest: %w", err)})
		}
	}
	return rel.Lands(objects), settled, problems, nil
}

// Text renders a release of the chart in folder dir to one text of documents, as
// `helm template` prints it, with what is random settled. Note is for the reader
// of the report, "" when there is nothing to say.
func Text(t *source.Tree, dir string, rel Release) (text, note string, err error) {
	docs, settled, err := documents(t, dir, rel)
	if err != nil {
		return "", "", err
	}
	if !settled {
		note = unsettledNote
	}
	var b strings.Builder
	for _, d := range docs {
		b.WriteString("---\n")
		b.WriteString(strings.TrimLeft(d.Text, "\n"))
		b.WriteByte('\n')
	}
	return b.String(), note, nil
}

// documents renders a chart, twice when it is not the same each time. Settled is
// false when the second rendering had other documents.
func documents(t *source.Tree, dir string, rel Release) (docs []Document, settled bool, err error) {
	if _, err := t.Stat(path.Join(dir, chartFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("%s: no %s there, so it is no chart", dir, chartFile)
	}
	c, err := loadChart(t, dir)
	if err != nil {
		return nil, false, err
	}
	docs, err = renderChart(t, dir, c, rel)
	if err != nil || !nondeterministic(c) {
		return docs, err == nil, err
	}
	// Rendering changes a chart's dependencies and values, so read it anew.
	if c, err = loadChart(t, dir); err != nil {
		return nil, false, err
	}
	setClock(c)
	again, err := renderChart(t, dir, c, rel)
	if err == nil {
		if docs, settled = settle(docs, again); settled {
			return docs, true, nil
		}
	}
	// At another time it is another chart: see what it is at the same one.
	if again, err = Template(t, dir, rel); err != nil {
		return nil, false, err
	}
	docs, settled = settle(docs, again)
	return docs, settled, nil
}
