package impact

import (
	"math"
	"slices"
	"testing"
)

func TestTrafficOfAnEntryPointWhoseServiceSelectsOnlyNewPods(t *testing.T) {
	newOnly := Reach{Before: true, New: true}
	tests := []struct {
		name    string
		rollout Rollout
		reach   Reach
		want    Traffic
		peak    float64
	}{
		{"Grafana Labs 2022: 16 of 140 take everything, 8.75 times (surge 15 and 1 unavailable are assumed)",
			Rollout{Replicas: 140, MaxSurge: Amount{N: 15}, MaxUnavailable: Amount{N: 1}}, newOnly,
			Traffic{Before: 140, AtOnce: 0, FirstWave: 16, First: 16, Fewest: 16, End: 140, Gap: true}, 8.75},
		{"a surge of 10 % and none unavailable makes it ten times",
			Rollout{Replicas: 140, MaxSurge: Amount{10, true}}, newOnly,
			Traffic{Before: 140, FirstWave: 14, First: 14, Fewest: 14, End: 140, Gap: true}, 10},
		{"the defaults of a Deployment, 25 % up and 25 % down",
			DefaultRollout(RollingUpdate, 10), newOnly,
			Traffic{Before: 10, FirstWave: 5, First: 5, Fewest: 5, End: 10, Gap: true}, 2},
		{"a selector that matches both generations never loses more than what may be unavailable",
			DefaultRollout(RollingUpdate, 10), Reach{true, true, true},
			Traffic{Before: 10, AtOnce: 10, FirstWave: 5, First: 13, Fewest: 8, End: 10}, 1.25},
		{"new pods that lose the label drain the Service until nothing is left",
			DefaultRollout(RollingUpdate, 10), Reach{Before: true, Old: true},
			Traffic{Before: 10, AtOnce: 10, FirstWave: 5, First: 8, Fewest: 3, End: 0, Gap: true}, 10.0 / 3},
		{"a selector that matches nothing",
			DefaultRollout(RollingUpdate, 10), Reach{Before: true},
			Traffic{Before: 10, FirstWave: 5, Gap: true}, 0},
		{"Recreate has a gap even where both generations match",
			Rollout{Replicas: 4, Strategy: Recreate}, Reach{true, true, true},
			Traffic{Before: 4, AtOnce: 4, FirstWave: 4, First: 4, Fewest: 4, End: 4, Gap: true}, 1},
		{"a StatefulSet goes one by one: the first new pod takes everything",
			DefaultRollout(Ordered, 5), newOnly,
			Traffic{Before: 5, FirstWave: 1, First: 1, Fewest: 1, End: 5, Gap: true}, 5},
		{"a partition keeps the lower ordinals old for good",
			Rollout{Replicas: 5, Strategy: Ordered, MaxUnavailable: Amount{N: 1}, Partition: 3}, newOnly,
			Traffic{Before: 5, FirstWave: 1, First: 1, Fewest: 1, End: 2, Gap: true}, 5},
		{"a partition above the replicas replaces nothing",
			Rollout{Replicas: 5, Strategy: Ordered, Partition: 9}, newOnly,
			Traffic{Before: 5, Gap: true}, 0},
		{"a template that did not change makes no new pods",
			Rollout{Replicas: 5, Strategy: Still}, newOnly,
			Traffic{Before: 5, Gap: true}, 0},
		{"a DaemonSet rounds up",
			Rollout{Replicas: 15, Strategy: PerNode, MaxUnavailable: Amount{10, true}}, newOnly,
			Traffic{Before: 15, FirstWave: 2, First: 2, Fewest: 2, End: 15, Gap: true}, 7.5},
		{"a wave above the replicas is all of them",
			Rollout{Replicas: 2, MaxSurge: Amount{N: 5}}, newOnly,
			Traffic{Before: 2, FirstWave: 2, First: 2, Fewest: 2, End: 2, Gap: true}, 1},
		{"no replicas", DefaultRollout(RollingUpdate, 0), newOnly, Traffic{Gap: true}, 0},
		{"negative replicas are none", DefaultRollout(RollingUpdate, -3), newOnly, Traffic{Gap: true}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.rollout.Traffic(tt.reach)
			if got != tt.want {
				t.Errorf("Traffic() = %+v, want %+v", got, tt.want)
			}
			if math.Abs(got.Peak()-tt.peak) > 1e-9 {
				t.Errorf("Peak() = %v, want %v", got.Peak(), tt.peak)
			}
		})
	}
}

func TestSteps(t *testing.T) {
	tests := []struct {
		name    string
		rollout Rollout
		want    []Step
	}{
		{"surge 1 and 1 unavailable of 4", Rollout{Replicas: 4, MaxSurge: Amount{N: 1}, MaxUnavailable: Amount{N: 1}},
			[]Step{{4, 0}, {3, 0}, {3, 2}, {1, 2}, {1, 4}, {0, 4}}},
		{"surge only", Rollout{Replicas: 2, MaxSurge: Amount{N: 1}}, []Step{{2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}}},
		{"both 0 become 1 unavailable", Rollout{Replicas: 2, MaxUnavailable: Amount{1, true}},
			[]Step{{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}}},
		{"Recreate", Rollout{Replicas: 3, Strategy: Recreate}, []Step{{3, 0}, {0, 0}, {0, 3}}},
		{"StatefulSet with a partition", Rollout{Replicas: 3, Strategy: Ordered, Partition: 1},
			[]Step{{3, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}}},
		{"StatefulSet rounds down, to 1 at least", Rollout{Replicas: 3, Strategy: Ordered, MaxUnavailable: Amount{50, true}},
			[]Step{{3, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}, {0, 3}}},
		{"OnDelete", Rollout{Replicas: 3, Strategy: Still}, []Step{{3, 0}}},
		{"nothing", Rollout{}, []Step{{0, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := slices.Collect(tt.rollout.Steps()); !slices.Equal(got, tt.want) {
				t.Errorf("Steps() = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTrafficAgreesWithTheStepsItSums(t *testing.T) {
	amounts := []Amount{{}, {N: 1}, {N: 3}, {N: 40}, {10, true}, {25, true}, {100, true}}
	for _, strategy := range []Strategy{RollingUpdate, Recreate, Ordered, PerNode, Still} {
		for n := range 14 {
			for _, surge := range amounts {
				for _, unavailable := range amounts {
					for partition := range 4 {
						r := Rollout{n, strategy, surge, unavailable, partition}
						for bits := range 8 {
							reach := Reach{bits&1 > 0, bits&2 > 0, bits&4 > 0}
							checkSteps(t, r, reach)
						}
					}
				}
			}
		}
	}
}

func checkSteps(t *testing.T, r Rollout, reach Reach) {
	t.Helper()
	got := r.Traffic(reach)
	want := Traffic{Before: got.Before, FirstWave: got.FirstWave}
	i, first := 0, false
	for s := range r.Steps() {
		endpoints := 0
		if reach.Old {
			endpoints += s.Old
		}
		if reach.New {
			endpoints += s.New
		}
		if i == 0 {
			want.AtOnce = endpoints
		}
		if !first && (s.New > 0 || r.FirstWave() == 0) {
			first, want.First = true, endpoints
		}
		if endpoints == 0 {
			want.Gap = true
		} else if want.Fewest == 0 || endpoints < want.Fewest {
			want.Fewest = endpoints
		}
		want.End = endpoints
		i++
	}
	if got != want {
		t.Fatalf("Traffic(%+v) of %+v = %+v, want %+v", reach, r, got, want)
	}
}

func TestHugeRolloutsCostNothing(t *testing.T) {
	r := Rollout{Replicas: math.MaxInt32, MaxSurge: Amount{N: 1}, MaxUnavailable: Amount{math.MaxInt32, true}}
	if got := r.Traffic(Reach{New: true}).End; got != math.MaxInt32 {
		t.Errorf("End = %d, want %d", got, math.MaxInt32)
	}
}

func TestParseAmount(t *testing.T) {
	for text, want := range map[string]Amount{"25%": {25, true}, "3": {N: 3}, " 0 ": {}, "100%": {100, true}} {
		if got, err := ParseAmount(text); err != nil || got != want {
			t.Errorf("ParseAmount(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "-1", "1.5", "x", "99999999999"} {
		if got, err := ParseAmount(text); err == nil {
			t.Errorf("ParseAmount(%q) = %v, want an error", text, got)
		}
	}
}
