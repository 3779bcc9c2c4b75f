// What one node can do: the shipped machine, its durable half, and a small engine. What
// has been worked out once is looked up from then on.

package explore

import (
	"fmt"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

type (
	nodeID    uint32 // 0: none
	messageID uint32
	inputID   uint32
)

// node is all that a node is. It is compared with ==.
type node struct {
	seat     memberstate.Seat
	machine  elector.Machine
	ledger   ledger
	promised memberstate.Term // by the engine: no append of a smaller term is taken
	// What the invariants remember, over crashes: the terms that the node led, and whom it
	// voted for in each.
	led   uint8
	votes [8]memberstate.Seat
}

// ledger is the terms of a ledger's entries, four bits each, from the first one on.
type ledger uint32

func (l ledger) len() (n int) {
	for ; l != 0; l >>= 4 {
		n++
	}
	return n
}

func (l ledger) end() memberstate.Position {
	if l == 0 {
		return memberstate.Position{}
	}
	n := l.len()
	return memberstate.Position{Term: memberstate.Term(l >> (4 * (n - 1)) & 15), Index: uint64(n)}
}

func (l ledger) with(term memberstate.Term) ledger { return l | ledger(term)<<(4*l.len()) }

// holds says whether a ledger begins with all of another one.
func (l ledger) holds(other ledger) bool { return l&(1<<(4*other.len())-1) == other }

// message is what was said to whom; of the election, or an append or its answer, which
// tell a ledger.
type message struct {
	to     memberstate.Seat
	body   elector.Message
	ledger ledger
	engine bool
}

// input is what can happen to a node.
type input struct {
	kind    inputKind
	message messageID        // delivered
	seat    memberstate.Seat // of a transfer, or of a lost connection
}

type inputKind uint8

const (
	delivered inputKind = iota
	rings
	crashes
	writes
	stands
	handsOver
	resigns
	loses
)

// taken is what an input does to a node.
type taken struct {
	node    nodeID
	crashed nodeID // what it is if it crashes after the save; 0: nothing was saved
	says    []messageID
	beyond  bool   // out of bounds
	wrong   string // an invariant that does not hold
}

// model remembers all nodes and messages that there are, and what becomes of them.
type model struct {
	bounds   Bounds
	rules    []elector.Rules
	nodes    []node
	byNode   map[node]nodeID
	messages []message
	byMsg    map[message]messageID
	toSeat   [maxMembers + 1][]messageID
	all      []input
	byInput  map[input]inputID
	memo     map[uint64]*taken
	own      [maxMembers][]inputID // what can happen to a node besides messages
	scratch  []inputID
	full     bool // there are more messages than there is room for
}

func newModel(b Bounds) *model {
	m := &model{
		bounds: b, nodes: make([]node, 1), byNode: map[node]nodeID{}, byMsg: map[message]messageID{},
		byInput: map[input]inputID{}, memo: map[uint64]*taken{},
	}
	voters := memberstate.Set(1<<b.Members - 1)
	for i := range b.Members {
		m.rules = append(m.rules, elector.Rules{
			Self: seatOf(i), Voters: voters, All: voters, Timing: elector.DefaultTiming(), PreVote: !b.NoPreVote, Ranks: true,
		})
		m.own[i] = m.ownInputs(i)
	}
	return m
}

// ownInputs are what can happen to a node besides messages.
func (m *model) ownInputs(i int) []inputID {
	own := []inputID{m.input(input{kind: rings})}
	if !m.bounds.NoCrash {
		own = append(own, m.input(input{kind: crashes}))
	}
	if m.bounds.Entries > 0 {
		own = append(own, m.input(input{kind: writes}))
	}
	if !m.bounds.NoCommands {
		own = append(own, m.input(input{kind: stands}), m.input(input{kind: resigns}))
	}
	for other := range m.bounds.Members {
		if other == i {
			continue
		}
		if !m.bounds.NoCommands {
			own = append(own, m.input(input{kind: handsOver, seat: seatOf(other)}))
		}
		if !m.bounds.NoHints {
			own = append(own, m.input(input{kind: loses, seat: seatOf(other)}))
		}
	}
	return own
}

// begin is a node that has never run before, started.
func (m *model) begin(i int) nodeID { return m.start(&node{seat: seatOf(i)}) }

// start begins an incarnation with what is durable. The engine has kept its ledger, and
// forgotten its promise.
func (m *model) start(n *node) nodeID {
	r := &m.rules[n.seat-1]
	s := *n
	s.machine, s.promised = elector.NewMachine(r, n.machine.HardState), 0
	x := elector.Execution{Input: elector.Input{Kind: elector.Start}}
	x.Begin(&s.machine, r, new(stepping)) // it says nothing
	return m.node(&s)
}

// inputs are what can happen to a node in a state. The list is good until the next call.
func (m *model) inputs(i int, s *said) []inputID {
	m.scratch = append(m.scratch[:0], m.own[i]...)
	for _, id := range m.toSeat[seatOf(i)] {
		if s.has(id) {
			m.scratch = append(m.scratch, m.input(input{kind: delivered, message: id}))
		}
	}
	return m.scratch
}

func (m *model) node(n *node) nodeID {
	n.machine = n.machine.Canonical()
	id, ok := m.byNode[*n]
	if !ok {
		id = nodeID(len(m.nodes))
		m.nodes = append(m.nodes, *n)
		m.byNode[*n] = id
	}
	return id
}

func (m *model) message(msg message) messageID {
	id, ok := m.byMsg[msg]
	if !ok {
		if len(m.messages) == mostMessages {
			m.full = true
			return 0
		}
		id = messageID(len(m.messages))
		m.messages = append(m.messages, msg)
		m.byMsg[msg] = id
		m.toSeat[msg.to] = append(m.toSeat[msg.to], id)
	}
	return id
}

func (m *model) input(in input) inputID {
	id, ok := m.byInput[in]
	if !ok {
		id = inputID(len(m.all))
		m.all = append(m.all, in)
		m.byInput[in] = id
	}
	return id
}

// take is what an input does to a node.
func (m *model) take(id nodeID, in inputID) *taken {
	key := uint64(id)<<32 | uint64(in)
	t := m.memo[key]
	if t == nil {
		t = m.work(id, m.all[in])
		m.memo[key] = t
	}
	return t
}

func (m *model) work(id nodeID, in input) *taken {
	n := m.nodes[id] // a copy
	switch in.kind {
	case crashes:
		return &taken{node: m.start(&n)}
	case writes:
		return m.write(id, &n)
	case delivered:
		if msg := m.messages[in.message]; msg.engine {
			return m.hear(id, &n, &msg)
		}
	default: // the machine's
	}
	w := stepping{model: m, node: &n, before: n}
	w.step(m.elector(in))
	return w.taken(id)
}

// elector is an input as the machine has it.
func (m *model) elector(in input) (e elector.Input, from memberstate.Seat) {
	switch in.kind {
	case delivered:
		body := m.messages[in.message].body
		return elector.Input{Kind: elector.Receive, Message: body}, body.From
	case rings:
		e = elector.Input{Kind: elector.Ring, Number: 1}
	case stands:
		e = elector.Input{Kind: elector.Stand}
	case handsOver:
		e = elector.Input{Kind: elector.Transfer, Seat: in.seat}
	case resigns:
		e = elector.Input{Kind: elector.Resign}
	case loses:
		e = elector.Input{Kind: elector.PeerLost, Seat: in.seat}
	default: // the engine's
	}
	return e, memberstate.Nobody
}

// describe is an input in words.
func (m *model) describe(id inputID) string {
	in := m.all[id]
	switch in.kind {
	case delivered:
		msg := &m.messages[in.message]
		if msg.engine {
			return fmt.Sprintf("hears of an append, or an answer, of n%d in term %d", msg.body.From-1, msg.body.Term)
		}
		return fmt.Sprintf("receives %v (%v) %v in term %d, round %d, from n%d",
			msg.body.Kind, msg.body.Mark, msg.body.Result, msg.body.Term, msg.body.Round, msg.body.From-1)
	case rings:
		return "its alarm rings"
	case crashes:
		return "crashes and starts"
	case writes:
		return "writes an entry"
	case stands:
		return "is told to stand"
	case handsOver:
		return fmt.Sprintf("is told to hand over to n%d", in.seat-1)
	case resigns:
		return "is told to resign"
	default:
		return fmt.Sprintf("is told that n%d is gone", in.seat-1)
	}
}

// write appends an entry, if the node leads and its engine may, and sends the ledger.
func (m *model) write(id nodeID, n *node) *taken {
	if n.machine.Role != memberstate.Leader || n.promised > n.machine.Term || n.ledger.len() >= m.bounds.Entries {
		return &taken{node: id}
	}
	n.ledger = n.ledger.with(n.machine.Term)
	t := &taken{node: m.node(n)}
	for i := range m.bounds.Members {
		if to := seatOf(i); to != n.seat {
			t.says = append(t.says, m.message(message{to: to, engine: true, ledger: n.ledger, body: elector.Message{
				From: n.seat, Leader: n.seat, Body: rpc.Body{Kind: rpc.Heartbeat, Term: n.machine.Term},
			}}))
		}
	}
	return t
}

// hear takes an append, if the elector lets it, and acknowledges it.
func (m *model) hear(id nodeID, n *node, msg *message) *taken {
	if msg.body.Kind == rpc.HeartbeatResponse {
		return &taken{node: id} // it counts as soon as it is said
	}
	w := stepping{model: m, node: n, before: *n}
	w.step(elector.Input{Kind: elector.Heard, Term: msg.body.Term, Seat: msg.body.Leader}, memberstate.Nobody)
	if w.wrong == "" && n.machine.Term == msg.body.Term && n.machine.Leader == msg.body.Leader && n.promised <= msg.body.Term {
		if !n.ledger.holds(msg.ledger) {
			n.ledger = msg.ledger
		}
		w.says = append(w.says, m.message(message{to: msg.body.From, engine: true, ledger: msg.ledger, body: elector.Message{
			From: n.seat, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Term: msg.body.Term},
		}}))
	}
	return w.taken(id)
}
