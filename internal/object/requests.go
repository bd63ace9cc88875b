package object

// Requests gives what the scheduler reserves for one pod of w: millicores and
// bytes. A request that is not written is the limit; init containers run before
// the others, so that the larger of both counts
// (https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers).
// What cannot be read counts as nothing.
func (w Workload) Requests() (milliCPU, memory int64) {
	all := w.Containers()
	return requestOf(all, "cpu").Millis(), requestOf(all, "memory").Bytes()
}

func requestOf(all []Container, resource string) Quantity {
	var running, starting, sidecars Quantity
	for _, c := range all {
		amount := c.At("resources.requests").Field(resource)
		if !amount.Exists() {
			amount = c.At("resources.limits").Field(resource)
		}
		q, err := amount.Quantity()
		if err != nil {
			continue
		}
		switch c.Kind {
		case InitContainer:
			starting = larger(starting, q.Add(sidecars))
		case SidecarContainer:
			sidecars = sidecars.Add(q)
			running = running.Add(q)
		case MainContainer:
			running = running.Add(q)
		}
	}
	return larger(running, starting)
}

func larger(a, b Quantity) Quantity {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}
