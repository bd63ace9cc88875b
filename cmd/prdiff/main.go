// Command prdiff shows what merging a change would do to a cluster, and which of
// it has taken production down before.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prdiff/prdiff/render/worker"
)

// smallHeap is how large the heap may grow before its garbage is collected, in
// bytes: a run for a few units is over before that.
const smallHeap = 64 << 20

func main() {
	if len(os.Args) != 2 || os.Args[1] != worker.Argument { // which has a target of its own
		worker.TuneGC(smallHeap)
	}
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		stops = append(stops, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), stops...)
	defer stop()
	os.Exit(run(ctx, env{os.Stdin, os.Stdout, os.Stderr, os.Getenv, ".", time.Now}, os.Args[1:]))
}
