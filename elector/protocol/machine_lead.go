// A leader beats, counts its quorum, and learns of larger terms.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// takeOffice makes the winner of a round the leader of its term.
func (m *Machine) takeOffice(r *Rules, out *Output) {
	m.did(out, m.Lead(r.Self))
	m.serving = true
	// D8: the beats of a term count from its election.
	m.heardBeat, m.leaseBeat = m.beat, 0
	m.acks = [recentBeats]memberstate.Set{}
	m.sticky = memberstate.SetOf(r.Self)
	m.leaseVoid, m.resent, m.inconsistent = false, false, false
	m.handover, m.target, m.resigning, m.declined = NoHandover, memberstate.Nobody, false, 0
	m.challenge = m.beat - uint32(r.Timing.Leak)
	m.courtesy = m.beat + uint32(r.Timing.Leak)
	m.sendBeat(r, out)
}

// sendBeat begins a new round of heartbeats.
func (m *Machine) sendBeat(r *Rules, out *Output) {
	m.beat++
	m.acks[m.beat%recentBeats] = memberstate.SetOf(r.Self)
	m.inconsistent = false
	if m.phase == idle {
		m.notReady = 0
	}
	m.heardBy(r, m.beat)
	out.To = r.All.Without(r.Self)
	out.Send = Message{Leader: r.Self, Body: rpc.Body{
		Kind: rpc.Heartbeat, Round: m.beat, Term: m.Term, Lease: r.Lease, RoundTrip: m.measured(),
	}}
	m.arm(out, r.Timing.Heartbeat, r.Timing.Heartbeat)
}

// onBeat is the leader's alarm: time for the next beat, if it still leads.
func (m *Machine) onBeat(r *Rules, out *Output) {
	silent := m.beat-m.heardBeat >= uint32(r.Timing.Leak)
	contested := m.inconsistent && m.heardBeat != m.beat
	if silent || contested {
		m.stepDown(out)
		m.armSlot(r, out, r.Self)
		return
	}
	if m.phase != idle && m.beat-m.challenge >= uint32(r.Timing.Leak) {
		m.phase = idle
		if m.makeWay(r, out) {
			return
		}
	}
	m.waitForHandover(r, out)
	if m.Role == memberstate.Leader {
		m.resent = false
		m.sendBeat(r, out)
	}
}

// stepDown ends the office within its term. D2: the vote of the term is kept, for
// it has been given and may have elected someone; and the term is spent.
func (m *Machine) stepDown(out *Output) {
	m.leave(out)
	m.did(out, m.StandDown())
}

func (m *Machine) onHeartbeatResponse(r *Rules, in *Input, out *Output) {
	q := &in.Message
	switch {
	case !r.Voters.Has(q.From):
		return // an observer's answer counts for nothing
	case m.Role != memberstate.Leader || q.Asked != m.Term || m.beat-q.Round >= recentBeats:
		// m.beat-q.Round wraps for a beat that was never sent.
		out.Dropped = DropStaleAnswer
		return
	}
	m.observe(r, in.RoundTrip)
	switch q.Result {
	case rpc.Success:
		m.acknowledge(r, q)
		if !m.beatAgain(r, out) {
			m.onward(r, in, out)
		}
	case rpc.TermNotReady:
		if q.Round == m.beat && m.phase == idle {
			m.notReady = m.notReady.With(q.From)
		}
		m.beatAgain(r, out)
	case rpc.ExpiredTerm:
		m.accused(r, in, out)
	case rpc.InconsistentLeader:
		m.inconsistent = m.inconsistent || q.Round == m.beat
	default: // the answer of one who does not know this member says nothing about the others
	}
}

// acknowledge credits an answer to the beat that it answers, and to no other.
func (m *Machine) acknowledge(r *Rules, q *Message) {
	if q.Promised && r.Lease > 0 {
		m.sticky = m.sticky.With(q.From)
	} else {
		m.sticky = m.sticky.Without(q.From)
	}
	acks := &m.acks[q.Round%recentBeats]
	*acks = acks.With(q.From)
	m.heardBy(r, q.Round)
}

// heardBy notes if a quorum has now answered a beat. The lease runs from when
// that beat was sent, if those who answered have promised it.
func (m *Machine) heardBy(r *Rules, beat uint32) {
	acks := m.acks[beat%recentBeats]
	if acks.Len() >= r.quorum() {
		m.heardBeat = max(m.heardBeat, beat)
	}
	if r.Lease > 0 && !m.leaseVoid && (acks&m.sticky).Len() >= r.quorum() {
		m.leaseBeat = max(m.leaseBeat, beat)
	}
}

// LeaseBeat is the beat from whose sending the leader's lease runs, zero if it
// holds none.
func (m *Machine) LeaseBeat() uint32 {
	if m.Role != memberstate.Leader || m.leaseVoid {
		return 0
	}
	return m.leaseBeat
}

// beatAgain sends the next beat at once when a quorum has answered or is ready
// now, but did not follow for want of the term. Once between two alarms.
func (m *Machine) beatAgain(r *Rules, out *Output) bool {
	if m.notReady == 0 || m.resent || m.phase != idle {
		return false
	}
	acks := m.acks[m.beat%recentBeats]
	if acks.Len() >= r.quorum() || (acks|m.notReady).Len() < r.quorum() {
		return false
	}
	m.resent = true
	m.sendBeat(r, out)
	return true
}

// accused: a voter has answered that its term is larger. D7: the leader does not
// give up, and does not leave that voter stuck either. It asks for votes above
// that term while it goes on leading, and steps down in the step that raises.
func (m *Machine) accused(r *Rules, in *Input, out *Output) {
	if in.Message.Term <= m.Term {
		return
	}
	m.learn(in.Message.Term)
	m.renew(r, in, out)
}

// renew has a leader ask for a new term for itself, once in a detection time.
func (m *Machine) renew(r *Rules, in *Input, out *Output) {
	if m.handover != NoHandover || m.phase != idle || m.beat-m.challenge < uint32(r.Timing.Leak) {
		return
	}
	m.askPreVotes(r, in, out, max(m.Term, m.known)+1)
}

// makeWay ends the office of a leader that was refused another term by a voter with more
// in its ledger, if its own term can hold no lease any more: it would lead on and never
// serve, and nobody would stand against it.
func (m *Machine) makeWay(r *Rules, out *Output) bool {
	if r.Lease == 0 || !m.leaseVoid || m.bigger == 0 {
		return false
	}
	m.stepDown(out)
	m.armRest(r, out)
	return true
}

// lapsed: the lease has run out. The engine's Lead of this term ends with it and
// is not called again, so the term ends too.
func (m *Machine) lapsed(r *Rules, out *Output) {
	if m.Role == memberstate.Leader && r.Lease > 0 {
		m.stepDown(out)
		m.armSlot(r, out, r.Self)
	}
}
