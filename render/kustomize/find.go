package kustomize

import (
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// Find proposes the roots: kustomizations that no other one in the tree names
// and that are not components. What lies in folders that are not deployed by
// their name gives no units, and does not count as a user of others, so that what
// only an example uses is a root; when there is nothing else, the examples count.
func (r *Renderer) Find(t *source.Tree) (render.Found, error) {
	f := finder{t: t, kinds: map[string]*kustomization{}, used: map[string]bool{}, dirs: map[string]bool{}}
	if err := f.index(); err != nil {
		return render.Found{}, err
	}
	for _, dir := range f.order {
		f.read(dir)
	}
	return f.result(r.Name()), nil
}

type finder struct {
	t     *source.Tree
	dirs  map[string]bool // every folder
	order []string        // folders with a kustomization
	kinds map[string]*kustomization
	used  map[string]bool // folders that a deployed kustomization names
	found render.Found
}

func (f *finder) index() error {
	names, err := f.t.Files(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		dir := path.Dir(name)
		for up := dir; !f.dirs[up]; up = path.Dir(up) {
			f.dirs[up] = true
		}
		if !slices.Contains(fileNames, path.Base(name)) {
			continue
		}
		switch n := len(f.order); {
		case render.Vendored(dir):
		case n == 0 || f.order[n-1] != dir:
			f.order = append(f.order, dir)
		}
	}
	slices.Sort(f.order) // sub-folders come between the files of one folder
	f.order = slices.Compact(f.order)
	return nil
}

func (f *finder) notDeployed(dir string) string {
	return render.NotDeployedAmong(dir, func(d string) bool { return f.dirs[d] })
}

// read takes note of one kustomization and of what it names.
func (f *finder) read(dir string) {
	k, file, _, err := readKustomization(files{tree: f.t}, dir)
	if err == nil && strings.HasPrefix(k.APIVersion, "kustomize.toolkit.fluxcd.io/") {
		return // a Flux object under an unlucky name: a plain manifest
	}
	if file != "" {
		f.found.Claims = append(f.found.Claims, file)
	}
	f.kinds[dir] = k
	if err != nil {
		return
	}
	deployed := f.notDeployed(dir) == ""
	for _, ref := range k.refs() {
		at := path.Join(dir, ref.value)
		if remote.MatchString(ref.value) || ref.inline && strings.ContainsAny(ref.value, "\n{") || strings.HasPrefix(at, "../") {
			continue
		}
		if f.dirs[at] {
			if deployed && ref.folder && at != dir {
				f.used[at] = true
			}
			continue
		}
		if f.t.Exists(at) {
			f.found.Claims = append(f.found.Claims, at)
		}
	}
	_, charts := k.allCharts(dir)
	for _, chart := range charts {
		if !f.t.Exists(path.Join(chart, "Chart.yaml")) {
			continue
		}
		f.found.Claims = append(f.found.Claims, chart)
		if deployed {
			f.found.Takes = append(f.found.Takes, chart)
		}
	}
}

func (f *finder) result(renderer string) render.Found {
	var examples []render.Unit
	for _, dir := range f.order {
		k := f.kinds[dir]
		if k == nil || f.used[dir] {
			continue
		}
		u := render.Unit{Renderer: renderer, Path: dir}
		reason := f.notDeployed(dir)
		switch {
		case reason == render.Example && k.Kind != "Component":
			examples = append(examples, u)
		case reason != "":
			f.found.Skipped = append(f.found.Skipped, render.Skipped{Path: dir, Reason: reason})
		case k.Kind == "Component":
			f.found.Skipped = append(f.found.Skipped, render.Skipped{Path: dir, Reason: "component, used by no overlay"})
		default:
			f.found.Units = append(f.found.Units, u)
		}
	}
	if len(f.found.Units) == 0 {
		f.found.Units = examples
	} else {
		for _, u := range examples {
			f.found.Skipped = append(f.found.Skipped, render.Skipped{Path: u.Path, Reason: render.Example})
		}
	}
	slices.Sort(f.found.Claims)
	f.found.Claims = slices.Compact(f.found.Claims)
	slices.Sort(f.found.Takes)
	f.found.Takes = slices.Compact(f.found.Takes)
	return f.found
}
