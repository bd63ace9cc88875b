package report

import (
	"slices"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
)

func TestEffectsAreSaidOnceAndDoNotContradict(t *testing.T) {
	tests := []struct {
		name    string
		effects []diff.Effect
		want    []string
	}{
		{"what restarts nothing stands alone", []diff.Effect{{Kind: diff.NoEffect, Text: "rules the next rollout"}}, []string{"nothing restarts: rules the next rollout"}},
		{"what restarts nothing stands beside a restart",
			[]diff.Effect{{Kind: diff.NoEffect, Text: "rules the next rollout"}, {Kind: diff.Rolling, Text: "replaces 4 pods"}},
			[]string{"rolling restart: replaces 4 pods", "besides: rules the next rollout"}},
		{"a text begins with the name of its kind", []diff.Effect{{Kind: diff.Removed, Text: "ends 4 pods"}}, []string{"ends 4 pods"}},
		{"a text begins with another word", []diff.Effect{{Kind: diff.Removed, Text: "endsome pods"}}, []string{"ends: endsome pods"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := same{members: []Change{{Change: diff.Change{Effects: tt.effects}}}}
			var got []string
			for _, e := range s.effects() {
				got = append(got, effectWords(e, inert))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAccountingDoesNotCallAllOfThemOthers(t *testing.T) {
	unit := func(name string, s Status) Unit { return Unit{Name: name, Status: s} }
	tests := []struct {
		name  string
		units []Unit
		want  string
	}{
		{"none is rendered", []Unit{unit("a", Unchanged), unit("b", Unchanged)}, "0 of 2 units change. All have equal inputs on both sides. Nothing failed, nothing was skipped."},
		{"the only one is not rendered", []Unit{unit("a", Unchanged), unit("b", Skipped)}, "0 of 1 unit changes. It has equal inputs on both sides. Nothing failed, 1 skipped."},
		{"one is rendered", []Unit{unit("a", Unchanged), unit("b", Rendered)}, "0 of 2 units change. 1 other has equal inputs on both sides. Nothing failed, nothing was skipped."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := accounting(&Report{Units: tt.units}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
