package diff

import (
	"slices"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/object"
)

// The noise filters. Their ids stand in reports and configuration.
const (
	filterDefaults  = "api-defaults"         // what the API server would fill in, written out or left out
	filterReordered = "reordered"            // items of a list whose order has no effect
	filterSameValue = "same-value"           // one value spelled differently: 1000m and 1
	filterLayout    = "layout"               // comments and layout of structured text inside a field
	filterServer    = "server-fields"        // what only the cluster writes: status, generation, managedFields
	filterChart     = "chart-labels"         // labels that name the version of a chart, and that nothing selects by
	filterChecksum  = "checksum-annotations" // hashes of configuration, there to restart pods
	filterTool      = "tool-labels"          // marks that deployment tools leave
	filterNamespace = "cluster-scoped"       // a namespace on an object of a kind that has none
	filterUnsettled = "nondeterministic"     // values that are others on each rendering of the same files
	filterHashed    = "hashed-names"         // references to objects whose names end in a hash of their content
)

// A Filter is one noise filter.
type Filter struct {
	ID    string
	Hides string // what it hides, for documentation; no full stop
}

// Filters gives all noise filters, in the order of their ids.
func Filters() []Filter {
	return []Filter{
		{filterDefaults, "a field that equals what the API server fills in where it is absent"},
		{filterChart, "labels that name the version of a chart, as long as no selector uses them"},
		{filterChecksum, "annotations with a hash of configuration; the restart that they bring is still told"},
		{filterNamespace, "a namespace on an object of a kind that has none"},
		{filterHashed, "references to a ConfigMap or Secret of which the name ends in a hash of its content; the restart is still told"},
		{filterLayout, "comments and layout of YAML, JSON and the like inside a text"},
		{filterUnsettled, "values that differ from one rendering of the same files to the next, such as random passwords of a chart"},
		{filterReordered, "items in another order, where the order has no effect"},
		{filterSameValue, "one value spelled in two ways, such as 1000m and 1"},
		{filterServer, "fields that only the cluster writes, such as status"},
		{filterTool, "labels and annotations that deployment tools leave behind"},
	}
}

type filters struct {
	engine   *engine
	off      []string
	user     func(object.Ref, object.Path) string
	selected func() map[string]bool // label keys that some selector uses
}

func newFilters(e *engine, opts Options) filters {
	return filters{engine: e, off: opts.Unfiltered, user: opts.Hide, selected: sync.OnceValue(func() map[string]bool {
		keys := map[string]bool{}
		for _, set := range []*object.Set{e.before, e.after} {
			for _, o := range set.All() {
				selectedLabels(o.Root(), keys, 0)
			}
		}
		return keys
	})}
}

func (f filters) on(id string) bool { return !slices.Contains(f.off, id) }

// hide marks the fields of c that are noise. A field that the API server
// refuses to change is never noise.
func (f filters) hide(c *Change) {
	for i := range c.Fields {
		field := &c.Fields[i]
		if field.Hidden != "" {
			if !f.on(field.Hidden) {
				field.Hidden = ""
			}
			continue
		}
		if field.Immutable != "" || field.refused != "" {
			continue
		}
		if id := f.noise(c, field); id != "" && f.on(id) {
			field.Hidden = id
			continue
		}
		if f.user != nil {
			field.Hidden = f.user(c.Ref, field.Path)
		}
	}
}

func (f filters) noise(c *Change, field *Field) string {
	steps := field.steps
	if field.text != nil {
		return ""
	}
	if steps[0].key == "status" {
		return filterServer
	}
	if len(steps) == 2 && steps[0].key == "metadata" {
		switch steps[1].key {
		case "creationTimestamp", "generation", "managedFields", "uid", "resourceVersion", "selfLink":
			return filterServer
		case "namespace":
			if f.engine.isClusterScoped(c.Ref) {
				return filterNamespace
			}
		case "name":
			if c.hashed {
				return filterHashed
			}
		}
	}
	n := len(steps)
	if n < 3 || steps[n-1].list || steps[n-3].list || steps[n-3].key != "metadata" {
		return ""
	}
	key := steps[n-1].key
	switch steps[n-2].key {
	case "labels":
		switch {
		case isWord(key, "helm.sh/chart", "app.kubernetes.io/version", "chart", "heritage") && !f.selected()[key]:
			return filterChart
		case isToolMark(key) && !f.selected()[key]:
			return filterTool
		}
	case "annotations":
		switch {
		case isWord(key, "kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision",
			"deprecated.daemonset.template.generation"):
			return filterServer
		case isChecksum(key, field.Before, field.After):
			return filterChecksum
		case isToolMark(key):
			return filterTool
		}
	}
	return ""
}

func isWord(word string, words ...string) bool { return slices.Contains(words, word) }

// isToolMark says whether a label or annotation only records which tool, chart or
// release an object came from. Those that steer a tool (sync options, prune,
// reconcile, force) are not among them.
func isToolMark(key string) bool {
	switch key {
	case "app.kubernetes.io/managed-by", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
		"helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace",
		"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace", "kustomize.toolkit.fluxcd.io/checksum",
		"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance", "tanka.dev/environment",
		"kapp.k14s.io/app", "kapp.k14s.io/association", "config.kubernetes.io/origin":
		return true
	}
	for _, prefix := range []string{"internal.config.kubernetes.io/", "alpha.config.kubernetes.io/", "objectset.rio.cattle.io/", "buildMetadata"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return key == "config.kubernetes.io/index" || key == "config.kubernetes.io/path" || key == "config.k8s.io/id"
}

// isChecksum says whether an annotation holds a hash on every side that has it,
// under a name that says so.
func isChecksum(key string, before, after object.Value) bool {
	lower := strings.ToLower(key)
	named := strings.Contains(lower, "checksum") || strings.Contains(lower, "sha256") || strings.Contains(lower, "sha1")
	for _, word := range []string{"config_hash", "config-hash", "confighash", "-hash", "_hash", "/hash"} {
		named = named || strings.Contains(lower, word)
	}
	return named && looksHashed(before) && looksHashed(after)
}

func looksHashed(v object.Value) bool {
	if !v.Exists() {
		return true
	}
	text := v.Text()
	if i := strings.IndexByte(text, ':'); i >= 0 {
		text = text[i+1:] // sha256:...
	}
	hex := strings.Trim(text, "0123456789abcdefABCDEF") == ""
	base64 := strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/=_-") == ""
	return len(text) >= 6 && hex || len(text) >= 20 && base64
}

// selectedLabels gathers the label keys of every selector inside v: maps called
// selector or matchLabels, the keys of matchExpressions, and label selectors
// that are texts.
func selectedLabels(v object.Value, keys map[string]bool, depth int) {
	if depth > 40 {
		return
	}
	switch v.Type() {
	case object.List:
		for _, item := range v.Items() {
			selectedLabels(item, keys, depth+1)
		}
	case object.Map:
		for key, item := range v.Fields() {
			switch {
			case item.Type() == object.Map && (key == "matchLabels" || key == "selector" || strings.HasSuffix(key, "Selector")):
				for _, label := range item.Keys() {
					keys[label] = true
				}
			case item.Type() == object.String && (key == "selector" || strings.HasSuffix(key, "Selector")):
				for _, word := range strings.FieldsFunc(item.Text(), func(r rune) bool { return strings.ContainsRune("=!,() ", r) }) {
					keys[word] = true
				}
			case key == "matchExpressions":
				for _, e := range item.Items() {
					keys[e.Field("key").Text()] = true
				}
			}
			selectedLabels(item, keys, depth+1)
		}
	}
}
