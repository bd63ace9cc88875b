package tanka

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/jsonnet"
)

// Find proposes, as units, the folders of environments: every main.jsonnet with a
// spec.json beside it, and those without that no other file imports, since they
// may hold inline environments (only evaluation tells). A file with another name
// is proposed when no file imports it and it, or what it imports, speaks of
// Tanka. Libraries, vendored copies, tests and examples are left out with the
// reason; examples count when there is nothing else. Links to folders are not
// followed.
func (r *Renderer) Find(t *source.Tree) (render.Found, error) {
	f := finder{side: r.Engine.On(t), renderer: r}
	if err := f.walk(); err != nil {
		return render.Found{}, err
	}
	for _, name := range f.mains {
		f.main(name)
	}
	for _, name := range f.others {
		f.other(name)
	}
	return f.result(), nil
}

type finder struct {
	side     *jsonnet.Side
	renderer *Renderer

	mains  []string // files called main.jsonnet
	others []string // other .jsonnet files outside of vendored folders
	code   []string // all jsonnet files outside of vendored folders

	importers map[string]string // the first file that imports a file; made when asked for

	units    []proposal
	examples []proposal // left out as long as there are units
	skipped  []render.Skipped
}

// A proposal is a unit and what it claims.
type proposal struct {
	path    string
	claims  []string
	skipped string // why it is left out
}

func (f *finder) walk() error {
	return fs.WalkDir(f.side.Tree(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			// A folder that cannot be read, such as a submodule's, may hold
			// environments: say so, and go on with the others.
			f.skip(name, err.Error())
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			if entry.Name() == ".git" || entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		ext := path.Ext(name)
		if ext != ".jsonnet" && ext != ".libsonnet" {
			return nil
		}
		vendored := render.Vendored(path.Dir(name))
		switch {
		case entry.Name() == mainFile:
			f.mains = append(f.mains, name)
		case ext == ".jsonnet" && !vendored:
			f.others = append(f.others, name)
		}
		if !vendored {
			f.code = append(f.code, name)
		}
		return nil
	})
}

func (f *finder) skip(name, reason string) {
	f.skipped = append(f.skipped, render.Skipped{Path: name, Reason: reason})
}

// main decides about a main.jsonnet.
func (f *finder) main(name string) {
	dir := path.Dir(name)
	if render.Vendored(dir) {
		f.skip(name, "vendored")
		return
	}
	p, err := locate(f.side, name)
	if err != nil {
		f.skip(name, "not in a Tanka project: "+err.Error())
		return
	}
	if lib := f.library(dir); lib != "" {
		f.skip(name, "part of the library folder "+lib)
		return
	}
	if !p.static {
		if by := f.importer(name); by != "" && !speaksOfTanka(f.side, []string{name}) {
			f.skip(name, "no spec.json beside it, and imported by "+by)
			return
		}
	}
	f.propose(proposal{path: dir, claims: claims(p)}, dir)
}

// propose takes a unit, unless the names of its folders speak against it.
func (f *finder) propose(u proposal, dir string) {
	u.skipped = render.NotDeployedAmong(dir, f.isDir)
	switch u.skipped {
	case "":
		f.units = append(f.units, u)
	case "example":
		f.examples = append(f.examples, u)
	default:
		f.skip(u.path, u.skipped)
	}
}

func (f *finder) isDir(name string) bool {
	found, err := f.side.Find(name)
	return err == nil && found.Missing == "" && found.Dir
}

// library gives the lib folder of a project in which dir lies, "" when in none.
func (f *finder) library(dir string) string {
	for d := dir; d != "."; d = path.Dir(d) {
		if path.Base(d) != "lib" {
			continue
		}
		for _, marker := range []string{rcFile, packageFile} {
			if found, err := f.side.Find(path.Join(path.Dir(d), marker)); err == nil && found.Missing == "" {
				return d
			}
		}
	}
	return ""
}

// claims are the files and folders that are the environment's own.
func claims(p project) []string {
	own := []string{p.base}
	if p.base == "." || path.Base(p.entry) != mainFile {
		// The folder is the whole repository, or others' too.
		own = []string{p.entry}
		if p.static {
			own = append(own, path.Join(p.base, specFile))
		}
	}
	return append(own, path.Join(p.root, "lib"), path.Join(p.root, "vendor"))
}

// other decides about a .jsonnet file of another name.
func (f *finder) other(name string) {
	dir := path.Dir(name)
	if f.library(dir) != "" {
		return
	}
	p, err := locate(f.side, name)
	if err != nil {
		return // not in a Tanka project, and nobody said it is
	}
	reach := f.side.Reach(p.program(f.renderer.options(name).Vars))
	own := slices.DeleteFunc(slices.Clone(reach.Code), func(file string) bool { return render.Vendored(path.Dir(file)) })
	if !speaksOfTanka(f.side, own) || f.importer(name) != "" {
		return
	}
	if p.static {
		f.skip(name, fmt.Sprintf("beside a %s, but not called %s: Tanka does not find it by itself", specFile, mainFile))
		return
	}
	f.propose(proposal{path: name, claims: claims(p)}, dir)
}

// importer gives a file outside of vendored folders that imports name, "" when
// there is none.
func (f *finder) importer(name string) string {
	if f.importers == nil {
		f.importers = map[string]string{}
		wanted := map[string]bool{}
		for _, candidate := range slices.Concat(f.mains, f.others) {
			wanted[path.Base(candidate)] = true
		}
		for _, file := range f.code {
			f.addImports(file, wanted)
		}
	}
	return f.importers[name]
}

// addImports takes note of what a file imports, as far as the last part of the
// path is wanted.
func (f *finder) addImports(file string, wanted map[string]bool) {
	scan, err := f.side.Scan(file)
	if err != nil {
		return
	}
	var search []string
	for _, i := range scan.Imports {
		if !wanted[path.Base(i.Path)] {
			continue
		}
		if search == nil {
			search = f.search(file)
		}
		hit := f.side.Resolve(path.Dir(file), i.Path, search)
		if hit != "" && hit != file && f.importers[hit] == "" {
			f.importers[hit] = file
		}
	}
}

// search is the import path of a file when the environment above it, if any,
// is rendered.
func (f *finder) search(file string) []string {
	if p, err := locate(f.side, path.Dir(file)); err == nil {
		return p.search()
	}
	var p project
	if err := p.findRoot(f.side, path.Dir(file)); err != nil || p.root == "" {
		return []string{}
	}
	return []string{path.Join(p.root, "lib"), path.Join(p.root, "vendor")}
}

func (f *finder) result() render.Found {
	if len(f.units) == 0 {
		f.units = f.examples // the product is the example
	} else {
		for _, e := range f.examples {
			f.skip(e.path, e.skipped)
		}
	}
	var found render.Found
	for _, u := range f.units {
		found.Units = append(found.Units, render.Unit{Renderer: f.renderer.Name(), Path: u.path})
		found.Claims = append(found.Claims, u.claims...)
	}
	found.Skipped = f.skipped
	slices.SortFunc(found.Units, func(a, b render.Unit) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(found.Skipped, func(a, b render.Skipped) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(found.Claims)
	found.Claims = slices.Compact(found.Claims)
	return found
}
