// Faults of engines: each group has one of its own at every node.

package simulation

import (
	"errors"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/check"
	"github.com/hustings/hustings/simulation/internal/choice"
	"github.com/hustings/hustings/simulation/invariant"
)

// drawSlowEngine strikes the leader's engine in half of the cases. If engines must vouch for themselves,
// half of those that are struck do so about as late as their word counts.
func drawSlowEngine(w *world, s *Strike) bool {
	drawLeaderOrNode(w, s)
	r := w.swarm.random
	s.Count = 1 + int64(w.swarm.span(w.options.Timing.Detection()))
	if v := int64(w.options.Vouch); v > 0 && r.IntN(2) == 0 {
		s.Count = v/2 + r.Int64N(v)
	}
	return true
}

// slowEngine has an engine take up to s.Count nanoseconds to find the end of its ledger, as long
// again to report it, as long for Pause, as long until Lead returns, and as long to say whether it is
// well. One that vouches by its work does so no more often than that.
func slowEngine(w *world, s *Strike) bool {
	for _, m := range w.membersOf(s) {
		m.engine.Slow = s.Count
		w.about(int64(s.Lasts), engineRecovers, m, 0)
	}
	w.tracer.lasts(s)
	return true
}

// failPause has an engine's next Pause fail. It is counted when it does.
func failPause(w *world, s *Strike) bool {
	for _, m := range w.membersOf(s) {
		m.engine.unwilling = true
	}
	return false
}

// returnFromLead has a leader's Lead return although its context has not ended.
func returnFromLead(w *world, s *Strike) (struck bool) {
	for _, m := range w.membersOf(s) {
		struck = m.returnsEarly() || struck
	}
	return struck
}

func (m *member) returnsEarly() bool {
	if !m.Alive || m.engine.Leading == 0 {
		return false
	}
	m.engine.Leading = 0
	m.does(func() {
		// Meanwhile its context may have ended, and then it returns a second time.
		if term := m.engine.Running; term != 0 && !m.engine.ending {
			m.engine.Running = 0
			m.host.LeadReturned(&m.group, term, true, nil)
		}
	})
	return true
}

// takes chooses how long a slow engine takes for something.
func (m *member) takes(kind choice.Kind) int64 {
	if m.engine.Slow == 0 {
		return 0
	}
	most := m.engine.Slow
	return int64(m.world.choices.Span(kind, m.Index, 0, time.Duration(most), time.Duration(most)))
}

// AskLedger asks the engine.
func (m *member) AskLedger(term memberstate.Term) {
	if m.asks++; m.asks > mostLedgers {
		m.world.check.Violated(invariant.NeverStuck, &m.Member, "it asks for the end of its ledger for term %d without end", term)
		return
	}
	m.world.check.AsksLedger(&m.Member, term)
	m.engine.asked, m.engine.Asking = term, max(m.world.now, 1)
	if m.engine.holds(hangsLedger) {
		m.world.about(int64(check.LedgerWithin*m.world.check.Detection()), ledgerOverdue, m, m.Incarnation)
		return
	}
	if m.engine.Slow == 0 {
		m.tellLedger(m.engine.ledgerEnd(term))
		return
	}
	m.world.about(m.takes(choice.Ledger), ledgerRead, m, m.Incarnation)
}

// ledgerIsOverdue is called when LedgerEnd should have returned long ago.
func (m *member) ledgerIsOverdue(incarnation uint32) {
	if m.Alive && m.Incarnation == incarnation {
		m.world.check.LedgerOverdue(&m.Member)
	}
}

// readLedger is called when a slow engine finds the end of its ledger. It reports it later.
func (m *member) readLedger(incarnation uint32) {
	m.unlessGone(incarnation, func() {
		m.engine.end = m.engine.ledgerEnd(m.engine.asked)
		m.world.about(m.takes(choice.Answer), ledgerAnswered, m, m.Incarnation)
	})
}

func (m *member) answerLedger(incarnation uint32) {
	switch {
	case m.engine.lapse.ledger != ledgerSound:
		m.unlessGone(incarnation, func() { m.tellLedger(m.engine.end) })
	case m.Incarnation == incarnation:
		r := m.about(protocol.TellLedgerEnd)
		r.Ledger, r.Term = m.engine.end, m.engine.announced
		m.engine.Asking, m.engine.Answered = 0, m.world.now
		m.engine.lapse.told = m.engine.asked
		m.ask(r)
	}
}

// unlessGone has the engine of an incarnation do something in a turn, now or when a pause ends,
// unless the incarnation has ended.
func (m *member) unlessGone(incarnation uint32, do func()) {
	if m.Alive && m.Incarnation == incarnation {
		m.does(do)
	}
}

// Pause has the engine accept no more writes, for a handover.
func (m *member) Pause(_ memberstate.Term, number uint32) {
	m.engine.pausing, m.engine.wanted, m.engine.Pausing = number, true, max(m.world.now, 1)
	m.world.check.Pauses(&m.Member)
	switch {
	case m.engine.holds(hangsPause):
		m.engine.pauses = append(m.engine.pauses, number)
		return
	case m.pausesLate(number):
		return
	case m.engine.Slow == 0:
		m.pauseEnds(number)
		return
	}
	m.world.about(m.takes(choice.Pause), writesPause, m, m.Incarnation<<pauseBits|number&(1<<pauseBits-1))
}

// pauseBits are enough for the pauses of one incarnation.
const pauseBits = 16

// slowPauseEnds is called when a slow engine has paused its writes.
func (m *member) slowPauseEnds(arg uint32) {
	if number := arg & (1<<pauseBits - 1); m.Incarnation&(1<<pauseBits-1) == arg>>pauseBits {
		m.unlessGone(m.Incarnation, func() { m.pauseEnds(number) })
	}
}

// pauseEnds reports the result of a pause, even if the group does not wait for it any more.
func (m *member) pauseEnds(number uint32) {
	e := &m.engine
	var err error
	switch {
	case number != e.pausing || !e.wanted:
		err = errUnwanted
	case e.unwilling:
		e.unwilling, err = false, errUnwilling
		m.world.swarm.struck[PauseFails]++
	default:
		e.Stopped = true
	}
	if number == e.pausing {
		e.Pausing = 0
	}
	m.host.PauseEnded(&m.group, number, err)
}

var (
	errUnwanted  = errors.New("the handover was given up")
	errUnwilling = errors.New("the engine does not pause its writes")
)

// Resume lets writes go on.
func (m *member) Resume() {
	m.engine.Stopped, m.engine.wanted = false, false
	m.world.check.Resumes(&m.Member)
}
