// Live: whether the group can always still elect a leader. A network in which nothing is ever lost says
// nothing about that, so this is another search. A message is on its way until it arrives, once. Some are
// lost or arrive twice, some processes crash, and some members become unable to lead, as often as budgets allow. From every state that is reached
// like this, some continuation without more faults must lead to a leader that a quorum follows. So this finds a
// member that waits for something that never happens, or that may never stand again.

package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// Budgets bound the faults of a [Live] search, and how many messages are on their way.
type Budgets struct {
	InFlight                    int // up to 12
	Drops, Duplicates, Restarts int // up to 3
	Inabilities                 int // changes of a member's ability to lead, and LedgerEnds that hang; up to 6
}

const (
	mostInFlight = 12
	mostTrouble  = 3
	mostChanges  = 6
)

// Check says what is wrong with the budgets.
func (b *Budgets) Check() error {
	return errors.Join(
		within("InFlight", b.InFlight, 1, mostInFlight), within("Drops", b.Drops, 0, mostTrouble),
		within("Duplicates", b.Duplicates, 0, mostTrouble), within("Restarts", b.Restarts, 0, mostTrouble),
		within("Inabilities", b.Inabilities, 0, mostChanges),
	)
}

// flight is a message on its way to one member. 0 is none.
type flight uint32

func newFlight(id messageID, to int) flight { return flight(id)<<3 | flight(to+1) }

func (f flight) message() messageID { return messageID(f >> 3) }
func (f flight) to() int            { return int(f&7) - 1 }

// liveState is the state of the group and of a network that forgets.
type liveState struct {
	nodes   [mostMembers]nodeID
	flights [mostInFlight]flight // sorted
	left    Budgets
}

// liveSearch looks at all states, and remembers the transitions without faults.
type liveSearch struct {
	options Options
	model   *model
	states  []liveState
	origins []liveOrigin
	known   map[liveState]int32
	edges   [][2]int32 // without faults
	result  Result
}

// liveOrigin is the step that led to a state.
type liveOrigin struct {
	parent int32
	depth  int32
	step   Step
}

// Live looks at all states within the bounds and budgets, and for one from which no
// leader can be elected any more. States in which a member is in the largest term, or a
// leader has sent its last beat, do not count, because what they need may lie beyond the bounds.
func Live(ctx context.Context, o Options, b Budgets) (Result, error) {
	if err := errors.Join(o.Check(), b.Check()); err != nil {
		return Result{}, err
	}
	if o.Checkpoint != "" {
		return Result{}, errors.New("explore: Checkpoint is set, but a Live search has none")
	}
	if o.Leases {
		return Result{}, errors.New("explore: Leases is set, but a Live search does not model time")
	}
	return newLiveSearch(o).run(ctx, b), nil
}

func newLiveSearch(o Options) *liveSearch {
	bounds := o.Bounds
	bounds.NoCrash = true // the budgets have the crashes
	return &liveSearch{options: o, model: newModel(bounds, newRegistry()), known: map[liveState]int32{}}
}

func (x *liveSearch) run(ctx context.Context, b Budgets) Result {
	first := liveState{left: b}
	for i := range x.options.Members {
		first.nodes[i] = x.model.begin(i)
	}
	x.addState(&first, -1, Step{}, true)
	at := 0
	for ; at < len(x.states) && x.result.Violation == nil && x.result.Stopped == ""; at++ {
		x.expand(int32(at))
		if at%checkEvery == 0 || ctx.Err() != nil || x.model.registry.full.Load() {
			x.checkLimits(ctx, at)
		}
	}
	x.result.Memory = max(x.result.Memory, MemoryUsed())
	r := x.summary(at)
	r.Complete = at == len(x.states) && r.Violation == nil && r.Stopped == ""
	if r.Complete {
		x.checkLiveness(&r)
	}
	return r
}

func (x *liveSearch) checkLimits(ctx context.Context, at int) {
	o := &x.options
	x.result.Memory = max(x.result.Memory, MemoryUsed())
	x.result.Stopped = o.enough(ctx, &x.result, len(x.states), x.model.registry)
	if o.Progress != nil {
		o.Progress(x.summary(at))
	}
}

func (x *liveSearch) summary(at int) Result {
	r := x.result
	r.States, r.Nodes, r.Messages = uint64(len(x.states)), len(x.model.nodes)-1, len(x.model.messages)
	r.Frontier = len(x.states) - at
	return r
}

// expand finds the successors of a state.
func (x *liveSearch) expand(at int32) {
	from := x.states[at]
	for i := range x.options.Members {
		for _, in := range x.model.own[i] {
			s, kind := from, x.model.inputs[in].kind
			if kind < isAble || spend(&s.left.Inabilities) {
				x.applyInput(at, &s, i, in, kind == alarmRings)
			}
		}
		if s := from; spend(&s.left.Restarts) {
			x.applyInput(at, &s, i, x.model.crashInput, false)
		}
	}
	for k, f := range from.flights {
		if f == 0 || k > 0 && from.flights[k-1] == f {
			continue
		}
		s := from
		s.remove(k)
		x.applyInput(at, &s, f.to(), x.model.delivery(f.message()), true)
		if s := from; spend(&s.left.Duplicates) {
			x.applyInput(at, &s, f.to(), x.model.delivery(f.message()), false)
		}
		if spend(&s.left.Drops) {
			x.addState(&s, at, Step{Node: -1, What: fmt.Sprintf("what was on its way to n%d is lost", f.to())}, false)
		}
	}
}

// applyInput gives a node an input.
func (x *liveSearch) applyInput(at int32, from *liveState, i int, in inputID, calm bool) {
	for _, t := range x.model.resultsOf(from.nodes[i], in) {
		x.result.Transitions++
		x.result.Steps++
		if !t.defect.none() && x.result.Violation == nil {
			x.violated(at, defect{t.defect.invariant, fmt.Sprintf("n%d: %s", i, t.defect.what)}, x.step(in, &stepResult{node: from.nodes[i]}))
		}
		if t.outOfBounds || !t.defect.none() {
			continue
		}
		s := *from
		if t.hung && !spend(&s.left.Inabilities) {
			continue
		}
		x.setNode(&s, i, t.node, t.ended)
		if x.send(&s, i, t.sent) {
			x.addState(&s, at, x.step(in, &t), calm && !t.hung)
		}
	}
}

// spend takes one of a budget, and says whether there was any.
func spend(left *int) bool {
	if *left == 0 {
		return false
	}
	*left--
	return true
}

// step describes what happened to a node.
func (x *liveSearch) step(in inputID, after *stepResult) Step {
	s := x.model.step(move{name: x.model.renamings[0], input: in, after: after.node})
	if after.hung {
		s.What += inVain
	}
	return s
}

// setNode changes a node. Messages of a round of votes that is over stay on their way, as those of an older
// round.
func (x *liveSearch) setNode(s *liveState, i int, now nodeID, ended bool) {
	s.nodes[i] = now
	if !ended {
		return
	}
	for k, f := range s.flights {
		if msg := x.model.messages[f.message()]; f != 0 && msg.ofRound(seatOf(i)) {
			msg.body.Round = roundOver
			s.flights[k] = newFlight(x.model.message(msg), f.to())
		}
	}
	slices.Sort(s.flights[:])
}

// send puts messages on their way, and says whether there is room for them.
func (x *liveSearch) send(s *liveState, from int, sent []messageID) bool {
	for _, id := range sent {
		msg := &x.model.messages[id]
		for i := range x.options.Members {
			if i != from && msg.isFor(seatOf(i)) && !s.add(newFlight(id, i)) {
				return false
			}
		}
	}
	return true
}

// add puts one more message on its way, if there is room.
func (s *liveState) add(f flight) bool {
	if s.flights[0] != 0 || s.count() == s.left.InFlight {
		return false
	}
	s.flights[0] = f
	slices.Sort(s.flights[:])
	return true
}

// remove removes one.
func (s *liveState) remove(k int) {
	s.flights[k] = 0
	slices.Sort(s.flights[:])
}

func (s *liveState) count() (n int) {
	for _, f := range s.flights {
		if f != 0 {
			n++
		}
	}
	return n
}

func (x *liveSearch) addState(s *liveState, parent int32, by Step, calm bool) {
	at, ok := x.known[*s]
	if !ok {
		at = int32(len(x.states))
		x.known[*s] = at
		depth := int32(0)
		if parent >= 0 {
			depth = x.origins[parent].depth + 1
		}
		x.states, x.origins = append(x.states, *s), append(x.origins, liveOrigin{parent, depth, by})
		x.result.Depth = max(x.result.Depth, int(depth))
	}
	if calm && parent >= 0 {
		x.edges = append(x.edges, [2]int32{parent, at})
	}
}

// checkLiveness looks for a state from which no leader can be elected.
func (x *liveSearch) checkLiveness(r *Result) {
	hopeful := x.canElect()
	for at := range x.states {
		if !hopeful[at] && x.withinBounds(&x.states[at]) {
			x.violated(int32(at), defect{invariant.Converges, "no leader can be elected any more from this state"})
			r.Violation, r.Complete = x.result.Violation, false
			return
		}
	}
}

// canElect are the states from which a leader can be elected.
func (x *liveSearch) canElect() []bool {
	before := make([][]int32, len(x.states))
	for _, e := range x.edges {
		before[e[1]] = append(before[e[1]], e[0])
	}
	hopeful := make([]bool, len(x.states))
	var open []int32
	for at := range x.states {
		if x.hasLeader(&x.states[at]) {
			hopeful[at], open = true, append(open, int32(at))
		}
	}
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, b := range before[at] {
			if !hopeful[b] {
				hopeful[b], open = true, append(open, b)
			}
		}
	}
	return hopeful
}

// hasLeader says whether a quorum follows a leader.
func (x *liveSearch) hasLeader(s *liveState) bool {
	quorum := x.options.Members/2 + 1 // counted anew
	for i := range x.options.Members {
		leader := &x.model.nodes[s.nodes[i]]
		if leader.session.Role != memberstate.Leader {
			continue
		}
		with := 0
		for j := range x.options.Members {
			if m := &x.model.nodes[s.nodes[j]].session; m.Leader == leader.seat && m.Term == leader.session.Term {
				with++
			}
		}
		if with >= quorum {
			return true
		}
	}
	return false
}

// withinBounds says whether a term is left within the bounds, and a beat for each leader.
func (x *liveSearch) withinBounds(s *liveState) bool {
	for i := range x.options.Members {
		m := &x.model.nodes[s.nodes[i]].session
		if m.Term >= memberstate.Term(x.options.Terms) || m.Role == memberstate.Leader && m.Beat() >= uint32(x.options.Beats) {
			return false
		}
	}
	return true
}

// violated notes a violation, with the path to a state and the steps after it.
func (x *liveSearch) violated(at int32, d defect, last ...Step) {
	v := &Violation{Invariant: d.invariant, What: d.what, Path: last}
	for ; x.origins[at].parent >= 0; at = x.origins[at].parent {
		v.Path = append(v.Path, x.origins[at].step)
	}
	slices.Reverse(v.Path) // there is at most one step after the state
	x.result.Violation = v
}
