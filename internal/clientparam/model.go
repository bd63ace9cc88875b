package clientparam

import (
	"time"

	"github.com/prdiff/prdiff/internal/object"
)

// A Model is how one client of a family tries an endpoint again, as far as its
// documentation says so. The sources are those of the family's parameters in the
// table; where a family also limits what a silent attempt may last by a parameter
// that depends on the caller, it has no model.
type Model struct {
	Initial, Max time.Duration // the first wait and the longest
	Multiplier   float64       // from one wait to the next, 1 for a fixed wait
	Limit        time.Duration // how long an attempt at a silent endpoint lasts
	Attempts     int           // at most, 0 for no end
	Jitter       float64       // its mean, as a factor on the wait
	// LimitGrows says that an attempt lasts as long as the wait where that is longer.
	LimitGrows bool
	FromStart  bool          // the wait runs from the start of an attempt
	Least      time.Duration // the shortest wait and limit that the client accepts
}

// ModelOf gives a family's model with its defaults; ok is false when it has none.
func ModelOf(family string) (m Model, ok bool) {
	m, ok = models[family]
	return m, ok
}

var models = map[string]Model{
	// doc/connection-backoff.md of grpc/grpc; C-core counts from the start.
	"grpc": {Initial: time.Second, Max: 2 * time.Minute, Multiplier: 1.6, Limit: 20 * time.Second, Jitter: 1, LimitGrows: true, FromStart: true, Least: 100 * time.Millisecond},
	// grpc-go, which counts from the failure, with dskit's values.
	"dskit":          {Initial: time.Second, Max: 5 * time.Second, Multiplier: 1.6, Limit: 5 * time.Second, Jitter: 1, LimitGrows: true},
	"kafka_java":     {Initial: 50 * time.Millisecond, Max: time.Second, Multiplier: 2, Limit: 10 * time.Second, Jitter: 1},
	"librdkafka":     {Initial: 100 * time.Millisecond, Max: 10 * time.Second, Multiplier: 2, Limit: 30 * time.Second, Jitter: 1.125},
	"nats":           {Initial: 2 * time.Second, Max: 2 * time.Second, Multiplier: 1, Limit: 2 * time.Second, Jitter: 1, Attempts: 60},
	"rabbitmq":       {Initial: 5 * time.Second, Max: 5 * time.Second, Multiplier: 1, Limit: time.Minute, Jitter: 1},
	"mongodb":        {Initial: 10 * time.Second, Max: 10 * time.Second, Multiplier: 1, Limit: 10 * time.Second, Jitter: 1},
	"pgbouncer":      {Initial: 15 * time.Second, Max: 15 * time.Second, Multiplier: 1, Limit: 15 * time.Second, Jitter: 1},
	"prometheus":     {Initial: 30 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2, Limit: 30 * time.Second, Jitter: 1},
	"promtail":       {Initial: 500 * time.Millisecond, Max: 5 * time.Minute, Multiplier: 2, Limit: 10 * time.Second, Jitter: 1.5, Attempts: 10},
	"alloy":          {Initial: 500 * time.Millisecond, Max: 5 * time.Minute, Multiplier: 2, Limit: 10 * time.Second, Jitter: 1.5, Attempts: 10},
	"otel_collector": {Initial: 5 * time.Second, Max: 30 * time.Second, Multiplier: 1.5, Limit: 5 * time.Second, Jitter: 1},
	"cassandra":      {Initial: time.Second, Max: time.Minute, Multiplier: 2, Limit: 5 * time.Second, Jitter: 1},
}

// With gives the model with one parameter set. A value that does not fit the
// role leaves it as it is.
func (m Model) With(role Role, v Value) Model {
	d, isTime := v.Duration()
	switch {
	case role == RoleMultiplier && v.Kind == Number:
		m.Multiplier = v.Number
	case role == RoleAttempts && v.Kind == Number && v.Number < 1e6:
		m.Attempts = int(v.Number)
	case role == RoleAttempts && v.Kind == Unlimited:
		m.Attempts = 0
	case !isTime:
	case role == RoleInitial:
		m.Initial = d
	case role == RoleMax:
		m.Max = d
	case role == RoleWait:
		m.Initial, m.Max = d, d
	case role == RoleLimit && d > 0:
		m.Limit = d
	}
	return m
}

// ModelIn gives the model of a family as one scope of an object sets it, and
// whether it sets anything of it; ok is false when the family has no model.
func ModelIn(o *object.Object, scope, family string) (m Model, set, ok bool) {
	m, ok = ModelOf(family)
	if !ok {
		return m, false, false
	}
	t := load()
	settings := Settings(o)
	for i := range settings {
		s := &settings[i]
		if s.Scope != scope || !s.Known {
			continue
		}
		if p := t.lookup(s); p != nil && p.Family == family && p.Role != "" {
			m, set = m.With(p.Role, ParseValue(s.Value, p.Unit)), true
		}
	}
	return m, set, true
}
