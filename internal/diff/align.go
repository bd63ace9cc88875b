package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// Bounds that keep the comparison of long lists from taking quadratic time.
const (
	maxTable    = 1 << 20 // cells of one table of longest common subsequences
	maxLikeness = 1 << 12 // pairs of items whose likeness is measured in one gap
)

// alike is the share of equal parts from which two items of a list count as one
// item that changed, rather than one that goes and one that comes.
// The only item that goes and the only one that comes need less.
const (
	alike = 0.5
	alone = 0.3
)

// pairInOrder pairs the items of two lists of which the order matters: the
// longest common subsequence stays, what lies between is paired by likeness, so
// that one inserted item is one insertion. A list that was only permuted is
// paired by its items, which shows as one change of order.
func pairInOrder(before, after object.Value, r renaming) []pair {
	b, a, swap := identify(before, after, r)
	if permuted(b, a) {
		return pairEqual(b, a)
	}
	if !swap {
		return alignInOrder(before, after, b, a)
	}
	// Of several longest subsequences the one that is taken must be the same in
	// both directions, so that swapped sides give the mirrored change.
	pairs := alignInOrder(after, before, a, b)
	for i, p := range pairs {
		pairs[i].before, pairs[i].after = p.after, p.before
	}
	return pairs
}

func alignInOrder(before, after object.Value, b, a []int) []pair {
	matched := make([]int, len(b)) // before -> after
	for i := range matched {
		matched[i] = -1
	}
	common(b, a, 0, 0, matched)

	var pairs []pair
	i, j := 0, 0
	for i < len(b) || j < len(a) {
		endB := i
		for endB < len(b) && matched[endB] < 0 {
			endB++
		}
		endA := len(a)
		if endB < len(b) {
			endA = matched[endB]
		}
		pairs = append(pairs, pairGap(before, after, i, endB, j, endA)...)
		if endB < len(b) {
			pairs = append(pairs, pair{before: endB, after: endA})
		}
		i, j = endB+1, endA+1
	}
	return pairs
}

// pairFreely pairs the items of two lists of which the order has no meaning:
// equal ones, then the ones most alike.
func pairFreely(before, after object.Value, r renaming) []pair {
	b, a, _ := identify(before, after, r)
	pairs := pairEqual(b, a)
	var gone, come []int // indexes in pairs
	for i, p := range pairs {
		switch {
		case p.after < 0:
			gone = append(gone, i)
		case p.before < 0:
			come = append(come, i)
		}
	}
	if len(gone)*len(come) == 0 || len(gone)*len(come) > maxLikeness {
		return pairs
	}
	least := alike
	if len(gone) == 1 && len(come) == 1 {
		least = alone
	}
	type match struct {
		gone, come int
		places     int
		score      float64
	}
	var matches []match
	for _, g := range gone {
		for _, c := range come {
			x, y := before.Item(pairs[g].before), after.Item(pairs[c].after)
			if s := likeness(x, y, 0); s >= least && x.Type() == object.Map {
				matches = append(matches, match{g, c, pairs[g].before + pairs[c].after, s})
			}
		}
	}
	// Matches of one score and sum of places never compete for an item, so
	// swapped sides take the same ones.
	slices.SortStableFunc(matches, func(x, y match) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.places, y.places))
	})
	for _, m := range matches {
		if g, c := &pairs[m.gone], &pairs[m.come]; g.before >= 0 && c.before < 0 {
			c.before, g.before = g.before, -1
		}
	}
	return slices.DeleteFunc(pairs, func(p pair) bool { return p.before < 0 && p.after < 0 })
}

// identify gives each item a number, the same for items that read the same once
// names before are followed by r. swap picks one of both directions, whichever
// way round the lists come.
func identify(before, after object.Value, r renaming) (b, a []int, swap bool) {
	numbers := map[string]int{}
	number := func(items object.Value, r renaming) ([]int, []string) {
		ids, texts := make([]int, 0, items.Len()), make([]string, 0, items.Len())
		for _, item := range items.Items() {
			s := r.apply(item.String())
			n, ok := numbers[s]
			if !ok {
				n = len(numbers)
				numbers[s] = n
			}
			ids, texts = append(ids, n), append(texts, object.Unmark(s)) // marks differ from run to run
		}
		return ids, texts
	}
	b, textsB := number(before, r)
	a, textsA := number(after, renaming{})
	return b, a, slices.Compare(textsB, textsA) > 0
}

func permuted(b, a []int) bool {
	if len(b) != len(a) {
		return false
	}
	x, y := slices.Clone(b), slices.Clone(a)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// pairEqual pairs equal items in order of appearance, each once.
func pairEqual(b, a []int) []pair {
	places := map[int][]int{}
	for i, n := range b {
		places[n] = append(places[n], i)
	}
	kept := make([]bool, len(b))
	var pairs []pair
	for j, n := range a {
		p := pair{before: -1, after: j}
		if at := places[n]; len(at) > 0 {
			p.before, places[n] = at[0], at[1:]
			kept[p.before] = true
		}
		pairs = append(pairs, p)
	}
	var gone []pair
	for i := range b {
		if !kept[i] {
			gone = append(gone, pair{before: i, after: -1})
		}
	}
	return append(gone, pairs...)
}

// common marks a longest common subsequence in matched; offB and offA are where
// b and a start in the whole lists. Long stretches are first split at items that
// stand once on each side, so the time stays near linear.
func common(b, a []int, offB, offA int, matched []int) {
	for len(b) > 0 && len(a) > 0 && b[0] == a[0] {
		matched[offB] = offA
		b, a, offB, offA = b[1:], a[1:], offB+1, offA+1
	}
	for len(b) > 0 && len(a) > 0 && b[len(b)-1] == a[len(a)-1] {
		matched[offB+len(b)-1] = offA + len(a) - 1
		b, a = b[:len(b)-1], a[:len(a)-1]
	}
	if len(b) == 0 || len(a) == 0 {
		return
	}
	if len(b)*len(a) <= maxTable {
		commonTable(b, a, offB, offA, matched)
		return
	}
	lastB, lastA := 0, 0
	anchors := uniqueAnchors(b, a)
	for _, p := range anchors {
		common(b[lastB:p.before], a[lastA:p.after], offB+lastB, offA+lastA, matched)
		matched[offB+p.before] = offA + p.after
		lastB, lastA = p.before+1, p.after+1
	}
	if len(anchors) > 0 {
		common(b[lastB:], a[lastA:], offB+lastB, offA+lastA, matched)
	}
}

// commonTable is the textbook table of longest common subsequences.
func commonTable(b, a []int, offB, offA int, matched []int) {
	width := len(a) + 1
	table := make([]int32, (len(b)+1)*width)
	for i := len(b) - 1; i >= 0; i-- {
		for j := len(a) - 1; j >= 0; j-- {
			if b[i] == a[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(b) && j < len(a); {
		switch {
		case b[i] == a[j]:
			matched[offB+i] = offA + j
			i, j = i+1, j+1
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			i++
		default:
			j++
		}
	}
}

// uniqueAnchors gives items that stand exactly once on each side, as many as
// keep the same order on both (patience diff).
func uniqueAnchors(b, a []int) []pair {
	type count struct{ inB, inA, atB, atA int }
	counts := map[int]*count{}
	get := func(n int) *count {
		if counts[n] == nil {
			counts[n] = &count{}
		}
		return counts[n]
	}
	for i, n := range b {
		c := get(n)
		c.inB, c.atB = c.inB+1, i
	}
	for j, n := range a {
		c := get(n)
		c.inA, c.atA = c.inA+1, j
	}
	var unique []pair
	for _, n := range b {
		if c := counts[n]; c.inB == 1 && c.inA == 1 {
			unique = append(unique, pair{before: c.atB, after: c.atA})
		}
	}
	return longestRising(unique)
}

// longestRising gives the longest subsequence with rising after.
func longestRising(pairs []pair) []pair {
	var tails []int // index of the smallest end of a run of each length
	previous := make([]int, len(pairs))
	for i, p := range pairs {
		k, _ := slices.BinarySearchFunc(tails, p.after, func(t, after int) int { return pairs[t].after - after })
		previous[i] = -1
		if k > 0 {
			previous[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	out := make([]pair, len(tails))
	for i, k := tails[len(tails)-1], len(tails)-1; k >= 0; i, k = previous[i], k-1 {
		out[k] = pairs[i]
	}
	return out
}

// pairGap pairs what lies between two common items, in order: the alignment of
// the greatest likeness; scalars that are left over in equal number stand for
// one another.
func pairGap(before, after object.Value, b0, b1, a0, a1 int) []pair {
	nb, na := b1-b0, a1-a0
	var pairs []pair
	if nb*na == 0 || nb*na > maxLikeness {
		return replaced(pairs, before, after, b0, b1, a0, a1)
	}
	least := alike
	if nb == 1 && na == 1 {
		least = alone
	}
	width := na + 1
	scores := make([]float64, nb*na)
	table := make([]float64, (nb+1)*width)
	for i := nb - 1; i >= 0; i-- {
		for j := na - 1; j >= 0; j-- {
			s := likeness(before.Item(b0+i), after.Item(a0+j), 0)
			scores[i*na+j] = s
			best := max(table[(i+1)*width+j], table[i*width+j+1])
			if s >= least {
				best = max(best, table[(i+1)*width+j+1]+s)
			}
			table[i*width+j] = best
		}
	}
	i, j, lastB, lastA := 0, 0, b0, a0
	for i < nb && j < na {
		s := scores[i*na+j]
		switch {
		case s >= least && table[i*width+j] == table[(i+1)*width+j+1]+s:
			pairs = replaced(pairs, before, after, lastB, b0+i, lastA, a0+j)
			pairs = append(pairs, pair{before: b0 + i, after: a0 + j})
			i, j = i+1, j+1
			lastB, lastA = b0+i, a0+j
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return replaced(pairs, before, after, lastB, b1, lastA, a1)
}

// replaced adds what is not alike: one for one when both sides have as many
// scalars, else as removed and added.
func replaced(pairs []pair, before, after object.Value, b0, b1, a0, a1 int) []pair {
	if b1-b0 == a1-a0 && isScalar(before.Item(b0)) && isScalar(after.Item(a0)) {
		for k := range b1 - b0 {
			pairs = append(pairs, pair{before: b0 + k, after: a0 + k})
		}
		return pairs
	}
	for i := b0; i < b1; i++ {
		pairs = append(pairs, pair{before: i, after: -1})
	}
	for j := a0; j < a1; j++ {
		pairs = append(pairs, pair{before: -1, after: j})
	}
	return pairs
}

func isScalar(v object.Value) bool {
	switch v.Type() {
	case object.String, object.Number, object.Bool, object.Null:
		return true
	}
	return false
}

// likeness is the share, from 0 to 1, of two values that is equal. A flag with
// another value is half alike, and so is anything of the same name.
func likeness(x, y object.Value, depth int) float64 {
	if x.Type() != y.Type() {
		return 0
	}
	switch x.Type() {
	case object.Map:
		keys := unionKeys(x, y)
		if len(keys) == 0 {
			return 1
		}
		sum := 0.0
		for _, k := range keys {
			b, a := x.Field(k), y.Field(k)
			if isNothing(b) && isNothing(a) {
				sum++
				continue
			}
			sum += likeness(b, a, depth+1)
		}
		share := sum / float64(len(keys))
		if depth == 0 && sameIdentity(x, y) {
			share = 0.9 + share/10
		}
		return share
	case object.List:
		if x.Len()+y.Len() == 0 || x.Equal(y) {
			return 1
		}
		b, a, _ := identify(x, y, renaming{})
		equal := 0
		for _, p := range pairEqual(b, a) {
			if p.before >= 0 && p.after >= 0 {
				equal++
			}
		}
		return float64(2*equal) / float64(len(b)+len(a))
	case object.String:
		if x.Equal(y) {
			return 1
		}
		if flag, _, ok := strings.Cut(x.Text(), "="); ok && flag != "" && strings.HasPrefix(y.Text(), flag+"=") {
			return alike
		}
		return 0
	}
	if x.Equal(y) {
		return 1
	}
	return 0
}

// isNothing says whether a value is absent, or a list or map without content,
// which mostly means the same.
func isNothing(v object.Value) bool {
	return !v.Exists() || (v.Type() == object.Map || v.Type() == object.List) && v.Len() == 0
}

// sameIdentity says whether two maps bear the same name, or the same metadata.name.
func sameIdentity(x, y object.Value) bool {
	for _, path := range []string{"name", "metadata.name"} {
		if n := x.At(path); n.Exists() && isScalar(n) && n.Equal(y.At(path)) {
			return true
		}
	}
	return false
}
