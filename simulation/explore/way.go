// The way to a violation: step by step, by names that do not change on the way.

package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
)

// Violation is an invariant that did not hold, and a shortest way there.
type Violation struct {
	Invariant simulation.Invariant
	What      string
	Path      []Step
}

func (v *Violation) Error() string { return fmt.Sprintf("%v: %s", v.Invariant, v.What) }

// Step is something that happened on the way.
type Step struct {
	Node int // -1: time passed
	What string
	// Heard is the message that was received, if one was.
	Heard *elector.Message
	// State is the node's after this.
	State simulation.NodeState
}

func (s Step) String() string {
	if s.Node < 0 {
		return s.What
	}
	return fmt.Sprintf("n%d: %s", s.Node, s.What)
}

// violated notes the first violation, with the way there.
func (x *worker) violated(at int32, i int, w *wrong) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.registry.full.Load() || x.over.Swap(true) { // names are not to be trusted any more, or somebody was faster
		return
	}
	x.model.learn()
	var way []int32
	for k := at; k > 0; k = x.origins[k].parent {
		way = append(way, k)
	}
	slices.Reverse(way)
	v := &Violation{Invariant: w.defect.invariant, What: w.defect.what}
	var first state
	for i := range x.options.Members {
		first.nodes[i] = x.model.begin(i)
	}
	name := x.names(&first, x.model.renamings[0])
	for _, k := range way {
		var steps []Step
		steps, name = x.walked(&x.origins[k], name)
		v.Path = append(v.Path, steps...)
	}
	if w.input != nothing {
		l := x.model.local(x.key(&x.states[at], i))
		v.Path = append(v.Path, x.model.stepsTo(l, w.after, w.input, 0, name)...)
		v.What = fmt.Sprintf("n%d: %s", int(name.of(seatOf(i)))-1, w.defect.what)
	}
	x.result.Violation = v
}

// walked is what happened from a state to the next one, by the names that the members
// have in it, and the names that they have in the next.
func (x *worker) walked(o *origin, name renaming) ([]Step, renaming) {
	from := x.states[o.parent]
	if o.node == theClock {
		next, _ := x.model.tick(&from, int(o.successor))
		return []Step{tickStep(int(o.successor), x.options.Members, name)}, x.names(&next, name)
	}
	l := x.model.local(x.key(&from, int(o.node)))
	does := &l.next[o.successor]
	next := x.model.apply(&from, int(o.node), does)
	return x.model.stepsTo(l, does.after, does.input, does.node, name), x.names(&next, name)
}

// names says who is who in the canonical form of a state, by who is who in the state.
func (x *worker) names(s *state, name renaming) renaming {
	x.saturate(s)
	x.model.forget(s)
	_, by := x.model.canonical(s)
	return name.after(x.model.renamings[by].back())
}

// stepsTo are silent steps up to a place in l.base and one more, after which the node is
// another one, or as it was if that is not known.
func (m *model) stepsTo(l *local, after int, last inputID, now nodeID, name renaming) (all []Step) {
	for at := after; at > 0; at = l.base[at].after {
		all = append(all, m.step(l.base[at].input, l.base[at].node, name))
	}
	slices.Reverse(all)
	if now == 0 {
		now = l.base[after].node
	}
	return append(all, m.step(last, now, name))
}

func (m *model) step(in inputID, now nodeID, name renaming) Step {
	n := m.nodes[now].renamed(name)
	s := Step{Node: n.index(), What: m.describe(in, name), State: n.state()}
	switch of := m.inputs[in]; {
	case of.kind == delivered && !m.messages[of.message].engine:
		heard := m.messages[of.message].body.Renamed(name.of)
		s.Heard = &heard
	case of.kind == stale:
		heard := m.stale[of.late].Renamed(name.of)
		s.Heard = &heard
	}
	return s
}

func tickStep(missing, members int, name renaming) Step {
	text := []string{"a tick passes"}
	for i := range members {
		if missing>>i&1 == 1 {
			text = append(text, fmt.Sprintf("which the clock of n%d misses", int(name.of(seatOf(i)))-1))
		}
	}
	return Step{Node: -1, What: strings.Join(text, ", ")}
}

// state is what can be seen of a node.
func (n *node) state() simulation.NodeState {
	index := func(s memberstate.Seat) int { return int(s) - 1 }
	m := &n.machine
	state := simulation.NodeState{
		Up: true, Incarnation: 1, Role: m.Role, Term: m.Term, Vote: index(m.Vote), Leader: index(m.Leader),
		Durable: m.Term, DurableVote: index(m.Vote), Ledger: n.ledger.end(),
	}
	if asks, preVote, accepted := m.Asking(); asks {
		if state.Asking = "vote"; preVote {
			state.Asking = "pre-vote"
		}
		state.Accepts = accepted.Len()
	}
	if m.Role == memberstate.Leader {
		state.Serving = m.Term
	}
	return state
}

// everyStep is how long a step takes in a trace.
const everyStep = 5 * time.Millisecond

// Trace is the way as a run that can be drawn. Its times mean nothing but an order; and of
// messages it shows only those that were received.
func (v *Violation) Trace(members int) *simulation.Trace {
	t := &simulation.Trace{Nodes: members, Voters: members}
	last := make([]int, members)
	for i := range members {
		last[i] = i
		state := simulation.NodeState{Up: true, Incarnation: 1, Vote: -1, Leader: -1, DurableVote: -1}
		t.Moments = append(t.Moments, simulation.Moment{Node: i, What: "starts", Kind: simulation.Started, Passage: -1, Cause: -1, State: state})
	}
	node := 0
	for _, s := range v.Path {
		if t.End += everyStep; s.Node < 0 {
			continue
		}
		node = s.Node
		m := simulation.Moment{At: t.End, Node: node, What: s.What, Passage: -1, Cause: last[node], State: s.State, Past: true}
		if s.Heard != nil {
			m.Passage, m.Cause = len(t.Passages), last[s.Heard.From-1]
			t.Passages = append(t.Passages, passage(s.Heard, t, &m))
		}
		last[node] = len(t.Moments)
		t.Moments = append(t.Moments, m)
	}
	t.Result.Violation = &simulation.Violation{Invariant: v.Invariant, At: t.End, Node: node, What: v.What}
	end := simulation.Moment{At: t.End, Node: node, What: v.What, Kind: simulation.Violated, Passage: -1, Cause: last[node], Past: true}
	end.State = t.Moments[last[node]].State
	t.Moments = append(t.Moments, end)
	t.Result.Virtual, t.Result.Events = t.End, uint64(len(v.Path))
	return t
}

// passage is a message on its way from the moment that caused it.
func passage(heard *elector.Message, t *simulation.Trace, m *simulation.Moment) simulation.Passage {
	return simulation.Passage{
		From: int(heard.From) - 1, To: m.Node, Kind: heard.Kind, Mark: heard.Mark, Result: heard.Result, Term: heard.Term, Round: heard.Round,
		Sent: t.Moments[m.Cause].At, Arrived: m.At, Fate: simulation.Delivered, SentBy: m.Cause, HeardBy: len(t.Moments),
	}
}
