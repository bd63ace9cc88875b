package impact

// An Autoscaler may run up to Most pods that request this much each.
type Autoscaler struct {
	Most     int
	MilliCPU int64 // requested by one pod, in thousandths of a core
	Memory   int64 // requested by one pod, in bytes
}

// A Ceiling is what a set of autoscalers may come to ask of a cluster.
type Ceiling struct {
	Pods     int64
	MilliCPU int64
	Memory   int64 // bytes
}

// CeilingOf sums over autoscalers: maxReplicas times the requests of a pod.
// Negative figures count as nothing, and sums stop at the largest number there
// is instead of wrapping around.
func CeilingOf(autoscalers ...Autoscaler) Ceiling {
	var c Ceiling
	for _, a := range autoscalers {
		pods := int64(max(a.Most, 0))
		c.Pods = plus(c.Pods, pods)
		c.MilliCPU = plus(c.MilliCPU, times(pods, max(a.MilliCPU, 0)))
		c.Memory = plus(c.Memory, times(pods, max(a.Memory, 0)))
	}
	return c
}

const largest = 1<<63 - 1

func plus(a, b int64) int64 {
	if a > largest-b {
		return largest
	}
	return a + b
}

func times(a, b int64) int64 {
	if a != 0 && b > largest/a {
		return largest
	}
	return a * b
}

// A Resolver is the cluster's DNS: a fixed number of CoreDNS pods.
type Resolver struct {
	Replicas int
	Memory   int64 // limit of one pod in bytes, 0 for none
	Autopath bool  // the Corefile has the autopath plugin
}

// PodsPerReplica is how many pods each CoreDNS replica answers for when the
// cluster is as full as it may get; 0 without replicas.
//
// Buildkite's outage is the case: one pool of workers was split in two, both
// kept the maximum of the first, and CoreDNS stayed at three replicas of 512 MiB
// while the sum of ceilings grew. The three, the limit and the split are
// published; the number of pods is not.
func (r Resolver) PodsPerReplica(pods int64) float64 {
	if r.Replicas <= 0 {
		return 0
	}
	return float64(pods) / float64(r.Replicas)
}

// megabyte is what the CoreDNS rule counts in.
const megabyte = 1_000_000

// MemoryNeeded gives the bytes that one CoreDNS replica needs to hold the pods
// and Services of a cluster: (pods + services)/1000 + 54 MB, with the autopath
// plugin (pods + services)/250 + 56 MB
// (https://github.com/coredns/deployment/blob/master/kubernetes/Scaling_CoreDNS.md).
// Every replica holds all of them, so more replicas do not lower it. It is the
// size at rest: queries that wait for an answer come on top, and these are what
// used up 512 MiB at Buildkite.
func (r Resolver) MemoryNeeded(pods, services int64) int64 {
	objects := plus(max(pods, 0), max(services, 0))
	if r.Autopath {
		return plus(times(objects, megabyte/250), 56*megabyte)
	}
	return plus(times(objects, megabyte/1000), 54*megabyte)
}

// Fits says whether the memory limit holds MemoryNeeded. A replica without
// limit always fits.
func (r Resolver) Fits(pods, services int64) bool {
	return r.Memory <= 0 || r.MemoryNeeded(pods, services) <= r.Memory
}
