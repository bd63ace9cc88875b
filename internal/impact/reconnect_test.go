package impact

import (
	"math"
	"testing"
	"time"
)

const (
	ms     = time.Millisecond
	second = time.Second
	minute = time.Minute
)

func TestReconnectGivesThePublishedFigures(t *testing.T) {
	fast := DefaultGRPC()
	fast.Initial, fast.Most, fast.ConnectLimit = 300*ms, 300*ms, 300*ms
	got := Reconnect(900, 10, fast.Schedule())
	want := Storm{Attempts: 200, PerSecond: 30_000, HalfOpen: 1_800_000, Steady: 30_000}
	if got != want {
		t.Errorf("900 clients, 10 dead targets, 0.3 s: %+v, want %+v", got, want)
	}
	got = Reconnect(900, 10, DefaultGRPC().Schedule())
	want = Storm{Attempts: 3, PerSecond: 450, HalfOpen: 27_000, Steady: 75}
	if got != want {
		t.Errorf("900 clients, 10 dead targets, defaults: %+v, want %+v", got, want)
	}
}

func TestFirstMinuteOfGRPC(t *testing.T) {
	set := func(initial, most, limit time.Duration) GRPC { return GRPC{initial, most, limit, 1.6, false} }
	inGo := func(g GRPC) GRPC { g.Go = true; return g }
	tests := []struct {
		name             string
		grpc             GRPC
		silent, refusing int
	}{
		{"C-core, defaults", DefaultGRPC(), 3, 8},
		{"grpc-go, defaults", inGo(DefaultGRPC()), 3, 8},
		{"C-core, initial and maximum 300 ms: the connect limit still rules", set(300*ms, 300*ms, 20*second), 3, 200},
		{"C-core, connect limit 300 ms as well", set(300*ms, 300*ms, 300*ms), 200, 200},
		{"C-core, all three at the floor of 100 ms", set(100*ms, 100*ms, 100*ms), 600, 600},
		{"C-core, all three below the floor", set(ms, ms, ms), 600, 600},
		{"grpc-go, all three 300 ms: wait and limit add up", inGo(set(300*ms, 300*ms, 300*ms)), 100, 200},
		{"dskit, connect limit 5 s, 1 s to 5 s", inGo(set(second, 5*second, 5*second)), 8, 15},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, tt.grpc.Schedule(), tt.silent, tt.refusing)
		})
	}
	// Of grpc-java only the refused count follows from its formula: how long an
	// attempt at a silent peer lasts there is not known.
	java := Schedule{Wait: Growing(second, 1.6, 2*minute)}
	if got := java.FirstMinute(Refusing); got != 8 {
		t.Errorf("grpc-java refused = %d, want 8", got)
	}
}

// unknown stands where the limit of an attempt is not documented, so that no
// count follows for a silent peer.
const unknown = -1

func TestFirstMinuteOfOtherFamilies(t *testing.T) {
	dskit := func(least, most time.Duration) Wait {
		return Between(Growing(least, 2, most), Growing(min(2*least, most), 2, most))
	}
	tests := []struct {
		name             string
		s                Schedule
		silent, refusing int
	}{
		{"Envoy route with a policy, connect 5 s, 2 per request", Schedule{Attempts: 2, Limit: Fixed(5 * second),
			Wait: Between(Fixed(0), func(n int) time.Duration { return min(25*ms*(1<<n-1), 250*ms) })}, 2, 2},
		{"Istio's default route, connect 10 s, 3 per request", Schedule{Attempts: 3, Limit: Fixed(10 * second),
			Wait: Between(Fixed(0), func(n int) time.Duration { return min(25*ms*(1<<n-1), 250*ms) })}, 3, 3},
		{"Linkerd's endpoint probe without jitter", Schedule{Wait: Growing(second, 2, minute)}, 6, 6},
		{"ingress-nginx goes to the next pod at once", Schedule{Attempts: 3, Limit: Fixed(5 * second)}, 3, 3},
		{"Kafka Java, its connect limit grows too", Schedule{Wait: Growing(50*ms, 2, second), Limit: Growing(10*second, 2, 30*second)}, 3, 64},
		{"librdkafka, -25 % to +50 %", Schedule{Wait: Growing(100*ms, 2, 10*second).Times(1.125), Limit: Fixed(30 * second)}, 2, 12},
		{"NATS Go, wait from the failure", Schedule{Wait: Fixed(2050 * ms), Limit: Fixed(2 * second), Attempts: 60}, 15, 30},
		{"NATS Go, wait from the start", Schedule{Wait: Fixed(2050 * ms), Limit: Fixed(2 * second), Attempts: 60, FromStart: true}, 30, 30},
		{"RabbitMQ Java", Schedule{Wait: Fixed(5 * second), Limit: Fixed(minute)}, 1, 12},
		{"go-redis, per command", Schedule{Wait: Growing(8*ms, 2, 512*ms), Limit: Fixed(5 * second), Attempts: 4}, 4, 4},
		{"ioredis", Schedule{Wait: Linear(50*ms, 2*second), Limit: Fixed(10 * second)}, 6, 50},
		{"Lettuce", Schedule{Wait: Growing(ms, 2, 30*second)}, unknown, 16},
		{"redis-py has no limit but the kernel's, over 60 s", Schedule{Wait: Growing(second, 2, 10*second), Limit: Fixed(127 * second), Attempts: 4}, 1, 4},
		{"MongoDB's monitor while operations wait", Schedule{Wait: Fixed(500 * ms), Limit: Fixed(10 * second)}, 6, 120},
		{"MongoDB's monitor, idle", Schedule{Wait: Fixed(10 * second), Limit: Fixed(10 * second)}, 3, 6},
		{"PgBouncer", Schedule{Wait: Fixed(15 * second), Limit: Fixed(15 * second)}, 2, 4},
		{"Prometheus remote write", Schedule{Wait: Growing(30*ms, 2, 5*second), Limit: Fixed(30 * second)}, 2, 19},
		{"dskit backoff", Schedule{Wait: dskit(100*ms, 10*second), Attempts: 10}, unknown, 10},
		{"dskit memberlist join", Schedule{Wait: dskit(second, minute), Limit: Fixed(2 * second), Attempts: 10}, 6, 6},
		{"Promtail", Schedule{Wait: dskit(500*ms, 5*minute), Limit: Fixed(10 * second), Attempts: 10}, 5, 7},
		{"OpenTelemetry Collector", Schedule{Wait: Growing(5*second, 1.5, 30*second), Limit: Fixed(5 * second)}, 4, 5},
		{"Fluent Bit, random between 5 s and 10 s", Schedule{Wait: Fixed(7500 * ms), Limit: Fixed(10 * second), Attempts: 2}, 2, 2},
		{"Vector", Schedule{Wait: Fibonacci(second, time.Hour), Limit: Fixed(minute)}, 1, 9},
		{"Cassandra's Java driver", Schedule{Wait: Growing(second, 2, minute), Limit: Fixed(5 * second)}, 6, 6},
		{"AWS SDK, standard", Schedule{Wait: Growing(second, 2, 20*second).Times(0.5), Limit: Fixed(minute), Attempts: 3}, 1, 3},
		{"AWS SDK, legacy", Schedule{Wait: Growing(second, 2, time.Hour).Times(0.5), Limit: Fixed(minute), Attempts: 5}, 1, 5},
		{"Vault client", Schedule{Wait: Linear(1250*ms, time.Hour), Limit: Fixed(minute), Attempts: 3}, 1, 3},
		{"Consul join", Schedule{Wait: Fixed(30 * second)}, unknown, 2},
		{"client-go list and watch", Schedule{Wait: Growing(800*ms, 2, 30*second).Times(1.5)}, unknown, 6},
		{"leader election candidate", Schedule{Wait: Fixed(2 * second).Times(1.6)}, unknown, 19},
		{"CoreDNS' check of a sick upstream", Schedule{Wait: Fixed(500 * ms)}, unknown, 120},
		{"glibc's resolver, per name and type", Schedule{Limit: Fixed(5 * second), Attempts: 2}, 2, 2},
		{"Temporal activity", Schedule{Wait: Growing(second, 2, 100*second)}, unknown, 6},
		{"resilience4j", Schedule{Wait: Fixed(500 * ms), Attempts: 3}, unknown, 3},
		{"Spring AMQP", Schedule{Wait: Fixed(second), Attempts: 3}, unknown, 3},
		{"Elastic's Go transport", Schedule{Attempts: 4}, unknown, 4},
		{"urllib3", Schedule{Attempts: 11}, unknown, 11},
	}
	// Left out: HAProxy's ingress controller, whose pause before a retry at the
	// same server is not documented in a form that gives a schedule.
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, tt.s, tt.silent, tt.refusing)
		})
	}
}

func check(t *testing.T, s Schedule, silent, refusing int) {
	t.Helper()
	if got := s.FirstMinute(Silent); silent != unknown && got != silent {
		t.Errorf("FirstMinute(Silent) = %d, want %d", got, silent)
	}
	if got := s.FirstMinute(Refusing); got != refusing {
		t.Errorf("FirstMinute(Refusing) = %d, want %d", got, refusing)
	}
}

func TestSchedulesFromHostileValuesEnd(t *testing.T) {
	huge := time.Duration(math.MaxInt64)
	tests := []struct {
		name string
		s    Schedule
		want int
	}{
		{"no wait and no limit", Schedule{}, 60_000},
		{"a negative wait", Schedule{Wait: Fixed(-second)}, 60_000},
		{"waits at the end of time", Schedule{Wait: Fixed(huge), Limit: Fixed(huge)}, 1},
		{"a multiplier that is not a number goes straight to the longest wait", Schedule{Wait: Growing(second, math.NaN(), minute)}, 2},
		{"a multiplier below 1 does not shrink", Schedule{Wait: Growing(second, 0.1, minute)}, 60},
		{"a multiplier without bounds", Schedule{Wait: Growing(second, math.Inf(1), huge)}, 2},
		{"an initial wait above the longest", Schedule{Wait: Growing(minute, 2, second)}, 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.FirstMinute(Silent); got != tt.want {
				t.Errorf("FirstMinute() = %d, want %d", got, tt.want)
			}
		})
	}
	if got := Reconnect(-1, 10, Schedule{}); got.PerSecond != 0 || got.HalfOpen != 0 {
		t.Errorf("a negative number of clients made %+v", got)
	}
}
