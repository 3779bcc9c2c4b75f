// Conformance of vote rounds: how a round has to end. DLedger's own rule is written down here. It must
// explain every vector, and only D5, D6 and D21 change it.

package protocol

import (
	"slices"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// prediction is how a round ends by the answers counted so far.
type prediction struct {
	order                                []dledgerAnswer
	seen                                 int // answers that came before it ended
	accepted, notReady, bigger, answered int
	open                                 int // voters that may still answer
	hasLeader, inThisTerm                bool
	asked                                int
	told, known                          int // the largest term that this round's answers tell, and that was ever told
	judged                               Judgement
}

// count enters one answer.
func (p *prediction) count(a dledgerAnswer) {
	p.answered++
	p.open--
	switch a.Result {
	case "ACCEPT":
		p.accepted++
	case "REJECT_TERM_NOT_READY":
		p.notReady++
	case "REJECT_EXPIRED_LEDGER_TERM", "REJECT_SMALL_LEDGER_END_INDEX":
		p.bigger++
	case "REJECT_ALREADY_HAS_LEADER":
		p.hasLeader = true
		p.inThisTerm = p.inThisTerm || a.Term == p.asked
	}
}

func (p *prediction) learn(a dledgerAnswer) {
	if a.Result == "REJECT_EXPIRED_VOTE_TERM" || a.Result == "REJECT_TERM_SMALL_THAN_LEDGER" {
		p.told, p.known = max(p.told, a.Term), max(p.known, a.Term)
	}
}

// byDLedger is DLedger's judgement.
func (p *prediction) byDLedger(quorum int) Judgement {
	switch {
	case p.told > p.asked, p.hasLeader:
		return WaitToVoteNext
	case p.answered < quorum:
		return WaitToRevote
	case p.accepted >= quorum:
		return Passed
	case p.accepted+p.notReady >= quorum:
		return RevoteImmediately
	case p.accepted+p.bigger >= quorum:
		return WaitToRevote
	}
	return WaitToVoteNext
}

// waitsByDLedger is how DLedger then sets its vote timer.
func (p *prediction) waitsByDLedger(judged Judgement) string {
	switch {
	case judged == Passed, judged == RevoteImmediately:
		return "unchanged"
	case p.told <= p.asked && p.hasLeader:
		return "base+leak*heartbeat"
	}
	return "base"
}

// byDesign is DLedger's judgement with three changes: passed is passed (D6), a larger term counts
// whenever it was heard (D21), and an existing leader does not raise the term (D5).
func (p *prediction) byDesign(quorum int) Judgement {
	switch {
	case p.accepted >= quorum:
		return Passed
	case p.known > p.asked:
		return WaitToVoteNext
	case p.hasLeader:
		return WaitToRevote
	}
	return p.byDLedger(quorum)
}

// ended says whether the round is decided (D6): it has passed or cannot any more, another candidate
// has won it, or voters that are ready now would win it.
func (p *prediction) ended(quorum int) bool {
	return p.accepted >= quorum || p.accepted+p.open < quorum || p.inThisTerm ||
		p.notReady > 0 && p.accepted+p.notReady >= quorum
}

// seen are the answers that DLedger had when it judged.
func (v *vector) seen() []dledgerAnswer {
	came := slices.DeleteFunc(slices.Clone(v.Responses), func(a dledgerAnswer) bool { return a.Result == "NEVER" })
	if v.PeerResponsesSeen != nil {
		return came[:*v.PeerResponsesSeen]
	}
	return came
}

// blank is the round before any answer but the member's own.
func (v *vector) blank() prediction {
	p := prediction{answered: 1, open: v.Peers - 1, asked: v.asks(), told: -1, known: v.State.KnownMaxTermInGroup}
	if v.SelfVote.VoteResult == "ACCEPT" {
		p.accepted = 1
	}
	p.learn(dledgerAnswer{Result: v.SelfVote.VoteResult, Term: v.SelfVote.Term})
	return p
}

// whole is the round with all answers that DLedger judged it by.
func (v *vector) whole() *prediction {
	p := v.blank()
	for _, a := range v.seen() {
		if resultOf(a.Result) != 0 {
			p.learn(a)
			p.count(a)
		}
	}
	p.judged = p.byDesign(v.quorum())
	return &p
}

func (v *vector) quorum() int { return dledgerRules(v.Peers).quorum() }

// explainRound checks that DLedger's rule gives the recorded outcome. This shows that the rule is
// DLedger's, and that a vector that was tampered with conforms to nothing.
func explainRound(c *trial, v *vector) {
	if v.Voted {
		p := v.whole()
		judged := p.byDLedger(v.quorum())
		assert.Equal(c, judged.String(), v.Outcome, "by DLedger's rule")
		assert.Equal(c, p.waitsByDLedger(judged), v.NextVote, "by DLedger's rule")
	}
}

// predictOf is how the round ends if the answers come in this order.
func (v *vector) predictOf(order []dledgerAnswer) *prediction {
	p, quorum := v.blank(), v.quorum()
	p.order = order
	seen, ended := len(v.seen()), p.ended(quorum)
	p.judged = p.byDesign(quorum)
	for i, a := range order {
		if ended && i >= seen {
			break
		}
		if resultOf(a.Result) != 0 {
			p.learn(a) // of late answers too
		}
		if ended {
			continue
		}
		p.seen = i + 1
		if resultOf(a.Result) == 0 {
			continue
		}
		p.count(a)
		ended, p.judged = p.ended(quorum), p.byDesign(quorum)
	}
	return &p
}

// matching are the predictions that end as DLedger's round did, over all orders in which the answers
// may have come.
func (v *vector) matching() (matching []*prediction, orders int) {
	for _, order := range v.orders() {
		if p := v.predictOf(order); p.matches(v) {
			matching = append(matching, p)
		}
		orders++
	}
	return matching, orders
}

// conforms says whether the round ends as DLedger's in some order of arrival.
func (v *vector) conforms() bool {
	matching, _ := v.matching()
	return len(matching) > 0
}

// matches says whether the round ends as DLedger's did.
func (p *prediction) matches(v *vector) bool {
	wait := "base"
	switch {
	case p.judged == Passed, p.judged == RevoteImmediately:
		wait = "unchanged"
	case p.hasLeader:
		wait = "a heartbeat"
	}
	return p.judged.String() == v.Outcome && wait == v.NextVote && p.nextTerm() == v.After.nextTerm()
}

func (p *prediction) nextTerm() memberstate.Term { return termOf(max(p.asked+1, p.known)) }

// assertEnded compares the machine with the prediction, in everything that it does.
func (p *prediction) assertEnded(c *trial, v *vector, r *Rules, m *Machine, out *Output) {
	assert.Equal(c, p.judged.String(), out.Judged.String())
	assert.Equal(c, termOf(p.asked), m.Term)
	assert.Equal(c, n0, m.Vote)
	assert.Equal(c, p.nextTerm(), m.nextTerm())
	vote, beat, base := m.round.phase == voting, r.Timing.Heartbeat, [2]time.Duration{r.Timing.MinVoteWait, r.Timing.MaxVoteWait}
	if p.judged == Passed {
		assert.Equal(c, memberstate.Leader, m.Role)
		assert.Equal(c, n0, m.Leader)
		assert.Equal(c, r.others(), out.To)
		assert.Equal(c, "heartbeat", out.Send.Kind.String())
		assert.Equal(c, m.Term, out.Send.Term)
		assertArmed(c, m, out.Alarm, beat, beat)
		return
	}
	assert.Equal(c, memberstate.Candidate, m.Role)
	assert.Equal(c, p.judged == RevoteImmediately, vote, "asks again at once")
	switch {
	case p.judged == RevoteImmediately:
		v.assertAsks(c, r, m, out, termOf(p.asked))
	case p.hasLeader:
		assert.Zero(c, out.To)
		assertArmed(c, m, out.Alarm, beat, beat*5/4)
	default:
		assert.Zero(c, out.To)
		assertArmed(c, m, out.Alarm, base[0], base[1])
	}
}

// orders are the possible orders of the answers: as recorded, or any.
func (v *vector) orders() (all [][]dledgerAnswer) {
	came := slices.DeleteFunc(slices.Clone(v.Responses), func(a dledgerAnswer) bool { return a.Result == "NEVER" })
	if v.Arrival == "ordered" {
		return [][]dledgerAnswer{came}
	}
	var permute func(done, rest []dledgerAnswer)
	permute = func(done, rest []dledgerAnswer) {
		if len(rest) == 0 {
			all = append(all, done)
		}
		for i := range rest {
			permute(append(slices.Clone(done), rest[i]), slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	permute(nil, came)
	return all
}
