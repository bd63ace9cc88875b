// Package clientparam knows the parameters by which clients reconnect, retry,
// wait and balance: how they are spelled in manifests and configuration text,
// what their documented default is, and in which direction they hurt.
//
// The table is data: one line of JSON for each parameter in parameters.jsonl,
// each with its source. Settings reads what an object sets, Changes what differs
// between two states of one object. All of it is pure.
package clientparam

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed parameters.jsonl
var data string

// A Category is what a parameter is about.
type Category string

// The categories.
const (
	Reconnect      Category = "reconnect"       // waits between connection attempts
	Backoff        Category = "backoff"         // waits between other attempts
	Retry          Category = "retry"           // how many attempts, and on what
	Keepalive      Category = "keepalive"       // pings and heartbeats
	ConnectTimeout Category = "connect_timeout" // limit of one connection attempt
	RequestTimeout Category = "request_timeout" // limits of requests and reads
	LoadBalancing  Category = "load_balancing"  // the policy, and what feeds it
	DNS            Category = "dns"             // resolution and its cache
	Pool           Category = "pool"            // connections that are kept
	Rate           Category = "rate"            // limits of rate and concurrency
	Lease          Category = "lease"           // elections and sessions
	CircuitBreaker Category = "circuit_breaker" // ejection, hedging
	Refresh        Category = "refresh"         // polling and flushing
	Drain          Category = "drain"           // shutdown
	Kernel         Category = "kernel"          // limits that retries run into
	Health         Category = "health"          // a proxy's checks of its backends
	Other          Category = "other"
)

// A Danger is a direction in which a parameter hurts.
type Danger string

// The dangers.
const (
	TooSmall Danger = "too_small"
	TooLarge Danger = "too_large"
	Changed  Danger = "changed"
	Removed  Danger = "removed"
	Enabled  Danger = "enabled"
	Disabled Danger = "disabled"
)

// A Role is the part that a parameter plays in its family's reconnect schedule.
type Role string

// The roles.
const (
	RoleInitial    Role = "initial"
	RoleMax        Role = "max"
	RoleWait       Role = "wait" // initial and longest in one
	RoleMultiplier Role = "multiplier"
	RoleLimit      Role = "limit" // how long one attempt may last
	RoleAttempts   Role = "attempts"
)

// A Parameter is one documented parameter of one client family.
type Parameter struct {
	Family    string   `json:"family"` // an ID of Families
	Name      string   `json:"name"`   // its first spelling
	Category  Category `json:"category"`
	Role      Role     `json:"role,omitempty"`
	Unit      string   `json:"unit"`              // of a number without one: ms, s, min, count, ...
	Default   string   `json:"default,omitempty"` // "none" for off, "unlimited" for without limit, "" where it is not known
	Seconds   float64  `json:"seconds,omitempty"` // the default, where it is a time
	Note      string   `json:"note,omitempty"`    // what else there is to say of the default
	Danger    []Danger `json:"danger"`
	Spellings []string `json:"spellings"` // "place:text", place being key, env, flag, annotation, label, field, directive, uri or name
	Why       string   `json:"why"`
	Source    string   `json:"source"` // a URL
}

// Has says whether d is among the dangers of p.
func (p *Parameter) Has(d Danger) bool { return slices.Contains(p.Danger, d) }

// takes says whether values can be ones of p: a number or time is never a plain
// word. Texts that only share a parameter's name stop here.
func (p *Parameter) takes(values ...Value) bool {
	switch p.Unit {
	case "flag", "name", "list", "value":
		return true
	}
	for _, v := range values {
		if v.Kind == Word || v.Kind == Bool && p.Unit != "count" {
			return false
		}
	}
	return true
}

// DefaultValue gives the documented default, of kind Unknown when there is none.
func (p *Parameter) DefaultValue() Value { return ParseValue(p.Default, p.Unit) }

// Parameters gives the table, by family and name. It is the package's own: do
// not change it.
func Parameters() []*Parameter { return load().parameters }

// A table is the parameters with an index over the words of their spellings.
type table struct {
	parameters []*Parameter
	spellings  map[string][]spelling // by the words that end it
	longest    int                   // words of the longest key of spellings
}

var load = sync.OnceValue(func() *table {
	t, err := parse(data)
	if err != nil {
		panic("clientparam: " + err.Error()) // the data is part of the program, and tested
	}
	return t
})

func parse(text string) (*table, error) {
	t := &table{spellings: map[string][]spelling{}}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		p := new(Parameter)
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(p); err != nil {
			return nil, fmt.Errorf("parameters.jsonl:%d: %w", i+1, err)
		}
		t.parameters = append(t.parameters, p)
		for _, text := range p.Spellings {
			s, err := parseSpelling(p, text)
			if err != nil {
				return nil, fmt.Errorf("parameters.jsonl:%d: %w", i+1, err)
			}
			key := strings.Join(s.words, "_")
			t.spellings[key] = append(t.spellings[key], s)
			t.longest = max(t.longest, len(s.words))
		}
	}
	return t, nil
}
