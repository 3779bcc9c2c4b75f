// A small storage engine: it keeps a ledger, replicates it as engines do, and keeps
// the contract of an embedding.

package simulation

import (
	"slices"
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// dullTick is how often a leader writes where nothing was drawn, busiestTick how often
// it does at most. It is drawn for each seed, over a wide range: where much is written
// ledgers differ by a little, where little is, by long stretches of time.
const (
	dullTick    = 100 * time.Millisecond
	busiestTick = 100 * time.Millisecond
	doublings   = 6
)

type engine struct {
	ledger   ledger // durable at once: engines sync before they acknowledge
	promised memberstate.Term
	leading  memberstate.Term // the term in which it serves; 0: it does not
	running  memberstate.Term // the term of a Lead that has not returned; 0: none
	served   memberstate.Term // the last term for which Lead was called
	ending   bool             // Lead was told to return
	stopped  bool             // writes are paused for a handover
	acked    [maxNodes]uint64 // by index of the follower, in this term
	writing  parcel           // an append that is on its way to the disk
}

// restart forgets what is only in memory. A promise binds no longer than the process
// that acknowledges: the machine's own term is durable before it asks for one.
func (e *engine) restart() { *e = engine{ledger: e.ledger} }

// promise is LedgerEnd.
func (e *engine) promise(term memberstate.Term) memberstate.Position {
	e.promised = max(e.promised, term)
	return e.ledger.end()
}

// attend is what a Host does about Lead: it runs while its node leads, with a lease if
// there are leases, once a term; and never before the one of the term before has
// returned, which takes a while.
func (e *engine) attend(n *node) {
	m := &n.machine
	leads := n.leads() && (n.rules.Lease == 0 || n.lease.term == m.Term)
	switch {
	case e.running != 0:
		if (!leads || e.running != m.Term) && !e.ending {
			e.leading, e.ending = 0, true
			n.world.after(n.world.choices.span(chooseStop, n.index, 0, n.rules.Timing.Heartbeat, 0), leadReturns, n, n.incarnation)
		}
	case leads && e.served < m.Term:
		e.leading, e.running, e.served, e.ending, e.stopped = m.Term, m.Term, m.Term, false, false
		e.acked = [maxNodes]uint64{}
		n.world.check.served(n)
		n.world.after(n.world.choices.span(chooseTick, n.index, 0, n.world.tick, n.world.tick), engineTicks, n, uint32(m.Term))
	case m.Serving() && !n.leads():
		n.give(&elector.Input{Kind: elector.Served, Number: m.Beat()}, memberstate.Nobody)
	}
	if phase, _ := m.Handover(); phase == elector.NoHandover {
		e.stopped = false
	}
}

// returned is when the engine's Lead has.
func (n *node) returned(incarnation uint32) {
	if n.alive && n.incarnation == incarnation {
		n.engine.running, n.engine.leading = 0, 0
		n.attend()
	}
}

// tick writes an entry and sends the ledger to all, as long as this node leads the term.
func (n *node) tick(term uint32) {
	w, e := n.world, &n.engine
	if !n.alive || e.running != memberstate.Term(term) || e.leading == 0 {
		return
	}
	w.after(w.choices.span(chooseTick, n.index, w.tick/2, w.tick*3/2, w.tick), engineTicks, n, term)
	if n.paused || e.promised > e.leading {
		return
	}
	if !e.stopped {
		e.ledger.write(e.leading)
		e.acked[n.index] = e.ledger.end().Index
	}
	for i := range w.nodes {
		if i != n.index {
			w.network.ship(&parcel{engine: true, from: uint8(n.index), to: uint8(i), ledger: e.ledger, message: elector.Message{
				From: n.seat, Leader: n.seat, Body: rpc.Body{Kind: rpc.Heartbeat, Term: e.leading},
			}})
		}
	}
}

// hear takes an append, or the answer to one.
func (n *node) hear(p *parcel) {
	if n.paused || n.saving != nil {
		return // it is sent again soon
	}
	if p.message.Kind == rpc.HeartbeatResponse {
		n.engine.acknowledged(n, p)
		return
	}
	e := &n.engine
	if e.writing.engine || !n.world.options.Careless && !n.heard(&p.message) {
		return
	}
	e.writing = *p
	most := 2 * time.Millisecond
	if n.disk.slow {
		most += n.rules.Timing.Detection()
	}
	takes := n.world.choices.span(chooseWrite, n.index, 0, most, time.Millisecond)
	n.world.after(takes, entriesWritten, n, n.incarnation)
}

// heard tells the machine of an append before it is accepted, and says whether it may be.
func (n *node) heard(q *elector.Message) bool {
	m := &n.machine
	n.give(&elector.Input{Kind: elector.Heard, Term: q.Term, Seat: q.Leader}, memberstate.Nobody)
	return n.alive && n.saving == nil && m.Term == q.Term && m.Leader == q.Leader
}

// wrote is when an append is on the disk, and is acknowledged. Meanwhile the machine
// may have asked where the ledger ends, for a later term: then the append must not
// count, for who asked was told of a ledger without it.
func (n *node) wrote(incarnation uint32) {
	if !n.alive || n.incarnation != incarnation {
		return
	}
	e := &n.engine
	p := e.writing
	e.writing = parcel{}
	if e.promised > p.message.Term && !n.world.options.Careless {
		return
	}
	if !e.ledger.holds(&p.ledger) { // an older append of this term may come late
		e.ledger = p.ledger
	}
	n.world.network.ship(&parcel{engine: true, from: uint8(n.index), to: p.from, message: elector.Message{
		From: n.seat, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Term: p.message.Term, Ledger: p.ledger.end()},
	}})
}

// acknowledged counts who has what. An entry of this term that a quorum has is
// committed, and all before it.
func (e *engine) acknowledged(n *node, p *parcel) {
	if e.leading == 0 || p.message.Term != e.leading {
		return
	}
	if p.message.Ledger.Index <= e.acked[p.from] {
		return
	}
	e.acked[p.from] = p.message.Ledger.Index
	all := e.acked                        // a copy
	have := all[:n.world.options.Members] // observers do not count
	slices.Sort(have)
	n.world.check.committed(n, have[len(have)-memberstate.Quorum(n.rules.Voters)])
}
