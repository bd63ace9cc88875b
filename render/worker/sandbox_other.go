//go:build !linux

package worker

import (
	"runtime"
	"time"
)

// shutIn has nothing to offer here: what the renderers are given is all that
// keeps them from files and network.
func shutIn(limits) held {
	return held{why: "not enforced on " + runtime.GOOS + ": only the renderers themselves keep to the repository's files"}
}

func startClock(time.Duration) {}
