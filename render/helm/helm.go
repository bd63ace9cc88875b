package helm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
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

// Find proposes a unit for each chart and set of values. Libraries, charts in
// the charts/ folder of another one, and charts whose name or place says that
// they are not deployed, are left out.
func (r *Renderer) Find(t *source.Tree) (render.Found, error) {
	var found render.Found
	files, err := t.Files(".")
	if err != nil {
		return found, err
	}
	charts := chartFolders(files)
	for _, dir := range charts {
		if inside(dir, charts) {
			continue
		}
		found.Claims = append(found.Claims, dir)
		if reason := render.NotDeployed(dir); reason != "" {
			found.Skipped = append(found.Skipped, render.Skipped{Path: dir, Reason: reason})
			continue
		}
		meta, err := readMetadata(t, dir)
		if err != nil {
			found.Skipped = append(found.Skipped, render.Skipped{Path: dir, Reason: err.Error()})
			continue
		}
		if reason := rendersNothing(dir, meta, files); reason != "" {
			found.Skipped = append(found.Skipped, render.Skipped{Path: dir, Reason: reason})
			continue
		}
		found.Units = append(found.Units, r.units(dir, files, charts)...)
	}
	return found, nil
}

// chartFolders gives the folders with a Chart.yaml, vendored trees left out.
func chartFolders(files []string) []string {
	var dirs []string
	for _, f := range files {
		if path.Base(f) == chartFile && !render.Vendored(path.Dir(f)) {
			dirs = append(dirs, path.Dir(f))
		}
	}
	return dirs
}

// inside says whether dir lies below another chart: in its charts/ folder it is
// a dependency, elsewhere (tests, examples) it is that chart's business.
func inside(dir string, charts []string) bool {
	return slices.ContainsFunc(charts, func(c string) bool {
		return c != dir && (c == "." || strings.HasPrefix(dir, c+"/"))
	})
}

type metadata struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Type         string `json:"type"`
	Dependencies []any  `json:"dependencies"`
}

func readMetadata(t *source.Tree, dir string) (metadata, error) {
	var m metadata
	data, err := t.ReadFile(path.Join(dir, chartFile))
	if err != nil {
		return m, err
	}
	if err := yaml.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w", path.Join(dir, chartFile), err)
	}
	return m, nil
}

// rendersNothing says why a chart is a library, declared or not; "" when it is none.
func rendersNothing(dir string, m metadata, files []string) string {
	if m.Type == "library" {
		return "library"
	}
	if len(m.Dependencies) > 0 {
		return ""
	}
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	for _, f := range files {
		rel, ok := strings.CutPrefix(f, prefix)
		if !ok {
			continue
		}
		base := path.Base(rel)
		switch {
		case strings.HasPrefix(rel, "crds/"), strings.HasPrefix(rel, "charts/"), rel == "requirements.yaml":
			return ""
		case strings.HasPrefix(rel, "templates/") && !strings.HasPrefix(base, "_") && base != "NOTES.txt":
			return ""
		}
	}
	return "library"
}

// valuesFile matches the names under which value sets lie in a chart's folder.
var valuesFile = regexp.MustCompile(`^(?:values[-._](.+)|(.+)[-._]values)\.ya?ml$`)

// units gives the units of one chart: the configured releases, or its own values
// and each values file beside it.
func (r *Renderer) units(dir string, files, charts []string) []render.Unit {
	var units []render.Unit
	for _, in := range r.opts.Installations {
		if path.Clean(in.Chart) == dir {
			units = append(units, render.Unit{Renderer: r.Name(), Path: dir, Variant: in.variant()})
		}
	}
	if len(units) > 0 {
		return units
	}
	units = append(units, render.Unit{Renderer: r.Name(), Path: dir})
	for _, f := range files {
		at := path.Dir(f)
		if at != dir && at != path.Join(dir, "ci") {
			continue
		}
		m := valuesFile.FindStringSubmatch(path.Base(f))
		if m == nil || at == path.Join(dir, "ci") && m[2] == "" {
			continue
		}
		// tempo-values.yaml in the folder of another chart feeds the chart tempo.
		if m[2] != "" && at == dir && slices.ContainsFunc(charts, func(c string) bool { return c != dir && path.Base(c) == m[2] }) {
			continue
		}
		variant := strings.TrimPrefix(strings.TrimPrefix(f, dir), "/")
		if dir == "." {
			variant = f
		}
		units = append(units, render.Unit{Renderer: r.Name(), Path: dir, Variant: variant})
	}
	return units
}

func (in Installation) variant() string {
	if in.Variant != "" {
		return in.Variant
	}
	return in.Name
}

// release gives what a unit installs.
func (r *Renderer) release(u render.Unit) Release {
	for _, in := range r.opts.Installations {
		if path.Clean(in.Chart) == u.Path && in.variant() == u.Variant {
			return r.withDefaults(in.Release)
		}
	}
	rel := Release{IncludeCRDs: true}
	if u.Variant != "" {
		rel.ValuesFiles = []string{path.Join(u.Path, u.Variant)}
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
	return InputsOf(t, u.Path, r.release(u)), nil
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
	rel := r.release(u)
	objects, noise, problems, err := Objects(t, u.Name(), u.Path, rel)
	if err != nil {
		return nil, err
	}
	out := &render.Output{Parts: []render.Part{{Name: u.Name(), Objects: objects}}, Problems: problems}
	if note := noiseNote(noise); note != "" {
		out.Notes = append(out.Notes, note)
	}
	return out, nil
}

// Objects renders a release of the chart in folder dir to objects of unit. Noise
// is the number of fields that differed between two renderings.
func Objects(t *source.Tree, unit, dir string, rel Release) (objects []*object.Object, noise int, problems []render.Problem, err error) {
	docs, noise, err := documents(t, dir, rel)
	if err != nil {
		return nil, 0, nil, err
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
	return objects, noise, problems, nil
}

// Text renders a release of the chart in folder dir to one text of documents, as
// `helm template` prints it, with what is random settled. Note is for the reader
// of the report, "" when there is nothing to say.
func Text(t *source.Tree, dir string, rel Release) (text, note string, err error) {
	docs, noise, err := documents(t, dir, rel)
	if err != nil {
		return "", "", err
	}
	var b strings.Builder
	for _, d := range docs {
		b.WriteString("---\n")
		b.WriteString(strings.TrimLeft(d.Text, "\n"))
		b.WriteByte('\n')
	}
	return b.String(), noiseNote(noise), nil
}

// documents renders a chart, twice when it is not the same each time.
func documents(t *source.Tree, dir string, rel Release) (docs []Document, noise int, err error) {
	if _, err := t.Stat(path.Join(dir, chartFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%s: no %s there, so it is no chart", dir, chartFile)
	}
	c, err := loadChart(t, dir)
	if err != nil {
		return nil, 0, err
	}
	docs, err = renderChart(t, dir, c, rel)
	if err != nil {
		return nil, 0, err
	}
	if nondeterministic(c) {
		// Rendering changes a chart's dependencies and values, so read it anew.
		again, err := Template(t, dir, rel)
		if err != nil {
			return nil, 0, err
		}
		docs, noise = settle(docs, again)
	}
	return docs, noise, nil
}
