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
	name    renaming // from the names in the state to those at the beginning
	input   inputID
	now     nodeID
	missing int  // the nodes whose clocks missed it, for a tick
	atOnce  bool // it only sends something, and is no transition
}

// violated notes a violation, with the path to it. That ends the search, unless plain machines do not reach it:
// then the search looks for another one, for a while. A violation found just when the search was stopped counts
// more than that.
func (x *worker) violated(at int32, i int, w *wrong) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.registry.full.Load() || x.decided() { // names cannot be trusted any more, or another worker was faster
		return
	}
	x.model.learn()
	way, name := x.wayTo(at)
	last, what := x.states.state(at), w.defect.what
	switch {
	case w.input != nothing:
		key := x.key(&last, i)
		way = append(way, x.model.movesTo(&key, w.by, &w.last, 0, name)...)
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

// wayTo is the path to a state, and the names of the members there.
func (x *worker) wayTo(at int32) (way []move, name renaming) {
	var origins []int32
	for ; at > 0; at = x.states.record(at).parent {
		origins = append(origins, at)
	}
	var first state
	for i := range x.options.Members {
		first.nodes[i] = x.model.begin(i)
	}
	way, name = x.settle(&first, nil, x.model.renamings[0])
	for _, k := range slices.Backward(origins) {
		way, name = x.walked(k, way, name)
	}
	return way, name
}

// walked adds the moves from a state to the next one, and returns the names there. States do not keep them, so
// they are searched for again.
func (x *worker) walked(to int32, way []move, name renaming) ([]move, renaming) {
	o, state := x.states.record(to).origin, x.states.state(to)
	from := x.states.state(o.parent)
	if o.node == theClock {
		for missing := range 1 << x.options.Members {
			if next, ok := x.model.tick(&from, missing); ok && x.settles(next) == state {
				return x.settle(&next, append(way, move{name: name, input: x.model.passing, missing: missing}), name)
			}
		}
		return way, name
	}
	key := x.key(&from, int(o.node))
	l := x.model.local(&key)
	for i := range l.next {
		does := &l.next[i]
		if next := x.model.apply(&from, int(o.node), does); x.settles(next) == state {
			return x.settle(&next, append(way, x.model.movesTo(&key, l.by, &does.last, does.node, name)...), name)
		}
	}
	return way, name
}

// settles is the state after everything that happens at once.
func (x *worker) settles(s state) state {
	x.saturate(&s, nil)
	x.model.forget(&s)
	least, _ := x.model.canonical(&s)
	return least
}

// settle adds what happens at once in a state, and returns the names in its canonical form.
func (x *worker) settle(s *state, way []move, name renaming) ([]move, renaming) {
	x.saturate(s, func(i int, in inputID) { way = append(way, move{name: name, input: in, now: s.nodes[i], atOnce: true}) })
	x.model.forget(s)
	_, by := x.model.canonical(s)
	return way, name.after(x.model.renamings[by].back())
}

// saying is the input that makes a node send a message without a change.
func (m *model) saying(key *localKey, id messageID) inputID {
	says := func(in inputID) bool {
		return slices.ContainsFunc(m.take(key.node, in), func(t stepResult) bool { return t.node == key.node && slices.Contains(t.says, id) })
	}
	for _, in := range m.own[m.nodes[key.node].index()] {
		if says(in) {
			return in
		}
	}
	for heard := range key.heard.all {
		if in := m.delivery(heard); says(in) {
			return in
		}
	}
	for _, in := range m.staleInputs(key.node) {
		if says(in) {
			return in
		}
	}
	return nothing
}

// takeLeases are the silent steps by which each member gets the longest lease that it can.
func (x *worker) takeLeases(s *state, name renaming) (way []move) {
	for i := range x.options.Members {
		key := x.key(s, i)
		base := x.model.silently(&key)
		longest := x.model.local(&key).lease
		if at := slices.IndexFunc(base, func(b silentNode) bool { return longest > 0 && x.model.nodes[b.node].leaseLeft() == longest }); at > 0 {
			way = append(way, silentTo(base, at, name)...)
		}
	}
	return way
}

// silentTo are the silent steps up to a place among all of them.
func silentTo(base []silentNode, at int, name renaming) (way []move) {
	for ; at > 0; at = int(base[at].after) {
		way = append(way, move{name: name, input: base[at].input, now: base[at].node})
	}
	slices.Reverse(way)
	return way
}

// movesTo are those and one step more. After it the node is now, or, if now is 0, as it was before. The moves are
// worked out for the members for which the step was.
func (m *model) movesTo(key *localKey, by int, does *last, now nodeID, name renaming) []move {
	like := localKey{m.renameNode(key.node, by), key.most, m.renameSaid(&key.heard, by)}
	base, name := m.silently(&like), name.after(m.renamings[by].back())
	if now == 0 {
		now = base[does.after].node
	} else {
		now = m.renameNode(now, by)
	}
	return append(silentTo(base, does.after, name), move{name: name, input: does.input, now: now})
}

// told describes moves as steps, without those that are no transitions.
func (m *model) told(way []move) (steps []Step) {
	nodes := newPlayer(m).nodes
	for _, of := range way {
		if of.atOnce {
			continue
		}
		s := m.step(of)
		for i := range nodes {
			switch {
			case s.Node == i:
				nodes[i] = m.nodes[of.now].renamed(of.name)
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
	if in.kind == passes {
		return tickStep(m.missed(&of), m.bounds.Members)
	}
	n := m.nodes[of.now].renamed(of.name)
	s := Step{Node: n.index(), What: m.describe(in, of.name), State: n.state()}
	if body := m.body(in); body != nil {
		heard := body.Renamed(of.name.of)
		s.Heard = &heard
	}
	return s
}

// body is the message of the election that an input delivers, if any.
func (m *model) body(in input) *protocol.Message {
	switch {
	case in.kind == stale:
		return &m.registry.stale[in.late]
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
