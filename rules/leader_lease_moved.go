package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// LeaderLeaseMoved reports programs whose old and new pods elect a leader each.
var LeaderLeaseMoved = &rule.Rule{
	ID:       "leader-lease-moved",
	Title:    "A leader is elected by another lock than the running pods hold",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Pods that elect a leader agree on one object, by its kind, name and namespace. When one of the three changes, a new pod takes a lock that no old pod has ever seen: during the rollout there are two
leaders, both write, and each undoes what the other did. The account needs rights on the new object, too: without them the new pods never lead, and nothing is reconciled once
the old ones are gone.

With the strategy Recreate the old pods are gone before the new ones ask, and it is a note.`,
	Advice:  `Scale to one pod and let it end before the new one starts (Recreate, or replicas 0 for a moment), and change Role and binding for the new lock first.`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkLeaderLeaseMoved,
}

// leaseWords are what the names of flags and variables call the lock, joined by hyphens.
var leaseWords = []string{
	"leader-election-namespace", "leader-election-id", "leader-election-name", "leader-election-configmap", "leader-election-lease-name", "leader-election-lease-namespace",
	"leader-election-resource-lock", "leader-election-resource-name", "leader-election-resource-namespace", "leader-elect-resource-name", "leader-elect-resource-namespace",
	"leader-elect-resource-lock", "leader-elect-lease-name", "leader-elect-lease-namespace", "election-id", "lease-name", "leaderelectionid", "leaderelectionnamespace",
}

func namesLease(name string) bool {
	name = strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(name), "_", "-"), ".", "-")
	return slices.ContainsFunc(leaseWords, func(w string) bool { return name == w || strings.HasSuffix(name, "-"+w) })
}

func checkLeaderLeaseMoved(p *rule.Pass, c diff.Change) {
	if !touched(c, ".args", ".command", ".env") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || after.Replicas.Known && after.Replicas.Count == 0 {
		return
	}
	report := func(box string, path object.Path, name, was, now string) {
		if was == now || was == "" || now == "" {
			return
		}
		f := rule.Finding{Path: path, Before: object.TextOf(was), After: object.TextOf(now), Message: fmt.Sprintf("container %s: %s goes from %s to %s", box, name, was, now),
			Consequence: "old and new pods hold a lock each: during the rollout there are two leaders, and the account needs rights on the new one"}
		if after.Text("spec.strategy.type") == "Recreate" {
			f.Severity = rule.Note
			f.Consequence = "the account needs rights on the new lock, or nobody leads"
		}
		p.Report(c, f)
	}
	for _, pair := range pairContainers(before, after) {
		olds := pair.before.Flags()
		for _, f := range pair.after.Flags() {
			if !namesLease(f.Name) {
				continue
			}
			if i := slices.IndexFunc(olds, func(x object.Flag) bool { return x.Name == f.Name }); i >= 0 {
				report(pair.after.Name, f.Path, "--"+f.Name, olds[i].Value, f.Value)
			}
		}
		vars := pair.before.Env()
		for _, e := range pair.after.Env() {
			if !namesLease(e.Name) {
				continue
			}
			if i := slices.IndexFunc(vars, func(x object.EnvVar) bool { return x.Name == e.Name }); i >= 0 {
				report(pair.after.Name, e.Path, e.Name, vars[i].Value.Text(), e.Value.Text())
			}
		}
	}
}
