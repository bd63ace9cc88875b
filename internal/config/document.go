package config

import (
	"path"
	"slices"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"

	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/strict"
)

// A document is .prdiff.yaml as it is written. The keys, and with them the JSON
// schema, come from here and from nowhere else.
type document struct {
	Paths struct {
		Include []pattern `yaml:"include" doc:"Look only at these paths; empty means everything."`
		Exclude []pattern `yaml:"exclude" doc:"And not at these."`
	} `yaml:"paths" doc:"What is looked at. A pattern without a slash matches at any depth, one with a slash from the root on; * stops at slashes, ** does not; a folder stands for all below it."`
	Renderers renderers `yaml:"renderers" doc:"Switches renderers off: tanka: false."`
	Jsonnet   []entry   `yaml:"jsonnet" doc:"Plain jsonnet files that render to objects on their own."`
	Units     units     `yaml:"units" doc:"What units need to be evaluated, by path or pattern; later ones win."`
	Helm      struct {
		KubeVersion version   `yaml:"kubeVersion" doc:"The Kubernetes version that charts see, such as \"1.33\"; that of clusters when it is left out."`
		APIVersions []string  `yaml:"apiVersions" doc:"API versions that charts see beside Kubernetes' own, such as monitoring.coreos.com/v1."`
		Fetch       bool      `yaml:"fetch" doc:"Fetch charts that Applications, HelmReleases, helmCharts and Chart.yaml take from elsewhere, pinned to one version, through the helm program of the machine. As it is before the change counts."`
		Releases    []release `yaml:"releases" doc:"How charts are installed, instead of guessing by the names of values files."`
	} `yaml:"helm" doc:"What charts need to be rendered."`
	Kustomize struct {
		Unrestricted bool `yaml:"unrestricted" doc:"Let overlays read files above their own folder, as kustomize build --load-restrictor LoadRestrictionsNone does. Nothing outside of the repository is ever read."`
	} `yaml:"kustomize" doc:"How overlays are built."`
	GitOps struct {
		Addresses []address `yaml:"addresses" doc:"The addresses under which Argo CD and Flux know this repository, such as mirrors. Without any, the one that most of their objects name is taken. renderers: {argocd: false, flux: false} follows no objects."`
	} `yaml:"gitops" doc:"How objects of Argo CD and Flux are followed."`
	Clusters struct {
		KubernetesVersion  version     `yaml:"kubernetesVersion" doc:"The version that the clusters run, such as \"1.33\"."`
		Production         []pattern   `yaml:"production" doc:"The units that run in production, by path or pattern; all do when this is empty. Elsewhere an error is shown as a warning."`
		CriticalNamespaces []namespace `yaml:"criticalNamespaces" doc:"Namespaces in which a warning is shown as an error; * stands for any text."`
	} `yaml:"clusters" doc:"What prdiff should know of the clusters."`
	Rules struct {
		Paths      []folder   `yaml:"paths" doc:"Files and folders with rules of your own."`
		Severity   severities `yaml:"severity" doc:"The severity of what a rule finds, by the rule's id; off for none of it."`
		Parameters parameters `yaml:"parameters" doc:"Thresholds of rules, by the rule's id; prdiff rules ID tells them."`
	} `yaml:"rules" doc:"What is dangerous."`
	Suppress []suppression `yaml:"suppress" doc:"Findings that do not count. They are listed in the report, with the reason."`
	Filters  struct {
		Off  []filterID `yaml:"off" doc:"Built-in noise filters that are switched off."`
		Hide []hiding   `yaml:"hide" doc:"Differences that are noise here. They are counted in the report, with the reason, and rules still see them."`
	} `yaml:"filters" doc:"What is noise."`
	Incidents struct {
		Paths  []folder `yaml:"paths" doc:"Files and folders with your own postmortems: Markdown with front matter, or YAML."`
		Online bool     `yaml:"online" doc:"Ask incidentlib for the cases that are like those of findings: true. Only their case numbers are sent. Off unless the base side of a change has it."`
	} `yaml:"incidents" doc:"What has gone wrong before."`
}

// A release as it is written; see Release.
type release struct {
	line        int
	Chart       folder   `yaml:"chart" required:"true" doc:"The folder of the chart."`
	Name        string   `yaml:"name" required:"true" doc:"The name of the release. Two of one chart have different names."`
	Namespace   string   `yaml:"namespace" doc:"Where it is installed; default when it is left out."`
	Values      []folder `yaml:"values" doc:"Values files, later ones over earlier ones, all over the chart's own."`
	Set         []string `yaml:"set" doc:"Single values, as helm --set takes them: a.b=c."`
	KubeVersion version  `yaml:"kubeVersion" doc:"The Kubernetes version that this release sees."`
	APIVersions []string `yaml:"apiVersions" doc:"API versions that this release sees, too."`
}

func (r *release) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	type fields release // without this method
	var f fields
	d.DecodeItem(n, &f, where)
	*r = release(f)
	r.line = n.Line
}

// An address is that of a repository.
type address string

func (a *address) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	s := d.Text(n, where)
	if n.Kind == yaml.ScalarNode && (!strings.ContainsAny(s, "/:") || strings.ContainsAny(s, " \t\n")) {
		d.Errorf(n, "%s: %q is not the address of a repository", where, s)
	}
	*a = address(s)
}

// A suppression as it is written; see Suppression.
type suppression struct {
	line    int
	Rule    string        `yaml:"rule" required:"true" doc:"The id of the rule."`
	Object  objectPattern `yaml:"object" doc:"The object, such as Service prod/web; * stands for any text, and what is left out for everything."`
	Path    string        `yaml:"path" doc:"The field, with all below it, such as spec.template.spec.containers[name=app]; * stands for any text."`
	Unit    pattern       `yaml:"unit" doc:"The unit, by path or pattern."`
	Reason  string        `yaml:"reason" required:"true" doc:"Why this does not count here. It stands in every report."`
	Expires date          `yaml:"expires" doc:"The last day on which it counts, YYYY-MM-DD in UTC."`
}

// A hiding as it is written; see Hiding.
type hiding struct {
	line   int
	Object objectPattern `yaml:"object" doc:"The object, such as ConfigMap prod/build-info; * stands for any text."`
	Path   string        `yaml:"path" required:"true" doc:"The field, with all below it, such as metadata.annotations[\"example.org/built\"]; * stands for any text."`
	Unit   pattern       `yaml:"unit" doc:"The unit, by path or pattern."`
	Reason string        `yaml:"reason" required:"true" doc:"Why this is noise."`
}

type pattern string

func (p *pattern) DecodeYAML(d *strict.Decoder, n *yaml.Node, _ string) {
	*p = pattern(patternOf(d, n))
}

func patternOf(d *strict.Decoder, n *yaml.Node) string {
	s := d.Text(n, "a path")
	if s == "" && n.Kind != yaml.ScalarNode {
		return ""
	}
	if wrong := checkPattern(s); wrong != "" {
		d.Errorf(n, "%q: %s", s, wrong)
		return ""
	}
	return s
}

// JSONSchema says what a pattern is.
func (*pattern) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "minLength": 1}
}

// A folder is a file or folder of the repository.
type folder string

func (f *folder) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	s := d.Text(n, where)
	clean := path.Clean(s)
	if s == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		d.Errorf(n, "%q is not a folder of the repository", s)
		return
	}
	*f = folder(clean)
}

type renderers map[string]bool

func (r *renderers) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	*r = renderers{}
	d.Entries(n, where, func(k, v *yaml.Node) {
		if known := d.Names["renderers"]; !slices.Contains(known, k.Value) {
			d.Errorf(k, "there is no renderer %q%s", k.Value, strict.Suggest(k.Value, known))
			return
		}
		var on bool
		if v.Kind != yaml.ScalarNode || v.Decode(&on) != nil {
			d.Errorf(v, "%s.%s must be true or false, not %s", where, k.Value, strict.Kind(v))
			return
		}
		(*r)[k.Value] = on
	})
}

// JSONSchema says what switches renderers.
func (*renderers) JSONSchema() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "boolean"}}
}

type entry Entry

func (e *entry) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	e.Line = n.Line
	if n.Kind == yaml.ScalarNode {
		e.Path = patternOf(d, n)
		return
	}
	var fields entryFields
	d.Decode(n, &fields, where)
	e.Path = string(fields.Path)
	for _, l := range fields.Libraries {
		e.Libraries = append(e.Libraries, string(l))
	}
	if e.Path == "" && n.Kind == yaml.MappingNode {
		d.Errorf(n, "an entry of %s has no path", where)
	}
}

type entryFields struct {
	Path      pattern  `yaml:"path" doc:"The file, or a pattern for several."`
	Libraries []folder `yaml:"libraries" doc:"Folders searched for imports, the first one first."`
}

// JSONSchema says that an entry is a path, or a path with libraries.
func (*entry) JSONSchema() map[string]any {
	fields := strict.Schema(entryFields{})
	fields["required"] = []string{"path"}
	return map[string]any{"anyOf": []any{map[string]any{"type": "string", "minLength": 1}, fields}}
}

type units []Unit

func (u *units) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	d.Entries(n, where, func(k, v *yaml.Node) {
		unit := Unit{Path: patternOf(d, k), Line: k.Line}
		var fields unitFields
		d.Decode(v, &fields, where+"."+k.Value)
		unit.Vars = Vars{fields.ExtStr, fields.ExtCode, fields.TLAStr, fields.TLACode}
		if unit.Path != "" {
			*u = append(*u, unit)
		}
	})
}

type unitFields struct {
	ExtStr  variables `yaml:"extStr" doc:"External variables, as text."`
	ExtCode variables `yaml:"extCode" doc:"External variables, as jsonnet."`
	TLAStr  variables `yaml:"tlaStr" doc:"Top-level arguments, as text."`
	TLACode variables `yaml:"tlaCode" doc:"Top-level arguments, as jsonnet."`
}

// JSONSchema says what units need.
func (*units) JSONSchema() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": strict.Schema(unitFields{})}
}

type variables map[string]string

func (v *variables) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	*v = variables{}
	d.Entries(n, where, func(key, value *yaml.Node) {
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
			d.Errorf(value, "%s.%s must be text, not %s: write structured values as jsonnet in quotes, under extCode or tlaCode", where, key.Value, strict.Kind(value))
			return
		}
		(*v)[key.Value] = value.Value
	})
}

// JSONSchema says what variables may hold.
func (*variables) JSONSchema() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []string{"string", "number", "boolean"}}}
}

type version rule.Version

func (v *version) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	s := d.Text(n, where)
	if n.Kind != yaml.ScalarNode {
		return
	}
	if n.Tag == "!!float" {
		d.Errorf(n, "%s %s must be in quotes: as a number, 1.30 is 1.3", where, s)
		return
	}
	parsed, err := rule.ParseVersion(s)
	if err != nil {
		d.Errorf(n, "%s: %v", where, err)
	}
	*v = version(parsed)
}

// JSONSchema says how a version is written.
func (*version) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^v?[1-9][0-9]?\.[0-9]{1,3}(\..*)?$`}
}

type namespace string

func (p *namespace) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	s := d.Text(n, where)
	if _, err := path.Match(s, "x"); err != nil || s == "" {
		d.Errorf(n, "%s: %q is not a namespace or a pattern", where, s)
	}
	*p = namespace(s)
}

// Severities are in the order of the file.
type severities []RuleSeverity

func (s *severities) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	d.Entries(n, where, func(k, v *yaml.Node) {
		word := v.Value
		if v.Tag == "!!bool" && v.Value != "true" { // YAML 1.1 reads a bare off as false
			word = "off"
		}
		severity := RuleSeverity{Rule: k.Value, Line: k.Line}
		if word != "off" {
			parsed, err := rule.ParseSeverity(word)
			if err != nil || v.Kind != yaml.ScalarNode {
				d.Errorf(v, "%s.%s must be off, note, warning or error, not %s", where, k.Value, strict.Kind(v))
				return
			}
			severity.Severity = parsed
		}
		*s = append(*s, severity)
	})
}

// JSONSchema says which severities there are.
func (*severities) JSONSchema() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": map[string]any{"enum": []any{"off", "note", "warning", "error", false}}}
}

type parameters []RuleParameter

func (p *parameters) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	d.Entries(n, where, func(k, v *yaml.Node) {
		d.Entries(v, where+"."+k.Value, func(name, value *yaml.Node) {
			var number int64
			if value.Tag != "!!int" || value.Decode(&number) != nil || number < 0 {
				d.Errorf(value, "%s.%s.%s must be a whole number, not %s", where, k.Value, name.Value, strict.Kind(value))
				return
			}
			*p = append(*p, RuleParameter{Rule: k.Value, Name: name.Value, Value: number, Line: name.Line})
		})
	})
}

// JSONSchema says that thresholds are whole numbers.
func (*parameters) JSONSchema() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": map[string]any{
		"type": "object", "additionalProperties": map[string]any{"type": "integer", "minimum": 0},
	}}
}

type filterID string

func (f *filterID) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	s := d.Text(n, where)
	if known := d.Names["filters"]; s != "" && !slices.Contains(known, s) {
		d.Errorf(n, "there is no filter %q%s", s, strict.Suggest(s, known))
	}
	*f = filterID(s)
}

type objectPattern ObjectPattern

func (o *objectPattern) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	s := d.Text(n, where)
	if n.Kind != yaml.ScalarNode {
		return
	}
	parsed, wrong := parseObjectPattern(s)
	if wrong != "" {
		d.Errorf(n, "%s: %q: %s", where, s, wrong)
	}
	*o = objectPattern(parsed)
}

// JSONSchema says how an object is named.
func (*objectPattern) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "minLength": 1}
}

type date string

func (t *date) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	s := d.Text(n, where)
	if _, err := time.Parse(time.DateOnly, s); err != nil && n.Kind == yaml.ScalarNode {
		d.Errorf(n, "%s: %q is not a day of the calendar, written as 2026-12-31", where, s)
	}
	*t = date(s)
}

// JSONSchema says how a day is written.
func (*date) JSONSchema() map[string]any { return map[string]any{"type": "string", "format": "date"} }

func (s *suppression) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	type fields suppression // without this method
	var f fields
	d.DecodeItem(n, &f, where)
	*s = suppression(f)
	s.line = n.Line
}

// JSONSchema is that of the fields.
func (*suppression) JSONSchema() map[string]any {
	type fields suppression
	return strict.Schema(fields{})
}

func (h *hiding) DecodeYAML(d *strict.Decoder, n *yaml.Node, where string) {
	type fields hiding
	var f fields
	d.DecodeItem(n, &f, where)
	*h = hiding(f)
	h.line = n.Line
}

// JSONSchema is that of the fields.
func (*hiding) JSONSchema() map[string]any {
	type fields hiding
	return strict.Schema(fields{})
}
