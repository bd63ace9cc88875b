package diff

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// sameContent is the share of equal leaves from which an object that goes and
// one of its kind that comes count as renamed. At three quarters, the name, the
// labels that carry it and one or two edits may differ in a small object; two
// workloads of one project, which share ports, probes and security settings, stay
// below it in most cases. Nothing hangs on it but the presentation: a rename is
// deleted and created all the same.
const sameContent = 0.75

// Bounds that keep the search for renames near linear.
const (
	minLeaves     = 4    // objects with fewer are too small to be told apart
	maxLeaves     = 4096 // more of one object are not looked at
	commonLeaf    = 20   // leaves in more objects than this lead to no candidate
	maxCandidates = 5    // objects whose likeness is measured for one
)

// matchContent pairs objects of one kind and namespace by content.
func (e *engine) matchContent(gone, come []*object.Object) []match {
	leaves := map[*object.Object]map[uint64]int{}
	index := map[uint64][]int{} // leaf -> indexes in gone
	for i, o := range gone {
		leaves[o] = leavesOf(o)
		for leaf := range leaves[o] {
			index[leaf] = append(index[leaf], i)
		}
	}
	type candidate struct {
		gone, come int
		score      float64
	}
	var candidates []candidate
	shared := map[int]int{}
	for j, o := range come {
		own := leavesOf(o)
		if len(own) < minLeaves {
			continue
		}
		clear(shared)
		for leaf := range own {
			if at := index[leaf]; len(at) <= commonLeaf {
				for _, i := range at {
					shared[i]++
				}
			}
		}
		var best []int
		for i := range shared {
			if e.sameKind(gone[i], o) && len(leaves[gone[i]]) >= minLeaves {
				best = append(best, i)
			}
		}
		slices.SortFunc(best, func(x, y int) int { return cmp.Or(cmp.Compare(shared[y], shared[x]), cmp.Compare(x, y)) })
		for _, i := range best[:min(len(best), maxCandidates)] {
			if s := similarity(leaves[gone[i]], own); s >= sameContent {
				candidates = append(candidates, candidate{i, j, s})
			}
		}
	}
	slices.SortStableFunc(candidates, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.gone+x.come, y.gone+y.come), cmp.Compare(x.gone, y.gone))
	})
	takenGone, takenCome := map[int]bool{}, map[int]bool{}
	var matches []match
	for _, c := range candidates {
		if takenGone[c.gone] || takenCome[c.come] {
			continue
		}
		takenGone[c.gone], takenCome[c.come] = true, true
		matches = append(matches, match{before: gone[c.gone], after: come[c.come], renamed: true})
	}
	return matches
}

func (e *engine) sameKind(before, after *object.Object) bool {
	b, a := e.identity(before), e.identity(after)
	return b.Group == a.Group && b.Kind == a.Kind && b.Namespace == a.Namespace
}

// leavesOf counts the leaves of an object by a hash of place and value. The
// object's own name inside a value counts as the same in every object; list
// items count without their place.
func leavesOf(o *object.Object) map[uint64]int {
	out := map[uint64]int{}
	var visit func(v object.Value, path string)
	visit = func(v object.Value, path string) {
		if len(out) >= maxLeaves {
			return
		}
		switch v.Type() {
		case object.Map:
			for key, item := range v.Fields() {
				visit(item, path+"."+key)
			}
		case object.List:
			for _, item := range v.Items() {
				visit(item, path+"[]")
			}
		default:
			h := fnv.New64a()
			h.Write([]byte(path))
			h.Write([]byte{0})
			h.Write([]byte(strings.ReplaceAll(v.String(), o.Ref.Name, "\x00")))
			out[h.Sum64()]++
		}
	}
	for key, item := range o.Root().Fields() {
		switch key {
		case "apiVersion", "kind", "status":
		case "metadata":
			for _, key := range []string{"labels", "annotations"} {
				visit(item.Field(key), key)
			}
		default:
			visit(item, key)
		}
	}
	return out
}

// similarity is the share of leaves that two objects have in common, from 0 to 1
// (Dice's coefficient).
func similarity(b, a map[uint64]int) float64 {
	shared, total := 0, 0
	for leaf, n := range b {
		shared += min(n, a[leaf])
		total += n
	}
	for _, n := range a {
		total += n
	}
	if total == 0 {
		return 1
	}
	return float64(2*shared) / float64(total)
}
