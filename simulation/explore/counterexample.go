// The path to a violation, as the explorer found it: a sequence of moves, with names of the members that do not
// change on the way.

package explore

import (
	"fmt"
	"slices"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/simulation/invariant"
)

// move is a step as the explorer took it: the input of a member, which has other names in every state, and the
// node after it.
type move struct {
	name      renaming // from the names in the state to those at the beginning
	input     inputID
	after     nodeID
	missing   int  // the nodes whose clocks missed it, for a tick
	saturated bool // it only sends something, and is no transition
}

// violated notes a violation, with the path to it. That ends the search, unless plain machines do not reach it:
// then the search looks for another one, for a while. A violation found just when the search was stopped counts
// more than that.
func (x *worker) violated(at int32, i int, w *violatingStep) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.registry.full.Load() || x.decided() { // numbers cannot be trusted any more, or another worker was faster
		return
	}
	x.model.sync()
	way, name := x.pathTo(at)
	last, what := x.states.state(at), w.defect.what
	switch {
	case w.input != nothing:
		key := x.key(&last, i)
		way = append(way, x.model.movesTo(&key, w.seats, &w.lastStep, 0, name)...)
		what = fmt.Sprintf("n%d: %s", int(name.of(seatOf(i)))-1, what)
	case w.defect.invariant == invariant.OneLease:
		way = append(way, x.takeLeases(&last, name)...)
	}
	v := &Violation{Invariant: w.defect.invariant, What: what}
	v.confirm(x.model, way)
	if x.unconfirmed++; x.result.Violation == nil || v.Script != nil {
		x.result.Violation = v
	}
	if x.decided() {
		x.result.Stopped = ""
		x.over.Store(true)
	}
}

// decided says whether a violation ends the search.
func (x *search) decided() bool {
	v := x.result.Violation
	return v != nil && v.Script != nil || x.unconfirmed >= mostUnconfirmed
}

// mostUnconfirmed is how many violations may be found that plain machines do not reach.
const mostUnconfirmed = 300

// pathTo is the path to a state, and the names of the members there.
func (x *worker) pathTo(at int32) (way []move, name renaming) {
	var origins []int32
	for ; at > 0; at = x.states.record(at).parent {
		origins = append(origins, at)
	}
	var first state
	for i := range x.options.Members {
		first.nodes[i] = x.model.begin(i)
	}
	way, name = x.normalize(&first, nil, x.model.renamings[0])
	for _, k := range slices.Backward(origins) {
		way, name = x.extendPath(k, way, name)
	}
	return way, name
}

// extendPath adds the moves from a state to the next one, and returns the names there. States do not keep them, so
// they are searched for again.
func (x *worker) extendPath(to int32, way []move, name renaming) ([]move, renaming) {
	o, state := x.states.record(to).origin, x.states.state(to)
	from := x.states.state(o.parent)
	if o.node == theClock {
		for missing := range 1 << x.options.Members {
			if next, ok := x.model.tick(&from, missing); ok && x.normalForm(next) == state {
				return x.normalize(&next, append(way, move{name: name, input: x.model.tickInput, missing: missing}), name)
			}
		}
		return way, name
	}
	key := x.key(&from, int(o.node))
	l := x.model.expansion(&key)
	for i := range l.successors {
		does := &l.successors[i]
		if next := x.model.apply(&from, int(o.node), does); x.normalForm(next) == state {
			return x.normalize(&next, append(way, x.model.movesTo(&key, l.seats, &does.lastStep, does.node, name)...), name)
		}
	}
	return way, name
}

// normalForm is the state after everything that happens at once.
func (x *worker) normalForm(s state) state {
	x.saturate(&s, nil)
	x.model.forget(&s)
	least, _ := x.model.canonical(&s)
	return least
}

// normalize adds what happens at once in a state, and returns the names in its canonical form.
func (x *worker) normalize(s *state, way []move, name renaming) ([]move, renaming) {
	x.saturate(s, func(i int, in inputID) {
		way = append(way, move{name: name, input: in, after: s.nodes[i], saturated: true})
	})
	x.model.forget(s)
	_, by := x.model.canonical(s)
	return way, name.after(x.model.renamings[by].inverse())
}

// inputSending is the input that makes a node send a message without a change.
func (m *model) inputSending(key *expansionKey, id messageID) inputID {
	sends := func(in inputID) bool {
		return slices.ContainsFunc(m.resultsOf(key.node, in), func(t stepResult) bool { return t.node == key.node && slices.Contains(t.sent, id) })
	}
	for _, in := range m.own[m.nodes[key.node].index()] {
		if sends(in) {
			return in
		}
	}
	for id := range key.mayReceive.all {
		if in := m.delivery(id); sends(in) {
			return in
		}
	}
	for _, in := range m.staleInputs(key.node) {
		if sends(in) {
			return in
		}
	}
	return nothing
}

// takeLeases are the silent steps by which each member gets the longest lease that it can.
func (x *worker) takeLeases(s *state, name renaming) (way []move) {
	for i := range x.options.Members {
		key := x.key(s, i)
		base := x.model.silentClosure(&key)
		longest := x.model.expansion(&key).lease
		if at := slices.IndexFunc(base, func(b silentNode) bool { return longest > 0 && x.model.nodes[b.node].leaseLeft() == longest }); at > 0 {
			way = append(way, silentTo(base, at, name)...)
		}
	}
	return way
}

// silentTo are the silent steps up to a place among all of them.
func silentTo(base []silentNode, at int, name renaming) (way []move) {
	for ; at > 0; at = int(base[at].predecessor) {
		way = append(way, move{name: name, input: base[at].input, after: base[at].node})
	}
	slices.Reverse(way)
	return way
}

// movesTo are those and one step more. After it the node is now, or, if now is 0, as it was before. The moves are
// worked out for the members for which the step was.
func (m *model) movesTo(key *expansionKey, by int, does *lastStep, now nodeID, name renaming) []move {
	like := expansionKey{m.renameNode(key.node, by), key.othersTerm, m.renameMessages(&key.mayReceive, by)}
	base, name := m.silentClosure(&like), name.after(m.renamings[by].inverse())
	if now == 0 {
		now = base[does.predecessor].node
	} else {
		now = m.renameNode(now, by)
	}
	return append(silentTo(base, does.predecessor, name), move{name: name, input: does.input, after: now})
}

// describeSteps describes moves as steps, without those that are no transitions.
func (m *model) describeSteps(way []move) (steps []Step) {
	nodes := newPlayer(m).nodes
	for _, of := range way {
		if of.saturated {
			continue
		}
		s := m.step(of)
		for i := range nodes {
			switch {
			case s.Node == i:
				nodes[i] = m.nodes[of.after].renamed(of.name)
			case s.Tick:
				nodes[i] = nodes[i].ticked(s.Missed>>i&1 == 1)
			}
		}
		s.Leases = leaseholders(nodes)
		steps = append(steps, s)
	}
	return steps
}

// step describes a move.
func (m *model) step(of move) Step {
	in := m.inputs[of.input]
	if in.kind == clockTicks {
		return tickStep(m.missed(&of), m.bounds.Members)
	}
	n := m.nodes[of.after].renamed(of.name)
	s := Step{Node: n.index(), What: m.describe(in, of.name), State: n.state()}
	if body := m.body(in); body != nil {
		received := body.Renamed(of.name.of)
		s.Heard = &received
	}
	return s
}

// body is the message of the election that an input delivers, if any.
func (m *model) body(in input) *protocol.Message {
	switch {
	case in.kind == stale:
		return &m.registry.stale[in.staleIndex]
	case in.kind == delivered && !m.messages[in.message].engine:
		return &m.messages[in.message].body
	default:
		return nil
	}
}

// missed are the nodes whose clocks missed a tick.
func (m *model) missed(of *move) (missing int) {
	for i := range m.bounds.Members {
		missing |= (of.missing >> i & 1) << of.name[i]
	}
	return missing
}
