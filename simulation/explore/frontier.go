// The order in which states are expanded. Terms never fall, so a state leads to states with the same terms or
// larger ones. States with the smallest terms come first, and of these the one with the most messages, because
// it covers others, which then need not be expanded. A search for a shortest path is breadth-first.

package explore

import "container/heap"

// rank is smaller for states that are expanded earlier.
type rank uint32

func (x *worker) rank(s *state, depth uint16) rank {
	if x.states.byDepth {
		return rank(depth)
	}
	terms := 0
	for i := range x.options.Members {
		terms += int(x.model.nodes[s.nodes[i]].session.Term)
	}
	return rank(terms*(mostMessages+1) + mostMessages - s.said.len())
}

// frontier has the states that have not been expanded. It is a heap.
type frontier []waiting

// waiting is a state on the frontier.
type waiting struct {
	rank rank
	at   int32
}

func (f *frontier) add(w waiting) { heap.Push(f, w) }

// take removes the next one.
func (f *frontier) take() int32 { return heap.Pop(f).(waiting).at }

func (f frontier) Len() int { return len(f) }

func (f frontier) Less(i, j int) bool {
	if f[i].rank != f[j].rank {
		return f[i].rank < f[j].rank
	}
	return f[i].at < f[j].at
}

func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(w any)   { *f = append(*f, w.(waiting)) }

func (f *frontier) Pop() any {
	last := len(*f) - 1
	w := (*f)[last]
	*f = (*f)[:last]
	return w
}
