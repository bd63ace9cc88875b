package main

import (
	"context"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/jsonnet"
	"github.com/prdiff/prdiff/render/kustomize"
	"github.com/prdiff/prdiff/render/plain"
	"github.com/prdiff/prdiff/render/tanka"
)

// rendererNames are the words for renderers in the configuration, in the order
// in which they look for units. Plain comes last: it takes what the others leave.
// Those of Argo CD and Flux render what objects declare.
var rendererNames = []string{"tanka", "helm", "kustomize", "jsonnet", "argocd", "flux", "plain"}

// renderers gives the renderers of one side as its configuration sets them up.
func renderers(t *source.Tree, c *config.Config, uses func(string) bool, tk *tkFlags) ([]render.Renderer, error) {
	engine := &jsonnet.Engine{Natives: natives}
	entries, err := entries(t, c)
	if err != nil {
		return nil, err
	}
	var out []render.Renderer
	for _, r := range []render.Renderer{
		&tanka.Renderer{Engine: engine, Options: func(unit string) tanka.Options { return tk.options(c, unit) }},
		helm.New(helmOptions(c)),
		kustomize.New(kustomize.Options{Unrestricted: c != nil && c.FreeOverlays}),
		&jsonnet.Renderer{Engine: engine, Entries: entries, Discover: true, Vars: func(unit string) jsonnet.Vars { return vars(c.Vars(unit)) }},
		&gitops.Carrier{Options: gitops.Options{KubeVersion: helmOptions(c).KubeVersion, APIVersions: helmOptions(c).APIVersions}},
		plain.New(plain.Options{}),
	} {
		if r.Name() == gitops.CarrierName || uses(r.Name()) {
			out = append(out, r)
		}
	}
	return out, nil
}

// entries gives the jsonnet entry points that a configuration names, patterns
// replaced by the files that match them. A pattern that matches no file stays as
// it is, so that the renderer says that nothing is there.
func entries(t *source.Tree, c *config.Config) ([]jsonnet.Entry, error) {
	if c == nil || len(c.Jsonnet) == 0 {
		return nil, nil
	}
	files, err := t.Files(".")
	if err != nil {
		return nil, err
	}
	var out []jsonnet.Entry
	seen := map[string]bool{}
	for _, e := range c.Jsonnet {
		found := false
		add := func(path string) {
			found = true
			if !seen[path] {
				seen[path] = true
				out = append(out, jsonnet.Entry{Path: path, JPath: e.Libraries, Vars: vars(c.Vars(path))})
			}
		}
		if t.Exists(e.Path) {
			add(e.Path)
			continue
		}
		for _, f := range files {
			if config.Match(e.Path, f) {
				add(f)
			}
		}
		if !found {
			add(e.Path)
		}
	}
	return out, nil
}

func vars(v config.Vars) jsonnet.Vars {
	return jsonnet.Vars{ExtStr: v.ExtStr, ExtCode: v.ExtCode, TLAStr: v.TLAStr, TLACode: v.TLACode}
}

// helmOptions gives what a configuration says of charts.
func helmOptions(c *config.Config) helm.Options {
	if c == nil {
		return helm.Options{}
	}
	o := helm.Options{KubeVersion: c.HelmKubeVersion, APIVersions: c.HelmAPIVersions}
	for _, r := range c.Releases {
		o.Installations = append(o.Installations, helm.Installation{Chart: r.Chart, Release: helm.Release{
			Name: r.Name, Namespace: r.Namespace, ValuesFiles: r.Values, Set: r.Set,
			KubeVersion: r.KubeVersion, APIVersions: r.APIVersions, IncludeCRDs: true,
		}})
	}
	return o
}

// natives render the charts and kustomizations that jsonnet asks for.
var natives = jsonnet.Natives{
	Helm: func(_ context.Context, call jsonnet.HelmCall) (string, error) {
		text, _, err := helm.Text(call.Tree, call.Chart, helm.Release{
			Name: call.Release, Namespace: call.Namespace, Values: call.Values, KubeVersion: call.KubeVersion,
			APIVersions: call.APIVersions, IncludeCRDs: call.IncludeCRDs, SkipTests: call.SkipTests, NoHooks: call.NoHooks,
		})
		return text, err
	},
	Kustomize: func(_ context.Context, call jsonnet.KustomizeCall) (string, error) {
		return kustomize.Text(call.Tree, call.Path)
	},
}
