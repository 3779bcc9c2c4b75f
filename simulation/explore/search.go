// The search: from every state to its successors.

package explore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/invariant"
)

// state is the state of the group: its nodes, and the messages that were sent.
type state struct {
	nodes [mostMembers]nodeID
	sent  messageSet
}

// origin is the state, and the node in it whose step led to a state.
type origin struct {
	parent int32 // -1: it is the first
	node   uint8 // that took the step
}

// search is shared by all workers. The lock guards all of it.
type search struct {
	options  Options
	registry *registry
	over     atomic.Bool // all workers are to stop

	mu          sync.Mutex
	states      store
	workers     []*worker
	frontier    frontier
	level       priority   // that may be looked at now, if the search is breadth-first
	sinceCheck  int        // how many were taken since checkLimits was called
	busy        int        // how many workers have a batch
	idle        *sync.Cond // for workers that find no state to expand
	saved       time.Time  // when the checkpoint was written
	unconfirmed int        // violations that plain machines did not reach
	err         error
	result      Result
}

// newSearch is a search with its first worker.
func newSearch(o Options) *worker {
	x := &search{options: o, registry: newRegistry()}
	x.idle = sync.NewCond(&x.mu)
	x.registry.listStale(&o.Bounds)
	return x.addWorker()
}

// addWorker adds a worker.
func (x *search) addWorker() *worker {
	w := &worker{search: x, model: newModel(x.options.Bounds, x.registry)}
	x.workers = append(x.workers, w)
	return w
}

func (x *worker) begin() {
	var first state
	for i := range x.options.Members {
		first.nodes[i] = x.model.begin(i)
	}
	x.discover(&first, origin{parent: -1}, 0)
	x.enqueue(x.store())
}

// key is a node of a state, and the messages that it may receive.
func (x *worker) key(s *state, i int) (k expansionKey) {
	x.keyOf(s, i, &k)
	return k
}

func (x *worker) keyOf(s *state, i int, k *expansionKey) {
	k.node, k.othersTerm, k.mayReceive = s.nodes[i], 0, s.sent.and(&x.model.to[i])
	for j := range x.options.Members {
		if j != i {
			k.othersTerm = max(k.othersTerm, x.model.nodes[s.nodes[j]].session.Term)
		}
	}
}

// cachedExpansion returns what a node can do, which is mostly what it could do before.
func (x *worker) cachedExpansion(i int, key *expansionKey) *expansion {
	if b := &x.members[i]; b.cachedExpansion != nil && b.key == *key {
		return b.cachedExpansion
	}
	return x.model.expansion(key)
}

// expand finds the successors of a state.
func (x *worker) expand(d *pendingState) {
	at, from, depth := d.at, &d.state, d.depth+1
	x.model.sync()
	for i := range x.options.Members {
		b := &x.members[i]
		b.key, b.cachedExpansion = x.key(from, i), nil
		if known, _, rest := x.registry.expansions.lookup(x.model, &b.key); rest.words() == 0 { // this numbers nothing
			b.cachedExpansion = known
		}
	}
	if x.options.Leases {
		if d := x.leaseDefect(from); !d.none() {
			x.violated(at, 0, &violatingStep{defect: d})
			return
		}
		x.ticks(at, from, depth)
	}
	for i := range x.options.Members {
		l := x.expansionOf(i)
		x.steps += l.machineSteps(&x.members[i].key.mayReceive)
		if l.violation != nil {
			x.violated(at, i, l.violation)
			return
		}
		for s := range l.successors {
			if x.over.Load() {
				return
			}
			x.transitions++
			if d := x.model.sendDefect(from, l.successors[s].sent); !d.none() {
				x.violated(at, i, &violatingStep{d, l.successors[s].lastStep, l.seats})
				return
			}
			next := x.model.apply(from, i, &l.successors[s])
			x.discover(&next, origin{at, uint8(i)}, depth)
		}
	}
}

// expansionOf is what a node can do in the state that is being expanded.
func (x *worker) expansionOf(i int) *expansion {
	b := &x.members[i]
	if b.cachedExpansion == nil {
		b.cachedExpansion = x.model.expansion(&b.key)
	}
	return b.cachedExpansion
}

// apply is the state after a node's step.
func (m *model) apply(from *state, i int, does *successor) state {
	next := *from
	next.nodes[i] = does.node
	if does.ended {
		m.endRound(&next.sent, i)
	}
	if before := &m.nodes[from.nodes[i]]; !m.nodes[does.node].leads(before.session.Term) {
		over := next.sent.and(&m.answersToLeader[i])
		for id := range over.all {
			next.sent.remove(id)
		}
	}
	for _, id := range does.sent {
		m.send(&next, id)
	}
	return next
}

// send adds a message to those that were sent, and says whether it is new.
func (m *model) send(s *state, id messageID) bool { return !m.isForgotten(s, id) && s.sent.add(id) }

// discover adds a state to those that the worker has found, unless it has found it a moment ago.
func (x *worker) discover(s *state, from origin, depth uint16) {
	if !x.duplicates.add(s) {
		return
	}
	least := x.normalForm(*s)
	x.discovered = append(x.discovered, discovery{least, from, depth, x.priority(&least, depth), 0})
}

// sendDefect says whether a member leads a term that it has led before, in whatever incarnation.
func (m *model) sendDefect(s *state, sent []messageID) (d defect) {
	for _, id := range sent {
		if m.victories.has(id) && s.sent.has(id) {
			return defect{invariant.OneLeader, fmt.Sprintf("it leads term %d a second time", m.messages[id].body.Term)}
		}
	}
	return d
}

// led is the members that have led each term.
func (m *model) led(s *state) (by [mostTerms + 1]memberstate.Set) {
	won := s.sent.and(&m.victories)
	for id := range won.all {
		b := &m.messages[id].body
		by[b.Term] = by[b.Term].With(b.From)
	}
	return by
}

// stateDefect says which invariant a state breaks, if any.
func (m *model) stateDefect(s *state) (d defect) {
	led := m.led(s)
	for i := range m.bounds.Members {
		n := &m.nodes[s.nodes[i]]
		by := led[min(n.session.Term, mostTerms)]
		if by.Len() > 1 {
			return defect{invariant.OneLeader, fmt.Sprintf("two members have led term %d", n.session.Term)}
		}
		switch {
		case n.session.Role == memberstate.Leader:
			if d = m.leaderDefect(s, n); !d.none() {
				return d
			}
		case !check.FollowsWinner(n.session.Leader, by):
			return defect{invariant.FollowsWinner, fmt.Sprintf("a member follows another one that has not led term %d", n.session.Term)}
		}
	}
	return d
}

// leaderDefect checks a leader: a quorum has voted for it, members that have gone on to a larger term since
// included, and its ledger has everything that was committed in earlier terms.
func (m *model) leaderDefect(s *state, n *node) (d defect) {
	term, votes := n.session.Term, 0
	for i := range m.bounds.Members {
		if v := &m.nodes[s.nodes[i]].session; v.Term > term || v.Term == term && v.Vote == n.seat {
			votes++
		}
	}
	if !check.Elected(votes, m.bounds.Members) {
		return defect{invariant.WonByQuorum, fmt.Sprintf("term %d is led with %d votes", term, votes)}
	}
	for i := range m.acks {
		a := &m.acks[i]
		others := a.acknowledgements.and(&s.sent)
		if check.Elected(others.len()+1, m.bounds.Members) && a.term < term && !n.ledger.holds(a.ledger) {
			return defect{invariant.LeaderComplete, fmt.Sprintf("the leader of term %d lacks an entry that was committed in term %d", term, a.term)}
		}
	}
	return d
}
