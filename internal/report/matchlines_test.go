package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// manyLines gives n lines; every one of some kinds is there many times.
func manyLines(n int) []string {
	var out []string
	for i := range n / 3 {
		out = append(out, fmt.Sprintf("- name: rule-%d", i), "  for: 5m", "  severity: page")
	}
	return out
}

func TestChangesOfLongTextsStayApart(t *testing.T) {
	tests := []struct {
		name   string
		change func(lines []string) []string
		ops    int
		lines  int // of both sides in all operations
	}{
		{"nothing", func(l []string) []string { return l }, 0, 0},
		{"one line at both ends", func(l []string) []string { l[4], l[len(l)-5] = "x", "y"; return l }, 2, 4},
		{"three lines and one more", func(l []string) []string {
			l[10], l[len(l)/2], l[len(l)-9] = "x", "y", "z"
			return slices.Insert(l, len(l)/3, "new")
		}, 4, 7},
		{"a part that moves down", func(l []string) []string {
			part := slices.Clone(l[300:330])
			return slices.Insert(slices.Delete(l, 300, 330), 9000, part...)
		}, 2, 60},
		{"lines in the place of all", func(l []string) []string { return slices.Repeat([]string{"same"}, len(l)) }, 1, 60000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := manyLines(30000)
			b := tt.change(slices.Clone(a))
			ops, lines := matchLines(a, b), 0
			for _, op := range ops {
				lines += op.I2 - op.I1 + op.J2 - op.J1
			}
			if len(ops) != tt.ops || lines != tt.lines {
				t.Errorf("%d operations on %d lines, want %d on %d", len(ops), lines, tt.ops, tt.lines)
			}
		})
	}
}

func TestOperationsMakeTheOtherSide(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		a := manyLines(3000 + random.IntN(3000))
		b := slices.Clone(a)
		for range random.IntN(40) {
			at := random.IntN(len(b))
			switch random.IntN(3) {
			case 0:
				b[at] = fmt.Sprint("changed ", random.IntN(5))
			case 1:
				b = slices.Insert(b, at, "  for: 5m", "new")
			case 2:
				b = slices.Delete(b, at, min(len(b), at+random.IntN(900)))
			}
		}
		var made []string
		at := 0
		for _, op := range matchLines(a, b) {
			made = append(append(made, a[at:op.I1]...), b[op.J1:op.J2]...)
			at = op.I2
		}
		if made = append(made, a[at:]...); !slices.Equal(made, b) {
			t.Fatal("the operations do not give the other side")
		}
	}
}

// BenchmarkMatchLines tells by its ratio that the work grows with the length.
func BenchmarkMatchLines(b *testing.B) {
	for _, n := range []int{100_000, 200_000} {
		b.Run(fmt.Sprint(n, " lines"), func(b *testing.B) {
			before := manyLines(n)
			after := slices.Clone(before)
			after[10], after[n/2], after[n-10] = "x", "y", "z"
			for b.Loop() {
				if len(matchLines(before, after)) != 3 {
					b.Fatal("not three operations")
				}
			}
		})
	}
}
