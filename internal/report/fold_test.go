package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
)

const scaled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: %d
  selector: {matchLabels: {name: web}}
  template:
    metadata: {labels: {name: web}}
    spec: {containers: [{name: web, image: "registry.example/web:%s"}]}
`

// fleet is a change of one image in n cells, of which some do otherwise: cell-02
// takes another version, cell-03 also scales, cell-04 does not change at all.
func fleet(t testing.TB, n int) *Report {
	r := &Report{Base: Side{Rev: "a"}, Head: Side{Rev: "b"}}
	for i := range n {
		unit := fmt.Sprintf("cells/cell-%02d", i)
		r.Units = append(r.Units, Unit{Name: unit, Renderer: "plain", Status: Rendered, Before: 1, After: 1})
		replicas, image, before := 3, "1.1.0", 3
		switch i {
		case 2:
			image = "1.2.0"
		case 3:
			replicas = 5
		case 4:
			continue
		case 5:
			replicas, before = 30, 30
		}
		r.Changes = append(r.Changes, NewChange(updated(t, obj(t, unit, fmt.Sprintf(scaled, before, "1.0.0")), obj(t, unit, fmt.Sprintf(scaled, replicas, image)))))
	}
	Group(r.Changes)
	return r
}

func TestIdenticalChangesAreToldOnce(t *testing.T) {
	r := fleet(t, 40)
	all := folded(r, false)
	if len(all) != 1 || len(all[0].units) != 37 || len(all[0].others) != 2 {
		t.Fatalf("%d entries, want one with 37 units and 2 that differ: %+v", len(all), all)
	}
	var how []string
	for _, o := range all[0].others {
		how = append(how, strings.Join(o.units, " ")+": "+strings.Join(o.how, ", "))
	}
	want := []string{
		"cells/cell-02: containers[name=web].image 1.0.0 → 1.2.0",
		"cells/cell-03: replicas 3 → 5",
	}
	if !slices.Equal(how, want) {
		t.Errorf("what differs = %q, want %q", how, want)
	}
	if got, want := all[0].spread(inert), "the same in 37 units: cells/cell-00 and 36 more; 2 units differ; not in cells/cell-04"; got != want {
		t.Errorf("spread() = %q, want %q", got, want)
	}
	var said []string
	for _, e := range all[0].effects() {
		said = append(said, effectWords(e, inert))
	}
	want = []string{
		"rolling restart: replaces 3 pods, at most 25% more and 25% fewer at a time (cells/cell-00 and 36 more)",
		"rolling restart: replaces 30 pods, at most 25% more and 25% fewer at a time (cells/cell-05)",
		"rolling restart: replaces 5 pods, at most 25% more and 25% fewer at a time (cells/cell-03)",
		"in place: starts 2 more pods beside 3 (cells/cell-03)",
	}
	if !slices.Equal(said, want) {
		t.Errorf("effects() = %q, want %q", said, want)
	}
}

func TestWhatDiffersIsNeverHidden(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tt := range []struct {
		name   string
		change func(r *Report)
	}{
		{"a value too long for a line", func(r *Report) {
			r.Changes[2] = NewChange(updated(t, obj(t, "cells/cell-02", fmt.Sprintf(scaled, 3, "1.0.0")), obj(t, "cells/cell-02", fmt.Sprintf(scaled, 3, long))))
		}},
		{"another action", func(r *Report) {
			o := obj(t, "cells/cell-02", fmt.Sprintf(scaled, 3, "1.0.0"))
			r.Changes[2] = NewChange(diff.Change{Action: diff.Delete, Ref: o.Ref, Before: o})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := fleet(t, 40)
			tt.change(r)
			Group(r.Changes)
			if got := len(folded(r, false)); got != 2 {
				t.Errorf("%d entries, want 2", got)
			}
		})
	}
}

func TestUnitsThatAreMeantToDifferAreNotNamed(t *testing.T) {
	r := fleet(t, 40)
	for i := range 60 {
		r.Units = append(r.Units, Unit{Name: fmt.Sprintf("cells/other-%02d", i), Renderer: "plain", Status: Unchanged})
	}
	if got := folded(r, false)[0].elsewhere; got != nil {
		t.Errorf("%d units are named that have no such change, of a family of which the minority has it", len(got))
	}
}

func TestNoiseThatRestartsPodsSaysWhyItStands(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, sample(t), Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `
~ Deployment logs/ingester  in environments/cell-8
  shown for what it does: all that differs is noise (1 checksum-annotations)
  rolling restart: replaces 12 pods, at most 25% more and 25% fewer at a time
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("the report = %s\nwant in it %s", b.String(), want)
	}
}

func TestUnitsThatDifferAreCounted(t *testing.T) {
	r := fleet(t, 40)
	if got, want := changesTitle(folded(r, false)), "39 objects in 39 units, 37 of them alike"; got != want {
		t.Errorf("title = %q, want %q", got, want)
	}
	data, _ := pageDataOf(r)
	if len(data.Changes) != 1 || len(data.Changes[0].Units) != 37 || len(data.Changes[0].Variants) != 2 {
		t.Errorf("the page has %+v, want one change in 37 units, of which 2 more differ", data.Changes)
	}
}

func TestGraphsAreDrawnOfPlainNamesOnly(t *testing.T) {
	f := sample(t).Findings[0]
	if mdRollout(f) == "" {
		t.Error("no graph of a finding with a rollout")
	}
	for _, name := range []string{"a\"b", "a]", "end", "a-->b", "x;y", "<b>", "", strings.Repeat("x", 100), nasty} {
		f.Ref.Name = name
		if got := mdRollout(f); got != "" {
			t.Errorf("%q is in a graph: %s", name, got)
		}
	}
}
