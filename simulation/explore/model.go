// A worker's model: its copies of numbered nodes, messages and inputs, and its caches of results about them.

package explore

import (
	"slices"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

type model struct {
	registry *registry // nodes, messages and inputs are copies of what is in it
	bounds   Bounds
	rules    []protocol.Rules

	nodes            []node
	byNode           map[node]nodeID
	messages         []message
	byMessage        map[message]messageID
	inputs           []input
	byInput          map[input]inputID
	deliveries       []inputID // by message
	crashInput       inputID
	tickInput        inputID // time
	renamings        []renaming
	inverseRenamings []renaming // the inverse of each renaming: whose seat each one is
	numbered         map[renaming]int
	abilities        [mostMembers][2][]ability // in which a node is tried, by index and whether it leads
	inverse          []int                     // by renaming: the number of its inverse
	unchanged        [][]int                   // by node: the renamings that leave it as it is; nil: not known yet
	renamedNodes     [][]nodeID                // by node and renaming
	renamedMessages  [][]messageID

	own             [mostMembers][]inputID  // inputs of a node besides messages
	to              [mostMembers]messageSet // messages that may arrive at it
	roundMessages   [mostMembers]messageSet // messages of its round of votes
	answersToLeader [mostMembers]messageSet // answers to it as a leader
	acks            []ack
	victories       messageSet // the messages that note who has led which term
	listed          []bool     // by message: it is among the stale ones

	steps         [][]uint32 // by node, and input or message: the number of its results; 0: not known here
	firstDelivery inputID    // inputs from this one on are messages
	results       [][]stepResult
	unprompted    []*unpromptedSteps        // by node; nil: not known here
	closures      [][mostTerms + 1]*closure // by node, and the largest term of the others; nil: not known here
	ticked        [2][]nodeID               // by whether its clock misses the tick, and node; 0: not known yet
	searchMarks   marks                     // for closureSearch
	closureMarks  marks                     // for closure
	reactionMarks marks                     // for reactions to messages
	buffer        []successor               // reused by computeExpansion
	execution     execution                 // the one under way
	interleaving  interleaving              // of it
}

func newModel(b Bounds, shared *registry) *model {
	m := &model{
		registry: shared, bounds: b, byNode: map[node]nodeID{}, byMessage: map[message]messageID{}, byInput: map[input]inputID{},
		renamings: renamings(b.Members),
	}
	m.renamedMessages = make([][]messageID, len(m.renamings))
	m.numbered = map[renaming]int{}
	for i, r := range m.renamings {
		m.numbered[r] = i
		m.inverseRenamings = append(m.inverseRenamings, r.inverse())
	}
	for _, back := range m.inverseRenamings {
		m.inverse = append(m.inverse, m.numbered[back])
	}
	m.sync()
	m.crashInput, m.tickInput = m.input(input{kind: crashes}), m.input(input{kind: clockTicks})
	m.rules = rulesOf(&b)
	for i := range b.Members {
		m.abilities[i] = abilities(b.Members, seatOf(i))
		m.own[i] = m.ownInputs(i)
		m.firstDelivery = max(m.firstDelivery, slices.Max(m.own[i])+1)
	}
	return m
}

// rulesOf are the members' rules. Time is left out; only unanswered beats are counted. So there are no
// ranks, because turns are a matter of time. Nor is a request repeated, because every message stays.
func rulesOf(b *Bounds) (all []protocol.Rules) {
	voters := memberstate.Set(1<<b.Members - 1)
	timing := elector.DefaultTiming()
	timing.Leak = max(b.Leak, 1)
	for i := range b.Members {
		r := protocol.Rules{Self: seatOf(i), Voters: voters, All: voters, Timing: timing, PreVote: !b.NoPreVote}
		if b.Leases {
			withLeases(&r)
		}
		all = append(all, r)
	}
	return all
}

// intern returns the number of a node.
func (m *model) intern(n *node) nodeID { return m.internLike(n, noNode) }

// internLike is intern for a node that probably equals the node guess.
func (m *model) internLike(n *node, guess nodeID) nodeID {
	m.canonize(n)
	if *n == m.nodes[guess] { // cheaper than a look-up
		return guess
	}
	id, ok := m.byNode[*n]
	if !ok {
		id = m.registry.node(n)
		m.sync()
	}
	return id
}

// sync copies what any worker has numbered since, and the results of steps.
func (m *model) sync() {
	nodes, messages, inputs, results := m.registry.since(len(m.nodes), len(m.messages), len(m.inputs))
	m.results = results
	for i := range nodes {
		m.byNode[nodes[i]] = nodeID(len(m.nodes))
		m.nodes = append(m.nodes, nodes[i])
	}
	for i := range messages {
		m.addMessage(messages[i])
	}
	for _, in := range inputs {
		m.byInput[in] = inputID(len(m.inputs))
		m.inputs = append(m.inputs, in)
	}
}

// known counts the numbered things that it has copied.
func (m *model) known() int { return len(m.nodes) + len(m.messages) + len(m.inputs) }

// syncTo makes sure that it has copied at least this many numbered things.
func (m *model) syncTo(count int) {
	if count > m.known() {
		m.sync()
	}
}

// message returns the number of a message.
func (m *model) message(msg message) messageID {
	id, ok := m.byMessage[msg]
	if !ok {
		id = m.registry.message(msg)
		m.sync()
	}
	return id
}

// addMessage notes which nodes a message concerns, and how.
func (m *model) addMessage(msg message) {
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
		if listed && msg.ofRound(seat) && !msg.asksForVote() { // a request for a vote remains one when the round is over
			m.roundMessages[i].add(id)
		}
		if listed && msg.to == seat && msg.answersLeader() {
			m.answersToLeader[i].add(id)
		}
	}
	if msg.won {
		m.victories.add(id)
	}
	if msg.acknowledges() {
		m.acknowledged(&msg, id)
	}
}

// endRound removes the messages of a round that is over. Answers to it are among the stale messages from
// now on.
func (m *model) endRound(s *messageSet, i int) { *s = s.without(&m.roundMessages[i]) }

// begin returns a node that has just started for the first time.
func (m *model) begin(i int) nodeID {
	n := newNode(i)
	w := execution{model: m, node: &n}
	w.start()
	return m.intern(&n)
}

// ack is an entry that members have acknowledged in its own term, with the messages by which members
// that hold it, and everything before it, have done so.
type ack struct {
	term             memberstate.Term
	ledger           ledger
	acknowledgements messageSet
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
	m.acks[at].acknowledgements.add(id)
}
