// A candidate asks: when it stands, its rounds, and how they are judged.
//
// With ranks (D12) the members take turns in standing. Each has a slot, and a slot is longer than
// the round trip of a pre-vote, so the next member finds the first one asking, or has voted for
// it. One candidate at a time asks; if its ledger is refused, the next slot belongs to another.
//
// A lost message must not cost a candidate its turn. So it asks again the voters that have not
// answered: after one slot, then after 2, 4, 8 … slots, as long as an answer would still arrive in
// time. Where delays are long it also asks at 1/2, 1/4 … of a slot, before an answer is possible:
// an extra copy is cheap, and waiting to notice a loss takes a whole round trip.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// round is a round of votes.
type round struct {
	asked    memberstate.Term // the term that votes are asked for
	elapsed  time.Duration    // how long the round will have lasted when the alarm rings
	accepted memberstate.Set  // voters that accepted, this member included
	bigger   memberstate.Set  // voters that refused because their ledgers are better
	answered memberstate.Set  // voters that gave any valid answer

	phase          phase
	mark           rpc.Mark  // of the requests
	judged         Judgement // how it ended
	instantRevotes uint8     // rounds in a row, up to this one, that were asked for without a wait
	repeated       bool      // voters that have not answered were asked again
	hasLeader      bool      // a voter answered ALREADY_HAS_LEADER
	vetoed         bool      // and it was the leader itself, or a follower of one in this very term
}

// phase says whether a round of votes is under way.
type phase uint8

const (
	idle      phase = iota
	preVoting       // asking whether votes would be given
	voting          // asking for votes
)

// Judgement is how a round of votes ended.
type Judgement uint8

const (
	// WaitToRevote: ask again, in the same term.
	WaitToRevote Judgement = iota
	// RevoteImmediately: ask again at once; voters that were not ready are now.
	RevoteImmediately
	// Passed: a quorum accepted.
	Passed
	// WaitToVoteNext: ask again, in a larger term.
	WaitToVoteNext
)

var judgementNames = [...]string{
	WaitToRevote:      "WAIT_TO_REVOTE",
	RevoteImmediately: "REVOTE_IMMEDIATELY",
	Passed:            "PASSED",
	WaitToVoteNext:    "WAIT_TO_VOTE_NEXT",
}

// String is the name that DLedger gives to the judgement.
func (j Judgement) String() string {
	return named(judgementNames[:], j, "unknown judgement")
}

// stand begins a campaign: in the same term if the last round left that open and this member
// may stand in it, otherwise in a larger one.
func (m *Machine) stand(r *Rules, in *Input, out *Output) {
	if m.serving {
		// The engine still runs a Lead of a term that is lost. Winning now would only make a
		// leader that cannot serve.
		m.armVoteWait(r, out)
		return
	}
	term := m.Term
	if m.round.judged == WaitToVoteNext || !m.MayStand(r.Self) {
		term = max(m.Term+1, m.known)
		if r.PreVote { // every refusal names its voter's term; ask above the largest (D4)
			term = max(m.Term, m.known) + 1
		}
	}
	if r.PreVote {
		m.askPreVotes(r, in, out, term)
	} else {
		m.askVotes(r, in, out, term, rpc.Plain, memberstate.Nobody)
	}
}

// askPreVotes begins a round that asks whether voters would vote for this member in term. It
// changes no voter.
func (m *Machine) askPreVotes(r *Rules, in *Input, out *Output, term memberstate.Term) {
	end, ok := m.ledger(in, out)
	if !ok {
		return
	}
	m.openRound(r, out, preVoting, rpc.PreVote, term)
	m.ask(r, out, end, memberstate.Nobody)
	m.settle(r, in, out)
}

// askVotes raises the term if need be, votes for this member, and asks the others for their
// votes. A mark is good for this one round: a candidate that has won a pre-vote and is then cut
// off for hours must win another before it may depose a leader (D4), and a handover that failed
// leaves no claim (D14).
func (m *Machine) askVotes(r *Rules, in *Input, out *Output, term memberstate.Term, mark rpc.Mark, giver memberstate.Seat) {
	if term > m.Term {
		m.adopt(r, out, term)
	}
	m.openRound(r, out, voting, mark, term)
	end, ok := m.ledger(in, out)
	if !ok {
		return
	}
	if !m.voteForSelf(r, in, out) {
		return
	}
	m.handover.Goal = end // vouched votes count up to here, if this is for a handover
	m.ask(r, out, end, giver)
	m.settle(r, in, out)
}

// voteForSelf puts this member's own vote through the same arbitration as any other. A leader
// has always voted for itself, so without that vote the round is lost before others are asked
// (D6).
func (m *Machine) voteForSelf(r *Rules, in *Input, out *Output) bool {
	own := *in
	own.Message = Message{From: r.Self, Body: rpc.Body{Kind: rpc.VoteRequest, Term: m.Term, Ledger: in.Ledger}}
	if m.arbitrate(r, &own, out, true) == rpc.Accept {
		return true
	}
	m.learn(in.Ledger.Term)
	m.conclude(r, in, out, WaitToVoteNext)
	return false
}

func (m *Machine) openRound(r *Rules, out *Output, phase phase, mark rpc.Mark, term memberstate.Term) {
	m.ballot++
	self := memberstate.SetOf(r.Self)
	m.round = round{phase: phase, mark: mark, asked: term, accepted: self, answered: self, instantRevotes: m.round.instantRevotes}
	m.notReady = 0
	if m.Role == memberstate.Leader {
		m.office.challenge = m.office.beat // its alarm is the next beat
		return
	}
	m.awaitAnswers(r, out)
}

// awaitAnswers sets the alarm for the next repetition of the request, or for the end of the round.
func (m *Machine) awaitAnswers(r *Rules, out *Output) {
	next, repeats := m.roundLasts(r)
	if slot := m.slot(r); repeats {
		again := slot
		for again/2 > m.round.elapsed && again/2 >= r.shortestSlot() {
			again /= 2
		}
		for again <= m.round.elapsed {
			again *= 2
		}
		if again+slot <= next {
			next = again
		}
	}
	wait := next - m.round.elapsed
	m.round.elapsed = next
	m.arm(out, wait, wait)
}

// roundLasts returns when the round is over, counted from its beginning, and whether the request
// is repeated. A handover is asked for once, because the mark that the old leader gave is for one
// request. Nor does a member repeat it while it runs a Lead of a lost term, because it had better
// not win too soon.
func (m *Machine) roundLasts(r *Rules) (long time.Duration, repeats bool) {
	switch {
	case m.awaitsVeto() && m.roundTrip > 0:
		return m.measured() * 3 / 2, false
	case !r.Ranks, m.round.mark == rpc.Handed, m.serving:
		return max(r.Timing.RoundTimeout, 2*m.measured()), false // D6
	default:
		return max(r.Timing.RoundTimeout, 2*m.slot(r)), true
	}
}

// askAgain repeats the request to voters that have not answered, or ends the round. It also ends
// the round once others have had time to answer and one has a leader or is in a larger term,
// because then this is the wrong term to ask for.
func (m *Machine) askAgain(r *Rules, in *Input, out *Output) {
	long, repeats := m.roundLasts(r)
	vain := m.round.hasLeader || m.known > m.round.asked
	if !repeats || m.round.elapsed >= long || vain && m.round.elapsed >= m.slot(r) {
		m.conclude(r, in, out, m.judge(r))
		return
	}
	end, ok := m.ledger(in, out)
	if !ok {
		return
	}
	m.round.repeated = true
	m.ask(r, out, end, memberstate.Nobody)
	out.To &^= m.round.answered
	m.awaitAnswers(r, out)
}

// awaitsVeto says whether accepts from a quorum are not enough yet: the round follows from a
// report that the leader is gone, which may be wrong, and the leader's veto may be on its way
// (D13). That is a pre-vote, because a pre-vote that is won ends the doubt, and so does a leader.
func (m *Machine) awaitsVeto() bool { return m.fromHint }

// ask sends the round's request to all other voters.
func (m *Machine) ask(r *Rules, out *Output, end memberstate.Position, giver memberstate.Seat) {
	out.To = r.others()
	out.Send = Message{Leader: giver, Body: rpc.Body{
		Kind: rpc.VoteRequest, Mark: m.round.mark, Round: m.ballot, Term: m.round.asked, Ledger: end,
	}}
}

func (m *Machine) onVoteResponse(r *Rules, in *Input, out *Output) {
	q := &in.Message
	if !r.Voters.Has(q.From) {
		out.Dropped = DropNotAVoter
		return
	}
	if m.measures(q) {
		m.observe(r, in.RoundTrip)
	}
	switch q.Result {
	case rpc.RejectExpiredVoteTerm, rpc.RejectTermSmallThanLedger:
		m.learn(q.Term)
	default:
		if q.Mark == rpc.PreVote && q.Result != rpc.Accept {
			m.learn(q.Term)
		}
	}
	if m.round.phase == idle || !m.answers(q) {
		out.Dropped = DropStaleAnswer
		return
	}
	m.count(q)
	m.settle(r, in, out)
}

// measures says whether an answer measures the round trip, which is counted from the first
// request of its round. The answer to a repeated request does not, nor does a vote that was not
// asked for. Late answers do, because they show that rounds are too short; but not after a won
// round, where late answers are answers to repetitions.
func (m *Machine) measures(q *Message) bool {
	switch {
	case q.Mark == rpc.Vouched, m.Role == memberstate.Leader:
		return false
	case q.Round == m.ballot:
		return !m.round.answered.Has(q.From)
	default:
		return m.round.mark != rpc.Won
	}
}

// answers says whether an answer counts in the round under way: it counts in the round that it
// answers, and in no other. A vouched vote answers no request, because it was given at the word
// of the leader that hands over. It is for the candidate that this leader chose, which has only
// one such round in the term, and counts if that candidate's ledger is at least the one that the
// voter judged.
func (m *Machine) answers(q *Message) bool {
	if q.Mark == rpc.Vouched {
		return m.round.mark == rpc.Handed && q.Asked == m.round.asked && m.handover.Goal.Compare(q.Ledger) >= 0
	}
	return q.Round == m.ballot && q.Mark == m.round.mark && q.Asked == m.round.asked
}

// count enters one answer into sets, not counters, so that a duplicate changes nothing. A voter
// that accepts and then refuses has accepted.
func (m *Machine) count(q *Message) {
	m.round.answered = m.round.answered.With(q.From)
	switch q.Result {
	case rpc.Accept:
		m.round.accepted = m.round.accepted.With(q.From)
	case rpc.RejectTermNotReady:
		m.notReady = m.notReady.With(q.From)
	case rpc.RejectExpiredLedgerTerm, rpc.RejectSmallLedgerEndIndex:
		m.round.bigger = m.round.bigger.With(q.From)
	case rpc.RejectAlreadyHasLeader:
		m.round.hasLeader = true
		// D6: in a pre-vote only the leader's own answer is a veto, and a follower's is a plain
		// refusal. In a round of votes, a leader of the very term that is asked for has won it,
		// so no other candidate can.
		if q.Mark == rpc.PreVote {
			m.round.vetoed = q.Leader == q.From
		} else {
			m.round.vetoed = q.Term == m.round.asked && q.Leader != memberstate.Nobody
		}
	default: // refused, with nothing more to learn
	}
}

// settle ends the round if it can be judged. D6: it has passed the moment a quorum has accepted,
// and is lost as soon as a quorum no longer can; neither waits for the slowest answer.
func (m *Machine) settle(r *Rules, in *Input, out *Output) {
	quorum, accepted := r.quorum(), m.round.accepted.Len()
	open := r.Voters.Len() - m.round.answered.Len()
	switch {
	case accepted >= quorum && (open == 0 || !m.awaitsVeto()),
		m.round.vetoed,
		m.notReady != 0 && (m.round.accepted|m.notReady).Len() >= quorum,
		accepted+open < quorum:
		m.conclude(r, in, out, m.judge(r))
	}
}

// judge names how the round ended, in DLedger's order, with two exceptions: a quorum's accept
// comes first (D6), and an existing leader never raises the term (D5). A larger term counts
// whenever it was heard (D21).
func (m *Machine) judge(r *Rules) Judgement {
	quorum := r.quorum()
	switch {
	case m.round.phase == preVoting && m.round.vetoed:
		return WaitToRevote
	case m.round.accepted.Len() >= quorum:
		return Passed
	case m.known > m.round.asked:
		return WaitToVoteNext
	case m.round.hasLeader:
		return WaitToRevote
	case m.round.answered.Len() < quorum:
		return WaitToRevote
	case (m.round.accepted | m.notReady).Len() >= quorum:
		return RevoteImmediately
	case (m.round.accepted | m.round.bigger).Len() >= quorum:
		return WaitToRevote
	default:
		return WaitToVoteNext
	}
}

// conclude acts on how the round ended.
func (m *Machine) conclude(r *Rules, in *Input, out *Output, judged Judgement) {
	ended := m.round.phase
	out.Ended, out.Asked, out.Judged = true, m.round.mark, judged
	m.round.phase, m.round.judged = idle, judged
	if judged == Passed { // otherwise fromHint stays: the leader that may live is asked again, until it is heard
		m.round.instantRevotes, m.fromHint = 0, false
		if ended == preVoting {
			m.askVotes(r, in, out, m.round.asked, rpc.Won, memberstate.Nobody)
		} else {
			m.takeOffice(r, out)
		}
		return
	}
	if m.Role == memberstate.Leader {
		m.makeWay(r, out) // otherwise it goes on leading, and its alarm is the next beat
		return
	}
	switch {
	case judged == RevoteImmediately && m.round.instantRevotes < maxInstantRevotes:
		m.round.instantRevotes++
		m.stand(r, in, out)
		return
	case m.fromHint && m.round.hasLeader && !m.round.vetoed && m.round.instantRevotes < maxInstantRevotes: // a follower has not heard of the loss yet
		m.round.instantRevotes++
		m.arm(out, m.measured(), 2*m.measured())
		return
	case m.round.hasLeader:
		m.armHeartbeat(r, out)
	default:
		m.armVoteWait(r, out)
	}
	m.round.instantRevotes = 0
}

// yields lets another candidate finish, whose pre-vote this member has just accepted. It would ask for the
// same term in about a round trip, because a follower had not heard of the leader's loss yet (conclude). Both
// would win their pre-votes, each would keep its own vote, and both would wait for that of the dead
// leader. It yields once, and then waits as any other: a candidate that asks again and again, and can never
// win, must not keep it from standing.
func (m *Machine) yields(r *Rules, out *Output) {
	if m.fromHint && m.round.phase == idle && 0 < m.round.instantRevotes && m.round.instantRevotes < maxInstantRevotes {
		m.round.instantRevotes = maxInstantRevotes
		m.arm(out, 2*m.slot(r), 2*m.slot(r)+r.lead())
	}
}

// maxInstantRevotes bounds how often a round is repeated without a wait. Otherwise one voter that
// is never ready would keep the group's network busy (D22).
const maxInstantRevotes = 3

// armVoteWait draws the wait for the next attempt from [min, max). Both are stretched where round
// trips are longer, so that two candidates can avoid each other.
func (m *Machine) armVoteWait(r *Rules, out *Output) {
	low, spread := r.Timing.MinVoteWait, r.Timing.MaxVoteWait-r.Timing.MinVoteWait
	m.arm(out, max(low, m.measured()), max(low, m.measured())+max(spread, 2*m.measured()))
}

// armHeartbeat waits for about a heartbeat: by then a leader is heard, or there is none (D5).
// With ranks the wait is counted from about when this member asked. So a member that asked too
// early, because it had missed a heartbeat, asks again in a slot of its own.
func (m *Machine) armHeartbeat(r *Rules, out *Output) {
	low, spread := r.Timing.Heartbeat, r.Timing.Heartbeat/4
	if r.Ranks {
		low, spread = max(low-m.measured(), r.lead()), r.lead()
	}
	m.arm(out, low, low+spread)
}

// armSlot waits for this member's turn to stand (D12). Turns rotate with the term; preferred
// leaders go first, and the last leader goes last, because it has just fallen silent.
func (m *Machine) armSlot(r *Rules, out *Output, last memberstate.Seat) {
	if m.standsLast(r, last) {
		m.armRest(r, out) // D26: it stands if none of the able ones is elected
		return
	}
	if !r.Ranks {
		m.arm(out, 0, r.Timing.MaxVoteWait-r.Timing.MinVoteWait)
		return
	}
	lead := r.lead()
	if m.fromHint { // a connection breaks for all members at the same moment (D13)
		lead = 0
	}
	begin := time.Duration(m.rank(r, last))*m.slot(r) + lead
	m.arm(out, begin, begin+lead)
}

// lead is the wait before the first slot. Networks are not equally fast, and the voters that are
// asked must have taken the leader for silent, too. It need not grow with delays: the last
// heartbeat reached a voter no later than if the candidate had passed it on, so the candidate's
// request, which takes the same way, arrives when that voter's own wait is over, too.
func (r *Rules) lead() time.Duration { return r.shortestSlot() / 4 }

// slot is how much later the next member's turn comes. It exceeds the round trip of a pre-vote
// plus the skew with which the last heartbeat reached the members.
func (m *Machine) slot(r *Rules) time.Duration { return max(r.shortestSlot(), m.measured()*3/2) }

// shortestSlot is the slot where delays are negligible. It is never zero, even with the shortest
// timing, because it is doubled until it is long enough.
func (r *Rules) shortestSlot() time.Duration { return max(r.Timing.Detection()/30, 1) }

// rank counts the voters whose turn comes before this member's.
func (m *Machine) rank(r *Rules, last memberstate.Seat) int {
	mine, rank := m.turn(r, r.Self, last), 0
	for v := range r.Voters.Seats() {
		if m.turn(r, v, last) < mine {
			rank++
		}
	}
	return rank
}

// place orders the voters of a term in the way that all of them know: smaller is earlier.
func (m *Machine) place(r *Rules, v memberstate.Seat) int {
	n := r.Voters.Len()
	place := (m.lot.place(v, n) + n - int(m.Term%memberstate.Term(n))) % n
	if !r.Preferred.Has(v) {
		place += n
	}
	return place
}

// turn orders the voters of a term in the order in which they stand, as far as this member knows: those
// that had better not lead stand later than their places say.
func (m *Machine) turn(r *Rules, v, last memberstate.Seat) int {
	n := r.Voters.Len()
	turn := m.place(r, v)
	if v == last {
		turn += 2 * n
	}
	if (m.allUnable(r) | r.lastChoice()).Has(v) {
		turn += 4 * n
	}
	return turn
}

// standOnCommand stands now, unless something speaks against it: a voter that has promised a
// lease is bound by it, whatever it is told (D11).
func (m *Machine) standOnCommand(r *Rules, in *Input, out *Output) {
	switch {
	case m.Role == memberstate.Candidate && m.round.phase == idle && !m.restartHold:
	case m.Role == memberstate.Follower && !m.bound(r):
		m.transition(out, m.StandDown())
	default:
		return
	}
	m.stand(r, in, out)
}
