// Engines that break their contract, or receive appends that do. A group whose ledger cannot be
// relied on must end with an error that names the cause, and must not harm the other groups of its
// node. Late answers and stray appends must change nothing.

package simulation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
	"github.com/hustings/hustings/simulation/trace"
)

// lapse is what an engine does wrong when it is next asked.
type lapse struct {
	ledger  ledgerLapse
	broke   bool             // it has broken its contract, so its group ends
	away    time.Duration    // how long its group is gone then
	belated bool             // it does not answer the next Pause
	late    uint32           // the Pause that it has not answered yet; 0: none
	told    memberstate.Term // the term with which the ledger's end was last reported
	why     error            // the error with which its group has ended
}

// recover has an engine keep its contract from now on.
func (e *engine) recover() {
	e.Slow, e.flaps, e.unwilling, e.lapse.ledger, e.lapse.belated = 0, flapping{}, false, ledgerSound, false
}

// ledgerLapse is how LedgerEnd breaks its contract.
type ledgerLapse int64

const (
	ledgerSound   ledgerLapse = iota
	ledgerFails               // it returns an error
	ledgerShrinks             // it has lost what it had
	ledgerAhead               // it ends in a term that the engine has not been told of
	ledgerGrows               // it has taken an entry of an older term than it may

	ledgerLapses
)

func drawLedger(w *world, s *Strike) bool {
	drawLeaderOrNode(w, s)
	s.Count = 1 + w.swarm.random.Int64N(int64(ledgerLapses)-1)
	return true
}

// breakLedger has an engine's LedgerEnd break its contract, as s.Count says, when it is next
// called. The process is restarted after s.Lasts. The strike is counted when the group has ended.
func breakLedger(w *world, s *Strike) bool {
	for _, m := range w.membersOf(s) {
		m.engine.lapse.ledger, m.engine.lapse.away = ledgerLapse(s.Count), s.Lasts
	}
	return false
}

// tellLedger answers the question where the ledger ends.
func (m *member) tellLedger(end memberstate.Position) {
	e, g := &m.engine, &m.group
	if e.Asking < m.world.now {
		e.Answered = m.world.now
	}
	e.Asking = 0
	asked := e.lapse.told
	e.lapse.told = e.asked
	if e.lapse.ledger == ledgerSound || m.Shown.Stopped {
		m.host.LedgerEnd(g, end, e.announced, nil)
		return
	}
	var err error
	switch before := g.LedgerEnd(); {
	case e.lapse.ledger == ledgerFails:
		end, err = memberstate.Position{}, errLedger
	case e.lapse.ledger == ledgerShrinks && before.Index > 0 && e.announced < asked:
		end = memberstate.Position{}
	case e.lapse.ledger == ledgerGrows && before.Index > 0 && before.Term < asked && e.announced < asked:
		end = memberstate.Position{Term: before.Term, Index: before.Index + 1}
	default: // a later leader that was heard may shorten the ledger, and send entries of older terms
		end = memberstate.Position{Term: g.Term + 1, Index: end.Index}
	}
	e.lapse.broke = true
	m.host.LedgerEnd(g, end, e.announced, err)
	if m.Alive {
		m.endsFor(err)
	}
}

// endsFor demands that the group has ended because of its engine's error or its ledger, and that no
// other group has.
func (m *member) endsFor(cause error) {
	w, e := m.world, &m.engine
	c, l := &w.check, &e.lapse
	c.Counts[invariant.LegalStep]++
	broken, contradicts := errors.AsType[*protocol.LedgerError](l.why)
	switch {
	case !m.Shown.Stopped:
		c.Violated(invariant.LegalStep, &m.Member, "it continues although its ledger is unreliable")
	case cause != nil && !errors.Is(l.why, cause),
		cause == nil && (!contradicts || broken.Group != m.group.Name() || !strings.Contains(broken.Error(), broken.Problem)):
		c.Violated(invariant.LegalStep, &m.Member, "it ended because of its ledger, but its error is: %v", l.why)
	case e.Leading != 0 || m.Lease.Term != 0:
		c.Violated(invariant.OneOffice, &m.Member, "it ended because of its ledger, but its engine still serves term %d", e.Leading)
	}
	for place := range m.members {
		if o := &m.members[place]; o.failed() && o.engine.lapse.why == nil {
			c.Violated(invariant.LegalStep, &o.Member, "it ended because of another group's ledger")
		}
	}
	w.swarm.struck[LedgerBreaks]++
	w.tracer.happened(m.node, trace.Struck, fmt.Sprintf("a group ends: %v", l.why))
	if m.failures() == 1 { // the first failure brings an operator
		w.follow(l.away, Strike{Fault: Crash, Node: m.Index, Lasts: l.away})
	}
}

// failed says whether the group has ended by itself while its process goes on.
func (m *member) failed() bool { return m.Shown.Stopped && (m.away == 0 || m.engine.lapse.broke) }

// failures counts the groups of the node that have failed.
func (n *node) failures() (failed int) {
	for place := range n.members {
		if n.members[place].failed() {
			failed++
		}
	}
	return failed
}

// answerLate has an engine withhold its next answer to Pause until it is asked to pause again, for
// another handover, and then report that the first pause has succeeded. The strike is counted then.
func answerLate(w *world, s *Strike) bool {
	for _, m := range w.membersOf(s) {
		m.engine.lapse.belated = true
	}
	return false
}

// pausesLate says whether the engine answers this Pause late. It answers the second Pause one
// heartbeat after the first.
func (m *member) pausesLate(number uint32) bool {
	l := &m.engine.lapse
	switch late := l.late; {
	case late != 0:
		l.late = 0
		m.world.swarm.struck[LateAnswer]++
		m.host.PauseEnded(&m.group, late, nil)
		m.world.about(int64(m.rules().Timing.Heartbeat), writesPause, m, m.Incarnation<<pauseBits|number&(1<<pauseBits-1))
		return true
	case l.belated:
		l.belated, l.late = false, number
		return true
	}
	return false
}

// answersNow has an engine give an answer to Pause that it has withheld, because a group that is
// being stopped waits for it.
func (m *member) answersNow() {
	if late := m.engine.lapse.late; late != 0 && m.Alive {
		m.engine.lapse.late = 0
		m.does(func() { m.pauseEnds(late) })
	}
}

// drawAppend has s.Count say what is wrong with the append.
func drawAppend(w *world, s *Strike) bool {
	s.Lasts, s.Count = 0, w.swarm.random.Int64N(strayAppends)
	return true
}

const strayAppends = 4

// strayAppend sends engines appends that no leader can have sent. Their groups must not allow them
// to accept these.
func strayAppend(w *world, s *Strike) (struck bool) {
	for _, m := range w.membersOf(s) {
		struck = m.hearsStray(s.Count) || struck
	}
	return struck
}

func (m *member) hearsStray(how int64) bool {
	w := m.world
	term, leader := m.group.State().Term+1, m.Seat%memberstate.Seat(w.options.Members)+1 // another voter
	switch how {
	case 0:
		term += memberstate.MaxTermStep
	case 1: // another leads this term
		if term = m.Shown.Term; m.Shown.Leader == memberstate.Nobody || m.Shown.Leader == leader {
			return false
		}
	case 2:
		leader = memberstate.Stranger
	default:
		leader = m.Seat
	}
	if term < m.group.State().Term || leader == m.Seat && how < 2 {
		return false // there is no such term, or no other voter
	}
	id := "stranger"
	if leader != memberstate.Stranger {
		id = m.electorate.Members.ID(leader)
	}
	return m.inVain("an append by one that does not lead", func() {
		news, err := m.group.Hears(&m.Shown, term, id, false)
		if news {
			m.host.Give(&m.group, &protocol.Input{Kind: protocol.Heard, Term: term, Seat: leader}, nil)
			_, err = m.group.Hears(&m.Shown, term, id, true)
		}
		if err == nil {
			w.check.Violated(invariant.FollowsWinner, &m.Member, "its engine may accept an append of term %d from %s, which does not lead that term", term, id)
		}
	})
}

var errLedger = errors.New("the disk of the ledger cannot be read")
