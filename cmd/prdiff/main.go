// Command prdiff shows what merging a change would do to a cluster, and which of
// it has taken production down before.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, env{os.Stdin, os.Stdout, os.Stderr, os.Getenv, ".", time.Now}, os.Args[1:]))
}
