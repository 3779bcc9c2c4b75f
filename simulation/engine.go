// A small storage engine: it keeps a ledger, replicates it as engines do, and keeps
// the contract of an embedding by elector.Promise. Several appends may be between
// Heard and the ledger at one time, and get there in any order.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/ledger"
	"github.com/hustings/hustings/simulation/invariant"
)

// dullTick is how often a leader writes where nothing was drawn, busiestTick how often
// it does at most. It is drawn for each seed, over a wide range: where much is written
// ledgers differ by a little, where little is, by long stretches of time.
const (
	dullTick    = 100 * time.Millisecond
	busiestTick = 100 * time.Millisecond
	doublings   = 6
)

// The most that an append takes from Heard until it is in the ledger is drawn for each
// seed, too, from a write at once to one that waits for longer than an election takes.
const (
	quickWrite    = 2 * time.Millisecond
	writeDoubling = 9
)

type engine struct {
	ledger    ledger.Ledger // durable at once: engines sync before they acknowledge
	promise   elector.Promise
	voted     memberstate.Term     // the largest term that its ledger's end was asked for with
	told      memberstate.Position // where it has said last that its ledger ends
	announced memberstate.Term     // the largest term of a leader that it was told it may follow
	leading   memberstate.Term     // the term in which it serves; 0: it does not
	running   memberstate.Term     // the term of a Lead that has not returned; 0: none
	ending    bool                 // and that Lead was told to
	stopped   bool                 // writes are paused for a handover
	slow      int64                // the most nanoseconds that it takes for what is asked of it
	asked     memberstate.Term     // what it was last asked for its ledger's end with
	end       memberstate.Position
	pausing   uint32               // the newest pause
	wanted    bool                 // and somebody wants it
	unwilling bool                 // the next pause fails
	lapse     lapse                // what else it will do wrong
	acked     [maxNodes]uint64     // by index of the follower, in this term
	writing   [mostWrites]addition // appends that were heard and are not in the ledger yet
}

// addition is an append on its way to the ledger.
type addition struct {
	from   uint8            // the index of the leader
	term   memberstate.Term // 0: there is none
	ledger ledger.Ledger
}

// mostWrites is how many appends a node has between Heard and its ledger at one time.
const mostWrites = 4

// Carelessness is which half of its promise an engine breaks.
type Carelessness uint8

const (
	// Careful engines keep their promise.
	Careful Carelessness = iota
	// CarelessAlways accepts every append, whatever Heard says.
	CarelessAlways
	// CarelessOverlap asks, and remembers the terms that it was asked for its ledger's end
	// with, but not those of the appends that it has accepted.
	CarelessOverlap

	carelessnesses
)

var carelessNames = [carelessnesses]string{"off", "on", "overlap"}

// String is the word that a scenario has for it.
func (c Carelessness) String() string {
	if c < carelessnesses {
		return carelessNames[c]
	}
	return "unknown carelessness"
}

// restart forgets what is only in memory. A promise binds no longer than the process
// that acknowledges: the machine's own term is durable before it asks for one.
func (e *engine) restart() { *e = engine{ledger: e.ledger, slow: e.slow} }

// ledgerEnd is LedgerEnd.
func (e *engine) ledgerEnd(term memberstate.Term) memberstate.Position {
	e.voted = max(e.voted, term)
	e.told = e.promise.End(term, e.ledger.End)
	return e.told
}

// accept changes the ledger by an append of a term, and says whether it may.
func (e *engine) accept(kind Carelessness, term memberstate.Term, change func()) bool {
	switch kind {
	case CarelessAlways:
	case CarelessOverlap:
		if term < e.voted {
			return false
		}
	default:
		return e.promise.Accept(term, func() error { change(); return nil }) == nil
	}
	change()
	return true
}

// Lead begins to serve a term.
func (m *member) Lead(term memberstate.Term) {
	if !m.alive {
		return
	}
	w, e := m.world, &m.engine
	if e.running != 0 {
		w.check.violated(invariant.OneOffice, m, "its engine is to serve term %d, and still serves term %d", term, e.running)
	}
	e.leading, e.running, e.ending = term, term, false
	e.acked = [maxNodes]uint64{}
	w.check.served(m)
	m.touch()
	w.about(int64(w.choices.span(chooseTick, m.index, 0, w.tick, w.tick)), engineTicks, m, uint32(term))
}

// EndLead has the engine serve no more. Its Lead takes a while to return.
func (m *member) EndLead(memberstate.Term) {
	m.engine.leading, m.engine.ending = 0, true
	if m.alive {
		most := m.rules().Timing.Heartbeat + time.Duration(m.engine.slow)
		m.world.about(int64(m.world.choices.span(chooseStop, m.index, 0, most, 0)), leadReturns, m, m.incarnation)
	}
}

// returned is when the engine's Lead has.
func (m *member) returned(incarnation uint32) {
	if !m.alive || m.incarnation != incarnation {
		return
	}
	term := m.engine.running
	m.engine.running = 0
	r := m.about(protocol.TellLeadReturned)
	r.Term = term
	m.ask(r)
}

// tick writes an entry and sends the ledger to all, as long as this node leads the term. An
// event has room for the lower half of a term, and two terms that this node serves are never
// so far apart that it would be the same.
func (m *member) tick(half uint32) {
	w, e := m.world, &m.engine
	if running := uint32(e.running); !m.alive || running != half || e.leading == 0 {
		return
	}
	w.about(int64(w.choices.span(chooseTick, m.index, w.tick/2, w.tick*3/2, w.tick)), engineTicks, m, half)
	if m.paused || !e.stopped && !e.append(m) {
		return
	}
	for i := range w.nodes {
		if i != m.index {
			w.network.ship(m, uint8(i), rpc.Heartbeat, e.leading, e.ledger)
		}
	}
}

// append writes an entry of its own, as a leader, and says whether it may.
func (e *engine) append(n *member) bool {
	before := e.ledger
	accepted := e.accept(n.world.options.Careless, e.leading, func() {
		e.ledger.Write(e.leading)
		e.acked[n.index] = e.ledger.End().Index
	})
	if accepted {
		n.world.check.accepts(n, &before, e.leading)
	}
	return accepted
}

// hear takes an append, or the answer to one.
func (m *member) hear(p *parcel) {
	if m.paused || m.shown.Stopped {
		return // it is sent again soon
	}
	if p.message.Kind == rpc.HeartbeatResponse {
		m.engine.acknowledged(m, p)
		return
	}
	e := &m.engine
	place := e.room()
	if place == mostWrites || !m.heard(p) && m.world.options.Careless != CarelessAlways || !m.alive {
		return
	}
	e.writing[place] = addition{p.from, p.message.Term, p.ledger}
	most := m.world.longestWrite
	if m.disk.slow {
		most += m.rules().Timing.Detection()
	}
	takes := m.world.choices.span(chooseWrite, m.index, 0, most, m.world.hurried(time.Millisecond))
	m.world.about(int64(takes), entriesWritten, m, m.incarnation*mostWrites+uint32(place))
}

// room is a place for another append, or mostWrites if there is none.
func (e *engine) room() int {
	for place := range e.writing {
		if e.writing[place].term == 0 {
			return place
		}
	}
	return mostWrites
}

// heard tells the group of an append before it is accepted, and says whether it may be. One
// of the leader that the member shows may be at once, even while a step waits. News waits for that
// step, and the machine's term may have risen by then: this append is given up, and sent again.
func (m *member) heard(p *parcel) bool {
	term, leader := p.message.Term, m.world.nodes[p.from].name()
	news, err := m.group.Hears(&m.shown, term, leader, false)
	if err != nil {
		return false
	}
	m.told = !news
	m.host.At(m.local())
	m.host.Give(&m.group, &protocol.Input{Kind: protocol.Heard, Term: term, Seat: m.electorate.Members.Seat(leader)}, m.tell)
	m.endTurn()
	if !m.told || !m.alive {
		return false
	}
	if _, err = m.group.Hears(&m.shown, term, leader, true); err != nil {
		return false
	}
	m.engine.announced = max(m.engine.announced, term)
	return true
}

// wrote is when an append gets to the ledger, and is acknowledged. Meanwhile the machine
// may have asked where the ledger ends, for a later term, and an append of a later leader
// may have been accepted: then this one must not count.
func (m *member) wrote(write uint32) {
	if !m.alive || m.incarnation != write/mostWrites {
		return
	}
	e := &m.engine
	added := e.writing[write%mostWrites]
	e.writing[write%mostWrites] = addition{}
	if added.term == 0 {
		return // the group has ended since it was heard
	}
	before := e.ledger
	accepted := e.accept(m.world.options.Careless, added.term, func() {
		if !e.ledger.Holds(&added.ledger) { // an older append of this term may come late
			e.ledger = added.ledger
		}
	})
	if !accepted {
		return
	}
	m.world.check.accepts(m, &before, added.term)
	m.world.network.ship(m, added.from, rpc.HeartbeatResponse, added.term, ledger.Ledger{Term: added.ledger.Term, Last: added.ledger.Last})
}

// acknowledged counts who has what, as the engine is told. It takes an entry of this term
// that a quorum has for committed, and all before it.
func (e *engine) acknowledged(n *member, p *parcel) {
	if e.leading == 0 || p.message.Term != e.leading {
		return
	}
	if p.ledger.Last <= e.acked[p.from] {
		return
	}
	e.acked[p.from] = p.ledger.Last
	n.world.check.commits(n, n.world.options.reaches(e.acked[:]))
}
