package report

import (
	"cmp"
	"slices"
	"strings"
)

// A Case is what incidentlib, a public library of incidents, says of one that
// findings cite. It was read over the network: its texts are shown as text, and
// none of it is a link.
type Case struct {
	Incident string    `json:"incident"` // its ID among the report's incidents
	ID       string    `json:"id"`       // at incidentlib
	Org      string    `json:"org"`
	Date     string    `json:"date"`
	Title    string    `json:"title"`
	Lesson   string    `json:"lesson"`
	Similar  []Similar `json:"similar"` // the closest first
}

// Similar is a case of incidentlib that is like another.
type Similar struct {
	ID     string `json:"id"`
	Org    string `json:"org"`
	Date   string `json:"date"`
	Title  string `json:"title"`
	Reason string `json:"reason"`
}

// maxSimilar is how many similar cases are shown for a finding.
const maxSimilar = 2

// similar gives the cases that are like the incidents of a finding, those of the
// closest incident first.
func similar(r *Report, f Finding) []Similar {
	var out []Similar
	for _, id := range f.Incidents {
		for _, c := range r.Cases {
			if c.Incident != id {
				continue
			}
			for _, s := range c.Similar {
				if len(out) < maxSimilar && !slices.ContainsFunc(out, func(have Similar) bool { return have.ID == s.ID }) {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// similarTitle is what similar cases stand under.
const similarTitle = "More like it on incidentlib"

// similarText tells of similar cases in one line; show makes a text inert.
func similarText(list []Similar, show func(string) string) string {
	var parts []string
	for _, s := range list {
		who := cut(s.Org, 60)
		if s.Date != "" {
			who = strings.TrimPrefix(who+", "+year(s.Date), ", ")
		}
		text := cut(s.Title, 160)
		if who != "" {
			text = who + ": " + text
		}
		parts = append(parts, show(text+" ("+s.ID+")"))
	}
	return strings.Join(parts, "; ")
}

// mergeCases adds cases of another part, each once, in the order of their
// incidents.
func mergeCases(to, from []Case) []Case {
	for _, c := range from {
		if !slices.ContainsFunc(to, func(have Case) bool { return have.Incident == c.Incident }) {
			to = append(to, c)
		}
	}
	slices.SortFunc(to, func(a, b Case) int {
		return cmp.Or(strings.Compare(a.Incident, b.Incident), strings.Compare(a.ID, b.ID))
	})
	return to
}
