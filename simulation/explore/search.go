// The search: from every state to its successors.

package explore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// state is the state of the group: its nodes, and the messages that were sent.
type state struct {
	nodes [mostMembers]nodeID
	said  messageSet
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
	level       rank       // that may be looked at now, if the search is breadth-first
	unlooked    int        // how many were taken since the last look
	busy        int        // how many workers look at states
	idle        *sync.Cond // for workers that find no state to look at
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
	return x.employ()
}

// employ adds a worker.
func (x *search) employ() *worker {
	w := &worker{search: x, model: newModel(x.options.Bounds, x.registry)}
	x.workers = append(x.workers, w)
	return w
}

func (x *worker) begin() {
	var first state
	for i := range x.options.Members {
		first.nodes[i] = x.model.begin(i)
	}
	x.enter(&first, origin{parent: -1}, 0)
	x.open(x.keep())
}

// key is a node of a state, and the messages that it may hear.
func (x *worker) key(s *state, i int) (k localKey) {
	x.keyOf(s, i, &k)
	return k
}

func (x *worker) keyOf(s *state, i int, k *localKey) {
	k.node, k.most, k.heard = s.nodes[i], 0, s.said.and(&x.model.to[i])
	for j := range x.options.Members {
		if j != i {
			k.most = max(k.most, x.model.nodes[s.nodes[j]].session.Term)
		}
	}
}

// local returns what a node can do, which is mostly what it could do before.
func (x *worker) local(i int, key *localKey) *local {
	if b := &x.before[i]; b.local != nil && b.key == *key {
		return b.local
	}
	return x.model.local(key)
}

// expand finds the successors of a state.
func (x *worker) expand(d *due) {
	at, from, depth := d.at, &d.state, d.depth+1
	x.model.learn()
	for i := range x.options.Members {
		b := &x.before[i]
		b.key, b.local = x.key(from, i), nil
		if known, _, rest := x.registry.locals.recall(x.model, &b.key); rest.words() == 0 { // this gives no names
			b.local = known
		}
	}
	if x.options.Leases {
		if d := x.wrongLeases(from); !d.none() {
			x.violated(at, 0, &wrong{defect: d})
			return
		}
		x.ticks(at, from, depth)
	}
	for i := range x.options.Members {
		l := x.can(i)
		x.steps += l.steps(&x.before[i].key.heard)
		if l.wrong != nil {
			x.violated(at, i, l.wrong)
			return
		}
		for s := range l.next {
			if x.over.Load() {
				return
			}
			x.transitions++
			if d := x.model.wrongSaying(from, l.next[s].says); !d.none() {
				x.violated(at, i, &wrong{d, l.next[s].last, l.by})
				return
			}
			next := x.model.apply(from, i, &l.next[s])
			x.enter(&next, origin{at, uint8(i)}, depth)
		}
	}
}

// can is what a node can do in the state that is being expanded.
func (x *worker) can(i int) *local {
	b := &x.before[i]
	if b.local == nil {
		b.local = x.model.local(&b.key)
	}
	return b.local
}

// apply is the state after a node's step.
func (m *model) apply(from *state, i int, does *successor) state {
	next := *from
	next.nodes[i] = does.node
	if does.ended {
		m.endRound(&next.said, i)
	}
	if before := &m.nodes[from.nodes[i]]; !m.nodes[does.node].leads(before.session.Term) {
		over := next.said.and(&m.answersToLeader[i])
		for id := range over.all {
			next.said.remove(id)
		}
	}
	for _, id := range does.says {
		m.say(&next, id)
	}
	return next
}

// say adds a message to those that were sent, and says whether it is new.
func (m *model) say(s *state, id messageID) bool { return !m.late(s, id) && s.said.add(id) }

// enter adds a state to those that the worker has found, unless it has found it a moment ago.
func (x *worker) enter(s *state, from origin, depth uint16) {
	if !x.duplicates.add(s) {
		return
	}
	least := x.settles(*s)
	x.found = append(x.found, find{least, from, depth, x.rank(&least, depth), 0})
}

// wrongSaying says whether a member leads a term that it has led before, in whatever incarnation.
func (m *model) wrongSaying(s *state, says []messageID) (d defect) {
	for _, id := range says {
		if m.won.has(id) && s.said.has(id) {
			return defect{invariant.OneLeader, fmt.Sprintf("it leads term %d a second time", m.messages[id].body.Term)}
		}
	}
	return d
}

// led is the members that have led each term.
func (m *model) led(s *state) (by [mostTerms + 1]memberstate.Set) {
	won := s.said.and(&m.won)
	for id := range won.all {
		b := &m.messages[id].body
		by[b.Term] = by[b.Term].With(b.From)
	}
	return by
}

// wrong says which invariant a state breaks, if any.
func (m *model) wrong(s *state) (d defect) {
	led := m.led(s)
	for i := range m.bounds.Members {
		n := &m.nodes[s.nodes[i]]
		by := led[min(n.session.Term, mostTerms)]
		if by.Len() > 1 {
			return defect{invariant.OneLeader, fmt.Sprintf("two members have led term %d", n.session.Term)}
		}
		switch leader := n.session.Leader; {
		case n.session.Role == memberstate.Leader:
			if d = m.wrongLeader(s, n); !d.none() {
				return d
			}
		case leader != memberstate.Nobody && !by.Has(leader):
			return defect{invariant.FollowsWinner, fmt.Sprintf("a member follows another one in term %d that has not led it", n.session.Term)}
		}
	}
	return d
}

// wrongLeader checks a leader: a quorum has voted for it, members that have gone on to a larger term since
// included, and its ledger has everything that was committed in earlier terms.
func (m *model) wrongLeader(s *state, n *node) (d defect) {
	term, votes := n.session.Term, 0
	quorum := m.bounds.Members/2 + 1 // counted anew, because the machine's own count may be wrong
	for i := range m.bounds.Members {
		if v := &m.nodes[s.nodes[i]].session; v.Term > term || v.Term == term && v.Vote == n.seat {
			votes++
		}
	}
	if votes < quorum {
		return defect{invariant.WonByQuorum, fmt.Sprintf("term %d is led with %d votes", term, votes)}
	}
	for i := range m.acks {
		a := &m.acks[i]
		others := a.said.and(&s.said)
		if others.len()+1 >= quorum && a.term < term && !n.ledger.holds(a.ledger) {
			return defect{invariant.LeaderComplete, fmt.Sprintf("term %d is led without what was committed in term %d", term, a.term)}
		}
	}
	return d
}
