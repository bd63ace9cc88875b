package config

import (
	"reflect"
	"strings"
	"testing"
)

var known = Known{Renderers: []string{"jsonnet", "plain", "tanka"}, Filters: []string{"api-defaults", "chart-labels"}}

func TestParse(t *testing.T) {
	got, err := Parse(".prdiff.yaml", []byte(`
paths:
  include: [environments, clusters/**]
  exclude:
    - vendor
renderers: {plain: false}
jsonnet:
  - dashboards/*.jsonnet
  - path: ci/main.jsonnet
    libraries: [lib, ./vendor/]
units:
  environments/**:
    extStr: {region: eu, replicas: 3}
  environments/prod:
    extStr: {region: us}
    tlaCode: {limits: "{cpu: 1}"}
`), known)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Path:      ".prdiff.yaml",
		Include:   []string{"environments", "clusters/**"},
		Exclude:   []string{"vendor"},
		Renderers: map[string]bool{"plain": false},
		Jsonnet:   []Entry{{Path: "dashboards/*.jsonnet", Line: 8}, {Path: "ci/main.jsonnet", Libraries: []string{"lib", "vendor"}, Line: 9}},
		Units: []Unit{
			{Path: "environments/**", Vars: Vars{ExtStr: map[string]string{"region": "eu", "replicas": "3"}}, Line: 12},
			{Path: "environments/prod", Vars: Vars{ExtStr: map[string]string{"region": "us"}, TLACode: map[string]string{"limits": "{cpu: 1}"}}, Line: 14},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse() = %+v, want %+v", got, want)
	}
	vars := got.Vars("environments/prod")
	if vars.ExtStr["region"] != "us" || vars.ExtStr["replicas"] != "3" || vars.TLACode["limits"] != "{cpu: 1}" {
		t.Errorf("Vars(environments/prod) = %+v", vars)
	}
	if !got.Vars("clusters/a").Empty() {
		t.Errorf("Vars(clusters/a) = %+v, want none", got.Vars("clusters/a"))
	}
}

func TestParseReleases(t *testing.T) {
	c, err := Parse("f", []byte(`
clusters: {kubernetesVersion: "1.33"}
helm:
  apiVersions: [example.com/v1]
  releases:
  - {chart: charts/web/, name: shop, namespace: prod, values: [values/prod.yaml], set: [a.b=c]}
  - chart: charts/web
    name: blog
    kubeVersion: v1.30
kustomize: {unrestricted: true}
gitops: {addresses: ["https://mirror.example.org/o/r"]}
`), known)
	if err != nil {
		t.Fatal(err)
	}
	want := []Release{
		{Chart: "charts/web", Name: "shop", Namespace: "prod", Values: []string{"values/prod.yaml"}, Set: []string{"a.b=c"}, Line: 6},
		{Chart: "charts/web", Name: "blog", KubeVersion: "v1.30.0", Line: 7},
	}
	if !reflect.DeepEqual(c.Releases, want) {
		t.Errorf("releases = %+v, want %+v", c.Releases, want)
	}
	if c.HelmKubeVersion != "v1.33.0" || len(c.HelmAPIVersions) != 1 || !c.FreeOverlays || len(c.GitOpsAddresses) != 1 {
		t.Errorf("Parse() = %+v", c)
	}
}

func TestParseMistakes(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a misspelt key", "paths:\n  exlude: [a]\n", `f:2: unknown key "exlude" in paths: did you mean "exclude"?`},
		{"a key that is like none", "colour: red\n", `f:1: unknown key "colour": known are clusters, filters, gitops, helm, incidents, jsonnet, kustomize, paths, renderers, rules, suppress, units`},
		{"a list where a map is due", "paths: [a]\n", "f:1: paths must be a map of keys and values, not a list"},
		{"a map where a list is due", "paths:\n  include: {a: b}\n", "f:2: paths.include must be a list, not a map"},
		{"text where a list is due", "paths:\n  include: a\n", `f:2: paths.include must be a list, not "a"`},
		{"a renderer that is none", "renderers:\n  tnaka: false\n", `f:2: there is no renderer "tnaka": did you mean "tanka"?`},
		{"a renderer that is neither on nor off", "renderers:\n  tanka: maybe\n", `f:2: renderers.tanka must be true or false, not "maybe"`},
		{"a key twice", "paths: {}\npaths: {}\n", `f:2: key "paths" is there twice, first in line 1`},
		{"a path that leads out", "paths:\n  include: [../x]\n", `f:2: "../x": a pattern leads out of the repository`},
		{"a library outside", "jsonnet:\n- path: a\n  libraries: [/lib]\n", `f:3: "/lib" is not a folder of the repository`},
		{"an entry without path", "jsonnet:\n- libraries: [lib]\n", "f:2: an entry of jsonnet has no path"},
		{"a variable that is a map", "units:\n  a:\n    extStr:\n      b: {c: d}\n", "f:4: units.a.extStr.b must be text, not a map: write structured values as jsonnet in quotes, under extCode or tlaCode"},
		{"a release without name", "helm:\n  releases:\n  - chart: a\n", "f:3: an entry of helm.releases has no name"},
		{"a release twice", "helm:\n  releases:\n  - {chart: a, name: b}\n  - {chart: a/, name: b}\n", "f:4: the release b of a is there twice, first in line 3"},
		{"a chart outside", "helm:\n  releases:\n  - {chart: ../a, name: b}\n", `f:3: "../a" is not a folder of the repository`},
		{"an address that is none", "gitops:\n  addresses: [here]\n", `f:2: gitops.addresses: "here" is not the address of a repository`},
		{"two mistakes", "a: 1\npaths:\n  b: 2\n", "f:1: unknown key \"a\": known are clusters, filters, gitops, helm, incidents, jsonnet, kustomize, paths, renderers, rules, suppress, units\nf:3: unknown key \"b\" in paths: known are exclude, include"},
		{"a suppression without a reason", "suppress:\n- rule: a\n", "f:2: an entry of suppress has no reason"},
		{"a suppression with an empty reason", "suppress:\n- {rule: a, reason: ''}\n", "f:2: an entry of suppress has no reason"},
		{"a suppression of nothing by name", "suppress:\n- reason: because\n", "f:2: an entry of suppress has no rule"},
		{"a misspelt key of a suppression", "suppress:\n- {rule: a, reason: b, expire: 2026-01-01}\n", `f:2: unknown key "expire" in suppress: did you mean "expires"?`},
		{"a day that is none", "suppress:\n- {rule: a, reason: b, expires: 2026-02-30}\n", `f:2: suppress.expires: "2026-02-30" is not a day of the calendar, written as 2026-12-31`},
		{"an object without a name", "suppress:\n- {rule: a, reason: b, object: Service}\n", `f:2: suppress.object: "Service": an object is written as its kind and its name, such as Service prod/web`},
		{"a filter without a reason", "filters: {hide: [{path: data}]}\n", "f:1: an entry of filters.hide has no reason"},
		{"a noise filter that is none", "filters: {off: [chart-label]}\n", `f:1: there is no filter "chart-label": did you mean "chart-labels"?`},
		{"a version as a number", "clusters: {kubernetesVersion: 1.30}\n", "f:1: clusters.kubernetesVersion 1.30 must be in quotes: as a number, 1.30 is 1.3"},
		{"a version that is none", "clusters: {kubernetesVersion: latest}\n", `f:1: clusters.kubernetesVersion: "latest" is no version of Kubernetes: it is written as 1.33, in quotes`},
		{"a severity that is none", "rules: {severity: {a: fatal}}\n", `f:1: rules.severity.a must be off, note, warning or error, not "fatal"`},
		{"a threshold that is none", "rules: {parameters: {a: {b: much}}}\n", `f:1: rules.parameters.a.b must be a whole number, not "much"`},
		{"rules outside", "rules: {paths: [../x]}\n", `f:1: "../x" is not a folder of the repository`},
		{"broken YAML", "paths:\n  include: [a\n", "f:2: did not find expected ',' or ']'"},
		{"two documents", "{}\n---\n{}\n", "f: more than one YAML document"},
		{"text alone", "hello\n", `f:1: the file must be a map of keys and values, not "hello"`},
		{"a negated pattern", "paths:\n  exclude: ['!a']\n", `f:2: "!a": patterns cannot be negated: list what to look at under include, what not under exclude`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tt.in), known)
			if err == nil {
				t.Fatalf("Parse() = nil, want %q", tt.want)
			}
			if got := err.Error(); got != tt.want {
				t.Errorf("Parse() = %q, want %q", got, tt.want)
			}
		})
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "paths:\nunits:\n"} {
		if c, err := Parse("f", []byte(empty), known); err != nil || c == nil || !c.Looks("a") {
			t.Errorf("Parse(%q) = %v, %v, want an empty configuration", empty, c, err)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"vendor", "vendor", true},
		{"vendor", "a/vendor/b.yaml", true},
		{"/vendor", "a/vendor/b.yaml", false},
		{"a/vendor", "b/a/vendor", false},
		{"a/vendor", "a/vendor/x/y", true},
		{"a/vendor/", "a/vendor/x/y", true},
		{"a/*", "a/b/c", true},
		{"a/*/c", "a/b/d", false},
		{"**/test", "a/b/test/x.yaml", true},
		{"**/test", "test", true},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**", "a", false},
		{"*.jsonnet", "a/b.jsonnet", true},
		{"*.jsonnet", "a/b.yaml", false},
		{".", "anything", true},
		{strings.Repeat("**/", 20) + "x", strings.Repeat("a/", 30) + "y", false},
	} {
		if got := Match(tt.pattern, tt.path); got != tt.want {
			t.Errorf("Match(%q, %q) = %v, want %v", tt.pattern, tt.path, got, tt.want)
		}
	}
}

func TestScope(t *testing.T) {
	wide, narrow := &Config{}, &Config{Exclude: []string{"secret"}, Renderers: map[string]bool{"plain": false}}
	for _, tt := range []struct {
		name          string
		scope         Scope
		looks, uses   bool
		pendingWanted bool
	}{
		{"a pull request cannot exclude what it changes", Scope{Base: nil, Head: narrow}, true, true, true},
		{"an exclusion on both sides counts", Scope{Base: narrow, Head: narrow}, false, false, false},
		{"an exclusion that is taken back counts no longer", Scope{Base: narrow, Head: wide}, true, true, false},
		{"deleting the file looks at everything", Scope{Base: narrow, Head: nil}, true, true, false},
		{"a file given by hand counts alone", Scope{Base: wide, Head: wide, Forced: narrow}, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.scope.Looks("secret/x.yaml"); got != tt.looks {
				t.Errorf("Looks() = %v, want %v", got, tt.looks)
			}
			if got := tt.scope.Uses("plain"); got != tt.uses {
				t.Errorf("Uses() = %v, want %v", got, tt.uses)
			}
			if got := tt.scope.Pending(); got != tt.pendingWanted {
				t.Errorf("Pending() = %v, want %v", got, tt.pendingWanted)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("paths: {include: [a]}\nunits: {a: {extStr: {b: c}}}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data, known)
		if (c == nil) == (err == nil) {
			t.Errorf("Parse() = %v, %v: exactly one must be there", c, err)
		}
	})
}
