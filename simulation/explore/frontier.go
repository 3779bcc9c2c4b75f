// The order in which states are expanded. Terms never fall, so a state leads to states with the same terms or
// larger ones. States with the smallest terms come first, and of these the one with the most messages, because
// it covers others, which then need not be expanded. A search for a shortest path is breadth-first.

package explore

import "container/heap"

// priority is smaller for states that are expanded earlier.
type priority uint32

func (x *worker) priority(s *state, depth uint16) priority {
	if x.states.byDepth {
		return priority(depth)
	}
	terms := 0
	for i := range x.options.Members {
		terms += int(x.model.nodes[s.nodes[i]].session.Term)
	}
	return priority(terms*(mostMessages+1) + mostMessages - s.sent.len())
}

// frontier has the states that have not been expanded. It is a heap.
type frontier []queued

// queued is a state on the frontier.
type queued struct {
	priority priority
	at       int32
}

func (f *frontier) add(w queued) { heap.Push(f, w) }

// pop removes the next one.
func (f *frontier) pop() int32 { return heap.Pop(f).(queued).at }

func (f frontier) Len() int { return len(f) }

func (f frontier) Less(i, j int) bool {
	if f[i].priority != f[j].priority {
		return f[i].priority < f[j].priority
	}
	return f[i].at < f[j].at
}

func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(w any)   { *f = append(*f, w.(queued)) }

func (f *frontier) Pop() any {
	last := len(*f) - 1
	w := (*f)[last]
	*f = (*f)[:last]
	return w
}
