package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ProxyFiltersChanged reports a proxy that treats every request in another way.
var ProxyFiltersChanged = &rule.Rule{
	ID:       "proxy-filters-changed",
	Title:    "The filters or the template of a proxy change, for all requests",
	Subject:  "config",
	Severity: rule.Warning,
	Doc: `
A proxy takes each request through its filters in their order: authentication, limits, rewrites, the router last. In another order one filter sees what another one
has not done yet, and filters of one's own meet states that they were never tested with; when one crashes, it crashes in every proxy at the same
request. A filter that is behind the router is never asked.

It looks at lists of filters in Envoy's configuration, also inside ConfigMaps; at Istio's EnvoyFilter and WasmPlugin and at EnvoyPatchPolicy; and at the Go or Lua
templates from which HAProxy and nginx controllers make their whole configuration.`,
	Advice:    "Take it through the regions one by one, the smallest first, with a day in between. Render the final configuration (istioctl proxy-config, haproxy -c, nginx -t) and review that.",
	Incidents: []string{"spotify-envoy-2025", "skyscanner-template-2019"},
	Kinds:     []string{"ConfigMap", "EnvoyFilter.networking.istio.io", "WasmPlugin.extensions.istio.io", "EnvoyPatchPolicy.gateway.envoyproxy.io"},
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Delete},
	Check:     checkProxyFiltersChanged,
}

func checkProxyFiltersChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind != "ConfigMap" {
		checkPatchedProxies(p, c)
		return
	}
	if c.Before == nil || c.After == nil {
		return
	}
	for _, key := range changedKeys(c) {
		path := object.Path("data").Key(key)
		before, after := c.Before.At("data").Field(key), c.After.At("data").Field(key)
		f := rule.Finding{Path: path}
		if template(key) {
			f.Message = fmt.Sprintf("the template %s, from which a proxy makes its whole configuration, changes", key)
			f.Consequence = "all requests go through what it renders to, which nobody sees here"
			p.Report(c, f)
			continue
		}
		was, now := filtersIn(before.Text()), filtersIn(after.Text())
		for i := range max(len(was), len(now)) {
			var b, a []string
			if i < len(was) {
				b = was[i]
			}
			if i < len(now) {
				a = now[i]
			}
			if slices.Equal(a, b) {
				continue
			}
			f.Before, f.After = object.TextOf(strings.Join(b, ", ")), object.TextOf(strings.Join(a, ", "))
			f.Message = fmt.Sprintf("a proxy's filters are %s; they were %s", orText(strings.Join(a, ", "), "none"), orText(strings.Join(b, ", "), "none"))
			f.Consequence = "every request goes through them in that order; those behind the router are never asked"
			p.Report(c, f)
		}
	}
}

// filterLists are Envoy's lists of filters that each request or connection goes through
// (https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto).
var filterLists = []string{"http_filters", "httpFilters", "listener_filters", "listenerFilters"}

// filtersIn gives the names in each list of filters of a configuration, in order.
func filtersIn(text string) [][]string {
	if !slices.ContainsFunc(filterLists, func(key string) bool { return strings.Contains(text, key) }) {
		return nil
	}
	config, ok := object.Embedded(text)
	if !ok {
		return nil
	}
	var out [][]string
	var walk func(v object.Value)
	walk = func(v object.Value) {
		for _, item := range v.Items() {
			walk(item)
		}
		for key, item := range v.Fields() {
			if slices.Contains(filterLists, key) && item.Type() == object.List {
				var names []string
				for _, f := range item.Items() {
					names = append(names, orText(f.Field("name").Text(), "one without a name"))
				}
				out = append(out, names)
			}
			walk(item)
		}
	}
	walk(config)
	return out
}

// template says whether a key is a template of a proxy's configuration.
func template(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"nginx", "haproxy", "envoy", "lua"}, func(s string) bool { return strings.Contains(key, s) }) &&
		(strings.HasSuffix(key, ".tmpl") || strings.HasSuffix(key, ".template") || strings.HasSuffix(key, ".tpl"))
}

// checkPatchedProxies tells of objects that patch what a mesh or gateway makes.
func checkPatchedProxies(p *rule.Pass, c diff.Change) {
	if c.Before != nil && c.After != nil {
		if _, ok := shownField(c, "spec"); !ok {
			return
		}
	}
	o := c.Object()
	whose := "the proxies that its workloadSelector selects"
	all := false
	switch selector := o.At("spec.workloadSelector"); {
	case o.Ref.Kind == "EnvoyPatchPolicy":
		whose, all = "all traffic of "+o.Text("spec.targetRef.kind")+" "+o.Text("spec.targetRef.name"), true
	case o.Ref.Kind == "WasmPlugin" && (o.At("spec.selector").Exists() || o.At("spec.targetRefs").Exists()):
		whose = "the proxies that it selects"
	case selector.Len() > 0:
	case o.Ref.Namespace == "istio-system":
		whose, all = "every proxy of the mesh", true
	default:
		whose, all = "every proxy of namespace "+o.Ref.Namespace, true
	}
	if c.Action == diff.Create && !all {
		return
	}
	verb := map[diff.Action]string{diff.Create: "a new patch of", diff.Delete: "a patch goes of", diff.Update: "another patch of", diff.Replace: "another patch of"}[c.Action]
	f := rule.Finding{Message: fmt.Sprintf("%s %s", verb, whose)}
	if !all {
		f.Severity = rule.Note
	}
	f.Consequence = "they take it up at once, without a rollout, and a patch that does not fit their version is ignored or breaks the listener"
	p.Report(c, f)
}
