package report

import (
	"slices"
	"sort"

	"github.com/pmezard/go-difflib/difflib"
)

// maxMatch bounds the lines that are matched with each other at a time, as the
// product of their numbers on both sides: matching takes that many steps.
const maxMatch = 4 << 20

// matchLines gives the operations that make b of a, in order, without the equal
// ones between which nothing differs.
//
// Long texts are cut up first, at lines that stand once on each side and in the
// same order (the anchors of what is known as patience diff): a change in one
// line of a long text stays a change in one line, and the work grows with its
// length. What has no such line is replaced as a whole.
func matchLines(a, b []string) []difflib.OpCode {
	m := matcher{a: a, b: b}
	m.match(0, len(a), 0, len(b))
	return m.ops
}

type matcher struct {
	a, b []string
	ops  []difflib.OpCode
}

func (m *matcher) match(fromA, toA, fromB, toB int) {
	for fromA < toA && fromB < toB && m.a[fromA] == m.b[fromB] {
		fromA++
		fromB++
	}
	for fromA < toA && fromB < toB && m.a[toA-1] == m.b[toB-1] {
		toA--
		toB--
	}
	switch n := toA - fromA; {
	case n == 0 && toB == fromB:
		return
	case n == 0 || toB == fromB:
		m.add(difflib.OpCode{I1: fromA, I2: toA, J1: fromB, J2: toB})
	case n <= maxMatch/(toB-fromB):
		for _, op := range difflib.NewMatcher(m.a[fromA:toA], m.b[fromB:toB]).GetOpCodes() {
			if op.Tag != 'e' {
				m.add(difflib.OpCode{I1: op.I1 + fromA, I2: op.I2 + fromA, J1: op.J1 + fromB, J2: op.J2 + fromB})
			}
		}
	default:
		anchors := m.anchors(fromA, toA, fromB, toB)
		if len(anchors) == 0 {
			m.add(difflib.OpCode{I1: fromA, I2: toA, J1: fromB, J2: toB})
			return
		}
		for _, at := range anchors {
			m.match(fromA, at[0], fromB, at[1])
			fromA, fromB = at[0]+1, at[1]+1
		}
		m.match(fromA, toA, fromB, toB)
	}
}

func (m *matcher) add(op difflib.OpCode) {
	op.Tag = 'r'
	m.ops = append(m.ops, op)
}

// anchors gives the places of the most lines that stand once in each range, and in
// the same order in both.
func (m *matcher) anchors(fromA, toA, fromB, toB int) [][2]int {
	const many = -1
	once := func(lines []string, from, to int) map[string]int {
		at := make(map[string]int, to-from)
		for i := from; i < to; i++ {
			if _, seen := at[lines[i]]; seen {
				at[lines[i]] = many
			} else {
				at[lines[i]] = i
			}
		}
		return at
	}
	inB := once(m.b, fromB, toB)
	inA := once(m.a, fromA, toA)
	var pairs [][2]int
	for i := fromA; i < toA; i++ {
		if j, ok := inB[m.a[i]]; ok && j != many && inA[m.a[i]] != many {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	return increasing(pairs)
}

// increasing gives a longest run of pairs, in order of their first numbers as they
// come, whose second numbers grow too.
func increasing(pairs [][2]int) [][2]int {
	before := make([]int, len(pairs)) // the pair that precedes each in the run that ends with it
	var ends []int                    // the pair with which a run of each length ends lowest
	for i, p := range pairs {
		n := sort.Search(len(ends), func(k int) bool { return pairs[ends[k]][1] >= p[1] })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	var out [][2]int
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			out = append(out, pairs[i])
		}
	}
	slices.Reverse(out)
	return out
}
