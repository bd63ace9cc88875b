package config

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/strict"
)

// Known are the words that a configuration may use beside its keys. Rules are
// looked up later, when those of the users are known: see CheckRules.
type Known struct {
	Renderers []string
	Filters   []string // ids of noise filters
}

// Parse reads the text of a configuration file. Its error names every mistake, a
// line each, as file:line: what is wrong. A file without content is an empty
// Config, not nil.
func Parse(file string, data []byte, known Known) (*Config, error) {
	c, err := Draft(file, data, known)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Draft is Parse for who looks for more mistakes: it gives what could be read beside the
// error, nil when that is nothing.
func Draft(file string, data []byte, known Known) (*Config, error) {
	docs, err := strict.Documents(file, data)
	if err != nil {
		return nil, err
	}
	if len(docs) > 1 {
		return nil, fmt.Errorf("%s: more than one YAML document", file)
	}
	var doc document
	d := &strict.Decoder{File: file, Names: map[string][]string{"renderers": known.Renderers, "filters": known.Filters}}
	for _, root := range docs {
		d.Decode(root, &doc, "")
	}
	releases := map[string]int{}
	for _, r := range doc.Helm.Releases {
		id := string(r.Chart) + ":" + r.Name
		if first, twice := releases[id]; twice {
			d.ErrorAt(r.line, 0, "the release %s of %s is there twice, first in line %d", r.Name, r.Chart, first)
			continue
		}
		releases[id] = r.line
	}
	return doc.config(file), d.Err()
}

// kubeVersion gives a version in Helm's spelling, "" for none.
func (v version) kubeVersion() string {
	if v == (version{}) {
		return ""
	}
	return fmt.Sprintf("v%s.0", rule.Version(v))
}

func (doc *document) config(file string) *Config {
	c := &Config{
		Path:               file,
		Include:            texts(doc.Paths.Include),
		Exclude:            texts(doc.Paths.Exclude),
		Renderers:          doc.Renderers,
		Units:              doc.Units,
		Kubernetes:         rule.Version(doc.Clusters.KubernetesVersion),
		Production:         texts(doc.Clusters.Production),
		CriticalNamespaces: texts(doc.Clusters.CriticalNamespaces),
		RulePaths:          texts(doc.Rules.Paths),
		Severities:         doc.Rules.Severity,
		Parameters:         doc.Rules.Parameters,
		FiltersOff:         texts(doc.Filters.Off),
		IncidentPaths:      texts(doc.Incidents.Paths),
		Online:             doc.Incidents.Online,
	}
	c.HelmFetch = doc.Helm.Fetch
	c.HelmKubeVersion, c.HelmAPIVersions = doc.Helm.KubeVersion.kubeVersion(), doc.Helm.APIVersions
	if c.HelmKubeVersion == "" {
		c.HelmKubeVersion = doc.Clusters.KubernetesVersion.kubeVersion()
	}
	c.FreeOverlays, c.GitOpsAddresses = doc.Kustomize.Unrestricted, texts(doc.GitOps.Addresses)
	for _, r := range doc.Helm.Releases {
		c.Releases = append(c.Releases, Release{
			Chart: string(r.Chart), Name: r.Name, Namespace: r.Namespace, Values: texts(r.Values), Set: r.Set,
			KubeVersion: r.KubeVersion.kubeVersion(), APIVersions: r.APIVersions, Line: r.line,
		})
	}
	for _, e := range doc.Jsonnet {
		if e.Path != "" {
			c.Jsonnet = append(c.Jsonnet, Entry(e))
		}
	}
	for _, s := range doc.Suppress {
		c.Suppressions = append(c.Suppressions, Suppression{
			Rule: s.Rule, Object: ObjectPattern(s.Object), Path: s.Path, Unit: string(s.Unit),
			Reason: s.Reason, Expires: string(s.Expires), File: file, Line: s.line,
		})
	}
	for _, h := range doc.Filters.Hide {
		c.Hidings = append(c.Hidings, Hiding{
			Object: ObjectPattern(h.Object), Path: h.Path, Unit: string(h.Unit), Reason: h.Reason, File: file, Line: h.line,
		})
	}
	return c
}

func texts[T ~string](list []T) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, string(s))
		}
	}
	return out
}

// CheckRules says which rules and parameters the configuration names that do not
// exist, a line each.
func (c *Config) CheckRules(rules []*rule.Rule) error { return c.checkRules(rules, true) }

// CheckParameters is CheckRules for when not all rules are known: what it does not find
// may be one of the others.
func (c *Config) CheckParameters(rules []*rule.Rule) error { return c.checkRules(rules, false) }

func (c *Config) checkRules(rules []*rule.Rule, all bool) error {
	if c == nil {
		return nil
	}
	byID := map[string]*rule.Rule{}
	var ids []string
	for _, r := range rules {
		byID[r.ID] = r
		ids = append(ids, r.ID)
	}
	d := &strict.Decoder{File: c.Path}
	known := func(id string, line int) *rule.Rule {
		r := byID[id]
		if r == nil && all {
			d.ErrorAt(line, 0, "there is no rule %q%s", id, strict.Suggest(id, ids))
		}
		return r
	}
	for _, s := range c.Severities {
		known(s.Rule, s.Line)
	}
	for _, s := range c.Suppressions {
		known(s.Rule, s.Line)
	}
	for _, p := range c.Parameters {
		r := known(p.Rule, p.Line)
		if r == nil {
			continue
		}
		var names []string
		found := false
		for _, x := range r.Parameters {
			names = append(names, x.Name)
			found = found || x.Name == p.Name
		}
		switch {
		case len(names) == 0:
			d.ErrorAt(p.Line, 0, "the rule %s has no parameters", p.Rule)
		case !found:
			d.ErrorAt(p.Line, 0, "the rule %s has no parameter %q%s", p.Rule, p.Name, strict.Suggest(p.Name, names))
		}
	}
	return d.Err()
}
