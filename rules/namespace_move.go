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

// This file is no rule: it knows a unit that goes to another namespace as a whole,
// as a release, a destination or an overlay with another namespace does. WorkloadRenamed
// tells of it once; what rules would say of each object is part of that.

// A unitMove is all that goes from one namespace to another.
type unitMove struct {
	from, to string
	moved    []diff.Change
	first    object.Ref // the first workload of it, after the change
}

// movesWhole gives the move of a unit: two objects or more, a workload that serves among
// them, go from one namespace to one other under their names, and none stays or comes
// in the old one.
func movesWhole(u *rule.Unit) (m unitMove, ok bool) {
	for i := range u.Changes {
		c := &u.Changes[i]
		if !keepsName(*c) {
			continue
		}
		if m.moved == nil {
			m.from, m.to = c.RenamedFrom.Namespace, c.Ref.Namespace
		}
		if c.RenamedFrom.Namespace != m.from || c.Ref.Namespace != m.to {
			return m, false
		}
		m.moved = append(m.moved, *c)
		if m.first.Name == "" && slices.Contains(servingKinds, c.Ref.GroupKind()) {
			m.first = c.Ref
		}
	}
	return m, m.first.Name != "" && len(m.moved) > 1 && m.from != "" && len(inNamespace(u.After, m.from)) == 0
}

// keepsName says whether an object goes to another namespace under its name.
func keepsName(c diff.Change) bool {
	return c.Action == diff.Rename && c.RenamedFrom.Namespace != c.Ref.Namespace && c.RenamedFrom.Name == c.Ref.Name
}

// toldByMove says whether a change is a part of its unit's move.
func toldByMove(u *rule.Unit, c diff.Change) bool {
	if !keepsName(c) {
		return false
	}
	_, ok := movesWhole(u)
	return ok
}

// finding tells of the move, for its first workload.
func (m unitMove) finding(u *rule.Unit) rule.Finding {
	kinds := map[string]int{}
	var workloads []object.Workload
	var names []string
	var related []object.Ref
	balancers, pods := 0, 0
	for _, c := range m.moved {
		kinds[c.Ref.Kind]++
		if w, ok := u.Before.Workload(c.Before.Ref); ok {
			workloads = append(workloads, w)
			pods += w.Replicas.Count
		}
		if c.Ref.Kind == "Service" {
			names = append(names, dnsName(c.Before.Ref))
			if serviceType(c.Before) == "LoadBalancer" {
				balancers++
			}
		}
		if c.Ref != m.first && len(related) < 9 {
			related = append(related, c.Ref)
		}
	}
	var counts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		counts = append(counts, fmt.Sprintf("%d %s", kinds[kind], kind))
	}
	f := rule.Finding{Path: "metadata.namespace", Related: related,
		Message: fmt.Sprintf("the unit moves from namespace %s to %s with its %d objects: %s", m.from, m.to, len(m.moved), strings.Join(counts, ", "))}
	says := []string{
		"each is made anew there, and where the tool prunes the old one is deleted",
		podsOfAll(workloads, pods) + " start without a rolling update: both run at once, or the old ones end before the new ones are ready, by the tool's order",
	}
	if len(names) > 0 {
		f.Severity = rule.Error
		resolve := "resolve"
		if len(names) == 1 {
			resolve = "resolves"
		}
		says = append(says, fmt.Sprintf("%s no longer %s where the old one is deleted", listed(names), resolve))
	}
	if balancers > 0 {
		says = append(says, plural(balancers, "load balancer")+" with other addresses")
	}
	says = append(says, fmt.Sprintf("what the pods name and is not in these manifests, such as Secrets, must be in %s too", m.to))
	f.Consequence = strings.Join(says, "; ")
	return f
}

// podsOfAll counts the pods of workloads, where all are known.
func podsOfAll(workloads []object.Workload, pods int) string {
	for _, w := range workloads {
		if !w.Replicas.Known {
			return "the pods of " + plural(len(workloads), "workload")
		}
	}
	return plural(pods, "pod") + " of " + plural(len(workloads), "workload")
}
