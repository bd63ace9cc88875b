package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// DeschedulerPolicyChanged reports a descheduler that evicts more pods than before.
var DeschedulerPolicyChanged = &rule.Rule{
	ID:       "descheduler-policy-changed",
	Title:    "The descheduler may evict more pods than before",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
The descheduler ends running pods in the hope that they come up in a better place; it does not look for that place itself. A strategy that is switched on, or a
bound that goes, makes it end pods all over the cluster at its next round, minutes after the merge, each round anew. Without nodeFit it evicts pods that fit
nowhere else; without minReplicas the only pod of a workload; without a maximum per node or namespace as many as it finds. While nodes are cordoned or short, as in an upgrade, what it
ends stays Pending.

It is read from the ConfigMap that holds a DeschedulerPolicy, in either form. What makes it evict less is quiet.`,
	Advice: `Run the new policy with --dry-run and count what it would evict. Keep nodeFit, minReplicas and a maximum per node and namespace; switch on one strategy at
a time, and suspend the descheduler while nodes are upgraded.`,
	Incidents: []string{"moj-descheduler-2025"},
	Kinds:     []string{"ConfigMap"},
	Actions:   updates,
	Check:     checkDeschedulerPolicyChanged,
}

// deschedulerGuards are what keeps the descheduler from pods, and what becomes of these
// without. Its defaults are those of
// https://github.com/kubernetes-sigs/descheduler#evictor-plugin-configuration-default-evictor.
var deschedulerGuards = []struct {
	name    string
	safe    string // "true" or "false": the value that keeps pods from it
	without string
}{
	{"nodeFit", "true", "pods are evicted that fit on no other node"},
	{"evictLocalStoragePods", "false", "pods with an emptyDir or other local storage are evicted, and what is on it is lost"},
	{"evictDaemonSetPods", "false", "pods of DaemonSets are evicted, and come back on the same node"},
	{"evictSystemCriticalPods", "false", "pods of the system are evicted, cluster DNS among them"},
	{"ignorePvcPods", "true", "pods with volumes are evicted, and wait until these are attached elsewhere"},
	{"evictFailedBarePods", "false", "pods without a controller are evicted, and nobody makes them again"},
	{"ignorePodsWithoutPDB", "true", "pods without a budget are evicted"},
}

// deschedulerBounds are how many pods it may end, without bound when they are not set.
var deschedulerBounds = []string{"maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal"}

func checkDeschedulerPolicyChanged(p *rule.Pass, c diff.Change) {
	for _, key := range changedKeys(c) {
		before, ok := deschedulerPolicy(c.Before.At("data").Field(key).Text())
		after, alsoOK := deschedulerPolicy(c.After.At("data").Field(key).Text())
		if !ok || !alsoOK {
			continue
		}
		var what, follows []string
		tell := func(text, then string) {
			what = append(what, text)
			if then != "" && len(follows) < 2 {
				follows = append(follows, then)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(after.strategies)) {
			if _, was := before.strategies[name]; !was {
				tell(fmt.Sprintf("strategy %s is switched on", name), "it evicts what it finds at its next round, all over the cluster")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(after.strategies)) {
			if was, ok := before.strategies[name]; ok && was != after.strategies[name] {
				tell(fmt.Sprintf("strategy %s chooses pods in another way", name), "")
			}
		}
		for _, guard := range deschedulerGuards {
			if before.setting(guard.name) == guard.safe && after.setting(guard.name) != guard.safe {
				tell(fmt.Sprintf("%s is no longer %s", guard.name, guard.safe), guard.without)
			}
		}
		const least = "minReplicas"
		if b, a := before.number(least), after.number(least); b >= 2 && a < 2 {
			tell(fmt.Sprintf("%s %d goes", least, b), "the only pod of a workload is evicted, too")
		}
		for _, name := range deschedulerBounds {
			switch b, a := before.number(name), after.number(name); {
			case b > 0 && a <= 0:
				tell(fmt.Sprintf("%s %d goes", name, b), "as many pods are evicted in one round as it finds")
			case b > 0 && a > b:
				tell(fmt.Sprintf("%s goes from %d to %d", name, b, a), "more pods end in one round")
			}
		}
		if len(what) == 0 {
			continue
		}
		p.Report(c, rule.Finding{Path: object.Path("data").Key(key), Message: listed(what), Consequence: strings.Join(follows, "; ")})
	}
}

// A deschedulerView is what a policy says, in either of its forms.
type deschedulerView struct {
	strategies map[string]string // what is switched on, with its arguments
	settings   map[string]object.Value
}

func (v deschedulerView) setting(name string) string {
	x := v.settings[name]
	if x.Type() == object.Map { // as nodeFit may be written in v1alpha1
		x = x.Field("enabled")
	}
	if !x.Exists() {
		return "false"
	}
	return x.String()
}

func (v deschedulerView) number(name string) int64 {
	n, _ := v.settings[name].Int()
	return n
}

// deschedulerPolicy reads a DeschedulerPolicy of v1alpha2, whose plugins are in profiles,
// or of v1alpha1, which lists strategies.
func deschedulerPolicy(text string) (deschedulerView, bool) {
	if !strings.Contains(text, "DeschedulerPolicy") {
		return deschedulerView{}, false
	}
	policy, ok := object.Embedded(text)
	if !ok || policy.Field("kind").Text() != "DeschedulerPolicy" {
		return deschedulerView{}, false
	}
	v := deschedulerView{map[string]string{}, map[string]object.Value{}}
	take := func(from object.Value) {
		for key, value := range from.Fields() {
			v.settings[key] = value
		}
	}
	take(policy)
	for name, s := range policy.Field("strategies").Fields() {
		if on, ok := s.Field("enabled").Bool(); ok && on {
			v.strategies[name] = s.Field("params").String()
		}
	}
	for _, profile := range policy.Field("profiles").Items() {
		args := map[string]string{}
		for _, plugin := range profile.Field("pluginConfig").Items() {
			args[plugin.Field("name").Text()] = plugin.Field("args").String()
			if plugin.Field("name").Text() == "DefaultEvictor" {
				take(plugin.Field("args"))
			}
		}
		for point, plugins := range profile.Field("plugins").Fields() {
			if point != "deschedule" && point != "balance" {
				continue
			}
			for _, name := range plugins.Field("enabled").Texts() {
				v.strategies[name] = args[name]
			}
		}
	}
	return v, true
}
