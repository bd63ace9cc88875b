package worker

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// shutIn takes from this process, for good, all that rendering does not need.
func shutIn(l limits) held {
	var h held
	// Rather this process than any other when memory runs out.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	for resource, limit := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 16} {
		_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit})
	}
	if size, err := addressSpace(); err == nil {
		// Go reserves far more addresses than it uses memory: what it has so far
		// comes on top, and as much again as its limit for what it reserves later.
		limit := uint64(size + l.memory + l.memory/4)
		if unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}) == nil {
			h.memory = "RLIMIT_AS"
		}
	}
	clock := make(chan os.Signal, 1)
	signal.Notify(clock, unix.SIGXCPU)
	go func() {
		<-clock
		os.Exit(exitTime)
	}()
	if l.timeout > 0 {
		h.cpu = "RLIMIT_CPU"
	}
	// Nobody of the same user looks into this process.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	var by, missing []string
	if version, err := ll.LandlockGetABIVersion(); err != nil || version <= 0 {
		missing = append(missing, "this kernel has no Landlock")
	} else if err := landlock.V7.BestEffort().Restrict(); err != nil {
		missing = append(missing, "Landlock: "+err.Error())
	} else {
		by = append(by, fmt.Sprintf("Landlock %d", version))
	}
	if err := filterCalls(); err != nil {
		missing = append(missing, "seccomp: "+err.Error())
	} else {
		by = append([]string{"seccomp"}, by...)
	}
	h.filter, h.why = strings.Join(by, " and "), "not enforced: "+strings.Join(missing, "; ")
	return h
}

// addressSpace is the size of this process in bytes, as RLIMIT_AS counts it.
func addressSpace() (int64, error) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	pages, _, _ := bytes.Cut(data, []byte(" "))
	n, err := strconv.ParseInt(string(pages), 10, 64)
	return n * int64(os.Getpagesize()), err
}

// startClock gives the process the processor time of one unit, on all cores that
// it uses: twice what the wall clock allows, and a bit. The run's own clock comes
// first; this one is for when the run is stopped.
func startClock(timeout time.Duration) {
	if timeout <= 0 {
		return
	}
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return
	}
	var now unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CPU, &now) != nil {
		return
	}
	now.Cur = min(now.Max, uint64(used.Utime.Sec+used.Stime.Sec)+2*uint64(timeout/time.Second)+5)
	_ = unix.Setrlimit(unix.RLIMIT_CPU, &now)
}
