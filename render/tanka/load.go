package tanka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/prdiff/prdiff/render/jsonnet"
)

// An environment is one that was loaded, with its manifests before processing.
type environment struct {
	env       Environment
	inline    bool
	manifests []jsonnet.Manifest
	err       error // why there are no manifests
}

// A loader loads the environments of one entry point.
type loader struct {
	ctx     context.Context
	project project
	options Options
	session *jsonnet.Session
	targets targets
	selects labels.Selector
	static  Environment
	notes   []string
}

func newLoader(ctx context.Context, side *jsonnet.Side, name string, o Options) (*loader, error) {
	l := &loader{ctx: ctx, options: o}
	var err error
	if l.targets, err = parseTargets(o.Targets); err != nil {
		return nil, err
	}
	if l.selects, err = labels.Parse(o.Selector); err != nil {
		return nil, fmt.Errorf("label selector %q: %w", o.Selector, err)
	}
	if l.project, err = locate(side, name); err != nil {
		return nil, err
	}
	program := l.project.program(o.Vars)
	if l.project.static {
		var note string
		if l.static, note, err = readSpec(side, l.project); err != nil {
			return nil, err
		}
		if note != "" {
			l.notes = append(l.notes, note)
		}
		if err := l.static.supported(l.project); err != nil {
			return nil, err
		}
		code, err := json.Marshal(l.static)
		if err != nil {
			return nil, err
		}
		program.ExtCode = map[string]string{environmentVar: string(code)}
	} else {
		program.ExtCode = map[string]string{environmentVar: inlineError}
	}
	l.session = side.Open(program)
	return l, nil
}

func (l *loader) close() { l.session.Close() }

const inlineError = `error "Using tk.env and std.extVar('` + environmentVar + `') is only supported for static environments. ` +
	`Directly access this data using standard Jsonnet instead."`

// findScript binds `environments` to the Environment objects of the tree: an
// object with apiVersion and kind is a leaf, so that one inside a List does not
// count; texts, numbers and the like beside them are passed over.
const findScript = `
local find(v) =
  if std.isObject(v) then
    if std.objectHas(v, 'apiVersion') && std.objectHas(v, 'kind') then
      (if v.kind == 'Environment' then [v] else [])
    else std.flatMap(function(k) find(v[k]), std.objectFields(v))
  else if std.isArray(v) then std.flatMap(find, v)
  else [];
local environments = find(main);
`

// listScript gives the environments without evaluating their data.
const listScript = findScript + `[e { data+:: {} } for e in environments]`

// all gives the environments that the options select, in the order of the tree.
// The error is one of the whole file.
func (l *loader) all() ([]environment, error) {
	if l.project.static {
		if !l.selects.Matches(labels.Set(l.static.Metadata.Labels)) {
			l.notes = append(l.notes, fmt.Sprintf("its labels do not match %q", l.options.Selector))
			return nil, nil
		}
		if l.options.Name != "" && l.options.Name != l.static.Metadata.Name {
			l.notes = append(l.notes, fmt.Sprintf("it is not called %q", l.options.Name))
			return nil, nil
		}
		return []environment{l.loadStatic()}, nil
	}
	if l.options.Name == "" && l.selects.Empty() {
		// The usual case takes one evaluation; when it fails, find out whose
		// fault it is.
		if value, err := l.session.Eval(l.ctx, findScript+"environments"); err == nil {
			return l.found(value)
		} else if l.ctx.Err() != nil {
			return nil, err
		}
	}
	list, err := l.list()
	if err != nil {
		return nil, err
	}
	var out []environment
	for i, env := range list {
		if l.options.Name != "" && l.options.Name != env.Metadata.Name || !l.selects.Matches(labels.Set(env.Metadata.Labels)) {
			continue
		}
		e := l.load(i)
		if l.ctx.Err() != nil {
			return nil, e.err
		}
		e.env = env
		out = append(out, e)
	}
	if len(out) == 0 {
		l.notes = append(l.notes, "found no matching environments")
	}
	return out, nil
}

func (l *loader) loadStatic() environment {
	e := environment{env: l.static}
	value, err := l.session.Eval(l.ctx, "")
	if err != nil {
		e.err = err
		return e
	}
	e.manifests, e.err = jsonnet.Extract(value)
	if e.err != nil {
		e.err = fmt.Errorf("%s: %w", l.project.entry, e.err)
		return e
	}
	for _, m := range e.manifests {
		// `tk export` writes such an object out as if it were a manifest.
		if strings.EqualFold(m.Kind(), "Environment") {
			e.err = fmt.Errorf("%s: found a tanka Environment resource at %s, but the folder also has a spec.json; remove one of them", l.project.entry, m.Path)
		}
	}
	return e
}

// found reads the evaluated list of environments.
func (l *loader) found(value any) ([]environment, error) {
	list, _ := value.([]any)
	var out []environment
	for _, item := range list {
		data, _ := item.(map[string]any)
		out = append(out, l.read(data))
	}
	if len(out) == 0 {
		l.notes = append(l.notes, "found no Tanka Environment in its value")
	}
	return out, nil
}

// read loads one evaluated Environment object.
func (l *loader) read(object map[string]any) environment {
	e := environment{inline: true}
	if e.env, e.err = readInline(object, l.project); e.err != nil {
		if meta, ok := object["metadata"].(map[string]any); ok {
			e.env.Metadata.Name, _ = meta["name"].(string)
		}
		return e
	}
	if e.err = e.env.supported(l.project); e.err != nil {
		return e
	}
	if e.manifests, e.err = jsonnet.Extract(object["data"]); e.err != nil {
		e.err = fmt.Errorf("%s: %w", l.project.entry, e.err)
	}
	return e
}

// list gives all environments without their data.
func (l *loader) list() ([]Environment, error) {
	value, err := l.session.Eval(l.ctx, listScript)
	if err != nil {
		return nil, err
	}
	items, _ := value.([]any)
	list := make([]Environment, len(items))
	for i, item := range items {
		data, _ := item.(map[string]any)
		if list[i], err = readInline(data, l.project); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// load evaluates the i-th environment alone.
func (l *loader) load(i int) environment {
	value, err := l.session.Eval(l.ctx, fmt.Sprintf("%senvironments[%d]", findScript, i))
	if err != nil {
		return environment{inline: true, err: err}
	}
	data, _ := value.(map[string]any)
	return l.read(data)
}

// one gives the single environment that `tk show` would take.
func (l *loader) one(name string) (environment, error) {
	if l.project.static {
		e := l.loadStatic()
		return e, e.err
	}
	if l.options.Name != "" {
		return l.named(name)
	}
	value, err := l.session.Eval(l.ctx, "")
	if err != nil {
		return environment{}, err
	}
	manifests, err := jsonnet.Extract(value)
	if err != nil {
		err = fmt.Errorf("%s: %w", l.project.entry, err)
		// The way out is to name one environment, where there are several.
		if list, listErr := l.list(); listErr == nil && len(list) > 1 {
			names := make([]string, len(list))
			for i, env := range list {
				names[i] = env.Metadata.Name
			}
			err = fmt.Errorf("%w (as a whole, %w)", ambiguous(name, "", names), err)
		}
		return environment{}, err
	}
	var found []environment
	for _, m := range manifests {
		if strings.EqualFold(m.Kind(), "Environment") {
			found = append(found, l.read(m.Data))
		}
	}
	if len(found) == 1 {
		return found[0], found[0].err
	}
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = e.env.Metadata.Name
	}
	return environment{}, ambiguous(name, "", names)
}

// named gives the environment that is called as the options say, or the only one
// whose name contains that.
func (l *loader) named(name string) (environment, error) {
	list, err := l.list()
	if err != nil {
		return environment{}, err
	}
	var matches []int
	var names []string
	for i, env := range list {
		if env.Metadata.Name == l.options.Name {
			e := l.load(i)
			return e, e.err
		}
		if strings.Contains(env.Metadata.Name, l.options.Name) {
			matches = append(matches, i)
			names = append(names, env.Metadata.Name)
		}
	}
	if len(matches) == 1 {
		e := l.load(matches[0])
		return e, e.err
	}
	return environment{}, ambiguous(name, l.options.Name, names)
}

func ambiguous(name, wanted string, names []string) error {
	if len(names) == 0 {
		if wanted != "" {
			return fmt.Errorf("%s: found no matching environments: none has %q in its name", name, wanted)
		}
		return fmt.Errorf("%s: found no matching environments: it has no spec.json, and no Environment in its value", name)
	}
	slices.Sort(names)
	list := strings.Join(names, ", ")
	if wanted != "" {
		return fmt.Errorf("found multiple Environments in %q matching %q; give a more specific name: %s", name, wanted, list)
	}
	return errors.New("found multiple Environments in \"" + name + "\"; select one by --name: " + list)
}
