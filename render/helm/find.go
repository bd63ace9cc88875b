package helm

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// Find proposes a unit for each chart and set of values. Libraries, charts in
// the charts/ folder of another one, and charts whose name or place says that
// they are not deployed, are left out; when there is nothing but examples, these
// count. A chart owns its folder with all below it.
func (r *Renderer) Find(t *source.Tree) (render.Found, error) {
	names, err := t.Files(".")
	if err != nil {
		return render.Found{}, err
	}
	f := finder{r: r, t: t, files: names, dirs: map[string]bool{}}
	for _, name := range names {
		for up := path.Dir(name); !f.dirs[up]; up = path.Dir(up) {
			f.dirs[up] = true
		}
	}
	f.charts = chartFolders(names)
	for _, dir := range f.charts {
		if !inside(dir, f.charts) {
			f.chart(dir)
		}
	}
	f.settle()
	f.pair()
	slices.SortFunc(f.found.Units, func(a, b render.Unit) int { return strings.Compare(a.Name(), b.Name()) })
	slices.SortFunc(f.found.Skipped, func(a, b render.Skipped) int { return strings.Compare(a.Path, b.Path) })
	return f.found, nil
}

type finder struct {
	r      *Renderer
	t      *source.Tree
	files  []string
	dirs   map[string]bool
	charts []string
	found  render.Found

	deployed []chartMeta // what values files elsewhere may belong to
	examples []chartMeta
}

type chartMeta struct {
	dir string
	metadata
}

// chart decides about the chart in one folder.
func (f *finder) chart(dir string) {
	f.found.Claims = append(f.found.Claims, owned(dir, f.files)...)
	reason := render.NotDeployedAmong(dir, func(d string) bool { return f.dirs[d] })
	if reason != "" && reason != render.Example {
		f.skip(dir, reason)
		return
	}
	meta, err := readMetadata(f.t, dir)
	if err != nil {
		f.skip(dir, err.Error())
		return
	}
	if nothing := rendersNothing(dir, meta, f.files); nothing != "" {
		f.skip(dir, nothing)
		return
	}
	if reason == render.Example {
		f.examples = append(f.examples, chartMeta{dir, meta})
		return
	}
	f.deployed = append(f.deployed, chartMeta{dir, meta})
}

// settle takes the examples back when there is nothing else.
func (f *finder) settle() {
	if len(f.deployed) == 0 {
		f.deployed = f.examples
	} else {
		for _, c := range f.examples {
			f.skip(c.dir, render.Example)
		}
	}
	for _, c := range f.deployed {
		f.found.Units = append(f.found.Units, f.r.units(c.dir, f.files, f.charts)...)
		for _, dir := range slices.Sorted(maps.Keys(f.dirs)) {
			if path.Base(dir) == "rendered" && below(dir, c.dir) {
				f.skip(dir, "generated from "+c.dir)
			}
		}
	}
}

func (f *finder) skip(name, reason string) {
	f.found.Skipped = append(f.found.Skipped, render.Skipped{Path: name, Reason: reason})
}

// below says whether name is a folder or below it.
func below(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// owned gives what belongs to a chart: its folder, and when that is the whole
// repository the parts of it that Helm knows by name.
func owned(dir string, files []string) []string {
	if dir != "." {
		return []string{dir}
	}
	out := []string{chartFile}
	for _, name := range files {
		top, _, deeper := strings.Cut(name, "/")
		own := slices.Contains([]string{"templates", "crds", "charts", "ci", "files", "tests", "unittests"}, top)
		if deeper && own || !deeper && valuesName(name) {
			out = append(out, top)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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
// a dependency, elsewhere (tests, examples) it is that chart's business. Below a
// chart that is the whole repository only the folders count that Helm knows.
func inside(dir string, charts []string) bool {
	return slices.ContainsFunc(charts, func(c string) bool {
		if c == "." {
			return dir != "." && slices.Contains([]string{"templates", "crds", "charts", "ci", "files", "tests", "unittests"}, strings.Split(dir, "/")[0])
		}
		return c != dir && strings.HasPrefix(dir, c+"/")
	})
}

type metadata struct {
	Name         string       `json:"name"`
	Version      string       `json:"version"`
	Type         string       `json:"type"`
	Dependencies []dependency `json:"dependencies"`
}

type dependency struct {
	Name       string `json:"name"`
	Alias      string `json:"alias"`
	Version    string `json:"version"`
	Repository string `json:"repository"`
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
	if old, err := t.ReadFile(path.Join(dir, "requirements.yaml")); err == nil && len(m.Dependencies) == 0 {
		_ = yaml.Unmarshal(old, &m) // rendering says what is wrong with it
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

// valuesName says whether a file bears the name of a values file.
func valuesName(base string) bool {
	return base == "values.yaml" || base == "values.yml" || valuesFile.MatchString(base)
}

// ValuesBeside says whether a file bears the name of a set of values in the folder
// of a chart, or in its ci folder: that of one release, not the chart's own.
func ValuesBeside(dir, file string) bool {
	at := path.Dir(file)
	return (at == path.Clean(dir) || at == path.Join(dir, "ci")) && valuesFile.MatchString(path.Base(file))
}

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
		if m == nil || at == path.Join(dir, "ci") && m[2] == "" || strings.HasPrefix(m[1], "schema.") {
			continue
		}
		// tempo-values.yaml in the folder of another chart feeds the chart tempo, and
		// tempo-values-prod.yaml does so too.
		feeds, _, _ := strings.Cut(m[1]+m[2], "-values")
		if m[1] == "" && at == dir && slices.ContainsFunc(charts, func(c string) bool { return c != dir && path.Base(c) == feeds }) {
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

// under gives the values files that a file is laid over, as the names show:
// common.yaml or base.yaml beside it, values-prod.yaml for values-prod-eu.yaml.
func under(t *source.Tree, file string) []string {
	dir, base := path.Split(file)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	var out []string
	for _, name := range []string{"common", "base"} {
		if stem != name && !valuesName(base) && t.Exists(dir+name+ext) {
			out = append(out, dir+name+ext)
		}
	}
	rest, ok := strings.CutPrefix(stem, "values-")
	if !ok {
		return out
	}
	parts := strings.Split(rest, "-")
	for i := 1; i < len(parts); i++ {
		if shorter := dir + "values-" + strings.Join(parts[:i], "-") + ext; t.Exists(shorter) {
			out = append(out, shorter)
		}
	}
	return out
}

// pair lays values files that are in no chart over the chart that they are for:
// the only one of the repository, or the one whose name is in their path.
func (f *finder) pair() {
	if len(f.deployed) == 0 {
		return
	}
	for _, name := range f.files {
		clear := valuesName(path.Base(name))
		if !clear && !valuesPlace(name) || f.inChart(name) || render.Vendored(path.Dir(name)) {
			continue
		}
		if render.NotDeployedAmong(path.Dir(name), func(d string) bool { return f.dirs[d] }) != "" {
			continue
		}
		keys, encrypted, ok := f.topKeys(name)
		if !ok {
			continue
		}
		chart := f.chartOf(name)
		switch {
		case chart == nil && clear:
			f.skip(name, "values file, chart unknown")
		case chart == nil, f.configured(chart.dir):
		case encrypted:
			f.skip(name, "encrypted")
		case f.fits(*chart, keys):
			f.found.Units = append(f.found.Units, render.Unit{Renderer: f.r.Name(), Path: chart.dir, Variant: name})
		case clear:
			f.skip(name, "values file, chart unknown")
		}
	}
}

// valuesPlace says whether a file lies where values files do: values/<x>.yaml, or
// deployments/<x>/config/<environment>.yaml.
func valuesPlace(name string) bool {
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
		return false
	}
	stem := strings.TrimSuffix(path.Base(name), path.Ext(name))
	if stem == "common" || stem == "base" {
		return false // a part of the sets beside it
	}
	segments := strings.Split(path.Dir(name), "/")
	n := len(segments)
	return segments[n-1] == "values" || n >= 3 && segments[n-1] == "config" && segments[n-3] == "deployments"
}

func (f *finder) inChart(name string) bool {
	return slices.ContainsFunc(f.charts, func(c string) bool {
		if c == "." {
			return !strings.Contains(name, "/") || inside(path.Dir(name), []string{"."})
		}
		return strings.HasPrefix(name, c+"/")
	})
}

func (f *finder) configured(dir string) bool {
	return slices.ContainsFunc(f.r.opts.Installations, func(in Installation) bool { return path.Clean(in.Chart) == dir })
}

// topKeys gives the keys of a file that may hold values; not of one that holds
// objects, or is no map.
func (f *finder) topKeys(name string) (keys []string, encrypted, ok bool) {
	data, err := f.t.ReadFile(name)
	if err != nil {
		return nil, false, false
	}
	if bytes.HasPrefix(data, []byte("\x00GITCRYPT")) {
		return nil, true, true
	}
	var top map[string]any
	if yaml.Unmarshal(data, &top) != nil || len(top) == 0 || top["apiVersion"] != nil && top["kind"] != nil {
		return nil, false, false
	}
	return slices.Sorted(maps.Keys(top)), top["sops"] != nil, true
}

// chartOf gives the chart that a values file is for: the one whose name is a
// folder of its path or in its own name, else the only one there is.
func (f *finder) chartOf(name string) *chartMeta {
	segments := strings.Split(path.Dir(name), "/")
	m := valuesFile.FindStringSubmatch(path.Base(name))
	var match *chartMeta
	for i, c := range f.deployed {
		named := slices.Contains(segments, c.Name) || m != nil && (m[1] == c.Name || m[2] == c.Name) ||
			strings.TrimSuffix(path.Base(name), path.Ext(name)) == c.Name
		if named && match != nil {
			return nil
		}
		if named {
			match = &f.deployed[i]
		}
	}
	if match == nil && len(f.deployed) == 1 {
		match = &f.deployed[0]
	}
	return match
}

// fits says whether values can be for a chart: one of their keys is among the
// chart's own, or names a dependency. A chart that shows none takes all.
func (f *finder) fits(c chartMeta, keys []string) bool {
	known := map[string]bool{}
	if data, err := f.t.ReadFile(path.Join(c.dir, "values.yaml")); err == nil {
		var top map[string]any
		if yaml.Unmarshal(data, &top) == nil {
			for k := range top {
				known[k] = true
			}
		}
	}
	for _, d := range c.Dependencies {
		known[d.Name], known[d.Alias] = true, true
	}
	return len(known) == 0 || slices.ContainsFunc(keys, func(k string) bool { return known[k] })
}
