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

// CorefileChanged reports cluster DNS that answers names in another way.
var CorefileChanged = &rule.Rule{
	ID:       "corefile-changed",
	Title:    "Cluster DNS answers names in another way",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
Everything in a cluster begins with a name. CoreDNS reads its Corefile again by itself within a minute when it has the reload plugin: a zone that is lost,
another upstream, a rewrite that matches more than was meant counts for all pods at once, in all clusters that share the manifest. A Corefile that does not parse is
ignored by running pods and keeps the next ones from starting, at the next node drain or upgrade.

Zones, the plugins kubernetes, forward, hosts, file, rewrite, template, bind, loop, ready and health, and the settings of kube-dns and dnsmasq are looked at. Logging and metrics are left
alone; cache and max_concurrent belong to dns-capacity.`,
	Advice:    "Let one cluster have it for a day. Try the new Corefile in a pod of its own (coredns -conf), with names of Services, of the outside, and of each stub domain. Read the notes of the CoreDNS version for plugins that went.",
	Incidents: []string{"pagerduty-dns-2021", "dfds-coredns-2020"},
	Kinds:     []string{"ConfigMap"},
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkCorefileChanged,
}

// corePlugins are plugins that decide on answers, with what goes with them.
var corePlugins = map[string]string{
	"kubernetes": "names of Services and pods are answered by nothing",
	"forward":    "names that are not in the cluster are answered by nothing",
	"proxy":      "names that are not in the cluster are answered by nothing",
	"hosts":      "the names that it lists go to the next plugin",
	"file":       "the zone that it serves goes to the next plugin",
	"rewrite":    "names that it rewrote are looked up as they stand",
	"template":   "names that it answered go to the next plugin",
	"loop":       "a loop of queries is not noticed, and takes all memory",
	"ready":      "readiness probes on :8181 fail, and no pod gets ready",
	"health":     "liveness probes on :8080 fail, and pods are restarted",
	"bind":       "queries come in at other addresses: pods whose resolver is the old one get no answer",
	"import":     "what it brought in is not there",
}

func checkCorefileChanged(p *rule.Pass, c diff.Change) {
	was := corefiles(c.Before)
	now := corefiles(c.After)
	for _, key := range slices.Sorted(maps.Keys(was)) {
		text, there := now[key]
		path := object.Path("data").Key(key)
		if !there {
			p.Report(c, rule.Finding{Path: path, Severity: rule.Error, Message: fmt.Sprintf("the Corefile under key %s goes", key), Consequence: "new pods of cluster DNS do not start"})
			continue
		}
		if text != was[key] {
			compareAnswers(p, c, path, parseCorefile(was[key]), parseCorefile(text))
			if before, after := strings.Count(was[key], "{")-strings.Count(was[key], "}"), strings.Count(text, "{")-strings.Count(text, "}"); before == 0 && after != 0 {
				p.Report(c, rule.Finding{Path: path, Severity: rule.Error, Message: "the Corefile has more braces of one kind than of the other", Consequence: "it does not parse: running pods keep the old one, and new ones do not start"})
			}
		}
	}
	if strings.Contains(c.Ref.Name, "dns") {
		for _, key := range []string{"stubDomains", "upstreamNameservers", "federations"} { // kube-dns
			path := object.Path("data").Key(key)
			if b, a := c.Before.At(string(path)).Text(), c.After.At(string(path)).Text(); b != a {
				p.Report(c, rule.Finding{Path: path, Message: change(key, oneLine(b), oneLine(a)), Consequence: "names of these domains are asked for elsewhere, by all pods at once"})
			}
		}
		for key := range c.After.At("data").Fields() {
			if strings.Contains(strings.ToLower(key), "dnsmasq") && !c.Before.At("data").Field(key).Equal(c.After.At("data").Field(key)) && c.Before.At("data").Field(key).Exists() {
				p.Report(c, rule.Finding{Path: object.Path("data").Key(key), Message: fmt.Sprintf("the configuration of dnsmasq (%s) changes", key), Consequence: "a line that it does not take keeps it from starting, on every node that restarts it"})
			}
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// compareAnswers compares what server blocks answer, and by what.
func compareAnswers(p *rule.Pass, c diff.Change, path object.Path, was, now map[string]coreBlock) {
	report := func(severity rule.Severity, before, after, message, consequence string) {
		p.Report(c, rule.Finding{Path: path, Severity: severity, Before: object.TextOf(before), After: object.TextOf(after), Message: message, Consequence: consequence})
	}
	for _, zone := range slices.Sorted(maps.Keys(was)) {
		if strings.HasPrefix(zone, "(") {
			continue // a snippet, which others import
		}
		after, there := now[zone]
		if !there {
			report(rule.Error, zone, "", fmt.Sprintf("the server block of %s goes", zone), "its names are answered by another block, or by none")
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(was[zone])) {
			gone, known := corePlugins[name]
			before := was[zone][name]
			plugin, there := after[name]
			switch {
			case !known:
			case !there && name == "proxy" && len(after["forward"].args) > 0: // forward took its place in CoreDNS 1.5
			case !there:
				severity := rule.Warning
				if name == "kubernetes" || name == "forward" || name == "ready" || name == "health" {
					severity = rule.Error
				}
				report(severity, name+" "+strings.Join(before.args, " "), "", fmt.Sprintf("%s is lost (%s)", name, zone), gone)
			case name == "health" && len(before.options["lameduck"]) > 0 && len(plugin.options["lameduck"]) == 0:
				report(0, "lameduck "+strings.Join(before.options["lameduck"], " "), "", fmt.Sprintf("health loses its lameduck (%s)", zone),
					"a pod of cluster DNS that ends stops to answer at once, while nodes still send it queries: each rollout and drain costs lookups that time out after 5 s")
			case name == "ready" || name == "health" || name == "loop":
			case !slices.Equal(before.args, plugin.args):
				text := map[string]string{"kubernetes": "other zones are answered as those of the cluster", "forward": "names that are not in the cluster are asked for elsewhere, by all pods at once", "bind": corePlugins["bind"]}[name]
				report(0, name+" "+strings.Join(before.args, " "), name+" "+strings.Join(plugin.args, " "),
					fmt.Sprintf("%s %s becomes %s %s (%s)", name, strings.Join(before.args, " "), name, strings.Join(plugin.args, " "), zone), orText(text, "other names are answered by it"))
			case !maps.EqualFunc(before.options, plugin.options, slices.Equal[[]string]) && name != "forward":
				report(rule.Note, "", "", fmt.Sprintf("%s has other options (%s)", name, zone), "its names are answered in another way, for all pods at once")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if _, known := corePlugins[name]; !known || len(was[zone][name].args)+len(was[zone][name].options) > 0 {
				continue
			}
			if _, there := was[zone][name]; !there && (name == "rewrite" || name == "template" || name == "hosts" || name == "import") {
				report(0, "", name+" "+strings.Join(after[name].args, " "), fmt.Sprintf("%s appears (%s)", name, zone), "it answers or rewrites names before the plugins behind it, for all pods at once")
			}
		}
	}
}
