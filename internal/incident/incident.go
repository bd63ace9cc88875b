// Package incident is the library of public incidents: what changed, what
// happened, and what it teaches, each with its source. It is compiled in from
// the data files beside this one.
package incident

// An Incident is one public account of an outage.
type Incident struct {
	ID        string   `json:"id"`
	Org       string   `json:"org"`
	Title     string   `json:"title"`
	Date      string   `json:"date"` // YYYY, YYYY-MM or YYYY-MM-DD
	Change    string   `json:"change"`
	Mechanism string   `json:"mechanism"`
	Impact    string   `json:"impact"`
	Lesson    string   `json:"lesson"` // one sentence
	URL       string   `json:"url,omitempty"`
	Kinds     []string `json:"kinds,omitempty"`    // kinds whose diff shows it
	Fields    []string `json:"fields,omitempty"`   // and their fields
	Software  []string `json:"software,omitempty"` // lower case, such as "coredns"
	Symptoms  []string `json:"symptoms,omitempty"`
	Rules     []string `json:"rules,omitempty"` // IDs of rules that would have said so
}
