package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

func TestAnObjectThatMovesAndChangesIsJudgedAsAnUpdate(t *testing.T) {
	r := &rule.Rule{ID: "config", Severity: rule.Error, Actions: []diff.Action{diff.Update},
		Check: func(p *rule.Pass, c diff.Change) {
			if p.Before.Get(c.Before.Ref) == nil || p.After.Get(c.After.Ref) == nil {
				t.Errorf("the sets of the pass lack %s", c.Ref)
			}
			p.Reportf(c, "data.a", "it changes")
		}}
	one := func(name string, value int) string { return fmt.Sprintf(configMap, name, value) }
	tests := []struct {
		name  string
		units []*rule.Unit
		want  []string
	}{
		{"moved and changed", []*rule.Unit{unit(t, "a", one("x", 1), ""), unit(t, "b", "", one("x", 2))}, []string{"warning config b ConfigMap prod/x it changes"}},
		{"moved as it was", []*rule.Unit{unit(t, "a", one("x", 1), ""), unit(t, "b", "", one("x", 1))}, nil},
		{"gone from one unit and new in two", []*rule.Unit{unit(t, "a", one("x", 1), ""), unit(t, "b", "", one("x", 2)), unit(t, "c", "", one("x", 2))}, nil},
		{"gone only", []*rule.Unit{unit(t, "a", one("x", 1), ""), unit(t, "b", "", one("other", 2))}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := rule.Run([]*rule.Rule{r}, test.units)
			if got := texts(found); !slices.Equal(got, test.want) {
				t.Errorf("Run() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			for _, f := range found {
				if !strings.Contains(f.Consequence, "from which it moves") || f.Before.Text() != "1" {
					t.Errorf("the finding does not tell where the object comes from: %+v", f)
				}
			}
		})
	}
}

func TestAFileThatMovesWithinItsFolderIsANote(t *testing.T) {
	r := &rule.Rule{ID: "gone", Severity: rule.Error, CheckAll: func(l *rule.Fleet) {
		for _, u := range l.Units {
			for _, c := range u.Changes {
				if c.Action == diff.Delete {
					l.Report(u, c, rule.Finding{Message: "it goes", Consequence: "it is missed"})
				}
			}
		}
	}}
	object := fmt.Sprintf(configMap, "x", 1)
	for _, test := range []struct {
		from, to string
		want     string
	}{
		{"apps/shop", "apps/shop/config", "note gone apps/shop ConfigMap prod/x it goes"},
		{"apps/shop/config", "apps/shop", "note gone apps/shop/config ConfigMap prod/x it goes"},
		{".", "config", "note gone . ConfigMap prod/x it goes"},
		{"apps/shop", "apps/shopping", "error gone apps/shop ConfigMap prod/x it goes"},
		{"apps/dev", "apps/prod", "error gone apps/dev ConfigMap prod/x it goes"},
		{".:shop", ".", "error gone .:shop ConfigMap prod/x it goes"},
	} {
		got := texts(rule.Run([]*rule.Rule{r}, []*rule.Unit{unit(t, test.from, object, ""), unit(t, test.to, "", object)}))
		if !slices.Equal(got, []string{test.want}) {
			t.Errorf("from %s to %s: Run() = %v, want %s", test.from, test.to, got, test.want)
		}
	}
}
