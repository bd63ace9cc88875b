package gitops

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// maxApplications bounds what one set expands to.
const maxApplications = 10_000

// A Set is an ApplicationSet to expand
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/).
type Set struct {
	Manifest map[string]any
	Here     []string // the addresses in it that are this repository
	Origin   object.Origin
}

// params are the values that a generator gives for one application: nested for Go
// templates, and with dots in the keys for the simple ones.
type params map[string]any

// An expansion is one set at work on one tree.
type expansion struct {
	ctx        context.Context
	tree       *source.Tree
	files      []string
	dirs       []string
	here       []string
	goTemplate bool
	options    []string
	notes      []string
	unknown    bool // a generator asks a cluster or a service
}

// expand gives the applications of a set as objects of a unit.
func (s Set) expand(ctx context.Context, t *source.Tree, unit string) (*render.Output, error) {
	spec := sub(s.Manifest, "spec")
	e := expansion{ctx: ctx, tree: t, here: s.Here, goTemplate: spec["goTemplate"] == true, options: textsOf(spec["goTemplateOptions"])}
	var err error
	if e.files, err = t.Files("."); err != nil {
		return nil, err
	}
	e.dirs = foldersOf(e.files)
	out := &render.Output{}
	part := render.Part{Name: unit}
	for _, g := range listOf(spec["generators"]) {
		all, err := e.generate(g, nil)
		if err != nil {
			return nil, err
		}
		template := sub(spec, "template")
		for _, kind := range slices.Sorted(maps.Keys(g)) {
			template = overlay(template, sub(sub(g, kind), "template"))
		}
		for _, p := range all {
			apps, err := e.applications(template, text(spec["templatePatch"]), p)
			if err != nil {
				return nil, err
			}
			for _, app := range apps {
				if len(part.Objects) == maxApplications {
					return nil, fmt.Errorf("it expands to more than %d applications", maxApplications)
				}
				meta := sub(app, "metadata")
				if meta == nil {
					meta = map[string]any{}
					app["metadata"] = meta
				}
				if own := sub(s.Manifest, "metadata"); meta["namespace"] == nil && own["namespace"] != nil {
					meta["namespace"] = own["namespace"]
				}
				addFinalizer(meta, sub(spec, "syncPolicy")["preserveResourcesOnDeletion"] == true)
				app["apiVersion"], app["kind"] = argo+"/v1alpha1", "Application"
				o, err := object.New(unit, s.Origin, app)
				if err != nil {
					return nil, err
				}
				part.Objects = append(part.Objects, o)
			}
		}
	}
	if e.unknown && len(part.Objects) > 0 {
		e.notes = append(e.notes, "the clusters are not known: taken from the folders that are there")
	}
	if e.unknown && len(part.Objects) == 0 {
		out.Partial = "depends on cluster state: its generator asks the cluster, and no folder shows what there is"
	}
	slices.Sort(e.notes)
	out.Parts, out.Notes = []render.Part{part}, slices.Compact(e.notes)
	return out, nil
}

// addFinalizer gives an Application of a set the finalizer that the controller gives it
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Application-Deletion/).
func addFinalizer(meta map[string]any, preserve bool) {
	all, _ := meta["finalizers"].([]any)
	if !preserve && !slices.ContainsFunc(all, func(f any) bool { return strings.HasPrefix(text(f), object.ResourcesFinalizer) }) {
		meta["finalizers"] = append(slices.Clone(all), object.ResourcesFinalizer)
	}
}

// inputs gives what expanding reads: all below the folders that git generators name
// without wildcards, or everything where clusters are told from folders.
func (s Set) inputs() render.Inputs {
	var in render.Inputs
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				if k == "directories" || k == "files" {
					for _, d := range listOf(item) {
						in.Dirs = append(in.Dirs, literalPrefix(text(d["path"])))
					}
				}
				if k == "clusters" || k == "clusterDecisionResource" {
					in.Dirs = append(in.Dirs, ".")
				}
				walk(item)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(sub(s.Manifest, "spec")["generators"])
	slices.Sort(in.Dirs)
	in.Dirs = slices.Compact(in.Dirs)
	return in
}

// literalPrefix gives the folder above the first wildcard or template of a pattern.
func literalPrefix(pattern string) string {
	dir, _ := cleanPath(pattern)
	if i := strings.IndexAny(dir, "*?[{"); i >= 0 {
		dir = dir[:i]
		j := strings.LastIndexByte(dir, '/')
		if j < 0 {
			return "."
		}
		dir = dir[:j]
	}
	if path.Ext(dir) != "" {
		return path.Dir(dir)
	}
	return dir
}

func foldersOf(files []string) []string {
	seen := map[string]bool{".": true}
	for _, name := range files {
		for dir := path.Dir(name); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// generate gives the parameters of one generator. Before are those of the one
// before it in a matrix, which it may use.
func (e *expansion) generate(g map[string]any, before params) ([]params, error) {
	if err := e.ctx.Err(); err != nil {
		return nil, err
	}
	if len(before) > 0 {
		filled, err := e.fill(g, before)
		if err != nil {
			return nil, err
		}
		g, _ = filled.(map[string]any)
	}
	for _, kind := range slices.Sorted(maps.Keys(g)) {
		spec := sub(g, kind)
		switch kind {
		case "list":
			return e.list(spec)
		case "git":
			return e.git(spec)
		case "matrix":
			return e.matrix(spec)
		case "merge":
			return e.merge(spec)
		case "clusters", "clusterDecisionResource":
			return e.clusters(spec)
		case "scmProvider", "pullRequest", "plugin":
			e.unknown = true
			return nil, nil
		}
	}
	return nil, nil
}

func (e *expansion) list(spec map[string]any) ([]params, error) {
	elements := listOf(spec["elements"])
	if src := text(spec["elementsYaml"]); src != "" {
		var more []any
		if err := yaml.Unmarshal([]byte(src), &more); err != nil {
			return nil, fmt.Errorf("elementsYaml: %w", err)
		}
		elements = append(elements, listOf(more)...)
	}
	var out []params
	for _, el := range elements {
		p := params{}
		for k, v := range el {
			if m, ok := v.(map[string]any); ok && !e.goTemplate && k == "values" {
				for name, value := range m {
					p["values."+name] = text(value)
				}
				continue
			}
			p[k] = v
		}
		out = append(out, p)
	}
	return out, nil
}

// git gives a set of parameters for each folder or file that matches.
func (e *expansion) git(spec map[string]any) ([]params, error) {
	if url := text(spec["repoURL"]); !isPlaceholder(url) && !slices.Contains(e.here, normal(url)) {
		e.notes = append(e.notes, elsewhere+": "+text(spec["repoURL"]))
		return nil, nil
	}
	prefix := text(spec["pathParamPrefix"])
	var out []params
	for _, dir := range selected(e.dirs, listOf(spec["directories"])) {
		if dir == "." || strings.HasPrefix(dir, ".") {
			continue
		}
		out = append(out, e.pathParams(params{}, prefix, dir, ""))
	}
	for _, name := range selected(e.files, listOf(spec["files"])) {
		data, err := e.tree.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var content any
		if err := yaml.Unmarshal(data, &content); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all, isList := content.([]any)
		if !isList {
			all = []any{content}
		}
		for _, c := range all {
			m, _ := c.(map[string]any)
			p := params{}
			if e.goTemplate {
				p = params(maps.Clone(m))
				if p == nil {
					p = params{}
				}
			} else {
				flatten(p, "", m)
			}
			out = append(out, e.pathParams(p, prefix, path.Dir(name), path.Base(name)))
		}
	}
	for _, p := range out {
		if err := e.addValues(p, sub(spec, "values")); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// selected gives the names that match a pattern and none of those that exclude.
func selected(names []string, patterns []map[string]any) []string {
	var out []string
	for _, name := range names {
		in := false
		for _, p := range patterns {
			if glob(strings.TrimPrefix(text(p["path"]), "./"), name) {
				if p["exclude"] == true {
					in = false
					break
				}
				in = true
			}
		}
		if in && !slices.ContainsFunc(patterns, func(p map[string]any) bool {
			return p["exclude"] == true && glob(strings.TrimPrefix(text(p["path"]), "./"), name)
		}) {
			out = append(out, name)
		}
	}
	return out
}

var notDNS = regexp.MustCompile(`[^-a-z0-9.]+`)

func normalized(name string) string {
	return strings.Trim(notDNS.ReplaceAllString(strings.ToLower(name), "-"), "-.")
}

// pathParams adds what a git generator says of a path.
func (e *expansion) pathParams(p params, prefix, dir, file string) params {
	segments := strings.Split(dir, "/")
	if e.goTemplate {
		list := make([]any, len(segments))
		for i, s := range segments {
			list[i] = s
		}
		at := map[string]any{"path": dir, "basename": path.Base(dir), "basenameNormalized": normalized(path.Base(dir)), "segments": list}
		if file != "" {
			at["filename"], at["filenameNormalized"] = file, normalized(file)
		}
		if prefix != "" {
			p[prefix] = map[string]any{"path": at}
		} else {
			p["path"] = at
		}
		return p
	}
	key := "path"
	if prefix != "" {
		key = prefix + ".path"
	}
	p[key], p[key+".basename"], p[key+".basenameNormalized"] = dir, path.Base(dir), normalized(path.Base(dir))
	for i, s := range segments {
		p[key+"["+strconv.Itoa(i)+"]"] = s
	}
	if file != "" {
		p[key+".filename"], p[key+".filenameNormalized"] = file, normalized(file)
	}
	return p
}

func flatten(p params, prefix string, m map[string]any) {
	for k, v := range m {
		switch v := v.(type) {
		case map[string]any:
			flatten(p, prefix+k+".", v)
		case []any:
			for i, item := range v {
				if inner, ok := item.(map[string]any); ok {
					flatten(p, prefix+k+"."+strconv.Itoa(i)+".", inner)
				} else {
					p[prefix+k+"."+strconv.Itoa(i)] = text(item)
				}
			}
		default:
			p[prefix+k] = text(v)
		}
	}
}

// addValues adds the values of a generator, which may use its other parameters.
func (e *expansion) addValues(p params, values map[string]any) error {
	filled := map[string]any{}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		v, err := e.fill(values[k], p)
		if err != nil {
			return err
		}
		filled[k] = v
		if !e.goTemplate {
			p["values."+k] = v
		}
	}
	if e.goTemplate && len(filled) > 0 {
		p["values"] = filled
	}
	return nil
}

// matrix combines two generators; the second may use what the first gives.
func (e *expansion) matrix(spec map[string]any) ([]params, error) {
	list := listOf(spec["generators"])
	if len(list) != 2 {
		return nil, fmt.Errorf("a matrix generator needs two generators, and has %d", len(list))
	}
	first, err := e.generate(list[0], nil)
	if err != nil {
		return nil, err
	}
	var out []params
	for _, a := range first {
		second, err := e.generate(list[1], a)
		if err != nil {
			return nil, err
		}
		for _, b := range second {
			out = append(out, params(overlay(a, b)))
			if len(out) > maxApplications {
				return nil, fmt.Errorf("a matrix gives more than %d combinations", maxApplications)
			}
		}
	}
	return out, nil
}

// merge lays the sets of later generators over those of the first that have the
// same values under the merge keys.
func (e *expansion) merge(spec map[string]any) ([]params, error) {
	list := listOf(spec["generators"])
	keys := textsOf(spec["mergeKeys"])
	var out []params
	for i, g := range list {
		sets, err := e.generate(g, nil)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out = sets
			continue
		}
		out = mergeSets(out, sets, keys)
	}
	return out, nil
}

func mergeSets(base, more []params, keys []string) []params {
	out := slices.Clone(base)
	for _, m := range more {
		for i, b := range base {
			same := true
			for _, k := range keys {
				bv, mv := lookup(b, k), lookup(m, k)
				if bv == mv {
					continue
				}
				// A cluster that is not known may be the one that is meant: then
				// there is one more, beside all the others.
				if !strings.HasPrefix(bv, unknownMark) {
					same = false
				}
			}
			switch {
			case same && hasUnknown(b):
				out = append(out, params(overlay(b, m)))
			case same:
				out[i] = params(overlay(out[i], m))
			}
		}
	}
	return out
}

func hasUnknown(p params) bool {
	for _, v := range p {
		if s, ok := v.(string); ok && strings.HasPrefix(s, unknownMark) {
			return true
		}
	}
	return false
}

// lookup gives the text under a key, which may have dots in it.
func lookup(p params, key string) string {
	if v, ok := p[key]; ok {
		return text(v)
	}
	var at any = map[string]any(p)
	for _, part := range strings.Split(key, ".") {
		m, _ := at.(map[string]any)
		at = m[part]
	}
	return text(at)
}

// An unknown value is written as mark, name, end. Neither character stands in a
// path (they are in Unicode's private use area).
const (
	unknownMark = "\uE0B0"
	unknownEnd  = "\uE0B1"
)

func unknownValue(name string) string { return unknownMark + name + unknownEnd }

// clusters gives one set in which all that only a cluster knows is unknown.
func (e *expansion) clusters(spec map[string]any) ([]params, error) {
	e.unknown = true
	p := params{}
	for _, name := range []string{"name", "nameNormalized", "server", "project"} {
		p[name] = unknownValue("name")
	}
	p["server"], p["project"] = unknownValue("server"), unknownValue("project")
	if err := e.addValues(p, sub(spec, "values")); err != nil {
		return nil, err
	}
	return []params{p}, nil
}
