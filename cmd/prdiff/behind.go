package main

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
)

// leaveBehind takes out the deletions of what stays in the cluster: a unit whose object
// goes and leaves what it deployed, such as an Application without finalizer, is said
// to, and its objects are not deleted. What another unit gains is kept, because it moves.
func leaveBehind(results []result, units []pairing, base *gitops.Walked) {
	gone := map[render.Unit]bool{}
	for _, p := range units {
		if p.before && !p.after {
			gone[p.was] = true
		}
	}
	var gained map[object.Ref]bool
	for i, p := range units {
		why, others := staysBehind(p.was, gone, base)
		if why == "" || len(results[i].parts) == 0 {
			continue
		}
		if gained == nil {
			gained = gainedBy(results)
		}
		left := 0
		var parts []*rule.Unit
		for _, part := range results[i].parts {
			rest := slices.DeleteFunc(slices.Clone(part.Changes), func(c diff.Change) bool {
				return c.Action == diff.Delete && !gained[nameOf(c.Ref)]
			})
			left += len(part.Changes) - len(rest)
			if len(rest) > 0 {
				part := *part
				part.Changes = rest
				parts = append(parts, &part)
			}
		}
		results[i].parts = parts
		if left == 0 || len(results[i].units) == 0 {
			continue
		}
		says := "%s, and goes: %s in the cluster, and nobody updates them any more"
		if others {
			says = "%s, and goes: what deploys this unit stays in the cluster, and %s with it"
		}
		u := &results[i].units[0]
		u.Notes = append(slices.Clip(u.Notes), fmt.Sprintf(says, why, stay(left)))
	}
}

func stay(n int) string {
	if n == 1 {
		return "1 object stays"
	}
	return fmt.Sprintf("%d objects stay", n)
}

// staysBehind says why what a unit deployed stays in the cluster though the unit is gone:
// its object leaves it there, or is itself left there by the one that deployed it: by
// others then. "" when it goes, or the unit does not.
func staysBehind(u render.Unit, gone map[render.Unit]bool, base *gitops.Walked) (why string, others bool) {
	for range len(gone) {
		if !gone[u] {
			return "", false
		}
		if why := base.Stays[u]; why != "" {
			return why, others
		}
		u, others = base.Parents[u], true
	}
	return "", false
}

// gainedBy gives the names of all that comes new to some unit.
func gainedBy(results []result) map[object.Ref]bool {
	gained := map[object.Ref]bool{}
	for _, r := range results {
		for _, part := range r.parts {
			for _, c := range part.Changes {
				if c.Action == diff.Create {
					gained[nameOf(c.Ref)] = true
				}
			}
		}
	}
	return gained
}

func nameOf(ref object.Ref) object.Ref {
	ref.Unit = ""
	return ref
}
