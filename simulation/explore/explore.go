// Package explore plays every interleaving of the machines that are shipped, up to a
// bound: every message that was ever sent may arrive at any time, any number of times, or
// never; every alarm may ring at any time; every process may crash at any time, also
// between a save and what was to be sent after it.
//
// The network is monotone: nothing is ever taken out of it. That covers loss,
// duplication, reordering, delay and staleness without a budget for any of them, and
// makes two reductions sound. A step that changes no node, and only says something, is
// taken at once: whatever can follow without it can follow with it (saturation). And of
// two states with the same nodes, the one in which more was said covers the other
// (antichain).
//
// Time is not modelled, so leases are off. What is pruned are states beyond the
// [Bounds], and nothing else: if [Result.Complete] all states within them were reached.
package explore

import (
	"context"
	"fmt"
	"slices"

	"github.com/hustings/hustings/memberstate"
)

// Bounds say how far is explored.
type Bounds struct {
	// Members is how many voters there are.
	Members int
	// Terms is the largest term, up to 7.
	Terms int
	// Ballots and Beats bound the rounds that one incarnation of a node begins.
	Ballots, Beats uint32
	// Entries is how long a ledger gets; 0: ledgers stay empty.
	Entries int
	// NoPreVote is as in elector.Config.
	NoPreVote bool
	// NoCrash has no process crash, NoCommands none be told to stand, to hand over, or to
	// resign, NoHints none be told that a connection is lost.
	NoCrash, NoCommands, NoHints bool
	// MaxStates ends the search; 0: nothing does but that there are more than 1,024
	// different messages.
	MaxStates int
}

// Result is what a search has come to.
type Result struct {
	States, Transitions uint64
	Depth               int
	Nodes, Messages     int // different ones
	Complete            bool
	Violation           *Violation
}

// Violation is an invariant that did not hold, and a way there.
type Violation struct {
	What string
	Path []string
}

func (v *Violation) Error() string { return v.What }

// state is all that there is: what every node is, and what was ever said.
type state struct {
	nodes  [maxMembers]nodeID
	said   said
	parent int32
	by     step // that led here from the parent
	depth  int32
}

const maxMembers = 5

// step is what happened to one node.
type step struct {
	node  uint8
	crash bool // after the save, before anything was said
	input inputID
}

// explorer is a search.
type explorer struct {
	bounds Bounds
	model  *model
	states []state
	open   []int32                        // those that were not expanded
	known  map[[maxMembers]nodeID][]int32 // by nodes: those states of which none covers another
	result Result
}

// Explore searches until all is known, the context ends or an invariant is broken.
func Explore(ctx context.Context, b Bounds) Result {
	x := &explorer{bounds: b, model: newModel(b), known: map[[maxMembers]nodeID][]int32{}}
	first := state{parent: -1}
	for i := range b.Members {
		first.nodes[i] = x.model.begin(i)
	}
	x.enter(&first)
	for len(x.open) > 0 && x.result.Violation == nil && ctx.Err() == nil {
		if b.MaxStates > 0 && len(x.states) > b.MaxStates || x.model.full {
			break
		}
		last := len(x.open) - 1
		next := x.open[last]
		x.open = x.open[:last]
		x.expand(next)
	}
	r := &x.result
	r.States, r.Nodes, r.Messages = uint64(len(x.states)), len(x.model.nodes), len(x.model.messages)
	r.Complete = len(x.open) == 0 && r.Violation == nil && !x.model.full
	return *r
}

// expand looks at what can happen in a state.
func (x *explorer) expand(at int32) {
	from := x.states[at] // a copy: the list may move
	if !x.current(at, &from) {
		return
	}
	for i := range x.bounds.Members {
		id := from.nodes[i]
		for _, input := range slices.Clone(x.model.inputs(i, &from.said)) { // the next ones overwrite it
			x.result.Transitions++
			t := x.model.take(id, input)
			if t.wrong != "" {
				x.violated(at, step{uint8(i), false, input}, t.wrong)
				return
			}
			if t.beyond || t.node == id { // out of bounds, or taken already
				continue
			}
			x.follow(at, &from, step{uint8(i), false, input}, t.node, t.says)
			if t.crashed != 0 {
				x.follow(at, &from, step{uint8(i), true, input}, t.crashed, nil)
			}
		}
	}
}

// current says whether no state that covers this one has been found since.
func (x *explorer) current(at int32, s *state) bool { return slices.Contains(x.known[s.nodes], at) }

func (x *explorer) follow(parent int32, from *state, by step, node nodeID, says []messageID) {
	next := state{nodes: from.nodes, said: from.said, parent: parent, by: by, depth: from.depth + 1}
	next.nodes[by.node] = node
	for _, m := range says {
		next.said.add(m)
	}
	x.enter(&next)
}

// enter saturates a state and keeps it, if nothing that is known covers it.
func (x *explorer) enter(s *state) {
	x.saturate(s)
	if what := x.model.wrong(s, x.bounds.Members); what != "" {
		x.states = append(x.states, *s)
		x.violated(int32(len(x.states)-1), step{}, what)
		return
	}
	same := x.known[s.nodes]
	for _, other := range same {
		if x.states[other].said.covers(&s.said) {
			return
		}
	}
	same = slices.DeleteFunc(same, func(other int32) bool { return s.said.covers(&x.states[other].said) })
	x.states = append(x.states, *s)
	x.known[s.nodes] = append(same, int32(len(x.states)-1))
	x.open = append(x.open, int32(len(x.states)-1))
	x.result.Depth = max(x.result.Depth, int(s.depth))
}

// saturate takes all steps that change no node.
func (x *explorer) saturate(s *state) {
	for grown := true; grown; {
		grown = false
		for i := range x.bounds.Members {
			for _, input := range x.model.inputs(i, &s.said) {
				if t := x.model.take(s.nodes[i], input); t.node == s.nodes[i] && !t.beyond && t.wrong == "" {
					for _, m := range t.says {
						grown = s.said.add(m) || grown
					}
				}
			}
		}
	}
}

// violated notes the first violation, with the way there.
func (x *explorer) violated(at int32, by step, what string) {
	if x.result.Violation != nil {
		return
	}
	v := &Violation{What: what}
	if by != (step{}) {
		v.Path = append(v.Path, x.describe(x.states[at].nodes[by.node], by))
	}
	for s := &x.states[at]; s.parent >= 0; s = &x.states[s.parent] {
		v.Path = append(v.Path, x.describe(x.states[s.parent].nodes[s.by.node], s.by))
	}
	slices.Reverse(v.Path)
	x.result.Violation = v
}

func (x *explorer) describe(before nodeID, by step) string {
	text := fmt.Sprintf("n%d %s", by.node, x.model.describe(by.input))
	if by.crash {
		return text + ", saves, and crashes before it says anything"
	}
	now := &x.model.nodes[x.model.take(before, by.input).node]
	return fmt.Sprintf("%s: %v in term %d, vote %d", text, now.machine.Role, now.machine.Term, int(now.machine.Vote)-1)
}

// said is the set of messages that were ever sent.
type said [mostMessages / 64]uint64

const mostMessages = 1024

// add enters a message, and says whether it is new.
func (s *said) add(m messageID) bool {
	bit := uint64(1) << (m % 64)
	if s[m/64]&bit != 0 {
		return false
	}
	s[m/64] |= bit
	return true
}

func (s *said) has(m messageID) bool { return s[m/64]>>(m%64)&1 == 1 }

// covers says whether all that was said in another state was said in this one.
func (s *said) covers(other *said) bool {
	for i := range s {
		if other[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}

func seatOf(node int) memberstate.Seat { return memberstate.Seat(node + 1) }
