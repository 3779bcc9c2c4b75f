// A control group (version 2) for the program, if this node may make one. The kernel kills
// all processes in it at one instant, whatever their parents and users.

package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cgroup is the directory of a control group; empty: none.
type cgroup string

// newCgroup makes a control group below that of this process. It returns none if that is not
// allowed, or the kernel has no version 2 or no cgroup.kill (before Linux 5.14).
func newCgroup() cgroup {
	own := ownCgroup()
	if own == "" {
		return ""
	}
	dir, err := os.MkdirTemp(own, "hustings-exec-*")
	if err != nil {
		return ""
	}
	c := cgroup(dir)
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
		c.remove()
		return ""
	}
	return c
}

// ownCgroup returns the directory of this process's control group; empty if it is not found.
func ownCgroup() string {
	groups, _ := os.ReadFile("/proc/self/cgroup") // no group is found in a file that cannot be read
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	return cgroupDirectory(string(groups), string(mounts))
}

// cgroupDirectory finds the directory of a process's control group in what the kernel says about its groups and mounts.
func cgroupDirectory(groups, mounts string) string {
	path := ""
	for line := range strings.Lines(groups) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(rest, "\n")
		}
	}
	for line := range strings.Lines(mounts) {
		of, what, _ := strings.Cut(line, " - ")
		fields := strings.Fields(of)
		if path == "" || !strings.HasPrefix(what, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		root, point := fields[3], fields[4]
		if below, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/")); ok {
			return filepath.Join(point, below)
		}
	}
	return ""
}

// open opens the group so that a process can be started in it; nil if there is none.
func (c cgroup) open() *os.File {
	if c == "" {
		return nil
	}
	dir, err := os.Open(string(c))
	if err != nil {
		return nil
	}
	return dir
}

// kill kills all processes in the group. If it cannot, the watchdogs find them one by one.
func (c cgroup) kill() {
	if c != "" {
		_ = os.WriteFile(filepath.Join(string(c), "cgroup.kill"), []byte("1"), 0)
	}
}

// remove removes the group once its processes have ended, for which it waits up to a second.
// The group stays if another one was made below it.
func (c cgroup) remove() {
	const attempts = 1000
	for range attempts {
		if c == "" || !errors.Is(os.Remove(string(c)), syscall.EBUSY) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
