// A candidate asks: how it comes to stand, its rounds, and how they are judged.

package protocol

import (
	"time"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// round is a round of votes.
type round struct {
	asked    memberstate.Term // the term that votes are asked for
	asking   time.Duration    // how long they will have been when the alarm rings
	accepted memberstate.Set  // who accepted, this member included
	bigger   memberstate.Set  // who refused because its ledger is better
	answered memberstate.Set  // who gave a valid answer of whatever kind

	phase          phase
	mark           rpc.Mark  // that votes are asked with
	judged         Judgement // how it ended
	instantRevotes uint8     // rounds in a row, up to this one, that were asked for without a wait
	repeated       bool      // those who have not answered were asked again
	hasLeader      bool      // someone answered with ALREADY_HAS_LEADER
	vetoed         bool      // and it was the leader itself, or one who follows it in this very term
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
	// RevoteImmediately: ask again at once; those who were behind are ready now.
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

// stand begins a campaign: in the same term if the last round left that open
// and this member may, in a larger one otherwise.
func (m *Machine) stand(r *Rules, in *Input, out *Output) {
	if m.serving {
		// The engine still runs a Lead of a term that is lost. Winning now
		// would only make a leader that cannot serve.
		m.armVoteWait(r, out)
		return
	}
	term := m.Term
	if m.round.judged == WaitToVoteNext || !m.MayStand(r.Self) {
		term = max(m.Term+1, m.known)
		if r.PreVote { // every refusal teaches its term; ask above the largest (D4)
			term = max(m.Term, m.known) + 1
		}
	}
	if r.PreVote {
		m.askPreVotes(r, in, out, term)
	} else {
		m.askVotes(r, in, out, term, rpc.Plain, memberstate.Nobody)
	}
}

// askPreVotes begins a round that asks who would vote for this member in term.
// Nothing changes by it, here or at the others.
func (m *Machine) askPreVotes(r *Rules, in *Input, out *Output, term memberstate.Term) {
	end, ok := m.ledger(in, out)
	if !ok {
		return
	}
	m.openRound(r, out, preVoting, rpc.PreVote, term)
	m.ask(r, out, end, memberstate.Nobody)
	m.settle(r, in, out)
}

// askVotes raises the term if need be, votes for this member, and asks the
// others to. A mark lives for this one round: a winner of a pre-vote that is cut
// off for hours and comes back must win another one before it may depose (D4),
// and a handover that came to nothing leaves no claim (D14).
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
	if mark == rpc.Handed {
		m.handover.Goal = end
	}
	m.ask(r, out, end, giver)
	m.settle(r, in, out)
}

// voteForSelf puts this member's own vote to the same arbitration as anyone's.
// A leader has always voted for itself, so without that vote the round is lost
// before anyone is asked (D6).
func (m *Machine) voteForSelf(r *Rules, in *Input, out *Output) bool {
	own := *in
	own.Message = Message{From: r.Self, Body: rpc.Body{Kind: rpc.VoteRequest, Term: m.Term, Ledger: in.Ledger}}
	if m.arbitrate(r, &own, out, true) == rpc.Accept {
		return true
	}
	m.round.accepted = 0
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

// awaitAnswers has the alarm ring when it is time to ask again, or when the round is over.
//
// With ranks the next member's slot is near, and a lost message is no reason to leave it to
// them (D12): who has not answered when a slot is over is asked again, and then after twice
// as long, and so on, as long as an answer would be in time. Where delays are long, also at
// the half of a slot, the quarter, and so on, before it can have answered: of a request that
// is on its way a copy is cheap, and to miss one that is lost takes a round trip.
func (m *Machine) awaitAnswers(r *Rules, out *Output) {
	next, repeats := m.roundLasts(r)
	if slot := m.slot(r); repeats {
		again := slot
		for again/2 > m.round.asking && again/2 >= r.shortestSlot() {
			again /= 2
		}
		for again <= m.round.asking {
			again *= 2
		}
		if again+slot <= next {
			next = again
		}
	}
	wait := next - m.round.asking
	m.round.asking = next
	m.arm(out, wait, wait)
}

// roundLasts is when the round is over, counted from its beginning, and whether it is asked
// for more than once. A handover is asked for by its giver's word, which is for one request;
// and who still runs a Lead of a term that is lost had better not win too soon.
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

// askAgain asks those again who have not answered, or ends the round. It ends, too, if
// somebody has a leader, or is in a larger term, and the others had time to answer: this is
// not the term to ask for, then.
func (m *Machine) askAgain(r *Rules, in *Input, out *Output) {
	long, repeats := m.roundLasts(r)
	vain := m.round.hasLeader || m.known > m.round.asked
	if !repeats || m.round.asking >= long || vain && m.round.asking >= m.slot(r) {
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

// awaitsVeto says whether a quorum's accept is not enough yet: the round follows
// from a report that the leader is gone, which may be wrong, and its veto may be
// on its way (D13).
func (m *Machine) awaitsVeto() bool { return m.fromHint && m.round.phase == preVoting }

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

// measures says whether an answer tells how long a round trip is, which is counted from the
// first request of its round. The answer to a copy does not, nor one that nobody asked for.
// Late ones do, for they show that rounds are too short; but not after a round that was won,
// where copies are what is late.
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

// answers says whether an answer counts in the round under way. It counts in the round that
// it answers, and in no other. A vote at the word of the leader that hands over answers
// none: it is for the candidate that this leader chose, whose only such round of the term
// this is, if its ledger is at least what the voter held against its own.
func (m *Machine) answers(q *Message) bool {
	if q.Mark == rpc.Vouched {
		return m.round.mark == rpc.Handed && q.Asked == m.round.asked && m.handover.Goal.Compare(q.Ledger) >= 0
	}
	return q.Round == m.ballot && q.Mark == m.round.mark && q.Asked == m.round.asked
}

// count enters one answer. Sets, not numbers: a duplicate changes nothing, and
// who accepted and then refuses has accepted all the same.
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
		// D6: in a pre-vote only the leader's own word is a veto, a follower's
		// is one refusal. In a round of votes a leader of the very term asked
		// for has won it, and nobody else can.
		if q.Mark == rpc.PreVote {
			m.round.vetoed = m.round.vetoed || q.Leader == q.From
		} else {
			m.round.vetoed = m.round.vetoed || q.Term == m.round.asked && q.Leader != memberstate.Nobody
		}
	default: // refused, without more to learn
	}
}

// settle ends the round if it can be judged. D6: it has passed the moment a
// quorum has accepted, and is lost as soon as a quorum no longer can; the
// slowest answer is waited for in neither case.
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

// judge names how the round ended, in DLedger's order but for a quorum's
// accept, which comes first (D6), and for an existing leader, which never
// raises the term (D5). A larger term counts whenever it was told (D21).
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
	if judged == Passed { // else who may live is asked again, until it is heard
		m.round.instantRevotes, m.fromHint = 0, false
		if ended == preVoting {
			m.askVotes(r, in, out, m.round.asked, rpc.Won, memberstate.Nobody)
		} else {
			m.takeOffice(r, out)
		}
		return
	}
	if m.Role == memberstate.Leader {
		m.makeWay(r, out) // or it goes on leading, and its alarm is the next beat
		return
	}
	switch {
	case judged == RevoteImmediately && m.round.instantRevotes < maxInstantRevotes:
		m.round.instantRevotes++
		m.stand(r, in, out)
		return
	case m.fromHint && m.round.hasLeader && !m.round.vetoed && m.round.instantRevotes < maxInstantRevotes: // somebody has not heard of it yet
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

// maxInstantRevotes bounds how often a round is repeated without a wait, or one voter
// that is never ready would keep the group's network busy (D22).
const maxInstantRevotes = 3

// armVoteWait draws the wait for the next attempt from [min, max), stretched
// where round trips are longer: two candidates must be able to miss each other.
func (m *Machine) armVoteWait(r *Rules, out *Output) {
	low, spread := r.Timing.MinVoteWait, r.Timing.MaxVoteWait-r.Timing.MinVoteWait
	m.arm(out, max(low, m.measured()), max(low, m.measured())+max(spread, 2*m.measured()))
}

// armHeartbeat waits for about a heartbeat: then there is a leader, or there is none (D5).
// With ranks it is counted from when this member asked, or a little later, so that who
// asked too early, because it had missed a heartbeat, comes back in a slot of its own.
func (m *Machine) armHeartbeat(r *Rules, out *Output) {
	low, spread := r.Timing.Heartbeat, r.Timing.Heartbeat/4
	if r.Ranks {
		low, spread = max(low-m.measured(), r.lead()), r.lead()
	}
	m.arm(out, low, low+spread)
}

// armSlot waits for this member's turn to stand (D12). The members take turns
// by term; preferred leaders go first, and the last leader goes last, for it has
// just fallen silent. So one candidate is alone on the stage; one with a poor
// ledger is refused, and the next slot is another's.
func (m *Machine) armSlot(r *Rules, out *Output, last memberstate.Seat) {
	if !r.Ranks {
		m.arm(out, 0, r.Timing.MaxVoteWait-r.Timing.MinVoteWait)
		return
	}
	lead := r.lead()
	if m.fromHint { // a connection breaks for all at the same moment (D13)
		lead = 0
	}
	begin := time.Duration(m.rank(r, last))*m.slot(r) + lead
	m.arm(out, begin, begin+lead)
}

// lead is what comes before the first slot, since networks are not always equally fast:
// who is asked must have taken the leader for silent, too. It need not be longer where
// delays are. Whoever asks has heard the last heartbeat no sooner than it could have been
// passed on from there, by the very way on which the request comes.
func (r *Rules) lead() time.Duration { return r.shortestSlot() / 4 }

// slot is how much later the next member's turn comes: it exceeds the round trip of a
// pre-vote and the skew with which the last heartbeat reached the others, so that who is
// next finds the first one asking, or voted for.
func (m *Machine) slot(r *Rules) time.Duration { return max(r.shortestSlot(), m.measured()*3/2) }

// shortestSlot is that of a network whose delays are nothing against the timing. Not
// even the shortest timing makes it nothing, or no doubling of it would be longer.
func (r *Rules) shortestSlot() time.Duration { return max(r.Timing.Detection()/30, 1) }

// rank counts the voters whose turn to stand comes before this member's.
func (m *Machine) rank(r *Rules, last memberstate.Seat) int {
	mine, rank := m.turn(r, r.Self, last), 0
	for v := range r.Voters.Seats() {
		if m.turn(r, v, last) < mine {
			rank++
		}
	}
	return rank
}

// turn orders the voters of a term: smaller is earlier.
func (m *Machine) turn(r *Rules, v, last memberstate.Seat) int {
	n := r.Voters.Len()
	turn := (int(v) + n - int(m.Term%memberstate.Term(n))) % n
	if !r.Preferred.Has(v) {
		turn += n
	}
	if v == last {
		turn += 2 * n
	}
	return turn
}

// standOnCommand stands now, if nothing speaks against it: a voter that has
// promised a lease is bound by it, also when told otherwise (D11).
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
