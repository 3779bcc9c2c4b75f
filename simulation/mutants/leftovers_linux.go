// Processes that mutants leave behind. A mutant of code that starts programs, or that makes a process urgent,
// may leave some that never end.

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	setChildSubreaper = 36 // prctl: processes whose parents have ended become this one's children
	limitUrgent       = 15 // setrlimit: how long a process with real-time priority may run without a pause, in microseconds
	urgentFor         = 2_000_000
)

// adoptLeftovers keeps all processes that are started from here below this one, and ends those that would
// take the whole machine.
func adoptLeftovers() error {
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); e != 0 {
		return os.NewSyscallError("prctl", e)
	}
	return os.NewSyscallError("setrlimit", syscall.Setrlimit(limitUrgent, &syscall.Rlimit{Cur: urgentFor, Max: urgentFor}))
}

// endLeftovers ends every process below this one. Nothing else may run when it is called.
func endLeftovers() {
	for {
		left := children()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	}
}

// children are the processes whose parent is this one, or has become this one.
func children() (all []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is one
	for _, name := range lists {
		text, _ := os.ReadFile(name) // a thread that has ended has no children
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}
