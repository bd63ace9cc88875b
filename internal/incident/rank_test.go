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

func TestRank(t *testing.T) {
	entry := func(id string, change func(*incident.Incident)) incident.Incident {
		e := incident.Incident{ID: id, Date: "2020", Title: "A title", Change: "A change of the gateway.", Lesson: "A lesson."}
		change(&e)
		return e
	}
	l, err := incident.New(
		entry("named", func(e *incident.Incident) { e.Rules = []string{"some-rule"} }),
		entry("waiting", func(e *incident.Incident) { e.Topics = []string{"some-rule"} }),
		entry("field", func(e *incident.Incident) {
			e.Kinds, e.Fields = []string{"Service"}, []string{"spec.sessionAffinity"}
		}),
		entry("image", func(e *incident.Incident) {
			e.Kinds, e.Fields, e.Software = []string{"Deployment"}, []string{"containers.image"}, []string{"kafka"}
		}),
		entry("related", func(e *incident.Incident) { e.Topics, e.Related = []string{"herd"}, "It was in code." }),
		entry("herd", func(e *incident.Incident) { e.Topics = []string{"herd"} }),
		entry("own", func(e *incident.Incident) {
			e.File, e.Trigger = "pm/own.md", &incident.Trigger{Rule: "own-rule"}
		}),
		entry("word", func(e *incident.Incident) { e.Title = "The word zebra" }),
	)
	if err != nil {
		t.Fatal(err)
	}
	const image = "spec.template.spec.containers[name=app].image"
	tests := []struct {
		name  string
		query incident.Query
		want  string
	}{
		{"cited ones in the order of the rule", incident.Query{Cited: []string{"word", "herd"}}, "word: cited by the rule | herd: cited by the rule"},
		{"what the entry shares decides among the cited", incident.Query{Cited: []string{"word", "image"}, Kind: "Deployment.apps", Path: image, Software: []string{"kafka"}},
			"image: cited by the rule, same field, same software (kafka) | word: cited by the rule"},
		{"the cited before those that name the rule, and those before a topic", incident.Query{Rule: "some-rule", Cited: []string{"word"}},
			"word: cited by the rule | named: an example of this rule | waiting: same mechanism"},
		{"a field that says by itself what changed", incident.Query{Kind: "Service", Path: "spec.sessionAffinity"}, "field: same field"},
		{"the same field of a kind that has nothing to do with it", incident.Query{Kind: "Ingress.networking.k8s.io", Path: "spec.sessionAffinity"}, ""},
		{"an image field needs the same software", incident.Query{Kind: "Deployment.apps", Path: image}, ""},
		{"an image field with the same software, in another kind", incident.Query{Kind: "StatefulSet.apps", Path: image, Software: []string{"kafka"}},
			"image: same field of another kind, same software (kafka)"},
		{"the software alone is not enough", incident.Query{Kind: "Service", Path: "spec.type", Software: []string{"kafka"}}, ""},
		{"a mechanism, the one from a manifest first", incident.Query{Topics: []string{"herd"}}, "herd: same mechanism | related: same mechanism"},
		{"a team's own by its trigger", incident.Query{Rule: "own-rule"}, "own: your own, an example of this rule"},
		{"a shared word alone", incident.Query{Text: "zebra"}, ""},
		{"shared kind and words of every report alone", incident.Query{Kind: "Deployment.apps", Text: "a change of the gateway"}, ""},
		{"nothing", incident.Query{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, m := range l.Rank(tt.query) {
				got = append(got, m.ID+": "+m.Reason)
			}
			if got := strings.Join(got, " | "); got != tt.want {
				t.Errorf("Rank() = %q, want %q", got, tt.want)
			}
		})
	}
}

// TestHarmlessFindingsMeetNobody: what shares a word or a common field with an
// outage is not an example of it.
func TestHarmlessFindingsMeetNobody(t *testing.T) {
	l := incident.Embedded()
	for _, q := range []incident.Query{
		{Kind: "Deployment.apps", Path: "spec.template.spec.containers[name=app].image", Text: "the image of app moves from 1.2 to 1.3", Software: l.SoftwareIn("registry.example/app:1.3")},
		{Kind: "Deployment.apps", Path: "metadata.annotations.note", Text: "a note about the webhook and its certificate"},
		{Kind: "Ingress.networking.k8s.io", Path: "metadata.annotations", Text: "all annotations go"},
		{Kind: "ConfigMap", Path: `data["app.yaml"]`, Text: "a setting changes"},
		{Kind: "Deployment.apps", Path: "spec.template.spec.containers[name=app].env[name=COLOUR].value", Text: "COLOUR goes from red to green"},
		{Kind: "Service", Path: "spec.ports[port=80].name", Text: "a port of the Service is renamed", Software: []string{"ingress-nginx"}},
	} {
		for _, m := range l.Rank(q) {
			t.Errorf("%s %s: Rank() = %s (%s), want nothing", q.Kind, q.Path, m.ID, m.Reason)
		}
	}
}
