// A small storage engine: it has a ledger, replicates it as engines do, and keeps
// the contract of an embedding by elector.Promise. Several appends may be on their way from
// Heard to the ledger at one time, and get there in any order.

package simulation

import (
	"time"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/internal/ledger"
)

// defaultTick is how often a leader writes in a scenario, busiestTick how often it does at most. Each
// seed draws from a wide range: where engines write often, ledgers differ by little; where they
// write rarely, they differ for a long time.
const (
	defaultTick = 100 * time.Millisecond
	busiestTick = 100 * time.Millisecond
	doublings   = 6
)

// Each seed also draws the longest time from Heard until an append is in the ledger: from no time
// to longer than an election takes.
const (
	quickWrite    = 2 * time.Millisecond
	writeDoubling = 9
)

type engine struct {
	check.Engine
	promise   elector.Promise
	voted     memberstate.Term // the largest term with which its ledger's end was asked for
	announced memberstate.Term // the largest term of a leader that it may follow
	ending    bool             // the Lead that runs was told to return
	asked     memberstate.Term // the term with which its ledger's end was last asked for
	end       memberstate.Position
	pausing   uint32               // the newest pause
	wanted    bool                 // the group still waits for that pause
	unwilling bool                 // the next pause fails
	hangs     hang                 // what it does not return from
	pauses    []uint32             // that have been called while Pause hangs
	held      hang                 // what has been called meanwhile, and will return when it does not hang any more
	vouched   int64                // when it last vouched for itself by its work, or was asked whether it is well
	unwell    bool                 // it has said when it was asked that it is not well
	named     bool                 // the function that judges all engines of the node has named it
	flaps     flapping             // how its ability comes and goes
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
	// CarelessOverlap asks Heard, and remembers the terms with which its ledger's end was asked for,
	// but not the terms of the appends that it has accepted.
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

// restart forgets what is only in memory. A promise need not outlive the
// process that acknowledges: the machine's own term is durable before it asks for one.
func (e *engine) restart() {
	*e = engine{Engine: check.Engine{Ledger: e.Ledger, Slow: e.Slow}, flaps: e.flaps}
}

// ledgerEnd is what LedgerEnd returns.
func (e *engine) ledgerEnd(term memberstate.Term) memberstate.Position {
	e.voted = max(e.voted, term)
	e.Told = e.promise.End(term, e.Ledger.End)
	return e.Told
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
	if !m.Alive {
		return
	}
	w, e := m.world, &m.engine
	w.check.Serves(&m.Member, term)
	e.Leading, e.Running, e.Served, e.ending = term, term, term, false
	e.acked = [maxNodes]uint64{}
	m.touch()
	w.about(int64(w.choices.Span(choice.Tick, m.Index, 0, w.tick, w.tick)), engineTicks, m, uint32(term))
}

// EndLead ends the context of Lead. Its Lead takes a while to return.
func (m *member) EndLead(term memberstate.Term) {
	if m.Alive {
		m.world.check.Leaves(&m.Member, term)
	}
	m.engine.Leading, m.engine.ending, m.engine.Ending = 0, true, max(m.world.now, 1)
	if m.Alive {
		most := m.rules().Timing.Heartbeat + time.Duration(m.engine.Slow)
		m.world.about(int64(m.world.choices.Span(choice.Stop, m.Index, 0, most, 0)), leadReturns, m, m.Incarnation)
	}
}

// returned is called when Lead returns.
func (m *member) returned(incarnation uint32) {
	if !m.Alive || m.Incarnation != incarnation {
		return
	}
	if m.engine.holds(hangsLead) {
		return
	}
	term := m.engine.Running
	m.engine.Running, m.engine.Ending = 0, 0
	r := m.about(protocol.TellLeadReturned)
	r.Term = term
	m.ask(r)
}

// tick writes an entry and sends the ledger to all, as long as this node leads the term. An
// event has room for the lower half of a term only. That is enough, because two terms that this
// node serves never differ by a multiple of 2^32.
func (m *member) tick(half uint32) {
	w, e := m.world, &m.engine
	if running := uint32(e.Running); !m.Alive || running != half || e.Leading == 0 {
		return
	}
	w.about(int64(w.choices.Span(choice.Tick, m.Index, w.tick/2, w.tick*3/2, w.tick)), engineTicks, m, half)
	if m.Paused || !e.Stopped && !e.append(m) {
		return
	}
	for i := range w.nodes {
		if i != m.Index {
			w.network.ship(m, uint8(i), rpc.Heartbeat, e.Leading, e.Ledger)
		}
	}
}

// append writes an entry as a leader, and says whether it may.
func (e *engine) append(n *member) bool {
	before := e.Ledger
	accepted := e.accept(n.world.options.Careless, e.Leading, func() {
		e.Ledger.Write(e.Leading)
		e.acked[n.Index] = e.Ledger.End().Index
	})
	if accepted {
		n.world.check.Accepts(&n.Member, &before, e.Leading)
	}
	return accepted
}

// hear takes an append, or the answer to one.
func (m *member) hear(p *parcel) {
	if m.Paused || m.Shown.Stopped {
		return // the leader soon sends it again
	}
	if p.message.Kind == rpc.HeartbeatResponse {
		m.engine.acknowledged(m, p)
		return
	}
	e := &m.engine
	place := e.room()
	if place == mostWrites || !m.heard(p) && m.world.options.Careless != CarelessAlways || !m.Alive {
		return
	}
	e.writing[place] = addition{p.from, p.message.Term, p.ledger}
	most := m.world.longestWrite
	if m.slowDisk {
		most += m.rules().Timing.Detection()
	}
	takes := m.world.choices.Span(choice.Write, m.Index, 0, most, m.world.hurried(time.Millisecond))
	m.world.about(int64(takes), entriesWritten, m, m.Incarnation*mostWrites+uint32(place))
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

// heard asks the group whether an append may be accepted. An append of the leader that the member
// shows may be accepted at once, even while a step waits. One that tells the member something new waits
// for that step, and the machine's term may have risen by then: this append is given up, and sent again.
func (m *member) heard(p *parcel) bool {
	term, leader := p.message.Term, m.world.nodes[p.from].name()
	news, err := m.group.Hears(&m.Shown, term, leader, false)
	if err != nil {
		return false
	}
	m.told = !news
	m.host.At(m.local())
	m.host.Give(&m.group, &protocol.Input{Kind: protocol.Heard, Term: term, Seat: m.electorate.Members.Seat(leader)}, m.tell)
	m.endTurn()
	if !m.told || !m.Alive {
		return false
	}
	if _, err = m.group.Hears(&m.Shown, term, leader, true); err != nil {
		return false
	}
	m.engine.announced = max(m.engine.announced, term)
	return true
}

// wrote is called when an append gets to the ledger, and acknowledges it. If meanwhile the machine
// has asked where the ledger ends, for a later term, or an append of a later leader was accepted,
// this one is refused.
func (m *member) wrote(write uint32) {
	if !m.Alive || m.Incarnation != write/mostWrites {
		return
	}
	e := &m.engine
	added := e.writing[write%mostWrites]
	e.writing[write%mostWrites] = addition{}
	if added.term == 0 {
		return // the group has ended since it was heard
	}
	before := e.Ledger
	accepted := e.accept(m.world.options.Careless, added.term, func() {
		if !e.Ledger.Holds(&added.ledger) { // unless a newer append of this term was faster
			e.Ledger = added.ledger
		}
	})
	if !accepted {
		return
	}
	m.world.check.Accepts(&m.Member, &before, added.term)
	m.world.network.ship(m, added.from, rpc.HeartbeatResponse, added.term, ledger.Ledger{Term: added.ledger.Term, Last: added.ledger.Last})
}

// acknowledged notes how far a follower's ledger reaches. An entry of this term that a quorum has
// is committed, and so are all entries before it.
func (e *engine) acknowledged(n *member, p *parcel) {
	if e.Leading == 0 || p.message.Term != e.Leading {
		return
	}
	if p.ledger.Last <= e.acked[p.from] {
		return
	}
	e.acked[p.from] = p.ledger.Last
	n.world.check.Commits(&n.Member, e.acked[:])
}
