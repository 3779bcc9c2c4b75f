// A control group for the program (version 2), where this node may make one: the kernel
// kills all that is in it at one instant, whoever has started it, and whomever it runs as.

package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cgroup is the directory of a control group; empty: there is none.
type cgroup string

// newCgroup makes one below that of this process. Where that is not allowed, or the kernel
// has no version 2 or is older than cgroup.kill (Linux 5.14), there is none.
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

// ownCgroup is the directory of the control group that this process is in; empty: it is
// not to be found.
func ownCgroup() string {
	groups, _ := os.ReadFile("/proc/self/cgroup") // what cannot be read names none
	path := ""
	for line := range strings.Lines(string(groups)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(rest, "\n")
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
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

// open opens it, to have a process start in it; nil: there is none.
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

// kill kills all that is in it. Where it cannot, they are found one by one.
func (c cgroup) kill() {
	if c != "" {
		_ = os.WriteFile(filepath.Join(string(c), "cgroup.kill"), []byte("1"), 0)
	}
}

// remove removes it when what was in it has ended, for which it waits a little. It stays if
// somebody has made another one below it.
func (c cgroup) remove() {
	const attempts = 1000
	for range attempts {
		if c == "" || !errors.Is(os.Remove(string(c)), syscall.EBUSY) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
