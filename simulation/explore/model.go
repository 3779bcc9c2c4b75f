// All nodes and messages that there are, and what becomes of a node: worked out once,
// and looked up from then on.

package explore

import (
	"fmt"
	"slices"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation"
)

type model struct {
	registry *registry // nodes, messages and inputs are copies of what is in it
	bounds   Bounds
	rules    []elector.Rules

	nodes           []node
	byNode          map[node]nodeID
	messages        []message
	byMessage       map[message]messageID
	inputs          []input
	byInput         map[input]inputID
	deliveries      []inputID // by message
	crashing        inputID
	passing         inputID // time
	renamings       []renaming
	seatedBy        []renaming // what undoes them: whose seat each one is
	numbered        map[renaming]int
	undone          []int      // by renaming: the number of what undoes it
	unchanged       [][]int    // by node: the renamings that leave it as it is; nil: not worked out yet
	renamedNodes    [][]nodeID // by node and renaming
	renamedMessages [][]messageID

	own     [mostMembers][]inputID // what can happen to a node besides messages
	to      [mostMembers]said      // what may arrive at it
	round   [mostMembers]said      // what belongs to its round of votes
	office  [mostMembers]said      // what answers it as a leader
	acks    []ack
	won     said        // who has led which term
	listed  []bool      // by message: it is among the stale ones
	staleOf [][]inputID // by node; nil: not worked out yet

	steps     [][]uint32 // by node, and input or message: which of the results; 0: not worked out yet
	heard     inputID    // inputs from this one on are messages
	anytimes  []*anytime // by node; nil: not worked out yet
	twice     marks
	results   [][]taken
	idle      []uint32    // by node: which result is that nothing happens to it; 0: none yet
	reactions []reactions // by node
	ticked    [2][]nodeID // by whether its clock misses the tick, and node; 0: not worked out yet
	marks     marks
	spare     [2][]silent // room for what nodes become
}

// taken is what an input does to a node.
type taken struct {
	node   nodeID
	says   []messageID
	saved  bool
	ended  bool // the round of votes that was under way is over
	beyond bool // out of bounds
	defect defect
}

// defect is an invariant that does not hold, in words; there is none in most steps.
type defect struct {
	invariant simulation.Invariant
	what      string
}

func (d *defect) none() bool { return d.what == "" }

// noticed says whether anything has happened to a node within the bounds.
func (t *taken) noticed(before nodeID) bool {
	return !t.defect.none() || !t.beyond && (t.node != before || len(t.says) > 0 || t.saved)
}

// is says whether another result is the same.
func (t *taken) is(other taken) bool {
	return t.node == other.node && t.saved == other.saved && t.ended == other.ended && t.beyond == other.beyond &&
		t.defect == other.defect && slices.Equal(t.says, other.says)
}

// fingerprint tells results apart.
func fingerprint(of ...any) string { return fmt.Sprint(of...) }

func newModel(b Bounds, names *registry) *model {
	m := &model{
		registry: names, bounds: b, byNode: map[node]nodeID{}, byMessage: map[message]messageID{}, byInput: map[input]inputID{},
		renamings: renamings(b.Members), results: make([][]taken, 1),
	}
	m.renamedMessages = make([][]messageID, len(m.renamings))
	m.numbered = map[renaming]int{}
	for i, r := range m.renamings {
		m.numbered[r] = i
		m.seatedBy = append(m.seatedBy, r.back())
	}
	for _, back := range m.seatedBy {
		m.undone = append(m.undone, m.numbered[back])
	}
	m.learn()
	m.crashing, m.passing = m.input(input{kind: crashes}), m.input(input{kind: passes})
	m.rules = rulesOf(&b)
	for i := range b.Members {
		m.own[i] = m.ownInputs(i)
		m.heard = max(m.heard, slices.Max(m.own[i])+1)
	}
	return m
}

// rulesOf are what the members go by. Time does not count, only how many beats were not
// answered. So there are no ranks: whose turn it is is a matter of time, and who has not
// answered need not be asked again where messages stay.
func rulesOf(b *Bounds) (all []elector.Rules) {
	voters := memberstate.Set(1<<b.Members - 1)
	timing := elector.DefaultTiming()
	timing.Leak = 1
	for i := range b.Members {
		r := elector.Rules{Self: seatOf(i), Voters: voters, All: voters, Timing: timing, PreVote: !b.NoPreVote}
		if b.Leases {
			withLeases(&r)
		}
		all = append(all, r)
	}
	return all
}

// intern is the name of a node.
func (m *model) intern(n *node) nodeID {
	m.canonize(n)
	id, ok := m.byNode[*n]
	if !ok {
		id = m.registry.node(n)
		m.learn()
	}
	return id
}

// canonize takes away what tells apart two nodes that behave alike, as far as is looked at.
func (m *model) canonize(n *node) {
	n.canonize(&m.rules[n.index()])
	if m.forgets() {
		n.machine = n.machine.Steady() // its mood is anybody's guess (workIn)
	}
}

// learn takes over the names that were given since, by whomever.
func (m *model) learn() {
	nodes, messages, inputs := m.registry.since(len(m.nodes), len(m.messages), len(m.inputs))
	for i := range nodes {
		m.byNode[nodes[i]] = nodeID(len(m.nodes))
		m.nodes = append(m.nodes, nodes[i])
	}
	for i := range messages {
		m.enlist(messages[i])
	}
	for _, in := range inputs {
		m.byInput[in] = inputID(len(m.inputs))
		m.inputs = append(m.inputs, in)
	}
}

// known counts the names that it has taken over.
func (m *model) known() int { return len(m.nodes) + len(m.messages) + len(m.inputs) }

// knows has it take over names that others have given, if there were so many in all when
// they did.
func (m *model) knows(names int) {
	if names > m.known() {
		m.learn()
	}
}

// message is the name of one.
func (m *model) message(msg message) messageID {
	id, ok := m.byMessage[msg]
	if !ok {
		id = m.registry.message(msg)
		m.learn()
	}
	return id
}

// enlist notes whom a message concerns, and how.
func (m *model) enlist(msg message) {
	id := messageID(len(m.messages))
	m.messages = append(m.messages, msg)
	m.byMessage[msg] = id
	listed := !msg.engine && m.registry.isStale(&msg.body)
	m.listed = append(m.listed, listed)
	for i := range m.bounds.Members {
		seat := seatOf(i)
		if msg.isFor(seat) {
			m.to[i].add(id)
		}
		if listed && msg.ofRound(seat) && !msg.asksForVote() { // who asked for a vote has still asked for it when the round is over
			m.round[i].add(id)
		}
		if listed && msg.to == seat && msg.answersLeader() {
			m.office[i].add(id)
		}
	}
	if msg.won {
		m.won.add(id)
	}
	if msg.acknowledges() {
		m.acknowledged(&msg, id)
	}
}

// endRound takes what belongs to a round that is over out of what was said. Answers to it
// are among the stale ones from now on.
func (m *model) endRound(s *said, i int) { *s = s.without(&m.round[i]) }

// begin is a node that has never run before, started.
func (m *model) begin(i int) nodeID {
	n := node{seat: seatOf(i)}
	w := stepping{model: m, node: &n}
	w.start()
	return m.intern(&n)
}

// take is what an input does to a node: more than one thing where that depends on seats. Of
// what comes too late it is remembered elsewhere (anytime.go).
func (m *model) take(id nodeID, in inputID) []taken {
	if m.inputs[in].kind == stale {
		return m.work(id, m.inputs[in])
	}
	if n := len(m.nodes); len(m.steps) < n {
		m.steps = append(m.steps, make([][]uint32, n-len(m.steps))...)
	}
	of, at := &m.steps[id], int(in)
	if in >= m.heard {
		at = int(m.heard) + int(m.inputs[in].message)
	}
	if len(*of) <= at {
		*of = append(*of, make([]uint32, int(m.heard)+len(m.messages)-len(*of))...)
	}
	if (*of)[at] == 0 {
		result := m.keep(id, m.work(id, m.inputs[in]))
		m.steps[id][at] = result
	}
	return m.results[m.steps[id][at]]
}

// keep is the number of a result. Most are that nothing happens.
func (m *model) keep(id nodeID, all []taken) uint32 {
	nothing := len(all) == 1 && !all[0].beyond && !all[0].ended && !all[0].noticed(id)
	if n := len(m.nodes); len(m.idle) < n {
		m.idle = append(m.idle, make([]uint32, n-len(m.idle))...)
	}
	if nothing && m.idle[id] > 0 {
		return m.idle[id]
	}
	m.results = append(m.results, all)
	at := uint32(len(m.results) - 1)
	if nothing {
		m.idle[id] = at
	}
	return at
}

func (m *model) work(id nodeID, in input) []taken {
	switch {
	case in.kind == crashes:
		return []taken{m.crash(id)}
	case in.kind == writes:
		return []taken{m.write(id)}
	case in.kind == delivered && m.messages[in.message].engine:
		return []taken{m.hear(id, m.messages[in.message])}
	case in.kind == rings && m.nodes[id].time.wait > 0, in.kind == lapses && !m.nodes[id].lapsed():
		return []taken{{node: id}} // not yet
	case in.kind == stale, m.bounds.Members > 3 && !m.asymmetric(in):
		return m.workIn(id, in, m.renamings[:1])
	}
	return m.workIn(id, in, m.renamings)
}

// workIn is all that an input can do to a node, in whatever mood, among members that have
// these seats or those.
func (m *model) workIn(id nodeID, in input, seats []renaming) (all []taken) {
	for _, by := range seats {
		n := m.nodes[id].renamed(by)
		for _, n.machine = range m.moods(&n) {
			now := n
			w := stepping{model: m, node: &now, before: n, back: by.back(), late: in.kind == stale}
			w.step(m.given(in, by))
			if t := w.taken(); !slices.ContainsFunc(all, t.is) {
				all = append(all, t)
			}
		}
	}
	return all
}

// moods are the machines that a node may have.
func (m *model) moods(n *node) []elector.Machine {
	if !m.forgets() {
		return []elector.Machine{n.machine}
	}
	moods := n.machine.Moods()
	return moods[:]
}

// crash is a node that is started again.
func (m *model) crash(id nodeID) taken {
	n := m.nodes[id]
	w := stepping{model: m, node: &n, before: n, back: m.renamings[0]}
	w.start()
	return w.taken()
}

func (m *model) write(id nodeID) taken {
	n := m.nodes[id]
	if n.ledger.len() >= m.bounds.Entries || !n.writes() {
		return taken{node: id}
	}
	says := m.message(n.append())
	return taken{node: m.intern(&n), says: []messageID{says}, saved: true}
}

func (m *model) hear(id nodeID, msg message) taken {
	if msg.acknowledges() {
		return taken{node: id} // it counts as soon as it is said
	}
	n := m.nodes[id]
	w := stepping{model: m, node: &n, before: n, back: m.renamings[0]}
	w.hear(&msg)
	return w.taken()
}

// ack is an entry that members have acknowledged in its own term: who holds it, and all
// before it, by what was said.
type ack struct {
	term   memberstate.Term
	ledger ledger
	said   said
}

func (m *model) acknowledged(msg *message, id messageID) {
	if msg.ledger.end().Term != msg.body.Term {
		return
	}
	at := slices.IndexFunc(m.acks, func(a ack) bool { return a.term == msg.body.Term && a.ledger == msg.ledger })
	if at < 0 {
		at = len(m.acks)
		m.acks = append(m.acks, ack{term: msg.body.Term, ledger: msg.ledger})
	}
	m.acks[at].said.add(id)
}
