// A voter is asked. Arbitration has a fixed order, and a name for every refusal.

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
	if out.NeedLedger {
		return
	}
	m.reply(in, out, result)
	switch result {
	case rpc.RejectTermNotReady:
		out.Reply.Term = term // as DLedger: the term that was not ready
	case rpc.RejectTermSmallThanLedger:
		out.Reply.Term = in.Ledger.Term
	default: // the voter's own term, as in every answer
	}
}

// arbitrate decides a request for a vote, and gives it if the result is Accept. It is self
// if the member asks itself.
//
// A request for a pre-vote (D4) is decided alike and changes nothing: what would be the
// answer to a request for a vote in that term, and does this voter see a reason for an
// election at all?
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
		return 0 // the step is repeated
	}
	result := holdAgainst(mine, q)
	switch {
	case preVote:
		if result == rpc.Accept && m.isAboutToLead(r, q) {
			result = rpc.RejectTakingLeadership
		}
	case result == rpc.Accept:
		m.giveVote(r, out, q.From)
	default:
		// D20: of this term the candidate has its own vote, and may have those of others
		// like it. This member stands in a larger one, where all are still to be had.
		m.round.judged = WaitToVoteNext
	}
	return result
}

// standsByLeader says whether a request is refused because this member has a leader, or
// may have promised to stand by one. A larger term is not adopted then, so that the
// request cannot depose a healthy leader.
func (m *Machine) standsByLeader(r *Rules, q *Message) bool {
	switch {
	case m.restartHold: // it may have promised a lease, and has forgotten to whom
		return true
	case !m.hasOtherLeader(q.From) || m.honours(q):
		return false
	case m.bound(r), q.Mark == rpc.PreVote: // D11: voters are sticky
		return true
	default: // D4: only who has won a pre-vote may depose a leader that is not silent
		return r.PreVote && q.Mark != rpc.Won && q.Term > m.Term
	}
}

// getsReady adopts the larger term of a candidate, and says whether the candidate may have
// the vote at once. D3: who has just won a pre-vote for this term, or was handed the
// leadership of the last, need not ask twice.
func (m *Machine) getsReady(r *Rules, q *Message, out *Output) bool {
	honoured := q.Mark == rpc.Won || m.honours(q)
	waits := m.waitsToStand(r)
	m.adopt(r, out, q.Term)
	if !waits {
		m.armVoteWait(r, out)
	}
	return honoured
}

// giveVote gives the vote of the term, if it was not given to the same candidate before.
func (m *Machine) giveVote(r *Rules, out *Output, candidate memberstate.Seat) {
	if m.Vote != memberstate.Nobody {
		return
	}
	m.transition(out, m.VoteFor(candidate))
	out.Save = true
	if m.Role == memberstate.Candidate && candidate != r.Self {
		m.armVoteWait(r, out) // leave the winner time to say so (D24)
	}
}

// waitsToStand says whether this member waits for its next attempt, in a term in which it
// has voted for nobody. The wait was to leave a candidate time to ask again, and is over
// once: it is not set anew with every term that it adopts (D19), or candidates that it does
// not vote for could keep it from standing for ever.
func (m *Machine) waitsToStand(r *Rules) bool {
	return m.round.phase == idle && m.Vote == memberstate.Nobody && m.MayStand(r.Self)
}

// isAboutToLead says whether this member was asked to take over, or has an earlier turn. It
// refuses a pre-vote then, but no vote, for who is about to lead has given its own to
// itself (D25). The refusal ends with its one round, so it cannot keep out for long a
// candidate that is as good.
func (m *Machine) isAboutToLead(r *Rules, q *Message) bool {
	return m.round.phase == voting && m.round.mark == rpc.Handed || m.goesFirst(r, q)
}

// goesFirst says whether this member asks for the same, and its turn is earlier: a lost
// message makes its round last into the slot of whoever asks (D12). It is not so sure once
// somebody has refused it.
func (m *Machine) goesFirst(r *Rules, q *Message) bool {
	return r.Ranks && m.round.phase == preVoting && m.Role == memberstate.Candidate && m.round.asked == q.Term && m.round.answered == m.round.accepted &&
		m.turn(r, r.Self, memberstate.Nobody) < m.turn(r, q.From, memberstate.Nobody)
}

// holdAgainst compares the candidate's ledger with one's own.
func holdAgainst(mine memberstate.Position, q *Message) rpc.Result {
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

// bound says whether this voter stands by its leader because of a lease. It is
// bound by what it promised also if it has been restarted without leases since.
func (m *Machine) bound(r *Rules) bool { return r.Lease > 0 || m.Promise > 0 }

// honours says whether a request comes from the one to whom the leader of this
// very term has handed over (D14). The leader itself knows to whom it did; a
// follower of it takes the candidate's word. The word of a candidate that was
// handed another term, or by another leader, is worth nothing.
func (m *Machine) honours(q *Message) bool {
	if q.Mark != rpc.Handed || q.Leader == memberstate.Nobody || q.Leader != m.Leader || q.Term != m.Term+1 {
		return false
	}
	return m.Role == memberstate.Follower || m.handover.Phase == Taking && m.handover.Target == q.From
}
