package object

import (
	"slices"
	"strings"
)

// A mapping is a map of a manifest: its keys in byte order, each of them once. Maps of
// manifests have few keys, are read far more often than made, and nearly always in
// order: a list takes a third of the memory of a Go map, and no hashing or sorting. A
// nil mapping is empty.
type mapping struct{ pairs []pair }

type pair struct {
	key   string
	value any
}

// mappingOf makes a mapping of pairs in any order, which become its own. Of several
// with one key the last counts.
func mappingOf(pairs []pair) *mapping {
	if !ordered(pairs) {
		slices.SortStableFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })
		kept := pairs[:0]
		for i, p := range pairs {
			if i+1 == len(pairs) || pairs[i+1].key != p.key {
				kept = append(kept, p)
			}
		}
		clear(pairs[len(kept):])
		pairs = kept
	}
	return &mapping{pairs}
}

// ordered says whether keys are in byte order, each of them once.
func ordered(pairs []pair) bool {
	for i := 1; i < len(pairs); i++ {
		if pairs[i-1].key >= pairs[i].key {
			return false
		}
	}
	return true
}

func (m *mapping) len() int {
	if m == nil {
		return 0
	}
	return len(m.pairs)
}

// linear is up to how many keys looking at each is faster than a binary search.
const linear = 12

// find gives the place of a key, or where it would be put.
func (m *mapping) find(key string) (int, bool) {
	if m == nil {
		return 0, false
	}
	if len(m.pairs) <= linear {
		for i := range m.pairs {
			if m.pairs[i].key == key {
				return i, true
			}
		}
	}
	return slices.BinarySearchFunc(m.pairs, key, func(p pair, key string) int { return strings.Compare(p.key, key) })
}

// get gives the value of a key, nil where there is none.
func (m *mapping) get(key string) any {
	if m == nil {
		return nil
	}
	if len(m.pairs) <= linear {
		for i := range m.pairs {
			if m.pairs[i].key == key {
				return m.pairs[i].value
			}
		}
		return nil
	}
	if i, ok := m.find(key); ok {
		return m.pairs[i].value
	}
	return nil
}

func (m *mapping) has(key string) bool {
	_, ok := m.find(key)
	return ok
}

// text gives the text of a key, "" where there is none or something else.
func (m *mapping) text(key string) string {
	s, _ := m.get(key).(string)
	return s
}

// below gives the map of a key, nil where there is none or something else.
func (m *mapping) below(key string) *mapping {
	x, _ := m.get(key).(*mapping)
	return x
}

// set gives a key a value. It is for the few keys that change while an object is made.
func (m *mapping) set(key string, value any) {
	i, ok := m.find(key)
	if ok {
		m.pairs[i].value = value
		return
	}
	m.pairs = slices.Insert(m.pairs, i, pair{key, value})
}

// clone gives a copy that may be changed; the values are shared.
func (m *mapping) clone() *mapping {
	if m == nil {
		return &mapping{}
	}
	return &mapping{slices.Clone(m.pairs)}
}

func (m *mapping) delete(key string) {
	if i, ok := m.find(key); ok {
		m.pairs = slices.Delete(m.pairs, i, i+1)
	}
}

func (m *mapping) keys() []string {
	if m == nil {
		return nil
	}
	keys := make([]string, len(m.pairs))
	for i := range m.pairs {
		keys[i] = m.pairs[i].key
	}
	return keys
}

// A double is a key that stands a second time in one map.
type double struct {
	key  string
	line int
}

// doubles finds the keys that stand more than once among pairs, with the lines of all
// but the first, in the order of the lines.
func doubles(pairs []pair, lines []int) []double {
	if ordered(pairs) {
		return nil
	}
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(pairs[a].key, pairs[b].key) })
	var again []int
	for i := 1; i < len(order); i++ {
		if pairs[order[i-1]].key == pairs[order[i]].key {
			again = append(again, order[i])
		}
	}
	slices.Sort(again)
	var out []double
	for _, i := range again {
		out = append(out, double{pairs[i].key, lines[i]})
	}
	return out
}
