// The order in which states are looked at. Terms never fall, so a state leads to states with the
// same terms or larger ones. Those with the smallest terms are looked at first, and of these that in which most
// was said, because it covers others, which then need not be looked at. A search for a shortest
// way looks at the nearest first.

package explore

import "container/heap"

// rank is smaller for what is looked at earlier.
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

// frontier has the states that nobody has looked at. It is a heap.
type frontier []waiting

// waiting is a state that does.
type waiting struct {
	rank rank
	at   int32
}

func (f *frontier) add(w waiting) { heap.Push(f, w) }

// take is the next one.
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
