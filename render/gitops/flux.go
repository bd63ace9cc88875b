package gitops

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/kustomize"
)

const (
	fluxKustomize = "kustomize.toolkit.fluxcd.io"
	fluxHelm      = "helm.toolkit.fluxcd.io"
	fluxSource    = "source.toolkit.fluxcd.io"
	fluxOperator  = "fluxcd.controlplane.io"
)

const elsewhere = "points into another repository"

// kustomization reads a Flux Kustomization
// (https://fluxcd.io/flux/components/kustomize/kustomizations/). Wait is the
// ConfigMap that its variables come from and that was not rendered yet.
func (w *side) kustomization(o *object.Object) (d Definition, wait string) {
	spec := o.At("spec")
	d = Definition{
		Renderer: Flux, Kind: o.Ref.Kind, Namespace: o.Ref.Namespace, Name: o.Ref.Name,
		Labels: spec.At("commonMetadata.labels").Strings(), Annotations: spec.At("commonMetadata.annotations").Strings(),
	}
	s := Source{Engine: byKustomize, Edit: kustomize.Edit{
		Generate:  true,
		Namespace: spec.Field("targetNamespace").Text(), NamePrefix: spec.Field("namePrefix").Text(), NameSuffix: spec.Field("nameSuffix").Text(),
		Images: mapsOf(spec.Field("images")), Patches: mapsOf(spec.Field("patches")), Components: spec.Field("components").Texts(),
	}}
	w.fluxPath(o, spec.Field("sourceRef"), spec.Field("path").Text(), &s, &d)
	if suspended, _ := spec.Field("suspend").Bool(); suspended {
		d.Notes = append(d.Notes, "suspended: nothing of this happens when it is merged")
	}
	if prune, _ := spec.Field("prune").Bool(); !prune {
		d.Notes = append(d.Notes, "prune is off: what is deleted here stays in the cluster")
	}
	d.Path, d.Sources = s.Path, []Source{s}
	if s.Engine == byNothing && !s.Mistake {
		d.Path = "."
	}
	wait = w.variables(o, spec.Field("postBuild"), &d)
	return d, wait
}

// synced gives the source and the Kustomization that the Flux Operator makes of the
// spec.sync of a FluxInstance
// (https://fluxoperator.dev/docs/crd/fluxinstance/#sync-configuration); nil when o
// is none, or has none.
func synced(o *object.Object) []*object.Object {
	sync := o.At("spec.sync")
	if o.Ref.Group != fluxOperator || o.Ref.Kind != "FluxInstance" || sync.Type() != object.Map {
		return nil
	}
	meta := map[string]any{"name": or(sync.Field("name").Text(), or(o.Ref.Namespace, "flux-system"))}
	if o.Ref.Namespace != "" {
		meta["namespace"] = o.Ref.Namespace
	}
	kind := or(sync.Field("kind").Text(), "GitRepository")
	ref := map[string]any{"name": sync.Field("ref").Text()}
	if kind != "GitRepository" {
		ref = map[string]any{"tag": sync.Field("ref").Text()}
	}
	var out []*object.Object
	for _, m := range []map[string]any{
		{"apiVersion": fluxSource + "/v1", "kind": kind, "metadata": plainCopy(meta), "spec": map[string]any{"url": sync.Field("url").Text(), "ref": ref}},
		{"apiVersion": fluxKustomize + "/v1", "kind": "Kustomization", "metadata": plainCopy(meta), "spec": map[string]any{
			"path": or(sync.Field("path").Text(), "./"), "prune": true, "sourceRef": map[string]any{"kind": kind, "name": meta["name"]},
		}},
	} {
		made, err := object.New(o.Ref.Unit, o.Origin, m)
		if err != nil {
			return nil
		}
		out = append(out, made)
	}
	return out
}

func plainCopy(m map[string]any) map[string]any { return overlay(nil, m) }

// fluxPath finds the folder that a source and a path in it name.
func (w *side) fluxPath(o *object.Object, ref object.Value, at string, s *Source, d *Definition) {
	dir, inside := cleanPath(at)
	s.Path = dir
	if !inside {
		s.Engine, s.Path, s.Reason, s.Mistake = byNothing, ".", fmt.Sprintf("path %s leads out of the repository", at), true
		return
	}
	kind, name := ref.Field("kind").Text(), ref.Field("name").Text()
	src := w.object(fluxSource, kind, or(ref.Field("namespace").Text(), o.Ref.Namespace), name)
	found := w.isDir(dir)
	switch {
	case kind == "ExternalArtifact":
		if from, ok := w.artifact(name, dir); ok {
			s.Path, found = from, true
		}
	case kind == "OCIRepository" || kind == "Bucket":
		if found {
			d.Notes = append(d.Notes, fmt.Sprintf("%s %s is taken for a copy of this repository, because the path is there: a guess", kind, name))
		}
	case src == nil:
	case !w.addresses.here(src.Text("spec.url")):
		s.Engine, s.Reason = byNothing, elsewhere+": "+src.Text("spec.url")
		return
	default:
		if pin := pinned(src.At("spec.ref")); pin != "" {
			s.Engine, s.Reason = byNothing, fmt.Sprintf("follows %s of the repository, not this change", pin)
			return
		}
		s.Edit.Ignore = src.Text("spec.ignore")
	}
	if found {
		return
	}
	s.Engine = byNothing
	if src != nil && kind == "GitRepository" {
		s.Reason, s.Mistake = fmt.Sprintf("%s %s refers to %s, which is not in the repository", o.Ref.Kind, o.Ref.Name, dir), true
		return
	}
	s.Reason = fmt.Sprintf("%s: %s %s, path %s", elsewhere, kind, name, dir)
}

// pinned says which fixed revision a source follows, "" for a branch.
func pinned(ref object.Value) string {
	for _, field := range []string{"commit", "tag", "semver", "name"} {
		if v := ref.Field(field).Text(); v != "" && !strings.HasPrefix(v, "refs/heads/") {
			return field + " " + v
		}
	}
	return ""
}

// artifact maps a path in an artifact that an ArtifactGenerator assembles to where
// it comes from (https://fluxcd.io/flux/components/source/artifactgenerators/).
func (w *side) artifact(name, dir string) (from string, ok bool) {
	for _, o := range w.all {
		if o.Ref.Kind != "ArtifactGenerator" {
			continue
		}
		for _, a := range o.At("spec.artifacts").Items() {
			if a.Field("name").Text() != name {
				continue
			}
			for _, c := range a.Field("copy").Items() {
				to, _ := cleanPath(strings.TrimPrefix(c.Field("to").Text(), "@artifact"))
				source := c.Field("from").Text()
				if strings.HasPrefix(source, "@") {
					_, source, _ = strings.Cut(source, "/")
				}
				source, _ = cleanPath(strings.TrimSuffix(source, "/**"))
				switch {
				case to == dir:
					return source, w.isDir(source)
				case to == "." && w.isDir(path.Join(source, dir)):
					return path.Join(source, dir), true
				case strings.HasPrefix(dir, to+"/") && w.isDir(path.Join(source, strings.TrimPrefix(dir, to+"/"))):
					return path.Join(source, strings.TrimPrefix(dir, to+"/")), true
				}
			}
		}
	}
	return "", false
}

// variables reads what Flux puts in after the build.
func (w *side) variables(o *object.Object, post object.Value, d *Definition) (wait string) {
	inline := post.Field("substitute").Strings()
	d.Variables = map[string]string{}
	for _, from := range post.Field("substituteFrom").Items() {
		name := from.Field("name").Text()
		d.Substitute = true
		if from.Field("kind").Text() == "Secret" {
			d.Secrets = append(d.Secrets, name)
			continue
		}
		m := w.object("", "ConfigMap", o.Ref.Namespace, name)
		if m == nil {
			if optional, _ := from.Field("optional").Bool(); !optional {
				d.Notes = append(d.Notes, "variables come from ConfigMap "+name+", which is not in the repository")
			}
			wait = name
			continue
		}
		for k, v := range m.Strings("data") {
			d.Variables[k] = v
		}
	}
	for k, v := range inline {
		d.Variables[k] = v
	}
	d.Substitute = d.Substitute || len(inline) > 0
	return wait
}

// helmRelease reads a Flux HelmRelease (https://fluxcd.io/flux/components/helm/helmreleases/).
func (w *side) helmRelease(o *object.Object) (d Definition, wait string) {
	spec := o.At("spec")
	d = Definition{Renderer: Flux, Kind: o.Ref.Kind, Namespace: o.Ref.Namespace, Name: o.Ref.Name, Path: "."}
	target := spec.Field("targetNamespace").Text()
	rel := helm.Release{
		Name: spec.Field("releaseName").Text(), Namespace: or(target, o.Ref.Namespace),
		IncludeCRDs: spec.At("install.crds").Text() != "Skip",
		SkipTests:   true, // Flux runs them only when asked, and never installs them
	}
	if rel.Name == "" {
		rel.Name = o.Ref.Name
		if target != "" {
			rel.Name = target + "-" + o.Ref.Name
		}
	}
	s := Source{Engine: byHelm, Chart: true}
	w.fluxChart(o, spec, &s, &rel, &d)
	wait = w.releaseValues(o, spec, &rel, &d)
	for _, p := range spec.Field("postRenderers").Items() {
		k := p.Field("kustomize")
		edit := kustomize.Edit{Patches: mapsOf(k.Field("patches")), Images: mapsOf(k.Field("images"))}
		for _, patch := range mapsOf(k.Field("patchesStrategicMerge")) {
			if text, err := yaml.Marshal(patch); err == nil {
				edit.Patches = append(edit.Patches, map[string]any{"patch": string(text)})
			}
		}
		for _, patch := range mapsOf(k.Field("patchesJson6902")) {
			if text, err := yaml.Marshal(patch["patch"]); err == nil {
				edit.Patches = append(edit.Patches, map[string]any{"patch": string(text), "target": patch["target"]})
			}
		}
		s.Post = append(s.Post, edit)
	}
	if suspended, _ := spec.Field("suspend").Bool(); suspended {
		d.Notes = append(d.Notes, "suspended: nothing of this happens when it is merged")
	}
	s.Release = rel
	d.Sources = []Source{s}
	if s.Engine == byHelm {
		d.Path = s.Path
	}
	return d, wait
}

// fluxChart finds the chart of a HelmRelease.
func (w *side) fluxChart(o *object.Object, spec object.Value, s *Source, rel *helm.Release, d *Definition) {
	chart := spec.At("chart.spec")
	if ref := spec.Field("chartRef"); ref.Exists() {
		kind, name := ref.Field("kind").Text(), ref.Field("name").Text()
		src := w.object(fluxSource, kind, or(ref.Field("namespace").Text(), o.Ref.Namespace), name)
		if kind != "HelmChart" || src == nil {
			s.Engine, s.Reason = byNothing, needsChart(path.Base(or(src.Text("spec.url"), name)), or(refOf(src), "of unknown version"), or(src.Text("spec.url"), kind+" "+name))
			if url := src.Text("spec.url"); url != "" {
				s.Remote = &Remote{Name: path.Base(url), Version: src.Text("spec.ref.tag"), Address: url}
			}
			return
		}
		chart = src.At("spec")
	}
	ref := chart.Field("sourceRef")
	kind, name := ref.Field("kind").Text(), ref.Field("name").Text()
	if kind != "GitRepository" && kind != "Bucket" && kind != "ExternalArtifact" {
		src := w.object(fluxSource, kind, or(ref.Field("namespace").Text(), o.Ref.Namespace), name)
		s.Engine, s.Reason = byNothing, needsChart(chart.Field("chart").Text(), chart.Field("version").Text(), or(src.Text("spec.url"), kind+" "+name))
		if url := src.Text("spec.url"); url != "" && !chart.Field("valuesFiles").Exists() && !chart.Field("valuesFile").Exists() {
			s.Remote = remoteOf(chart.Field("chart").Text(), chart.Field("version").Text(), url)
		}
		return
	}
	w.fluxPath(o, ref, chart.Field("chart").Text(), s, d)
	files := chart.Field("valuesFiles").Texts()
	if one := chart.Field("valuesFile").Text(); one != "" && len(files) == 0 {
		files = []string{one}
	}
	for _, f := range files {
		if name, ok := cleanPath(f); ok {
			if w.tree.Exists(name) || !boolOf(chart.Field("ignoreMissingValuesFiles")) {
				rel.ValuesFiles = append(rel.ValuesFiles, name)
			}
		}
	}
	rel.ReplaceValues = len(rel.ValuesFiles) > 0
}

func boolOf(v object.Value) bool {
	b, _ := v.Bool()
	return b
}

// refOf gives the version that an OCIRepository names.
func refOf(src *object.Object) string {
	ref := src.At("spec.ref")
	return strings.Join(slices.DeleteFunc([]string{ref.Field("tag").Text(), ref.Field("semver").Text(), ref.Field("digest").Text()}, func(s string) bool { return s == "" }), " ")
}

// remoteOf gives a chart of a repository, which may be a folder of a registry.
func remoteOf(name, version, address string) *Remote {
	r := &Remote{Name: name, Version: version, Address: strings.TrimRight(address, "/")}
	if strings.HasPrefix(r.Address, "oci://") {
		r.Address += "/" + name
	}
	return r
}

func needsChart(name, version, from string) string {
	return strings.Join(strings.Fields(fmt.Sprintf("chart not rendered: it is remote: needs chart %s %s from %s", name, version, from)), " ")
}

// releaseValues merges what values come from, lowest first.
func (w *side) releaseValues(o *object.Object, spec object.Value, rel *helm.Release, d *Definition) (wait string) {
	for _, from := range spec.Field("valuesFrom").Items() {
		name := from.Field("name").Text()
		if from.Field("kind").Text() == "Secret" {
			d.Secrets = append(d.Secrets, name)
			continue
		}
		m := w.object("", "ConfigMap", o.Ref.Namespace, name)
		if m == nil {
			if !boolOf(from.Field("optional")) {
				d.Notes = append(d.Notes, "values come from ConfigMap "+name+", which is not in the repository")
			}
			wait = name
			continue
		}
		text := m.At("data").Field(or(from.Field("valuesKey").Text(), "values.yaml")).Text()
		if target := from.Field("targetPath").Text(); target != "" {
			rel.Set = append(rel.Set, target+"="+strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(text))
			continue
		}
		var values map[string]any
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			d.Notes = append(d.Notes, fmt.Sprintf("values in ConfigMap %s are no YAML: %v", name, err))
			continue
		}
		rel.Values = overlay(rel.Values, values)
	}
	if v := spec.Field("values"); v.Type() == object.Map {
		rel.Values = overlay(rel.Values, plainMap(v))
	}
	return wait
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
