package worker

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/object"
)

// A deathError is why a child died by itself.
type deathError struct {
	reason    string
	exhausted bool // it ran out of something that earlier units may have used up
}

func (e *deathError) Error() string { return e.reason }

// exitMemory and exitTime are the exit codes of a child that watches itself.
const (
	exitMemory = 71
	exitTime   = 72
)

// reasonOf reads from a process's end and its last words why it died.
func reasonOf(state *os.ProcessState, stderr string, memory int64) *deathError {
	killed := state != nil && killedBySignal(state)
	code := -1
	if state != nil {
		code = state.ExitCode()
	}
	switch {
	case code == exitMemory || strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "cannot allocate memory"):
		return &deathError{fmt.Sprintf("needed more than %s", size(memory)), true}
	case code == exitTime:
		return &deathError{"used more processor time than one unit is given", false}
	case strings.Contains(stderr, "stack overflow") || strings.Contains(stderr, "goroutine stack exceeds"):
		return &deathError{fmt.Sprintf("recursed until its stack was larger than %s: something in it calls itself without an end", size(maxStack)), false}
	case killed && stderr == "":
		return &deathError{"was killed by the system, most likely for want of memory", true}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if line == "" {
		line = fmt.Sprint(state)
	}
	if len(line) > 300 {
		line = line[:300] + "..."
	}
	return &deathError{"the renderer crashed: " + object.MaskText(strings.ToValidUTF8(line, "\uFFFD")), true}
}

// size writes bytes as people say them: "4 GiB", "256 MiB".
func size(n int64) string {
	if n >= 1<<30 && n%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// seconds writes a limit as people say it: "60 s", "1.5 s".
func seconds(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", d.Seconds()), "0"), ".") + " s"
}
