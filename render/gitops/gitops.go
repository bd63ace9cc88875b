// Package gitops follows the objects with which Argo CD and Flux deploy folders
// of the repository that they are in: Application, ApplicationSet, Kustomization
// and HelmRelease. What such an object points at is a unit, rendered with the
// values, patches and variables that the object gives it.
//
// Objects are read from what units render to, never from files: overlays patch
// them, charts and jsonnet make them. So parents come before children.
package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/kustomize"
	"github.com/prdiff/prdiff/render/plain"
)

// The names of the renderers of units that GitOps objects declare.
const (
	Flux   = "flux"
	ArgoCD = "argocd"
)

// A Definition is all that is needed to render what one object points at.
type Definition struct {
	Renderer  string // Flux or ArgoCD
	Kind      string
	Namespace string
	Name      string
	// Root is the unit from which the object was reached first: it tells two
	// clusters apart whose objects have one name.
	Root    string
	Path    string // the folder of the first source, "." when there is none
	Sources []Source
	// Variables are replaced in every object when Substitute is set.
	Substitute bool
	Variables  map[string]string
	// Labels and Annotations go onto every object at the end.
	Labels, Annotations map[string]string
	// Secrets names the Secrets that values come from, which nobody here knows.
	Secrets []string
	// Unseen stands for the secret values that the object gives, of itself and of
	// what its values come from: it differs where they do. It is another one in each
	// run, and not told to whoever renders, who sees masks.
	Unseen []string `json:"-"`
	Notes  []string
}

// How a source is rendered.
const (
	byKustomize = "kustomize"
	byHelm      = "helm"
	byDirectory = "directory"
	bySet       = "applicationset"
	byNothing   = "" // it is not in the repository
)

// A Source is one folder that an object points at, and what the object says of it.
type Source struct {
	Engine string
	Path   string

	// Into is the namespace of what names none after rendering, "" for none.
	Into string `json:",omitempty"`

	Edit      kustomize.Edit // for kustomize; the API of Argo CD and Flux in one
	Release   helm.Release   // for helm
	Post      []kustomize.Edit
	Directory Directory
	Set       *Set `json:",omitempty"`

	// Reason says why the source is not rendered, such as "points into another
	// repository"; Chart that it is a chart, to which values files here may belong.
	Reason  string
	Chart   bool
	Mistake bool // the reason is a fault of the repository

	// Remote is where a chart that is not in the repository comes from, and Archive
	// the packed chart, for those who have it: then it is rendered.
	Remote  *Remote `json:",omitempty"`
	Archive []byte  `json:",omitempty"`
}

// A Remote names a version of a chart somewhere else, in the words of the object
// that asks for it: nobody has checked them.
type Remote struct {
	Name, Version string
	Address       string // of a chart repository, or of the chart when it begins with oci://
}

// A Directory says which files of a folder Argo CD applies.
type Directory struct {
	Recurse          bool
	Include, Exclude string
}

// unit gives the unit's name parts, without regard to others of that name.
func (d Definition) unit() render.Unit {
	return render.Unit{Renderer: d.Renderer, Path: d.Path, Variant: d.Name}
}

// Options tunes rendering. The zero value is the default.
type Options struct {
	KubeVersion string   // for charts; see helm.Release
	APIVersions []string // for charts
}

// CarrierName is the name of the Carrier.
const CarrierName = "gitops"

// A Carrier renders units that bring their definition along, see Definition.Carry.
// It implements render.Renderer; Find proposes nothing, because units come from Walk.
type Carrier struct{ Options Options }

// Name gives CarrierName.
func (*Carrier) Name() string { return CarrierName }

// Find proposes nothing.
func (*Carrier) Find(*source.Tree) (render.Found, error) { return render.Found{}, nil }

// Carry gives a unit for a Carrier that renders to what the definition of u does.
func (d Definition) Carry(u render.Unit) (render.Unit, error) {
	data, err := json.Marshal(d)
	return render.Unit{Renderer: CarrierName, Path: u.Name(), Variant: string(data)}, err
}

func carried(u render.Unit) (d Definition, err error) {
	if err := json.Unmarshal([]byte(u.Variant), &d); err != nil {
		return d, fmt.Errorf("%s: its definition: %w", u.Path, err)
	}
	return d, nil
}

// Inputs gives the files that a unit reads. What its object says, and what that
// took from other objects, is in no file: the definition has it.
func (c *Carrier) Inputs(t *source.Tree, u render.Unit) (render.Inputs, error) {
	d, err := carried(u)
	if err != nil {
		return render.Inputs{}, err
	}
	return d.inputs(t), nil
}

func (d Definition) inputs(t *source.Tree) render.Inputs {
	var out render.Inputs
	for _, s := range d.Sources {
		var in render.Inputs
		switch s.Engine {
		case byKustomize:
			in = kustomize.InputsOf(t, s.Path, s.Edit)
		case byHelm:
			in = helm.InputsOf(t, s.Path, s.Release)
			for _, set := range s.Release.SetFile {
				_, file, _ := strings.Cut(set, "=")
				in.Files = append(in.Files, file)
			}
		case byDirectory:
			in.Dirs = []string{s.Path}
		case bySet:
			in = s.Set.inputs()
		default:
			in.Files = s.Release.ValuesFiles
		}
		if s.Engine != byNothing && s.Engine != bySet {
			in.Missing = append(in.Missing, path.Join(s.Path, "Chart.yaml"), path.Join(s.Path, "kustomization.yaml"))
		}
		out.Files = append(out.Files, in.Files...)
		out.Dirs = append(out.Dirs, in.Dirs...)
		out.Missing = append(out.Missing, in.Missing...)
	}
	for _, list := range []*[]string{&out.Files, &out.Dirs, &out.Missing} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}

// Render renders all sources of a unit to one part, called like the unit.
func (c *Carrier) Render(ctx context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	d, err := carried(u)
	if err != nil {
		return nil, err
	}
	unit := u.Path
	out := &render.Output{Notes: slices.Clone(d.Notes)}
	part := render.Part{Name: unit}
	var partial []string
	missing := map[string]bool{}
	for _, s := range d.Sources {
		got, err := c.source(ctx, t, unit, d, s, missing)
		if err != nil {
			return nil, err
		}
		for _, p := range got.Parts {
			part.Objects = append(part.Objects, render.InNamespace(p.Objects, s.Into)...)
		}
		out.Problems = append(out.Problems, got.Problems...)
		out.Notes = append(out.Notes, got.Notes...)
		if got.Partial != "" {
			partial = append(partial, got.Partial)
		}
	}
	if len(missing) > 0 {
		out.Notes = append(out.Notes, "variables that are not in the repository stay as they are written: "+strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	for _, s := range d.Secrets {
		out.Notes = append(out.Notes, "values from Secret "+s+" are not known and left out")
	}
	out.Parts, out.Partial = []render.Part{part}, strings.Join(partial, "\n")
	slices.Sort(out.Notes)
	out.Notes = slices.Compact(out.Notes)
	return out, nil
}

func (c *Carrier) source(ctx context.Context, t *source.Tree, unit string, d Definition, s Source, missing map[string]bool) (*render.Output, error) {
	switch s.Engine {
	case byKustomize:
		return kustomize.Build(ctx, t, unit, s.Path, s.Edit, kustomize.Options{Unrestricted: d.Renderer == Flux}, d.change(missing))
	case byHelm:
		rel := c.release(s.Release)
		if len(s.Post) == 0 {
			return helm.RenderRelease(t, unit, s.Path, rel)
		}
		return postRender(ctx, t, unit, s, rel)
	case byDirectory:
		names, jsonnet, err := s.Directory.files(t, s.Path)
		if err != nil {
			return nil, err
		}
		out := plain.Read(t, unit, names, nil)
		for _, name := range jsonnet {
			out.Problems = append(out.Problems, render.Problem{Path: name, Err: fmt.Errorf("jsonnet in a directory source is not evaluated")})
		}
		return out, nil
	}
	if s.Engine == bySet {
		return s.Set.expand(ctx, t, unit)
	}
	if len(s.Archive) > 0 {
		return c.archive(ctx, t, unit, s)
	}
	return remote(t, unit, d, s)
}

// archive renders a packed chart. Values files are those of the repository.
func (c *Carrier) archive(ctx context.Context, t *source.Tree, unit string, s Source) (*render.Output, error) {
	dir := s.Remote.Name + "-" + s.Remote.Version + ".tgz"
	packed, err := helm.Unpack(dir, s.Archive)
	if err != nil {
		return nil, err
	}
	rel := c.release(s.Release)
	if rel.Values, err = helm.ReadValues(t, rel); err != nil {
		return nil, err
	}
	rel.ValuesFiles, rel.Set, rel.SetString, rel.SetFile, rel.ReplaceValues = nil, nil, nil, nil, false
	s.Path = dir
	if len(s.Post) > 0 {
		return postRender(ctx, packed, unit, s, rel)
	}
	return helm.RenderRelease(packed, unit, dir, rel)
}

func (c *Carrier) release(rel helm.Release) helm.Release {
	if rel.KubeVersion == "" {
		rel.KubeVersion = c.Options.KubeVersion
	}
	rel.APIVersions = slices.Concat(rel.APIVersions, c.Options.APIVersions)
	return rel
}

// postRender renders a chart and lets kustomize change the result.
func postRender(ctx context.Context, t *source.Tree, unit string, s Source, rel helm.Release) (*render.Output, error) {
	text, note, err := helm.Text(t, s.Path, rel)
	if err != nil {
		return nil, err
	}
	edit := s.Post[0]
	for _, more := range s.Post[1:] {
		edit.Patches = append(edit.Patches, more.Patches...)
		edit.Images = append(edit.Images, more.Images...)
	}
	out, err := kustomize.Patch(ctx, t, unit, text, edit)
	if err != nil {
		return nil, fmt.Errorf("post renderers: %w", err)
	}
	for i, p := range out.Parts {
		for _, o := range p.Objects {
			o.Origin = object.Origin{Path: path.Join(s.Path, "Chart.yaml")}
		}
		out.Parts[i].Objects = rel.Lands(p.Objects)
	}
	if note != "" {
		out.Notes = append(out.Notes, note)
	}
	return out, nil
}

// remote gives what is known of a source that is not rendered: the values that files
// of the repository give to a chart. What the object itself says is compared where
// the object is.
func remote(t *source.Tree, unit string, d Definition, s Source) (*render.Output, error) {
	if s.Mistake {
		return nil, &render.SkipError{Reason: s.Reason, Mistake: true}
	}
	out := &render.Output{Partial: s.Reason}
	if !s.Chart || len(s.Release.ValuesFiles) == 0 {
		return out, nil
	}
	values, err := helm.ReadValues(t, helm.Release{ValuesFiles: s.Release.ValuesFiles})
	if err != nil {
		return nil, err
	}
	o, err := helm.Values(unit, object.Origin{Path: s.Release.ValuesFiles[0]}, d.Name, helm.Release{Namespace: s.Release.Namespace}, nil, values)
	if err != nil {
		return nil, err
	}
	out.Parts = []render.Part{{Name: unit, Objects: []*object.Object{o}}}
	return out, nil
}
