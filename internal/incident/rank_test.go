package incident_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/incident"
	"sigs.k8s.io/yaml"
)

// A finding of testdata/findings.yaml.
type finding struct {
	Name, Rule, Kind, Path, Text, Want string
	Images, Topics                     []string
	First                              bool
}

func readFindings(t testing.TB) []finding {
	t.Helper()
	data, err := os.ReadFile("testdata/findings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []finding
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (f finding) query(l *incident.Library) incident.Query {
	return incident.Query{Rule: f.Rule, Kind: f.Kind, Path: f.Path, Text: f.Text, Topics: f.Topics, Software: l.SoftwareIn(f.Images...)}
}

func TestFindingsMeetTheIncidentThatTheyRepeat(t *testing.T) {
	l := incident.Embedded()
	findings := readFindings(t)
	if len(findings) != 30 {
		t.Fatalf("%d findings, want 30", len(findings))
	}
	found := 0
	for _, f := range findings {
		if _, ok := l.Get(f.Want); !ok {
			t.Errorf("%s: no incident %s", f.Name, f.Want)
		}
		matches := l.Rank(f.query(l))
		if len(matches) > incident.MaxMatches {
			t.Errorf("%s: %d incidents, want at most %d", f.Name, len(matches), incident.MaxMatches)
		}
		var got []string
		for _, m := range matches {
			got = append(got, m.ID+" ("+m.Reason+")")
		}
		at := slices.IndexFunc(matches, func(m incident.Match) bool { return m.ID == f.Want })
		switch {
		case at >= 0:
			found++
		default:
			t.Logf("%s: Rank() = %s, want %s", f.Name, strings.Join(got, "; "), f.Want)
		}
		if f.First && at != 0 {
			t.Errorf("%s: Rank() = %s, want %s first", f.Name, strings.Join(got, "; "), f.Want)
		}
	}
	if found < 27 {
		t.Errorf("%d of 30 findings meet their incident, want 27", found)
	}
	t.Logf("%d of %d findings meet their incident", found, len(findings))
}
