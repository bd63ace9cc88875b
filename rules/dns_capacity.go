package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// DNSCapacity reports cluster DNS that gets smaller, or stays as it is while more
// pods may come.
var DNSCapacity = &rule.Rule{
	ID:       "dns-capacity",
	Title:    "Cluster DNS gets smaller, or stays small while more pods may come",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
Every pod of the cluster asks the same few DNS pods. When these are short, queries wait, and a query that waits is memory: the pods
reach their limit, are killed all at about the same time, and the retries of everybody keep them down after the restart. What
depends on names fails everywhere at once, the tools for repairing it included.

It looks at replicas, memory and autoscaling of CoreDNS, kube-dns and NodeLocal DNS; at max_concurrent, which refuses queries above
it; at the cache, without which each query goes upstream; and at a CoreDNS of fixed size in the same run while the maxima of
autoscalers grow, with the pods for each replica. CoreDNS' own rule for its memory at rest is (pods + services)/1000 + 54 MB
for each replica, with the autopath plugin (pods + services)/250 + 56 MB; the queries of a bad day come on top.`,
	Advice: `Let DNS grow with the cluster (cluster-proportional-autoscaler, the autoscaling of the provider's add-on, or NodeLocal DNS) before the
maxima rise. Leave a memory limit several times the memory at rest. Measure queries per second and memory at the peak of a rollout, not
on an average day, before anything is lowered.`,
	Incidents:  []string{"buildkite-coredns", "datadog-nodelocaldns-limits-2021", "zalando-coredns-2019"},
	Parameters: []rule.Parameter{growthPercent, growthPods},
	CheckAll:   checkDNSCapacity,
}

func checkDNSCapacity(l *rule.Fleet) {
	var raised []raise
	for _, u := range l.Units {
		for _, c := range u.Changes {
			if c.Before == nil || c.After == nil {
				continue
			}
			switch {
			case c.Ref.GroupKind() == "ConfigMap":
				dnsConfig(l, u, c)
			case strings.HasSuffix(c.Ref.Kind, "Autoscaler") || c.Ref.Kind == "ScaledObject":
				dnsAutoscaler(l, u, c)
			default:
				dnsWorkload(l, u, c)
			}
		}
		if u.Before != nil && u.After != nil {
			raised = append(raised, raises(u)...)
		}
	}
	fixedDNS(l, raised)
}

// dnsWorkload tells of replicas, memory and flags that are lowered.
func dnsWorkload(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	before, ok := u.Before.Workload(c.Before.Ref)
	after, alsoOK := u.After.Workload(c.After.Ref)
	if !ok || !alsoOK || !servesDNS(before) || !servesDNS(after) {
		return
	}
	if b, a := before.Replicas, after.Replicas; b.Known && a.Known && a.Count < b.Count && b.Autoscaler == nil && a.Autoscaler == nil {
		f := rule.Finding{Path: "spec.replicas", Message: "cluster DNS: " + become(b.Count, "replica", a.Count)}
		f.Consequence = fmt.Sprintf("each that is left answers %s its queries", times(impact.Share(b.Count, a.Count)))
		if a.Count <= 1 {
			f.Severity = rule.Error
			f.Consequence = "one pod answers for the whole cluster, and none while it is moved"
		}
		if a.Count == 0 {
			f.Consequence = "nobody answers for the cluster"
		}
		l.Report(u, c, f)
	}
	for _, b := range before.Running() {
		a, ok := after.Container(b.Name)
		if !ok {
			continue
		}
		for _, what := range []string{"limits", "requests"} {
			path := "resources." + what + ".memory"
			was, err := b.At(path).Quantity()
			now, alsoErr := a.At(path).Quantity()
			if err != nil || alsoErr != nil || now.Cmp(was) >= 0 {
				continue
			}
			f := rule.Finding{
				Path:        a.Path.Key("resources").Key(what).Key("memory"),
				Message:     fmt.Sprintf("the memory %s of cluster DNS goes from %s to %s", strings.TrimSuffix(what, "s"), b.At(path), a.At(path)),
				Consequence: "pending queries are kept in memory: a burst that fitted before now gets the pods killed, all of them at once",
			}
			if what == "requests" {
				f.Severity = rule.Note
				f.Consequence = "less of the node's memory is kept for it"
			}
			l.Report(u, c, f)
		}
		for _, name := range []string{"cache-size", "dns-forward-max"} { // kube-dns' dnsmasq
			was, found := flag(b, name)
			now, alsoFound := flag(a, name)
			if found && alsoFound && number([]string{now.Value}) < number([]string{was.Value}) {
				l.Report(u, c, rule.Finding{Path: now.Path,
					Message:     fmt.Sprintf("%s of cluster DNS: %s becomes %s", name, was.Value, now.Value),
					Consequence: "more queries go upstream or are refused"})
			}
		}
	}
}

func flag(c object.Container, name string) (object.Flag, bool) {
	for _, f := range c.Flags() {
		if f.Name == name {
			return f, true
		}
	}
	return object.Flag{}, false
}

// dnsAutoscaler tells of a lower minimum or maximum of an autoscaler of cluster DNS.
func dnsAutoscaler(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	before, ok := object.AsAutoscaler(c.Before)
	after, alsoOK := object.AsAutoscaler(c.After)
	if !ok || !alsoOK {
		return
	}
	if w, ok := u.After.Workload(after.Target); !ok || !servesDNS(w) {
		return
	}
	if after.Max < before.Max {
		l.Report(u, c, rule.Finding{Path: after.MaxPath,
			Message:     fmt.Sprintf("cluster DNS may grow to %s, %d before", plural(int(after.Max), "replica"), before.Max),
			Consequence: "above that, queries wait", Related: []object.Ref{after.Target}})
	}
	if after.Min < before.Min {
		l.Report(u, c, rule.Finding{Path: after.MinPath,
			Message:     fmt.Sprintf("cluster DNS may shrink to %s, %d before", plural(int(after.Min), "replica"), before.Min),
			Consequence: "a burst meets fewer pods, and new ones take a while to come", Related: []object.Ref{after.Target}})
	}
}

// dnsConfig tells of a Corefile or of the parameters of the proportional autoscaler
// (https://github.com/kubernetes-sigs/cluster-proportional-autoscaler).
func dnsConfig(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	was := corefiles(c.Before)
	for _, key := range c.After.At("data").Keys() {
		text, ok := was[key]
		if !ok {
			continue
		}
		path := object.Path("data").Key(key)
		report := func(severity rule.Severity, before, after, message, consequence string) {
			l.Report(u, c, rule.Finding{Path: path, Severity: severity, Before: object.TextOf(before), After: object.TextOf(after),
				Message: message, Consequence: consequence})
		}
		compareCorefiles(parseCorefile(text), parseCorefile(c.After.At("data").Field(key).Text()), report)
	}
	if strings.Contains(c.Ref.Name, "dns") {
		proportional(l, u, c)
	}
}

// compareCorefiles reports with the lines that differ, not with the whole files.
func compareCorefiles(before, after map[string]coreBlock, report func(severity rule.Severity, before, after, message, consequence string)) {
	for _, zone := range slices.Sorted(maps.Keys(before)) {
		b, a := before[zone], after[zone]
		if a == nil {
			continue
		}
		if was, ok := b["cache"]; ok {
			line := strings.TrimSpace("cache " + strings.Join(was.args, " "))
			now, still := a["cache"]
			switch ttl, shorter := number(was.args), number(now.args); {
			case !still:
				report(rule.Warning, line, "", fmt.Sprintf("the Corefile no longer caches (%s)", zone),
					"every query goes upstream: an answer that one query got was good for all pods until its TTL ran out")
			case shorter > 0 && shorter < ttl:
				report(rule.Note, line, strings.TrimSpace("cache "+strings.Join(now.args, " ")),
					fmt.Sprintf("the Corefile caches for %d s at most, %d s before (%s)", shorter, ttl, zone), "answers are asked for again earlier")
			}
		}
		was, had := b["forward"]
		now, has := a["forward"]
		if !had || !has {
			continue
		}
		// 0 is no bound (https://coredns.io/plugins/forward/).
		limit, lower := number(was.options["max_concurrent"]), number(now.options["max_concurrent"])
		if lower == 0 || limit > 0 && lower >= limit {
			continue
		}
		const refused = "queries above it are answered with REFUSED at once"
		line := fmt.Sprintf("max_concurrent %d", lower)
		if limit == 0 {
			report(rule.Warning, "", line, fmt.Sprintf("%s appears, where nothing bounded the queries under way (%s)", line, zone), refused)
		} else {
			report(rule.Warning, fmt.Sprintf("max_concurrent %d", limit), line, fmt.Sprintf("max_concurrent %d becomes %d (%s)", limit, lower, zone), refused)
		}
	}
}

// proportional tells of a proportional autoscaler that makes fewer replicas.
func proportional(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	read := func(o *object.Object) (linear map[string]any) {
		if json.Unmarshal([]byte(o.At("data").Field("linear").Text()), &linear) != nil {
			return nil
		}
		return linear
	}
	before, after := read(c.Before), read(c.After)
	for _, name := range []string{"coresPerReplica", "max", "min", "nodesPerReplica"} {
		was, ok := before[name].(float64)
		now, alsoOK := after[name].(float64)
		fewer := now < was
		if strings.HasSuffix(name, "PerReplica") {
			fewer = now > was
		}
		if ok && alsoOK && fewer {
			l.Report(u, c, rule.Finding{Path: "data.linear",
				Message:     fmt.Sprintf("%s of the autoscaler of cluster DNS: %v becomes %v", name, was, now),
				Consequence: "the same cluster gets fewer DNS replicas"})
		}
	}
}

// fixedDNS tells of a CoreDNS of fixed size while the sum of ceilings grows.
func fixedDNS(l *rule.Fleet, raised []raise) {
	if len(raised) == 0 {
		return
	}
	was, now := maxima(l.Units, before), maxima(l.Units, after)
	if !grows(l, was, now) {
		return
	}
	largest := raised[0]
	for _, r := range raised {
		if r.added() > largest.added() {
			largest = r
		}
	}
	for _, u := range l.Units {
		for _, w := range u.After.Workloads() {
			if w.Ref.Kind != "Deployment" || !servesDNS(w) || w.Replicas.Autoscaler != nil || w.Replicas.Count <= 0 || proportionallyScaled(u.After, w) {
				continue
			}
			if b, ok := u.Before.Workload(w.Ref); !ok || b.Replicas.Count < w.Replicas.Count {
				continue // it is new, or grows too
			}
			l.Report(largest.unit, largest.change, fixedFinding(l, u, w, was, now))
		}
	}
}

func fixedFinding(l *rule.Fleet, u *rule.Unit, w object.Workload, was, now int64) rule.Finding {
	services := int64(0)
	for _, unit := range l.Units {
		services += int64(len(unit.After.Kind("Service")))
	}
	resolver := impact.Resolver{Replicas: w.Replicas.Count, Autopath: autopath(u.After, w)}
	for _, c := range w.Running() {
		if q, err := c.At("resources.limits.memory").Quantity(); err == nil {
			resolver.Memory = max(resolver.Memory, q.Bytes())
		}
	}
	f := rule.Finding{
		Related: []object.Ref{w.Ref},
		Message: fmt.Sprintf("%s stays at %s while the maxima of autoscalers rise from %d to %d pods: %.0f pods for each, %.0f before",
			w.Ref, plural(w.Replicas.Count, "replica"), was, now, resolver.PodsPerReplica(now), resolver.PodsPerReplica(was)),
	}
	needed := float64(resolver.MemoryNeeded(now, services)) / 1e6
	f.Consequence = fmt.Sprintf("for these pods and %s each replica needs %.0f MB at rest by CoreDNS' own rule", plural(int(services), "Service"), needed)
	switch {
	case resolver.Memory == 0:
		f.Consequence += ", and no limit bounds it; queries that wait come on top"
	case !resolver.Fits(now, services):
		f.Severity = rule.Error
		f.Consequence += fmt.Sprintf(", more than its limit of %s", bytes(resolver.Memory))
	default:
		f.Consequence += fmt.Sprintf("; what its limit of %s leaves above that is all there is for queries that wait", bytes(resolver.Memory))
	}
	return f
}

// proportionallyScaled says whether a cluster-proportional-autoscaler of the set
// has w as its target.
func proportionallyScaled(set *object.Set, w object.Workload) bool {
	for _, o := range set.Workloads() {
		for _, c := range o.Running() {
			f, ok := flag(c, "target")
			if ok && strings.EqualFold(f.Value, w.Ref.Kind+"/"+w.Ref.Name) {
				return true
			}
		}
	}
	return false
}

// autopath says whether a Corefile that w mounts has the autopath plugin.
func autopath(set *object.Set, w object.Workload) bool {
	for _, r := range set.References(w.Object) {
		if r.To.Kind != "ConfigMap" {
			continue
		}
		o := set.Get(r.To)
		if o == nil {
			continue
		}
		for _, text := range corefiles(o) {
			for _, block := range parseCorefile(text) {
				if _, ok := block["autopath"]; ok {
					return true
				}
			}
		}
	}
	return false
}
