package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAnInterruptedRunSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	e := env{strings.NewReader(""), &out, &errs, func(string) string { return "" }, t.TempDir(), time.Now}
	if code := run(ctx, e, []string{"diff", "--base", "main"}); code != exitFailed {
		t.Errorf("got exit code %d, want %d", code, exitFailed)
	}
	if got, want := errs.String(), "prdiff: interrupted\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A terminal that is closed ends a run as Ctrl-C does: in order, with nothing left behind.
func TestAClosedTerminalEndsTheRunInOrder(t *testing.T) {
	cmd := exec.Command("prdiff", "mcp")
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !cmd.ProcessState.Exited() {
		t.Errorf("got %v, want an exit", cmd.ProcessState)
	}
}
