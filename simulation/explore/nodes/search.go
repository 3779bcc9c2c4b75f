// The search over the states of all nodes.

package nodes

import (
	"container/heap"
	"context"

	"github.com/hustings/hustings/simulation/explore"
)

// world is a state without its network.
type world struct {
	nodes  [mostMembers]int32
	moment int8
	left   budgets
}

// budgets are what may still happen.
type budgets struct{ ends, inabilities, waits, slowDisks, changes, leaderRestarts, followerRestarts int8 }

// state is a state, and how it was reached.
type state struct {
	world
	network network
	before  int32
	depth   int32
	by      input
	node    int8 // to which that happened; -1: time has passed
	covered bool // by another one, whose network holds more
}

// search is a search.
type search struct {
	options  Options
	table    *table
	own      []input
	all      budgets // before anything has happened
	states   []state
	known    map[world][]int32 // that cover all others of the same world
	frontier frontier
	byDepth  bool // for a shortest path
	result   explore.Result
}

// Explore searches until all states are known, the context ends or an invariant is broken. After a violation it
// searches again, breadth-first, and reports a shortest path. The result's Steps are the different ones of single
// nodes, each of which was computed once; its violation has neither a script nor a picture.
func Explore(ctx context.Context, o Options) (explore.Result, error) {
	if err := o.Check(); err != nil {
		return explore.Result{}, err
	}
	x := newSearch(o)
	r := x.run(ctx)
	if r.Violation == nil {
		return r, nil
	}
	again := newSearch(o)
	again.byDepth = true
	if shorter := again.run(ctx); shorter.Violation != nil {
		r.Violation = shorter.Violation
	}
	return r, nil
}

func newSearch(o Options) *search {
	x := &search{options: o, known: map[world][]int32{}, own: own(o.Groups)}
	x.table = newTable(&x.options.Bounds)
	return x
}

func (x *search) run(ctx context.Context) explore.Result {
	x.begin()
	for n := 0; len(x.frontier) > 0 && x.result.Violation == nil && x.result.Stopped == ""; n++ {
		if at := x.frontier.pop(); !x.states[at].covered {
			x.expand(at)
		}
		if n%checkEvery == 0 || ctx.Err() != nil {
			x.checkLimits(ctx)
		}
	}
	r := x.summary()
	r.Complete = r.Violation == nil && r.Stopped == ""
	return r
}

// checkEvery is after how many states the limits are looked at.
const checkEvery = 1024

func (x *search) checkLimits(ctx context.Context) {
	x.result.Memory = max(x.result.Memory, explore.MemoryUsed())
	switch most := x.options.MaxStates; {
	case ctx.Err() != nil:
		x.result.Stopped = "it was interrupted"
	case most > 0 && uint64(len(x.states)) > most:
		x.result.Stopped = "it has reached the limit of states"
	}
	if x.options.Progress != nil {
		x.options.Progress(x.summary())
	}
}

func (x *search) summary() explore.Result {
	r := x.result
	r.States, r.Steps, r.Frontier = uint64(len(x.states)), uint64(len(x.table.outcomes)), len(x.frontier)
	r.Nodes, r.Messages = len(x.table.nodes), len(x.table.parcels.all)
	return r
}

// begin begins with what has been settled.
func (x *search) begin() {
	s := x.settled()
	b := &x.options.Bounds
	x.all = budgets{int8(b.Ends), int8(b.Inabilities), int8(b.Waits), int8(b.SlowDisks), int8(b.Changes), int8(b.LeaderRestarts), int8(b.FollowerRestarts)}
	s.left, s.before = x.all, -1
	x.saturateAll(&s)
	x.add(&s)
}

// expand finds the successors of a state.
func (x *search) expand(at int32) {
	from := x.states[at]
	from.before, from.depth = at, from.depth+1
	for i := range x.options.Members {
		for _, in := range x.own {
			if s := from; x.allows(&s, in) && s.left.pays(in.kind(), i) {
				x.step(&s, i, in)
			}
		}
		for id := range x.table.parcels.all {
			if from.network.has(id) && x.table.parcels.all[id].to == i {
				s := from
				x.step(&s, i, firstParcel+input(id))
			}
		}
	}
	if s := from; int(s.moment)+1 < x.options.Moments {
		s.moment++
		s.node = -1
		x.saturateAll(&s)
		x.add(&s)
	}
}

// allows says whether something may happen in this group. The two are alike until something has happened to one, so it is
// the first group that drops out first.
func (x *search) allows(s *state, in input) bool {
	return in.place() == 0 || !in.kind().isDropOut() || s.left != x.all
}

// isDropOut says whether a group drops out.
func (k kind) isDropOut() bool { return k == drops || k == isUnable || k == waits }

// pays takes an input out of the budgets, and says whether they allow it. Followers are alike, so it is the first
// of them that is in trouble.
func (b *budgets) pays(k kind, node int) bool {
	var of *int8
	switch {
	case k == drops:
		of = &b.ends
	case k == isUnable:
		of = &b.inabilities
	case k == waits:
		of = &b.waits
	case k == diskSlow:
		of = &b.slowDisks
	case k == changes:
		of = &b.changes
	case k == restarts && node == 0:
		of = &b.leaderRestarts
	case k == restarts:
		of = &b.followerRestarts
	default:
		return true
	}
	*of--
	return *of >= 0 && node < 2 && (k != isUnable || node > 0) && (k != changes || node == 0)
}

// step has something happen to a node.
func (x *search) step(s *state, i int, in input) {
	o := x.table.outcome(int(s.nodes[i]), in, int(s.moment))
	if o.node < 0 || o.node == int(s.nodes[i]) && s.network.holdsAll(o.sent) {
		return
	}
	x.result.Transitions++
	s.by, s.node = in, int8(i)
	if o.defect != nil {
		x.violated(s, o.defect)
		return
	}
	s.nodes[i] = int32(o.node)
	for _, term := range x.table.nodes[o.node].facts.terms {
		if int(term) > x.options.Terms {
			if d := x.compare(s); d != nil { // the vote that led out of the bounds may have been given too early
				x.violated(s, d)
			}
			return
		}
	}
	x.send(s, o.sent)
	x.saturate(s, i)
	x.add(s)
}

// add notes a state, unless it is covered by one that is known.
func (x *search) add(s *state) {
	all := x.known[s.world]
	for _, other := range all {
		if x.states[other].network.holds(&s.network) {
			return
		}
	}
	if d := x.compare(s); d != nil {
		x.violated(s, d)
		return
	}
	at := int32(len(x.states))
	left := all[:0]
	for _, other := range all {
		if s.network.holds(&x.states[other].network) {
			x.states[other].covered = true
		} else {
			left = append(left, other)
		}
	}
	s.covered = false
	x.known[s.world] = append(left, at)
	x.states = append(x.states, *s)
	x.result.Depth = max(x.result.Depth, int(s.depth))
	heap.Push(&x.frontier, queued{x.priority(s), at})
}

// compare compares the nodes of a state with each other.
func (x *search) compare(s *state) *defect {
	var all [mostMembers]*facts
	for i := range x.options.Members {
		all[i] = &x.table.nodes[s.nodes[i]].facts
	}
	return compareAll(all[:x.options.Members], x.options.Groups, at(int(s.moment)))
}

// priority is smaller for states that are expanded earlier: those that may cover others.
func (x *search) priority(s *state) int64 {
	if x.byDepth {
		return int64(s.depth)
	}
	return int64(s.moment)<<32 - int64(s.network.size())
}

// frontier has the states that have not been expanded. It is a heap.
type frontier []queued

type queued struct {
	priority int64
	at       int32
}

func (f *frontier) pop() int32 { return heap.Pop(f).(queued).at }

func (f frontier) Len() int { return len(f) }
func (f frontier) Less(i, j int) bool {
	return f[i].priority < f[j].priority || f[i].priority == f[j].priority && f[i].at < f[j].at
}
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(w any)   { *f = append(*f, w.(queued)) }
func (f *frontier) Pop() any {
	last := len(*f) - 1
	w := (*f)[last]
	*f = (*f)[:last]
	return w
}
