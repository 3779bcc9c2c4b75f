// A leader beats, counts its quorum, and learns of larger terms.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// office is what a leader counts. A beat is a round of heartbeats. The acknowledgements of several
// beats are kept: otherwise no beat would ever be complete where round trips are longer than the
// interval (D8).
type office struct {
	acks   [recentBeats]memberstate.Set // voters that answered each beat
	sticky memberstate.Set              // voters that promised the lease in their newest answer

	beat      uint32 // number of the newest beat; it goes on from one office to the next
	heardBeat uint32 // newest beat that a quorum answered
	leaseBeat uint32 // newest beat that a quorum answered with its promise; 0: none in this term
	challenge uint32 // beat of the newest attempt at a new term (D7)
	nextOffer uint32 // beat from which this member may hand over of its own accord

	declined     uint8 // handovers of its own accord, in a row, after which it still led or led again
	leaseVoid    bool  // this term will hold no lease any more (D14)
	inconsistent bool  // a voter answered the newest beat with INCONSISTENT_LEADER
	resent       bool  // the newest beat was sent early, for voters that were not ready
}

// recentBeats is how many beats a leader keeps, so it copes with round trips of up to that many
// intervals.
const recentBeats = 4

// takeOffice makes the winner of a round the leader of its term.
func (m *Machine) takeOffice(r *Rules, out *Output) {
	m.transition(out, m.Lead(r.Self))
	m.serving = true
	m.handover = Handover{}
	// D8: the beats of a term count from its election.
	elected, leak, declined := m.office.beat, uint32(r.Timing.Leak), m.offersDeclined()
	m.office = office{
		beat: elected, heardBeat: elected, challenge: elected - leak, nextOffer: elected + leak<<declined, declined: declined,
		sticky: memberstate.SetOf(r.Self),
	}
	m.hurry(r)
	m.sendBeat(r, out)
}

// sendBeat begins a new round of heartbeats.
func (m *Machine) sendBeat(r *Rules, out *Output) {
	m.countBeat(memberstate.SetOf(r.Self))
	m.office.inconsistent = false
	m.notReady = 0 // in a leader's round there are none, because pre-votes need no voter to be ready
	m.heardBy(r, m.office.beat)
	out.To = r.All.Without(r.Self)
	out.Send = Message{Leader: r.Self, Body: rpc.Body{
		Kind: rpc.Heartbeat, Round: m.office.beat, Term: m.Term, Lease: r.Lease, Detection: r.Timing.Detection(), RoundTrip: m.measured(), Unable: m.allUnable(r),
	}}
	interval := m.interval(r)
	m.arm(out, interval, interval)
}

// countBeat gives the next beat its number. These members have answered it.
func (m *Machine) countBeat(answered memberstate.Set) {
	if m.office.beat++; m.office.beat == 0 { // zero means none, so no lease may begin with it
		m.office.beat++
	}
	m.office.acks[m.office.beat%recentBeats] = answered
}

// onBeat is the leader's alarm: it sends the next beat, if this member still leads.
func (m *Machine) onBeat(r *Rules, in *Input, out *Output) {
	if m.lacksQuorum(r) {
		m.loseOffice(r, out)
		return
	}
	if m.round.phase != idle && m.office.beat-m.office.challenge >= uint32(r.Timing.Leak) {
		m.round.phase = idle
		m.makeWay(r, out)
	}
	m.waitForHandover(r, out)
	if m.Role == memberstate.Leader {
		if m.giveWay(r, in, out); out.NeedLedger {
			return
		}
		m.office.resent = false
		m.sendBeat(r, out)
	}
}

// lacksQuorum says that no quorum follows this leader any more. Either none has answered for a
// detection time, or none has answered the newest beat and a voter follows another leader of the
// term.
func (m *Machine) lacksQuorum(r *Rules) bool {
	silent := m.office.beat-m.office.heardBeat >= uint32(r.Timing.Leak)
	contested := m.office.inconsistent && m.office.heardBeat != m.office.beat
	return silent || contested
}

// stepDown ends the office within its term. D2: the vote of the term is kept, because it may have
// elected a leader; and the term is spent.
func (m *Machine) stepDown(out *Output) {
	m.leave(out)
	m.transition(out, m.StandDown())
}

// loseOffice ends the office of a leader that its quorum or its lease has left. It stands again
// after all others; if it was about to resign, it rests. Otherwise its followers, whose leader it
// still is, might elect it again at once.
func (m *Machine) loseOffice(r *Rules, out *Output) {
	resigning := m.handover.Resigning
	m.stepDown(out)
	m.expected = 0
	if resigning {
		m.armRest(r, out)
	} else {
		m.armSlot(r, out, r.Self)
	}
}

func (m *Machine) onHeartbeatResponse(r *Rules, in *Input, out *Output) {
	q := &in.Message
	switch {
	case !r.Voters.Has(q.From):
		return // an observer's answer counts for nothing
	case m.Role != memberstate.Leader || q.Asked != m.Term:
		out.Dropped = DropStaleAnswer
		return
	case q.Result == rpc.NotAble: // it answers no beat
		m.hearsAbility(q)
		return
	case m.office.beat-q.Round >= recentBeats: // it wraps for a beat that was never sent
		out.Dropped = DropStaleAnswer
		return
	}
	m.observe(r, in.RoundTrip)
	m.hearsAbility(q)
	switch q.Result {
	case rpc.Success:
		m.acknowledge(r, q)
		if !m.beatAgain(r, out) {
			m.onVoterAlive(r, in, out)
		}
	case rpc.TermNotReady:
		if q.Round == m.office.beat && m.round.phase == idle {
			m.notReady = m.notReady.With(q.From)
		}
		m.beatAgain(r, out)
	case rpc.ExpiredTerm:
		m.accused(r, in, out)
	case rpc.InconsistentLeader:
		m.office.inconsistent = m.office.inconsistent || q.Round == m.office.beat
	default: // the answer of a member that does not know this one says nothing about the others
	}
}

// acknowledge credits an answer to the beat that it answers, and to no other.
func (m *Machine) acknowledge(r *Rules, q *Message) {
	if q.Promised {
		m.office.sticky = m.office.sticky.With(q.From)
	} else {
		m.office.sticky = m.office.sticky.Without(q.From)
	}
	acks := &m.office.acks[q.Round%recentBeats]
	*acks = acks.With(q.From)
	m.heardBy(r, q.Round)
}

// heardBy notes it if a quorum has now answered a beat. If these voters have promised the lease,
// it runs from when that beat was sent.
func (m *Machine) heardBy(r *Rules, beat uint32) {
	acks := m.office.acks[beat%recentBeats]
	if acks.Len() >= r.quorum() {
		m.office.heardBeat = newer(m.office.heardBeat, beat)
	}
	if r.Lease > 0 && !m.office.leaseVoid && (acks&m.office.sticky).Len() >= r.quorum() {
		m.office.leaseBeat = newer(m.office.leaseBeat, beat)
	}
}

// beatAgain sends the next beat at once when a quorum has answered or is ready by now, but some
// voters did not follow because they lacked the term. It does so once between two alarms.
func (m *Machine) beatAgain(r *Rules, out *Output) bool {
	if m.notReady == 0 || m.office.resent {
		return false
	}
	acks := m.office.acks[m.office.beat%recentBeats]
	if acks.Len() >= r.quorum() || (acks|m.notReady).Len() < r.quorum() {
		return false
	}
	m.office.resent = true
	m.sendBeat(r, out)
	return true
}

// accused handles a voter's answer that its term is larger. D7: the leader neither gives up nor
// leaves that voter stuck. It asks for votes above that term while it goes on leading, and steps
// down in the step that raises the term.
func (m *Machine) accused(r *Rules, in *Input, out *Output) {
	if in.Message.Term <= m.Term {
		return
	}
	m.learn(in.Message.Term)
	m.renew(r, in, out)
}

// renew makes a leader ask for a new term for itself, at most once in a detection time.
func (m *Machine) renew(r *Rules, in *Input, out *Output) {
	if m.handover.Phase != NoHandover || m.round.phase != idle || m.office.beat-m.office.challenge < uint32(r.Timing.Leak) {
		return
	}
	m.askPreVotes(r, in, out, max(m.Term, m.known)+1)
}

// makeWay ends the office of a leader whose term can hold no lease any more, if it was refused
// another term by a voter with a better ledger. Otherwise it would lead on and never serve, and no
// other member would stand against it.
func (m *Machine) makeWay(r *Rules, out *Output) {
	if r.Lease > 0 && m.office.leaseVoid && m.round.bigger != 0 {
		m.stepDown(out)
		m.armRest(r, out)
	}
}

// lapsed handles the end of the lease, or of an office in which LedgerEnd did not return. The engine's
// Lead of this term has ended with it and is not called again, so the term ends, too.
func (m *Machine) lapsed(r *Rules, out *Output) {
	if m.Role == memberstate.Leader {
		m.loseOffice(r, out)
	}
}
