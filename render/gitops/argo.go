package gitops

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render/helm"
	"github.com/prdiff/prdiff/render/kustomize"
)

const argo = "argoproj.io"

// application reads an Argo CD Application
// (https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/).
// Ok is false when its sources are units already, rendered by other means.
func (w *side) application(o *object.Object) (d Definition, ok bool) {
	spec := o.At("spec")
	d = Definition{Renderer: ArgoCD, Kind: o.Ref.Kind, Namespace: o.Ref.Namespace, Name: o.Ref.Name}
	var list []map[string]any
	if spec.Field("sources").Len() > 0 {
		list = mapsOf(spec.Field("sources"))
	} else if spec.Field("source").Exists() {
		list = []map[string]any{plainMap(spec.Field("source"))}
	}
	refs := map[string]string{} // name of a ref to the address of its repository
	for _, s := range list {
		if ref := text(s["ref"]); ref != "" {
			refs[ref] = text(s["repoURL"])
		}
	}
	a := application{w: w, name: o.Ref.Name, namespace: spec.At("destination.namespace").Text(), refs: refs, d: &d}
	for _, s := range list {
		if text(s["ref"]) != "" && text(s["path"]) == "" && text(s["chart"]) == "" {
			continue
		}
		if src, skip := a.source(s); !skip {
			d.Sources = append(d.Sources, src)
		}
	}
	if len(d.Sources) == 0 {
		return d, false
	}
	d.Path = "."
	for _, s := range d.Sources {
		if s.Engine != byNothing {
			d.Path = s.Path
			break
		}
	}
	return d, true
}

// An application is what its sources have in common. Its namespace is that of the
// destination, in which Argo CD puts what names none.
type application struct {
	w               *side
	name, namespace string
	refs            map[string]string
	d               *Definition
}

// commit finds revisions that no branch has.
var commit = regexp.MustCompile(`^(?:[0-9a-f]{7,40}|v?[0-9]+\.[0-9]+.*|refs/tags/.*)$`)

// source reads one source. Skip says that a unit of another renderer is there.
func (a application) source(raw map[string]any) (s Source, skip bool) {
	address := text(raw["repoURL"])
	if chart := text(raw["chart"]); chart != "" {
		s = Source{Chart: true, Reason: needsChart(chart, text(raw["targetRevision"]), address)}
		if !strings.Contains(address, "://") {
			address = "oci://" + address // https://argo-cd.readthedocs.io/en/stable/user-guide/helm/
		}
		s.Remote = remoteOf(chart, text(raw["targetRevision"]), address)
		a.helm(&s, ".", sub(raw, "helm"))
		return s, false
	}
	dir, inside := cleanPath(text(raw["path"]))
	s.Path, s.Into = dir, a.namespace
	switch {
	case !inside:
		s.Reason, s.Mistake = fmt.Sprintf("path %s leads out of the repository", text(raw["path"])), true
		return s, false
	case !a.w.addresses.here(address):
		s.Reason = elsewhere + ": " + address
		return s, false
	case commit.MatchString(text(raw["targetRevision"])):
		s.Reason = fmt.Sprintf("follows revision %s of the repository, not this change", text(raw["targetRevision"]))
		return s, false
	case !a.w.isDir(dir):
		s.Reason, s.Mistake = fmt.Sprintf("Application %s refers to %s, which is not in the repository", a.name, dir), true
		return s, false
	}
	raw = a.overridden(dir, raw)
	if raw["plugin"] != nil || a.w.engines[dir] != "" {
		if a.w.engines[dir] != "" {
			return s, true // a Tanka environment or jsonnet, found as a unit by itself
		}
		s.Reason = "depends on a plugin: " + text(sub(raw, "plugin")["name"])
		return s, false
	}
	switch {
	case raw["helm"] != nil && a.w.has(dir, "Chart.yaml"), a.w.has(dir, "Chart.yaml") && raw["kustomize"] == nil && raw["directory"] == nil:
		s.Engine, s.Chart = byHelm, true
		a.helm(&s, dir, sub(raw, "helm"))
	case raw["directory"] == nil && (a.w.has(dir, "kustomization.yaml") || a.w.has(dir, "kustomization.yml") || a.w.has(dir, "Kustomization")):
		s.Engine = byKustomize
		s.Edit = a.kustomize(sub(raw, "kustomize"))
	default:
		s.Engine = byDirectory
		dirSpec := sub(raw, "directory")
		s.Directory = Directory{Recurse: dirSpec["recurse"] == true, Include: text(dirSpec["include"]), Exclude: text(dirSpec["exclude"])}
	}
	return s, false
}

// overridden lays the files over a source with which a folder changes it
// (https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git).
func (a application) overridden(dir string, raw map[string]any) map[string]any {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + a.name + ".yaml"} {
		data, err := a.w.tree.ReadFile(path.Join(dir, name))
		var more map[string]any
		if err == nil && yaml.Unmarshal(data, &more) == nil {
			raw = overlay(raw, more)
		}
	}
	return raw
}

func sub(m map[string]any, key string) map[string]any {
	out, _ := m[key].(map[string]any)
	return out
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool, int64:
		return fmt.Sprint(v)
	}
	return ""
}

func listOf(v any) []map[string]any {
	items, _ := v.([]any)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func textsOf(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, item := range items {
		if s := text(item); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// helm reads what an Application says of a chart
// (https://argo-cd.readthedocs.io/en/stable/user-guide/helm/).
func (a application) helm(s *Source, dir string, h map[string]any) {
	rel := helm.Release{
		Name: or(text(h["releaseName"]), a.name), Namespace: or(text(h["namespace"]), a.namespace), Into: a.namespace,
		IncludeCRDs: h["skipCrds"] != true, SkipTests: h["skipTests"] == true,
		KubeVersion: text(h["kubeVersion"]), APIVersions: textsOf(h["apiVersions"]),
	}
	for _, name := range textsOf(h["valueFiles"]) {
		a.valueFile(&rel, dir, a.env(name, dir), h["ignoreMissingValueFiles"] == true)
	}
	var values map[string]any
	if object, ok := h["valuesObject"].(map[string]any); ok {
		values = object
	} else if err := yaml.Unmarshal([]byte(text(h["values"])), &values); err != nil {
		a.d.Notes = append(a.d.Notes, fmt.Sprintf("values of Application %s are no YAML: %v", a.name, err))
	}
	rel.Values = values
	for _, p := range listOf(h["parameters"]) {
		set := text(p["name"]) + "=" + escapeCommas(a.env(text(p["value"]), dir))
		if p["forceString"] == true {
			rel.SetString = append(rel.SetString, set)
		} else {
			rel.Set = append(rel.Set, set)
		}
	}
	for _, p := range listOf(h["fileParameters"]) {
		if name, ok := cleanPath(path.Join(dir, text(p["path"]))); ok {
			rel.SetFile = append(rel.SetFile, text(p["name"])+"="+name)
		}
	}
	s.Release = rel
}

// escapeCommas keeps commas from separating values, outside of {lists}, as Argo CD does.
func escapeCommas(v string) string {
	if strings.HasPrefix(v, "{") && strings.HasSuffix(v, "}") {
		return v
	}
	return strings.ReplaceAll(v, ",", `\,`)
}

// env fills in the variables of the build environment that are known
// (https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/). The
// revision is not: it is the same word on both sides.
func (a application) env(v, dir string) string {
	if !strings.Contains(v, "ARGOCD_") {
		return v
	}
	for _, e := range [][2]string{
		{"ARGOCD_APP_NAMESPACE", a.namespace}, {"ARGOCD_APP_NAME", a.name}, {"ARGOCD_APP_SOURCE_PATH", dir},
		{"ARGOCD_APP_REVISION_SHORT", "revision"}, {"ARGOCD_APP_REVISION", "revision"},
	} {
		v = strings.NewReplacer("${"+e[0]+"}", e[1], "$"+e[0], e[1]).Replace(v)
	}
	return v
}

// valueFile adds one entry of valueFiles: relative to the source's path, to the
// root with a slash first, or to the root of a ref with $name first.
func (a application) valueFile(rel *helm.Release, dir, entry string, mayMiss bool) {
	at := path.Join(dir, entry)
	switch {
	case strings.Contains(entry, "://"):
		a.d.Notes = append(a.d.Notes, "values file "+entry+" is remote, and left out")
		return
	case strings.HasPrefix(entry, "$"):
		ref, rest, _ := strings.Cut(entry[1:], "/")
		address, known := a.refs[ref]
		if !known || !a.w.addresses.here(address) {
			a.d.Notes = append(a.d.Notes, "values file "+entry+" is in another repository, and left out")
			return
		}
		at = rest
	case strings.HasPrefix(entry, "/"):
		at = entry
	}
	name, ok := cleanPath(at)
	if !ok {
		a.d.Notes = append(a.d.Notes, "values file "+entry+" leads out of the repository, and is left out")
		return
	}
	if strings.ContainsAny(name, "*?[{") {
		for _, f := range a.w.files {
			if glob(name, f) {
				rel.ValuesFiles = append(rel.ValuesFiles, f)
			}
		}
		return
	}
	if !mayMiss || a.w.tree.Exists(name) {
		rel.ValuesFiles = append(rel.ValuesFiles, name)
	}
}

// kustomize reads what an Application says of an overlay
// (https://argo-cd.readthedocs.io/en/stable/user-guide/kustomize/).
func (a application) kustomize(k map[string]any) kustomize.Edit {
	e := kustomize.Edit{
		Namespace: text(k["namespace"]), NamePrefix: text(k["namePrefix"]), NameSuffix: text(k["nameSuffix"]),
		Labels: textMap(k["commonLabels"]), LabelSelectors: k["labelWithoutSelector"] != true, CommonAnnotations: textMap(k["commonAnnotations"]),
		Replicas: listOf(k["replicas"]), Patches: listOf(k["patches"]), Components: textsOf(k["components"]),
	}
	for _, image := range textsOf(k["images"]) {
		e.Images = append(e.Images, parseImage(image))
	}
	return e
}

func textMap(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[k] = text(m[k])
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// parseImage reads [name=]image[:tag][@digest], as `kustomize edit set image` does.
func parseImage(s string) map[string]any {
	name, image, renamed := strings.Cut(s, "=")
	if !renamed {
		image = s
	}
	out := map[string]any{}
	image, digest, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		out["newTag"] = image[i+1:]
		image = image[:i]
	}
	if digest != "" {
		out["digest"] = digest
	}
	if renamed {
		out["name"], out["newName"] = name, image
		if image == "*" || image == "" {
			delete(out, "newName")
		}
	} else {
		out["name"] = image
	}
	return out
}
