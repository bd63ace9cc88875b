package clientparam

import (
	"testing"
	"time"
)

func TestModelsAgreeWithTheTable(t *testing.T) {
	for _, p := range Parameters() {
		if p.Role == "" {
			continue
		}
		m, ok := ModelOf(p.Family)
		if !ok {
			if p.Family != "consul" {
				t.Errorf("%s has roles and no model", p.Family)
			}
			continue
		}
		if p.Default == "" {
			continue // of the multiplier of the OpenTelemetry Collector
		}
		if got := m.With(p.Role, p.DefaultValue()); got != m {
			t.Errorf("%s %s: the model has another default than %s", p.Family, p.Name, p.Default)
		}
	}
}

func TestModelIn(t *testing.T) {
	o := parseOne(t, deployment("web", "app", `env:
- {name: GRPC_INITIAL_RECONNECT_BACKOFF_MS, value: "300"}
- {name: GRPC_MAX_RECONNECT_BACKOFF_MS, value: "300"}
- {name: GRPC_MIN_RECONNECT_BACKOFF_MS, value: "300"}
- {name: NATS_MAX_RECONNECTS, value: "-1"}`))
	m, set, ok := ModelIn(o, "container app", "grpc")
	if !ok || !set || m.Initial != 300*time.Millisecond || m.Max != 300*time.Millisecond || m.Limit != 300*time.Millisecond || m.Multiplier != 1.6 {
		t.Errorf("grpc = %+v, %v, %v", m, set, ok)
	}
	if m, set, ok := ModelIn(o, "container app", "nats"); !ok || !set || m.Attempts != 0 {
		t.Errorf("nats = %+v, %v, %v", m, set, ok)
	}
	if _, set, ok := ModelIn(o, "container other", "grpc"); !ok || set {
		t.Errorf("another container sets %v, %v", set, ok)
	}
	if _, _, ok := ModelIn(o, "container app", "haproxy"); ok {
		t.Error("haproxy has a model")
	}
}
