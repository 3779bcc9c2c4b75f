// A follower hears its leader, and waits when it does not.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func (m *Machine) onHeartbeat(r *Rules, in *Input, out *Output) {
	q := &in.Message
	switch {
	case !r.Voters.Has(q.From):
		m.reply(in, out, rpc.UnknownMember)
		return
	case q.From == r.Self:
		m.reply(in, out, rpc.UnexpectedMember)
		return
	case q.Term < m.Term:
		m.reply(in, out, rpc.ExpiredTerm)
		return
	case q.Term > m.Term:
		if m.learnsOfLeader(r, in, out) {
			return
		}
	case m.hasOtherLeader(q.From):
		m.reply(in, out, rpc.InconsistentLeader)
		return
	}
	if m.Leader == memberstate.Nobody {
		m.follow(out, q.From)
	}
	if q.RoundTrip > 0 {
		// The leader's measure, so that all who wait for their turn count in
		// the same slots.
		m.roundTrip = uint32(min(q.RoundTrip, r.longestRoundTrip()).Microseconds())
	}
	promised := m.promise(r, out, q.Lease)
	m.armSilence(r, out)
	m.reply(in, out, rpc.Success)
	out.Reply.Promised = promised
}

// learnsOfLeader adopts the larger term of a leader. A voter says that it was
// not ready and follows when it is told again, as in DLedger; an observer has
// nothing to get ready, and false is returned for it to go on.
func (m *Machine) learnsOfLeader(r *Rules, in *Input, out *Output) bool {
	term := m.Term
	m.adopt(r, out, in.Message.Term)
	// Its old promise, if it made one, was to a leader that a quorum has since
	// replaced: that lease is over.
	m.restartHold = false
	if m.Role == memberstate.Observer {
		return false
	}
	m.armSilence(r, out) // there is a leader: wait for it (D23)
	m.reply(in, out, rpc.TermNotReady)
	out.Reply.Term = term // as DLedger: the term that was not ready
	return true
}

// follow accepts the leader of the term and ends whatever campaign was on.
func (m *Machine) follow(out *Output, leader memberstate.Seat) {
	m.round.phase, m.round.judged = idle, WaitToRevote
	m.round.instantRevotes, m.fromHint = 0, false
	// Whom the forgotten promise was made to is this leader, by whom it stands
	// from now on for as long again, or one that a quorum has replaced by it.
	m.restartHold = false
	m.transition(out, m.Follow(leader))
}

// promise has this voter stand by a leader that has leases: for the longer of what
// the leader counts on and its own (D11). It need not have leases itself: they are
// turned on and off member by member, and a leader that has them serves with one or
// not at all, so it must not depend on who else has. The longest promise is durable before the
// answer is sent, because a restart forgets everything else. A lease that no valid timing has is
// not promised at all, because the leader would count on all of it.
func (m *Machine) promise(r *Rules, out *Output, lease time.Duration) bool {
	if lease <= 0 || lease > maxDetection || m.Role == memberstate.Observer {
		return false
	}
	if lease = max(lease, r.Lease); lease > m.Promise {
		m.transition(out, m.PromiseFor(lease))
		out.Save = true
	}
	return true
}

// armSilence waits for the leader's next sign of life, no shorter than the
// longest promise made in this term.
func (m *Machine) armSilence(r *Rules, out *Output) {
	wait := max(r.Timing.Detection(), m.Promise)
	m.arm(out, wait, wait)
}

// silence forgets a leader that has not been heard for too long. D12: a second
// alarm then waits for the turn to stand.
func (m *Machine) silence(r *Rules, out *Output) {
	if m.Leader == memberstate.Nobody {
		return // an observer without a leader waits for nothing
	}
	last := m.Leader
	m.transition(out, m.StandDown())
	if m.Role == memberstate.Candidate {
		m.armSlot(r, out, last)
	}
}

// heard is the engine's word for a heartbeat: the leader of a term has sent it
// an append. Nobody is answered.
func (m *Machine) heard(r *Rules, in *Input, out *Output) {
	if in.Term == 0 || in.Seat == r.Self || !r.Voters.Has(in.Seat) || in.Term < m.Term || in.Term == m.Term && m.hasOtherLeader(in.Seat) {
		out.Dropped = DropMalformed
		return
	}
	if in.Term > m.Term+memberstate.MaxTermStep { // D10
		out.Dropped = DropImpossibleTerm
		return
	}
	if in.Term > m.Term {
		m.adopt(r, out, in.Term)
	}
	if m.Leader == memberstate.Nobody {
		m.follow(out, in.Seat)
	}
	m.armSilence(r, out)
}

// peerLost takes the hint that a process is gone (D13). With leases it is no
// reason to break a promise. It counts once a term, and only with pre-vote: a
// leader that is alive after all vetoes the one that follows, so that whatever
// resets connections deposes nobody.
func (m *Machine) peerLost(r *Rules, in *Input, out *Output) {
	if !r.PreVote || m.bound(r) || m.Role != memberstate.Follower || in.Seat != m.Leader || m.hinted {
		return
	}
	m.hinted, m.fromHint = true, true
	m.silence(r, out)
}
