// The descendants of a process, by what the kernel shows of every process.

package node

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// process is one that runs, or has ended and waits for its parent.
type process struct{ id, parent, group int }

// descendants are those that a process has started, and those that they have, and so on.
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

// lineage are the ids of the same processes, found by asking each for its children: soon,
// however many others there are. Some may be missing where one ends meanwhile, and all are
// where the kernel does not list children.
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

// processes are all that can be seen. One that ends while they are looked at may be missing.
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
		// The name of the program comes first, in parentheses, and may hold some itself.
		after := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
		p, state := process{id: id}, ""
		if _, err := fmt.Sscan(after, &state, &p.parent, &p.group); err == nil {
			all = append(all, p)
		}
	}
	return all
}
