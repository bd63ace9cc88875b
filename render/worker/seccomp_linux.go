//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allowed are the system calls that a child may make: those of Go's runtime
// (runtime/sys_linux_*.s, internal/runtime/syscall), those of the C library's
// threads in a build with cgo, and reading and writing what is open. None of them
// opens, connects or starts anything.
var allowed = append([]uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_FSTAT,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK, unix.SYS_MEMBARRIER,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS, unix.SYS_RESTART_SYSCALL,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE, unix.SYS_UNAME, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}, allowedHere...)

// allowedFor are calls that are allowed for this process itself: the first
// argument is its number, or 0 where that means the same.
var allowedFor = []uint32{unix.SYS_TGKILL, unix.SYS_KILL, unix.SYS_PRLIMIT64}

const (
	loadWord  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpSet   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	giveBack  = unix.BPF_RET | unix.BPF_K

	// Places in struct seccomp_data (linux/seccomp.h).
	placeCall  = 0
	placeArch  = 4
	placeFirst = 16 // the first argument's lower half, on little-endian machines
)

// filterCalls makes all other system calls of this process fail, for good.
func filterCalls() error {
	program := callFilter(uint32(os.Getpid()))
	// Without this, only root may set a filter; with it, no program that would be
	// started could gain rights. The filter hands it to the other threads.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	if thread != 0 {
		return fmt.Errorf("thread %d has a filter of its own", thread)
	}
	return nil
}

// callFilter is the filter as a program of the kernel's packet filter.
func callFilter(pid uint32) []unix.SockFilter {
	refuse := unix.SockFilter{Code: giveBack, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	absent := unix.SockFilter{Code: giveBack, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	allow := unix.SockFilter{Code: giveBack, K: unix.SECCOMP_RET_ALLOW}
	program := []unix.SockFilter{
		{Code: loadWord, K: placeArch},
		{Code: jumpEqual, K: arch, Jt: 1},
		{Code: giveBack, K: unix.SECCOMP_RET_KILL_PROCESS}, // 32-bit calls have other numbers
		{Code: loadWord, K: placeCall},
	}
	for _, call := range allowed {
		program = append(program, unix.SockFilter{Code: jumpEqual, K: call, Jf: 1}, allow)
	}
	for _, call := range allowedFor {
		program = append(program,
			unix.SockFilter{Code: jumpEqual, K: call, Jf: 5},
			unix.SockFilter{Code: loadWord, K: placeFirst},
			unix.SockFilter{Code: jumpEqual, K: pid, Jt: 1},
			unix.SockFilter{Code: jumpEqual, K: 0, Jf: 1},
			allow, refuse)
	}
	return append(program,
		// Threads, but no processes. The flags of clone3 are behind a pointer that a
		// filter cannot follow; without it, the C library takes clone.
		unix.SockFilter{Code: jumpEqual, K: unix.SYS_CLONE3, Jf: 1}, absent,
		unix.SockFilter{Code: jumpEqual, K: unix.SYS_CLONE, Jf: 3},
		unix.SockFilter{Code: loadWord, K: placeFirst},
		unix.SockFilter{Code: jumpSet, K: unix.CLONE_THREAD, Jf: 1}, allow,
		refuse)
}
