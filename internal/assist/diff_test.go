package assist

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
)

func TestDiffTellsTheReport(t *testing.T) {
	var asked Sides
	c := connect(t, tools(func(_ context.Context, s Sides) (*report.Report, error) {
		asked = s
		return sample(), nil
	}))
	got := want[diffOutput](t, c, "diff_manifests", map[string]any{"after": "x\n"})
	if asked.Before != nil || asked.After == nil || *asked.After != "x\n" {
		t.Errorf("compared %+v, want a new text", asked)
	}
	if got.Complete || len(got.NotLookedAt) != 2 || got.NotLookedAt[0].Error != "b.yaml:1: broken" {
		t.Errorf("what was not looked at: %v %+v", got.Complete, got.NotLookedAt)
	}
	if len(got.Findings) != 1 || got.Findings[0].Message != "m \u202e\x1b[31m" || got.Findings[0].Incidents[0] != "i" || got.Summary.Findings["error"] != 1 {
		t.Errorf("findings: %+v", got.Findings)
	}
	if len(got.Incidents) != 1 || len(got.Hidden) != 1 || len(got.LeftOut) != 0 || !reflect.DeepEqual(got.Notes, []string{"a: a note"}) {
		t.Errorf("the rest: %+v", got)
	}
	text, _ := call(t, c, "diff_manifests", map[string]any{"beforePath": "a", "afterPath": "b"})
	if asked != (Sides{BeforePath: "a", AfterPath: "b"}) {
		t.Errorf("compared %+v, want two paths", asked)
	}
	if strings.ContainsFunc(text, drives) || !strings.Contains(text, `\u202e`) {
		t.Errorf("the text drives a terminal: %q", text)
	}
}

func TestDiffOfNothing(t *testing.T) {
	for _, units := range [][]report.Unit{nil, {{Name: "a", Status: report.Skipped, Error: "test data"}}} {
		out, err := tell(&report.Report{Units: units}, 10)
		if err != nil || out.Complete || len(out.Notes) != 1 || out.Findings == nil || out.Changes == nil {
			t.Errorf("tell() = %+v, %v; want that nothing was looked at", out, err)
		}
	}
}

// large makes a report that is larger than any answer.
func large(t *testing.T) *report.Report {
	t.Helper()
	r := sample()
	v, w, y := object.Of(strings.Repeat("v", 3000)), object.Of(strings.Repeat("w", 2500)), object.Of("y")
	for i := range 330 {
		f := r.Findings[0]
		f.Message, f.Consequence = fmt.Sprint("finding ", i), strings.Repeat("c", 2000)
		f.Before = v
		f.Units = strings.Split(strings.Repeat("u,", 100), ",")
		f.Related = make([]object.Ref, 50)
		r.Findings = append(r.Findings, f)
		r.Units = append(r.Units, report.Unit{Name: fmt.Sprint("u", i), Status: report.Failed, Error: strings.Repeat("e", 1000)})
		ch := report.Change{Diff: strings.Repeat("+ line\n", 1000)}
		ch.Action, ch.Ref = diff.Update, object.Ref{Kind: "ConfigMap", Name: fmt.Sprint("c", i)}
		for range 50 {
			ch.Fields = append(ch.Fields, diff.Field{Path: "data.x", Op: diff.Set, Before: w, After: y})
		}
		r.Changes = append(r.Changes, ch)
	}
	return r
}

func TestDiffHasBounds(t *testing.T) {
	r := large(t)
	for _, most := range []int{0, 5, mostChanges} {
		out, err := tell(r, most)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 3*maxAnswer {
			t.Errorf("the answer has %d bytes", len(data))
		}
		if len(out.Findings) != mostFindings || out.Findings[0].Consequence != "c" || out.Findings[mostFindings-1].Message == "" {
			t.Errorf("%d findings", len(out.Findings))
		}
		if len(out.Changes) > most {
			t.Errorf("%d changes, want at most %d", len(out.Changes), most)
		}
		left := strings.Join(out.LeftOut, ", ")
		for _, part := range []string{"more units not looked at", "31 more findings", "findings told in brief", "related objects", fmt.Sprint(len(r.Changes)-len(out.Changes), " more changed objects"), "large value"} {
			if !strings.Contains(left, part) {
				t.Errorf("left out: %s; want %q among it", left, part)
			}
		}
	}
}
