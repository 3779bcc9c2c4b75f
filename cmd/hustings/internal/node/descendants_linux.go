// The descendants of a process, read from /proc.

package node

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// process is running, or has ended and waits for its parent.
type process struct {
	id, parent, group int
	ended             bool
}

// descendants returns the children of a process, their children, and so on.
func descendants(of int) (all []process) {
	children := make(map[int][]process)
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	all = children[of]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].id]...)
	}
	return all
}

// lineage returns the ids of the same processes, found by reading the children of each. It is
// fast even if the machine has many other processes. Some ids are missing if a process ends
// meanwhile, and all if the kernel does not list children.
func lineage(of int) (all []int) {
	for next := []int{of}; len(next) > 0; next = next[1:] {
		threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", next[0]))
		for _, thread := range threads {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", next[0], thread.Name()))
			for child := range strings.FieldsSeq(string(children)) {
				if id, err := strconv.Atoi(child); err == nil {
					all, next = append(all, id), append(next, id)
				}
			}
		}
	}
	return all
}

// processes returns all visible processes. One that ends meanwhile may be missing.
func processes() (all []process) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1) // as many as can be read
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + name + "/stat")
		// The program's name comes first, in parentheses, and may contain parentheses itself.
		after := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
		p, state := process{id: id}, ""
		if _, err := fmt.Sscan(after, &state, &p.parent, &p.group); err == nil {
			p.ended = state == "Z"
			all = append(all, p)
		}
	}
	return all
}
