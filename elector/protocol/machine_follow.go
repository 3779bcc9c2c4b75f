// A follower hears its leader, and waits when it does not.
//
// With leases it also promises to stand by the leader (D11): for a while it refuses other
// candidates, and the leader serves because a quorum does so. The argument that this survives
// crashes has three parts:
//
//   - The longest promise of the term is durable before the answer that gives it is sent. A member
//     that restarts has forgotten everything else about it, so it waits that long before it
//     votes (restartHold).
//   - It may vote sooner once it hears a leader. The forgotten promise was made either to this
//     leader, which it now promises again for a full lease, or to one that a quorum has since
//     replaced, whose lease is therefore over.
//   - A larger term is adopted from a leader for the same reason: a quorum has elected it.
//
// A voter promises even if leases are turned off for it. They are turned on and off member by
// member, and a leader that has them serves only while it holds one, so it must not depend on
// the configuration of the others. It promises for the longer of the leader's lease and its own.

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
		m.reply(r, in, out, rpc.UnknownMember)
		return
	case q.From == r.Self:
		m.reply(r, in, out, rpc.UnexpectedMember)
		return
	case q.Term < m.Term:
		m.reply(r, in, out, rpc.ExpiredTerm)
		return
	case q.Term > m.Term:
		m.expect(q.Detection)
		if m.learnsOfLeader(r, in, out) {
			return
		}
	case m.hasOtherLeader(q.From):
		m.reply(r, in, out, rpc.InconsistentLeader)
		return
	}
	if m.Leader == memberstate.Nobody {
		m.follow(out, q.From)
	}
	if q.RoundTrip > 0 {
		// The leader's measurement, so that all members that wait for their turn count in the
		// same slots.
		m.roundTrip = uint32(min(q.RoundTrip, r.longestRoundTrip()).Microseconds())
	}
	m.unable = q.Unable & r.others()
	m.expect(q.Detection)
	promised := m.promise(r, out, q.Lease)
	m.armSilence(r, out)
	m.reply(r, in, out, rpc.Success)
	out.Reply.Promised = promised
}

// learnsOfLeader adopts the larger term of a leader. As in DLedger, a voter answers that it was
// not ready, and follows at the next heartbeat. An observer has nothing to get ready: false is
// returned, and it follows at once.
func (m *Machine) learnsOfLeader(r *Rules, in *Input, out *Output) bool {
	term := m.Term
	m.adopt(r, out, in.Message.Term)
	// Any old promise was to a leader that a quorum has since replaced: that lease is over.
	m.restartHold = false
	if m.Role == memberstate.Observer {
		return false
	}
	m.armSilence(r, out) // there is a leader: wait for it (D23)
	m.reply(r, in, out, rpc.TermNotReady)
	out.Reply.Term = term // as DLedger: the term that was not ready
	return true
}

// follow accepts the leader of the term and ends any campaign.
func (m *Machine) follow(out *Output, leader memberstate.Seat) {
	m.round.phase, m.round.instantRevotes, m.fromHint = idle, 0, false
	// Any forgotten promise was to this leader, or to one that a quorum has since replaced.
	m.restartHold = false
	m.transition(out, m.Follow(leader))
}

// promise makes this voter stand by a leader that has leases, and says whether it does. A lease
// longer than any valid timing is not promised at all, because the leader would count on all of it.
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

// armSilence waits for the leader's next sign of life, as long as its detection time or the leader's
// lasts, and at least as long as the longest promise made in this term.
func (m *Machine) armSilence(r *Rules, out *Output) {
	wait := m.silenceWait(r)
	m.arm(out, wait, wait)
}

func (m *Machine) silenceWait(r *Rules) time.Duration {
	return max(r.Timing.Detection(), m.expects(), m.Promise)
}

// silence forgets a leader that has been silent for too long. A second alarm then waits for this
// member's turn to stand (D12).
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

// heard takes an append, which the engine received from the leader of a term, as a heartbeat
// without an answer.
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

// peerLost takes the hint that a process is gone (D13). It never breaks the promise of a lease. It
// counts once a term, and only with pre-vote: a leader that is alive after all vetoes the pre-vote
// that follows, so a device that resets connections deposes no leader.
func (m *Machine) peerLost(r *Rules, in *Input, out *Output) {
	if !r.PreVote || m.bound(r) || m.Role != memberstate.Follower || in.Seat != m.Leader || m.hinted {
		return
	}
	m.hinted, m.fromHint = true, true
	m.silence(r, out)
}
