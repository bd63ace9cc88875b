package clientparam

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// A Place is where in an object a setting stands.
type Place string

// The places.
const (
	Env        Place = "env"
	Flag       Place = "flag"
	Annotation Place = "annotation"
	Config     Place = "config" // the text or a key of a ConfigMap
	Field      Place = "field"  // of a custom resource
)

// A Setting is one name and value that an object gives to a program.
type Setting struct {
	Place Place
	Path  object.Path // of the field that holds it
	// Scope is what its settings are read together: a container, a key of a
	// ConfigMap, a custom resource.
	Scope string
	Name  string // as it is written, with the keys above it
	Value string
	Known bool // false when the value comes from another object

	kind      string // of the object
	directive bool
	words     []string
	hints     map[string]bool // words of the container, image, file and object
}

// About says whether the container, image, file or object that s stands in has one of the
// words, in small letters, in its name.
func (s Setting) About(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return s.hints[w] })
}

// Settings gives what o sets in env, arguments, annotations, configuration text
// and, for custom resources, fields; in the order in which they stand. Secrets
// are left alone.
func Settings(o *object.Object) []Setting {
	if o == nil || o.Ref.Kind == "Secret" && o.Ref.Group == "" {
		return nil
	}
	return read(o, nil)
}

// read gives the settings of o; with other, texts that are the same there are
// left out.
func read(o, other *object.Object) []Setting {
	r := &reader{object: o, other: other, nameHints: hintsOf(o.Ref.Name)}
	r.annotations("metadata.annotations")
	w, ok := object.AsWorkload(o)
	switch {
	case ok:
		if w.Template != "" {
			r.annotations(w.Template.Key("metadata").Key("annotations"))
		}
		r.pod(w.PodSpec, w.Template.Key("spec"))
	case o.Ref.Kind == "ConfigMap" && o.Ref.Group == "":
		r.configMap()
	case custom(o.Ref):
		spec, path := o.At("spec"), object.Path("spec")
		if strings.HasSuffix(o.Ref.Group, "toolkit.fluxcd.io") {
			spec, path = o.At("spec.values"), "spec.values"
		}
		r.scope, r.hints, r.place = "spec", r.nameHints, Field
		r.walk(spec, path, "", 0)
	}
	return r.out
}

// custom says whether an object is a custom resource whose fields may hold
// client parameters. Objects that run pipelines and deployments retry those, not
// connections; definitions and alerts hold text about other things.
func custom(ref object.Ref) bool {
	switch {
	case !strings.Contains(ref.Group, "."), strings.HasSuffix(ref.Group, ".k8s.io") && ref.Group != "gateway.networking.k8s.io",
		ref.Group == "argoproj.io", ref.Group == "tekton.dev", ref.Group == "batch.volcano.sh", ref.Group == "cert-manager.io":
		return false
	case ref.Kind == "PrometheusRule", strings.Contains(ref.Kind, "Dashboard"):
		return false
	case strings.HasSuffix(ref.Group, "toolkit.fluxcd.io"):
		return ref.Kind == "HelmRelease"
	}
	return true
}

type reader struct {
	object, other *object.Object
	out           []Setting
	nameHints     map[string]bool

	place Place
	scope string
	hints map[string]bool
}

// maxSettings bounds what is read from one object.
const maxSettings = 50_000

func (r *reader) add(path object.Path, e entry, known bool) {
	if len(r.out) >= maxSettings {
		return
	}
	r.out = append(r.out, Setting{
		Place: r.place, Path: path, Scope: r.scope, Name: e.name, Value: object.Unmark(e.value), Known: known,
		kind: r.object.Ref.Kind, directive: e.directive, words: words(e.name), hints: r.hints,
	})
}

// secret says whether a value is a secret from its first to its last byte. One
// that has secrets among other text is read with words in their places.
func secret(v object.Value) bool {
	m := v.Masked()
	return m != nil && m.Whole()
}

// addAll adds a name and value, and what the value holds itself.
func (r *reader) addAll(path object.Path, name, value string) {
	r.add(path, entry{name: name, value: unquote(strings.TrimSpace(value))}, true)
	if strings.Contains(value, "\n") {
		for _, e := range readText(value) {
			e.name = join(name, e.name)
			r.add(path, e, true)
		}
		return
	}
	var t textReader
	t.inside(name, value)
	for _, e := range t.entries {
		r.add(path, e, true)
	}
}

func (r *reader) annotations(path object.Path) {
	r.place, r.scope, r.hints = Annotation, "annotations", r.nameHints
	for key, value := range r.object.At(string(path)).Fields() {
		if secret(value) || strings.HasPrefix(key, "kubectl.kubernetes.io/") || r.unchanged(path.Key(key), value) {
			continue
		}
		text, at := value.Marked(), path.Key(key)
		r.add(at, entry{name: key, value: text}, true)
		if strings.Contains(text, "=") && !strings.Contains(text, "\n") {
			// a=1,b=2, as load balancers take attributes
			for _, word := range splitShell(text) {
				if k, v, ok := strings.Cut(word, "="); ok && isName(k) {
					r.add(at, entry{name: key + " " + k, value: v}, true)
				}
			}
		}
	}
}

// unchanged says whether a value is the same on the other side.
func (r *reader) unchanged(path object.Path, value object.Value) bool {
	return r.other != nil && value.Equal(r.other.At(string(path)))
}

func (r *reader) pod(spec object.Value, path object.Path) {
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range spec.Field(list).Items() {
			name := c.Field("name").Text()
			at := path.Key(list).Select("name", name)
			if r.sameContainer(at, c) {
				continue
			}
			r.scope = "container " + name
			r.hints = hintsOf(r.object.Ref.Name, name, imageName(c.Field("image").Text()))
			r.env(c.Field("env"), at.Key("env"))
			r.args(c.Field("command"), at.Key("command"))
			r.args(c.Field("args"), at.Key("args"))
		}
	}
	r.place, r.scope, r.hints = Field, "dnsConfig", r.nameHints
	for _, o := range spec.At("dnsConfig.options").Items() {
		name := o.Field("name").Text()
		value := o.Field("value").Text()
		if value == "" {
			value = "on"
		}
		r.add(path.Key("dnsConfig").Key("options").Select("name", name), entry{name: "options " + name, value: value, directive: true}, true)
	}
}

// sameContainer says whether a container is told the same on the other side.
func (r *reader) sameContainer(path object.Path, c object.Value) bool {
	if r.other == nil {
		return false
	}
	other := r.other.At(string(path))
	for _, field := range []string{"env", "command", "args"} {
		if !c.Field(field).Equal(other.Field(field)) {
			return false
		}
	}
	return imageName(c.Field("image").Text()) == imageName(other.Field("image").Text())
}

func (r *reader) env(list object.Value, path object.Path) {
	r.place = Env
	for _, e := range list.Items() {
		name, value := e.Field("name").Text(), e.Field("value")
		at := path.Select("name", name)
		switch {
		case secret(value):
		case value.Type() == object.String:
			r.addAll(at.Key("value"), name, value.Marked())
		case value.Exists():
			r.addAll(at.Key("value"), name, value.String())
		case e.Field("valueFrom").Exists():
			r.add(at.Key("valueFrom"), entry{name: name}, false)
		}
	}
}

func (r *reader) args(list object.Value, path object.Path) {
	r.place = Flag
	texts := make([]string, 0, list.Len())
	for _, item := range list.Items() {
		texts = append(texts, item.String())
	}
	for _, e := range readArgs(texts) {
		at := path.Index(e.arg)
		r.add(at, e, true)
		var t textReader
		t.inside(e.name, e.value)
		for _, inner := range t.entries {
			r.add(at, inner, true)
		}
	}
}

func (r *reader) configMap() {
	r.place = Config
	for key, value := range r.object.At("data").Fields() {
		at := object.Path("data").Key(key)
		if secret(value) || r.unchanged(at, value) || notConfig(key) {
			continue
		}
		text := value.Marked()
		r.hints = hintsOf(r.object.Ref.Name, key)
		if !strings.Contains(strings.TrimSpace(text), "\n") && !strings.HasPrefix(strings.TrimSpace(text), "{") {
			r.scope = "data"
			r.addAll(at, key, text)
			continue
		}
		r.scope = key
		entries := readText(text)
		for _, e := range entries {
			// What stands at the top says what file it is: remote_write, sinks.
			top, _, _ := strings.Cut(e.name, ".")
			top, _, _ = strings.Cut(top, " ")
			for _, h := range hintWords(top) {
				r.hints[h] = true
			}
		}
		for _, e := range entries {
			r.add(at, e, true)
		}
	}
}

// notConfig says whether a key of a ConfigMap holds a program, a page or
// something else that is not configuration.
func notConfig(key string) bool {
	dot := strings.LastIndexByte(key, '.')
	if dot < 0 {
		return false
	}
	switch strings.ToLower(key[dot:]) {
	case ".sh", ".bash", ".py", ".lua", ".js", ".ts", ".rb", ".pl", ".sql", ".md", ".html", ".css", ".svg", ".crt", ".pem", ".rego", ".groovy", ".go", ".awk":
		return true
	}
	return false
}

// skipped are fields of custom resources below which no client parameter stands.
var skipped = []string{"metadata", "selector", "matchLabels", "labels", "affinity", "tolerations", "nodeSelector", "resources", "livenessProbe",
	"readinessProbe", "startupProbe", "probe", "healthCheck", "image", "securityContext", "status", "syncPolicy", "retryStrategy", "schema", "openAPIV3Schema"}

func (r *reader) walk(v object.Value, path object.Path, name string, depth int) {
	if depth > maxLevels || len(r.out) >= maxSettings || len(name) > maxName || secret(v) {
		return
	}
	switch v.Type() {
	case object.Map:
		// env: [{name: A, value: b}] in the middle of a custom resource
		if n, value := v.Field("name").Text(), v.Field("value"); n != "" && value.Exists() && value.Type() != object.Map && v.Len() == 2 {
			r.place = Env
			r.addAll(path.Key("value"), n, value.String())
			r.place = Field
			return
		}
		for key, item := range v.Fields() {
			if !slices.Contains(skipped, key) {
				r.walk(item, path.Key(key), join(name, key), depth+1)
			}
		}
	case object.List:
		for i, item := range v.Items() {
			at := path.Index(i)
			if n := item.Field("name").Text(); n != "" {
				at = path.Select("name", n)
			}
			if text := item.Text(); strings.HasPrefix(text, "-") {
				r.place = Flag
				for _, e := range readArgs([]string{text}) {
					r.add(at, e, true)
				}
				r.place = Field
				continue
			}
			r.walk(item, at, name, depth+1)
		}
	case object.Absent:
	default:
		if !r.unchanged(path, v) {
			r.addAll(path, name, v.String())
		}
	}
}

// imageName gives the repository of an image without registry, tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	if host, rest, ok := strings.Cut(image, "/"); ok && strings.ContainsAny(host, ".:") {
		image = rest
	}
	return image
}

func hintsOf(names ...string) map[string]bool {
	hints := map[string]bool{}
	for _, name := range names {
		for _, h := range hintWords(name) {
			hints[h] = true
		}
	}
	return hints
}

// hintWords gives the words of a name, and each two neighbours joined.
func hintWords(name string) []string {
	list := words(name)
	for i, n := 0, len(list); i+1 < n; i++ {
		list = append(list, list[i]+"_"+list[i+1])
	}
	return list
}
