// A voter decides on a request for its vote, in a fixed order and with a name for every refusal.
//
// A voter that has a leader refuses a request before it adopts a larger term, so that a larger term
// alone cannot depose a healthy leader. What the request must show depends on what binds the voter:
//
//   - A promise that the voter may have forgotten in a crash binds it until the promise has run out,
//     or it hears a leader (machine_follow.go). No request overcomes that.
//   - A lease binds it until the leader has been silent for too long or hands over (D11, D14; docs/protocol.md
//     lists these deviations).
//   - With pre-vote and without a lease, the candidate must have just won a pre-vote for a larger
//     term, which shows that a quorum had no leader (D4), or the leader must have handed over to it.
//   - With neither, a larger term is adopted. Its candidate has to ask once more for the vote (D3),
//     unless it has won a pre-vote or the leader has handed over to it.
//
// Whatever binds it, a voter refuses every pre-vote while it has another leader: the candidate asks
// whether there is a reason for an election, and the voter sees none.
//
// A request for a pre-vote is decided in the same order. It changes nothing but when this member itself
// asks next, see yields.

package protocol

import (
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func (m *Machine) onVoteRequest(r *Rules, in *Input, out *Output) {
	if m.Role == memberstate.Observer {
		out.Dropped = DropNotForObservers
		return
	}
	term := m.Term
	result := m.arbitrate(r, in, out, false)
	m.reply(r, in, out, result)
	switch result {
	case rpc.RejectTermNotReady:
		out.Reply.Term = term // as DLedger: the term that was not ready
	case rpc.RejectTermSmallThanLedger:
		out.Reply.Term = in.Ledger.Term
	default: // the voter's own term, as in every answer
	}
}

// arbitrate decides a request for a vote, and gives the vote if the result is Accept. The flag
// self says that the member asks itself.
func (m *Machine) arbitrate(r *Rules, in *Input, out *Output, self bool) rpc.Result {
	q := &in.Message
	preVote := q.Mark == rpc.PreVote
	switch {
	case !r.Voters.Has(q.From):
		return rpc.RejectUnknownLeader
	case q.From == r.Self && !self:
		return rpc.RejectUnexpectedLeader
	case q.Term < m.Term:
		return rpc.RejectExpiredVoteTerm
	case m.standsByLeader(r, q):
		return rpc.RejectAlreadyHasLeader
	case q.Term > m.Term && !preVote:
		if !m.getsReady(r, q, out) {
			return rpc.RejectTermNotReady
		}
	case q.Term == m.Term && m.Vote != memberstate.Nobody && m.Vote != q.From:
		if m.Leader != memberstate.Nobody {
			return rpc.RejectAlreadyHasLeader
		}
		return rpc.RejectAlreadyVoted
	}
	mine, ok := m.ledger(in, out)
	if !ok {
		return 0 // the step is undone, with its answer, and repeated
	}
	result := compareLedgers(mine, q)
	switch {
	case preVote:
		if result == rpc.Accept && m.isAboutToLead(r, q) {
			result = rpc.RejectTakingLeadership
		} else if result == rpc.Accept && !self {
			m.yields(r, out)
		}
	case result == rpc.Accept:
		m.giveVote(r, out, q.From)
	default:
		// D20: the candidate has its own vote of this term, and others like it may have given it
		// theirs. So this member stands in a larger term, where all votes are still to be had.
		m.round.judged = WaitToVoteNext
	}
	return result
}

// standsByLeader says whether a request is refused because this member has a leader, or may have
// promised to stand by one.
func (m *Machine) standsByLeader(r *Rules, q *Message) bool {
	switch {
	case m.restartHold: // it may have promised a lease, and has forgotten to which leader
		return true
	case !m.hasOtherLeader(q.From) || m.honours(q):
		return false
	case m.bound(r), q.Mark == rpc.PreVote: // D11: voters are sticky
		return true
	default: // D4: only the winner of a pre-vote may depose a leader that is not silent
		return r.PreVote && q.Mark != rpc.Won && q.Term > m.Term
	}
}

// getsReady adopts the larger term of a candidate, and says whether the candidate may have the
// vote at once. D3: a candidate that has just won a pre-vote for this term, or to which the
// leader of the last term has handed over, need not ask twice. A member that is not able lets others
// stand first if that candidate fails, above all a leader to which an heir was preferred (D26).
func (m *Machine) getsReady(r *Rules, q *Message, out *Output) bool {
	honoured := q.Mark == rpc.Won || m.honours(q)
	waits, last := m.waitsToStand(r), m.Leader
	m.adopt(r, out, q.Term)
	switch {
	case last != memberstate.Nobody && m.standsLast(r, last):
		m.armRest(r, out)
	case !waits:
		m.armVoteWait(r, out)
	}
	return honoured
}

// giveVote gives the vote of the term, unless the same candidate has it already.
func (m *Machine) giveVote(r *Rules, out *Output, candidate memberstate.Seat) {
	if m.Vote != memberstate.Nobody {
		return
	}
	m.transition(out, m.VoteFor(candidate))
	out.Save = true
	if m.Role == memberstate.Candidate && candidate != r.Self {
		m.armVoteWait(r, out) // leave the winner time to announce itself (D24)
	}
}

// waitsToStand says whether this member waits for its next attempt, in a term in which it has not
// voted. That wait leaves a candidate time to ask again. It is not restarted for every term that
// the member adopts (D19): otherwise candidates that it does not vote for could keep it from
// standing for ever.
func (m *Machine) waitsToStand(r *Rules) bool {
	return m.round.phase == idle && m.Vote == memberstate.Nobody && m.MayStand(r.Self)
}

// isAboutToLead says whether this member was asked to take over, or has an earlier turn. It then
// refuses a pre-vote (D25): as the heir until its one round ends, by its turn until a voter has
// refused it. So it keeps no equally good candidate out for long. It refuses no vote for this reason:
// the heir has given its vote to itself, and a member that only asks for pre-votes may vote for another.
func (m *Machine) isAboutToLead(r *Rules, q *Message) bool {
	return m.round.phase == voting && m.round.mark == rpc.Handed || m.goesFirst(r, q)
}

// goesFirst says whether this member asks for the same term, and its turn is earlier: after a lost
// message its round lasts into the other candidate's slot (D12). It no longer insists once a voter
// has refused it. What it knows of the other's ability may be old: if two members believed of each other that
// they are not able, and insisted because of that, they would refuse each other for ever. So its turn must be
// earlier in the order that both know, too.
func (m *Machine) goesFirst(r *Rules, q *Message) bool {
	return r.Ranks && m.round.phase == preVoting && m.Role == memberstate.Candidate && m.round.asked == q.Term && m.round.answered == m.round.accepted &&
		m.place(r, r.Self) < m.place(r, q.From) &&
		m.turn(r, r.Self, memberstate.Nobody) < m.turn(r, q.From, memberstate.Nobody)
}

// compareLedgers compares the candidate's ledger with this member's.
func compareLedgers(mine memberstate.Position, q *Message) rpc.Result {
	switch {
	case q.Ledger.Term < mine.Term:
		return rpc.RejectExpiredLedgerTerm
	case q.Ledger.Term == mine.Term && q.Ledger.Index < mine.Index:
		return rpc.RejectSmallLedgerEndIndex
	case q.Term < mine.Term:
		return rpc.RejectTermSmallThanLedger
	}
	return rpc.Accept
}

// bound says whether this voter stands by its leader because of a lease. A promise binds it even
// if leases were turned off by a restart since.
func (m *Machine) bound(r *Rules) bool { return r.Lease > 0 || m.Promise > 0 }

// honours says whether a request comes from the candidate to which the leader of this very term
// has handed over (D14). The leader itself knows that candidate; a follower takes the candidate's
// word. That word is worth nothing if it was given in another term or by another leader.
func (m *Machine) honours(q *Message) bool {
	if q.Mark != rpc.Handed || q.Leader != m.Leader || q.Term != m.Term+1 {
		return false
	}
	return m.Role == memberstate.Follower || m.handover.Phase == Taking && m.handover.Target == q.From
}
