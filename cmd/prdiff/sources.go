package main

import (
	"slices"

	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
	"github.com/prdiff/prdiff/render/helm"
)

// What is shown as the source of a change is less than what counts as an input of
// its unit, and more: a chart may read every file of its folder, but the values of
// another release are hardly why this one changes, and a unit that goes may go
// because the object is gone that declared it.

// causes gives, of the changed files that a unit looks at on one side, those that
// are told as the source of its changes.
func causes(s side, p pairing, u render.Unit, sources []string, changed pathSet) []string {
	if p.before && p.after && len(sources) == 0 {
		return sources
	}
	left := withoutOthersValues(s, u, sources)
	if !p.before || !p.after {
		file := declaredIn(s, u)
		if _, ok := slices.BinarySearch(changed, file); ok && !slices.Contains(left, file) {
			left = append(slices.Clone(left), file)
			slices.Sort(left)
		}
	}
	if len(left) == 0 {
		return sources
	}
	return left
}

// withoutOthersValues leaves out values files beside a chart that are not those of
// the release.
func withoutOthersValues(s side, u render.Unit, sources []string) []string {
	d, declared := s.definitions[u]
	if !declared && u.Renderer != "helm" {
		return sources
	}
	if declared && !slices.ContainsFunc(d.Sources, func(src gitops.Source) bool { return src.Chart && src.Path == u.Path }) {
		return sources
	}
	in, err := s.inputs(u)
	if err != nil {
		return sources
	}
	return slices.DeleteFunc(slices.Clone(sources), func(file string) bool {
		return helm.ValuesBeside(u.Path, file) && !slices.Contains(in.Files, file)
	})
}

// declaredIn gives the file of the object that declares a unit, "" when none does
// or it is not known which.
func declaredIn(s side, u render.Unit) string {
	d, ok := s.definitions[u]
	if !ok || s.found == nil {
		return ""
	}
	file := ""
	for _, r := range s.found.Outputs {
		if r.Output == nil {
			continue
		}
		for _, part := range r.Output.Parts {
			for _, o := range part.Objects {
				if o.Ref.Kind != d.Kind || o.Ref.Name != d.Name || o.Ref.Namespace != d.Namespace || o.Origin.Path == "" {
					continue
				}
				if file == "" || o.Origin.Path < file {
					file = o.Origin.Path // the same whatever the order of the map
				}
			}
		}
	}
	return file
}
