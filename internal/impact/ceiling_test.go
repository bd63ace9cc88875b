package impact

import (
	"math"
	"testing"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

func TestCeilingOf(t *testing.T) {
	pool := Autoscaler{Most: 300, MilliCPU: 500, Memory: gib}
	tests := []struct {
		name string
		of   []Autoscaler
		want Ceiling
	}{
		{"one pool", []Autoscaler{pool}, Ceiling{300, 150_000, 300 * gib}},
		{"a pool that was split in two, each with the ceiling of the first, may ask for twice as much",
			[]Autoscaler{pool, pool}, Ceiling{600, 300_000, 600 * gib}},
		{"pods without requests count as pods", []Autoscaler{{Most: 7}}, Ceiling{Pods: 7}},
		{"nothing", nil, Ceiling{}},
		{"negative figures", []Autoscaler{{Most: -5, MilliCPU: -5, Memory: -5}}, Ceiling{}},
		{"figures beyond any cluster", []Autoscaler{{math.MaxInt, math.MaxInt64, math.MaxInt64}, {math.MaxInt, 1, 1}},
			Ceiling{math.MaxInt64, math.MaxInt64, math.MaxInt64}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := CeilingOf(tt.of...); got != tt.want {
				t.Errorf("CeilingOf() = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Buildkite published three CoreDNS replicas with 512 MiB each and a pool that
// was split with its ceiling copied; the ceiling of 3,000 is ours.
func TestThreeCoreDNSReplicasAgainstTheSumOfCeilings(t *testing.T) {
	dns := Resolver{Replicas: 3, Memory: 512 * mib}
	before := CeilingOf(Autoscaler{Most: 3000})
	after := CeilingOf(Autoscaler{Most: 3000}, Autoscaler{Most: 3000})
	if got := dns.PodsPerReplica(before.Pods); got != 1000 {
		t.Errorf("before the split: %v pods per replica, want 1000", got)
	}
	if got := dns.PodsPerReplica(after.Pods); got != 2000 {
		t.Errorf("after the split: %v pods per replica, want 2000", got)
	}
	if !dns.Fits(after.Pods, 500) {
		t.Error("the size at rest of 6,000 pods does not fit 512 MiB, want that it fits: waiting queries filled it")
	}
	if got := (Resolver{Replicas: 12, Memory: 2 * gib}).PodsPerReplica(after.Pods); got != 500 {
		t.Errorf("with the twelve replicas of the repair: %v pods per replica, want 500", got)
	}
}

func TestMemoryNeeded(t *testing.T) {
	tests := []struct {
		name           string
		resolver       Resolver
		pods, services int64
		want           int64
	}{
		{"an empty cluster", Resolver{}, 0, 0, 54_000_000},
		{"10,000 pods and Services", Resolver{}, 9_000, 1_000, 64_000_000},
		{"with autopath", Resolver{Autopath: true}, 9_000, 1_000, 96_000_000},
		{"negative counts", Resolver{}, -1, -1, 54_000_000},
		{"no wrap around", Resolver{}, math.MaxInt64, math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.resolver.MemoryNeeded(tt.pods, tt.services); got != tt.want {
				t.Errorf("MemoryNeeded() = %d, want %d", got, tt.want)
			}
		})
	}
	if (Resolver{Memory: 60_000_000}).Fits(9_000, 1_000) {
		t.Error("64 MB fit a limit of 60 MB")
	}
	if !(Resolver{}).Fits(math.MaxInt64, 0) {
		t.Error("a replica without limit did not fit")
	}
	if got := (Resolver{}).PodsPerReplica(10); got != 0 {
		t.Errorf("PodsPerReplica() without replicas = %v, want 0", got)
	}
}
