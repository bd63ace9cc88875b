package impact

import (
	"math"
	"time"
)

// A Peer is how an endpoint that does not serve answers a new connection.
type Peer int

const (
	// Silent drops what it gets, as the address of a deleted pod does: each
	// attempt lasts until its own limit.
	Silent Peer = iota
	// Refusing answers at once with a reset or an error.
	Refusing
)

// Window is the time over which attempts are counted, and how long a connection
// tracking table keeps an entry that nobody answered: 60 s in Datadog's account
// of AWS VPCs (https://www.datadoghq.com/blog/engineering/grpc-dns-and-load-balancing-incident/).
const Window = time.Minute

// quickest is the shortest time that one attempt is taken to last. It bounds
// schedules that have neither wait nor limit; they come out as 60,000 a minute.
const quickest = time.Millisecond

// A Schedule is how one client tries one endpoint again and again. Attempts
// count from 1, the first one is made at once.
type Schedule struct {
	Wait      Wait          // after each attempt; nil waits not at all
	Limit     Wait          // how long an attempt at a silent peer lasts; nil ends at once
	FromStart bool          // the wait runs from the start of the attempt, not from its failure
	Attempts  int           // at most, 0 for no end
	Least     time.Duration // the shortest wait and limit that the client accepts
}

// A Wait gives the time that belongs to the nth attempt, jitter at its mean.
type Wait func(n int) time.Duration

// Fixed is the same time after every attempt.
func Fixed(d time.Duration) Wait { return func(int) time.Duration { return d } }

// Growing starts at initial and is multiplied after each attempt until it
// reaches most. A multiplier below 1 never grows.
func Growing(initial time.Duration, multiplier float64, most time.Duration) Wait {
	return func(n int) time.Duration {
		return capped(float64(initial)*math.Pow(max(multiplier, 1), float64(n-1)), most)
	}
}

// Linear is n times step, most at the top.
func Linear(step, most time.Duration) Wait {
	return func(n int) time.Duration { return capped(float64(step)*float64(n), most) }
}

// Fibonacci is unit times 1, 1, 2, 3, 5 and so on, most at the top.
func Fibonacci(unit, most time.Duration) Wait {
	return func(n int) time.Duration {
		a, b := 0.0, 1.0
		for range min(n, 200) {
			a, b = b, a+b
		}
		return capped(float64(unit)*a, most)
	}
}

// Between is the mean of two waits, for a client that picks at random between them.
func Between(low, high Wait) Wait {
	return func(n int) time.Duration { return low(n)/2 + high(n)/2 }
}

// AtLeast is w, but never less than d.
func (w Wait) AtLeast(d time.Duration) Wait {
	return func(n int) time.Duration { return max(d, w(n)) }
}

// Times multiplies a wait by the mean of its jitter.
func (w Wait) Times(factor float64) Wait {
	return func(n int) time.Duration { return capped(float64(w(n))*factor, math.MaxInt64) }
}

// capped makes a duration of nanoseconds that lies between 0 and most.
func capped(ns float64, most time.Duration) time.Duration {
	if ns >= float64(most) || math.IsNaN(ns) {
		return max(most, 0)
	}
	return time.Duration(max(ns, 0))
}

// gap is the time from the start of the nth attempt to the next one.
func (s Schedule) gap(n int, peer Peer) time.Duration {
	var wait, limit time.Duration
	if s.Wait != nil {
		wait = max(s.Wait(n), s.Least)
	}
	if s.Limit != nil && peer == Silent {
		limit = max(s.Limit(n), s.Least)
	}
	if s.FromStart {
		return max(wait, limit, quickest)
	}
	if wait > math.MaxInt64-limit {
		return math.MaxInt64
	}
	return max(wait+limit, quickest)
}

// FirstMinute is the number of attempts of one client at one endpoint in the
// first 60 s, the one at 0 s counted and one at 60 s not.
func (s Schedule) FirstMinute(peer Peer) int {
	at, n := time.Duration(0), 0
	for at < Window && (s.Attempts == 0 || n < s.Attempts) {
		n++
		gap := s.gap(n, peer)
		if gap >= Window {
			break
		}
		at += gap
	}
	return n
}

// settled is the attempt after which every schedule is taken to have reached
// its longest wait.
const settled = 1000

// Period is the time between two attempts once the wait has stopped growing;
// 0 when the client gives up.
func (s Schedule) Period(peer Peer) time.Duration {
	if s.Attempts > 0 {
		return 0
	}
	return s.gap(settled, peer)
}

// A Storm is what many clients do to endpoints that are gone.
type Storm struct {
	Attempts  int     // of one client at one endpoint in the first minute
	PerSecond float64 // of all clients together, on average over that minute
	HalfOpen  float64 // entries of unanswered attempts at its end
	Steady    float64 // attempts per second of all clients once waits have grown
}

// Reconnect counts what clients make of targets that do not answer.
//
// With 900 clients, 10 targets and 0.3 s for the initial wait, the longest wait
// and the connect limit it gives 30,000 attempts per second and 1.8 million
// half-open entries, the rate that Datadog saw in 2021; gRPC's own defaults give
// 3 attempts in the first minute (https://www.datadoghq.com/blog/engineering/grpc-dns-and-load-balancing-incident/).
// The clients, their 300 ms and the 30,000 are published; the 10 targets are the
// quotient of these.
func Reconnect(clients, targets int, s Schedule) Storm {
	pairs := float64(max(clients, 0)) * float64(max(targets, 0))
	n := s.FirstMinute(Silent)
	storm := Storm{
		Attempts:  n,
		PerSecond: pairs * float64(n) / Window.Seconds(),
		HalfOpen:  pairs * float64(n),
	}
	if period := s.Period(Silent); period > 0 {
		storm.Steady = pairs / period.Seconds()
	}
	return storm
}

// A GRPC is the reconnect backoff of a gRPC channel: wait(n) = Initial times
// Multiplier to the n-1, Most at the top, and an attempt lasts for
// ConnectLimit or the wait, whichever is longer
// (https://github.com/grpc/grpc/blob/master/doc/connection-backoff.md).
// A jitter of 20 % either way has the mean 1.
type GRPC struct {
	Initial, Most, ConnectLimit time.Duration
	Multiplier                  float64
	// Go counts the wait from the failure of the attempt, as grpc-go does; other
	// implementations count it from its start and never wait less than 100 ms
	// (src/core/client_channel/subchannel.cc of grpc/grpc).
	Go bool
}

// DefaultGRPC is what every implementation does when nothing is set: 1 s, 1.6,
// 120 s, 20 s.
func DefaultGRPC() GRPC {
	return GRPC{Initial: time.Second, Most: 2 * time.Minute, ConnectLimit: 20 * time.Second, Multiplier: 1.6}
}

// Schedule gives the schedule of one channel.
func (g GRPC) Schedule() Schedule {
	wait := Growing(g.Initial, g.Multiplier, g.Most)
	s := Schedule{
		Wait:      wait,
		Limit:     wait.AtLeast(g.ConnectLimit),
		FromStart: !g.Go,
	}
	if !g.Go {
		s.Least = 100 * time.Millisecond
	}
	return s
}
