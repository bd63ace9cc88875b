package main

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkMemory measures the most memory that a whole run takes, children included,
// when the platform's library changes every object of every environment: once with few
// environments and once with four times as many. What is kept until the rules have seen
// all of them is what differs, which environments of one library have in common.
//
//	go test ./cmd/prdiff -run '^$' -bench Memory -benchtime 1x -timeout 1h
func BenchmarkMemory(b *testing.B) {
	b.Setenv("XDG_CACHE_HOME", b.TempDir())
	b.Setenv("HOME", b.TempDir())
	for _, n := range []int{50, 200} {
		b.Run(fmt.Sprint("every object of ", n, " environments"), func(b *testing.B) {
			m := newMonorepo(b, n, *monorepoSeed)
			m.write("lib/workload.libsonnet", strings.Replace(workloadLibrary, "'app.kubernetes.io/managed-by': 'tanka'", "tier: 'backend'", 1))
			m.write("lib/platform.libsonnet", strings.Replace(platformLibrary, "http_listen_port: 8080", "http_listen_port: 8081", 1))
			for b.Loop() {
				c := m.run(n, "--cache", "off")
				b.ReportMetric(c.wall.Seconds(), "s")
				b.ReportMetric(float64(c.memory)/(1<<20), "MiB-peak")
			}
		})
	}
}
