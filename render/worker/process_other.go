//go:build !unix

package worker

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { _ = p.Kill() }

func killedBySignal(*os.ProcessState) bool { return false }

func isBrokenPipe(err error) bool { return err != nil }

// closeInherited has nothing to do: only what is named is inherited here.
func closeInherited() {}

// environSize is how many variables a process has that is started without any:
// on Windows there is always SYSTEMROOT.
const environSize = 1
