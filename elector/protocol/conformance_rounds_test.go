// Conformance of vote rounds: a candidate's alarm rings, and answers come in.

package protocol

import (
	"slices"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

var voteRounds = decisions{
	kind:  "voteround",
	agree: agreeOnRound,
	excuses: []excuse{
		{byD3, (*vector).raisePending, raisesWhenSeen},
		{byD2, (*vector).termSpent, raisesInstead},
		{byD6Own, (*vector).ownVoteRefused, asksNobody},
		{byD6Passed, (*vector).passedAllTheSame, endsAsPredicted},
		{byD5, (*vector).hasLeader, endsAsPredicted},
		{byD21, (*vector).toldBefore, endsAsPredicted},
		{byD6Lost, (*vector).lostEarly, endsAsPredicted},
		{agreesInOrder, (*vector).dependsOnOrder, agreeOnRound},
	},
	explain: explainRound,
	expected: map[verdict]int{
		agrees: 714, agreesInOrder: 79, byD2: 398, byD3: 102, byD5: 165, byD6Passed: 23, byD6Lost: 6, byD6Own: 13,
	},
}

func (v *vector) raisePending() bool { return v.Outcome == "TERM_INCREASED_NO_VOTE" }

// termSpent says whether DLedger asks for votes in a term whose vote it has given to another
// candidate, or that it has led before.
func (v *vector) termSpent() bool {
	own := seatOf(v.State.CurrVoteFor)
	return v.Voted && v.asks() == v.State.CurrTerm &&
		(own != memberstate.Nobody && own != n0 || v.State.LastParseResult == "PASSED")
}

func (v *vector) ownVoteRefused() bool { return v.Voted && v.SelfVote.VoteResult != "ACCEPT" }

// passedAllTheSame says whether a quorum accepted, and DLedger did not count that.
func (v *vector) passedAllTheSame() bool {
	return v.Voted && !v.conforms() && v.whole().accepted >= v.quorum()
}

// hasLeader says whether DLedger raises the term, or sleeps for long, because a voter has a leader.
func (v *vector) hasLeader() bool { return v.Voted && !v.conforms() && v.whole().hasLeader }

// toldBefore says whether a larger term was heard before the round, and none in it.
func (v *vector) toldBefore() bool {
	if !v.Voted || v.conforms() {
		return false
	}
	p := v.whole()
	return p.told <= p.asked && p.known > p.asked
}

// lostEarly says whether a quorum could no longer accept before DLedger had seen all the answers that
// it judged by, in whatever order they came. That explains a difference only if the round with all
// answers would end as DLedger's.
func (v *vector) lostEarly() bool {
	if !v.Voted || v.conforms() || !v.whole().matches(v) {
		return false
	}
	return !slices.ContainsFunc(v.orders(), func(order []dledgerAnswer) bool {
		p := v.predictOf(order)
		return p.seen == len(v.seen()) || p.accepted+p.open >= v.quorum()
	})
}

// dependsOnOrder says whether the round ends as DLedger's in some possible orders of the answers, and
// differs in others because of D5 and D6.
func (v *vector) dependsOnOrder() bool {
	if !v.Voted {
		return false
	}
	matching, orders := v.matching()
	return len(matching) > 0 && len(matching) < orders
}

// asks is the term in which DLedger asks for votes.
func (v *vector) asks() int {
	if v.State.LastParseResult == "WAIT_TO_VOTE_NEXT" {
		return max(v.State.CurrTerm+1, v.State.KnownMaxTermInGroup)
	}
	return v.State.CurrTerm
}

// raisesWhenSeen: the machine made the raise that is pending in DLedger in the step that saw the term.
// It asks for no vote until the alarm rings, and then in this very term.
func raisesWhenSeen(c *trial, v *vector) {
	if v.Peers == 1 { // there is no other member to learn a term from
		m := machineIn(&v.State)
		m.round.judged = WaitToVoteNext
		v.stepIn(c, dledgerRules(1), m, Input{Kind: Ring, Number: 1})
		assert.Equal(c, termOf(v.After.CurrTerm), m.Term)
		assert.Equal(c, memberstate.Leader, m.Role)
		return
	}
	for _, kind := range []rpc.Kind{rpc.VoteRequest, rpc.Heartbeat} {
		r, m := dledgerRules(v.Peers), machineIn(&v.State)
		m.openRound(r, new(Output), voting, rpc.Plain, m.Term)
		rounds := m.ballot
		out := v.stepIn(c, r, m, Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{
			Kind: kind, Term: termOf(v.After.CurrTerm), Ledger: v.State.ledger(),
		}}})
		assert.Contains(c, out.Reply.Result.String(), "TERM_NOT_READY")
		assert.Equal(c, termOf(v.State.CurrTerm), out.Reply.Term)
		v.After.assertAfter(c, m)
		if kind == rpc.VoteRequest {
			assertArmed(c, m, out.Alarm, r.Timing.MinVoteWait, r.Timing.MaxVoteWait)
		}
		for _, a := range v.Responses { // to the round that the raise has ended
			late := v.answer(c, r, m, rounds, a)
			assert.Zero(c, late.To)
			assert.Equal(c, memberstate.Candidate, m.Role)
		}
		number := m.alarm
		assert.Equal(c, DropStaleAlarm, v.stepIn(c, r, m, Input{Kind: Ring, Number: number - 1}).Dropped)
		out = v.stepIn(c, r, m, Input{Kind: Ring, Number: number})
		v.assertAsks(c, r, m, out, termOf(v.After.CurrTerm))
	}
}

// raisesInstead: the machine asks for votes in a larger term at once.
func raisesInstead(c *trial, v *vector) {
	r, m := dledgerRules(v.Peers), machineIn(&v.State)
	out := v.stepIn(c, r, m, Input{Kind: Ring, Number: 1})
	v.assertAsks(c, r, m, out, v.State.nextTerm())
	assert.Greater(c, m.Term, termOf(v.State.CurrTerm))
	assertSpentByRestart(c, v)
}

// asksNobody: without its own vote the round is lost, and the next one is above the term of the
// ledger that refused.
func asksNobody(c *trial, v *vector) {
	r, m := dledgerRules(v.Peers), machineIn(&v.State)
	out := v.stepIn(c, r, m, Input{Kind: Ring, Number: 1})
	assert.Zero(c, out.To)
	assert.Equal(c, idle, m.round.phase)
	assert.Equal(c, v.Outcome, out.Judged.String())
	assertArmed(c, m, out.Alarm, r.Timing.MinVoteWait, r.Timing.MaxVoteWait)
	want := v.After
	want.KnownMaxTermInGroup = max(v.State.KnownMaxTermInGroup, v.State.LedgerEndTerm)
	want.assertAfter(c, m)
	assert.GreaterOrEqual(c, m.known, v.State.ledger().Term)
}

// assertSpentByRestart: had the member restarted, it would not ask in this term (D1).
func assertSpentByRestart(c *trial, v *vector) {
	r := dledgerRules(v.Peers)
	m := NewMachine(r, memberstate.HardState{Term: termOf(v.State.CurrTerm), Vote: seatOf(v.State.CurrVoteFor)})
	start := v.stepIn(c, r, &m, Input{Kind: Start})
	out := v.stepIn(c, r, &m, Input{Kind: Ring, Number: start.Alarm.Number})
	v.assertAsks(c, r, &m, out, termOf(v.State.CurrTerm)+1)
}

// assertAsks checks that a round was opened in this term, as DLedger opens one.
func (v *vector) assertAsks(c *trial, r *Rules, m *Machine, out *Output, term memberstate.Term) {
	assert.Equal(c, term, m.Term)
	assert.Equal(c, n0, m.Vote)
	if v.Peers == 1 { // its own vote has elected it
		assert.Equal(c, memberstate.Leader, m.Role)
		return
	}
	assert.Equal(c, memberstate.Candidate, m.Role)
	assert.Equal(c, r.others(), out.To)
	assert.Equal(c, Message{Body: rpc.Body{
		Kind: rpc.VoteRequest, Round: m.ballot, Term: term, Ledger: v.State.ledger(),
	}}, out.Send)
	assertArmed(c, m, out.Alarm, r.Timing.RoundTimeout, r.Timing.RoundTimeout)
}

// answer delivers an answer to a round, unless it is one that never comes.
func (v *vector) answer(c *trial, r *Rules, m *Machine, round uint32, a dledgerAnswer) *Output {
	result := resultOf(a.Result)
	if result == 0 {
		return new(Output)
	}
	leader := memberstate.Nobody
	if result == rpc.RejectAlreadyHasLeader { // D9: it is named. DLedger does not; say it is the one that answers
		leader = seatOf(&a.From)
	}
	return v.stepIn(c, r, m, Input{Kind: Receive, Message: Message{From: seatOf(&a.From), Leader: leader, Body: rpc.Body{
		Kind: rpc.VoteResponse, Result: result, Round: round, Term: termOf(a.Term), Asked: termOf(v.asks()),
	}}})
}

// playRound rings the alarm, delivers the answers in this order, and rings the
// time-out of the round if they do not end it. It returns the step that ended it.
func (v *vector) playRound(c *trial, r *Rules, m *Machine, order []dledgerAnswer) *Output {
	ended := v.stepIn(c, r, m, Input{Kind: Ring, Number: 1})
	if v.Peers == 1 {
		return ended
	}
	v.assertAsks(c, r, m, ended, termOf(v.asks()))
	assert.Equal(c, v.VoteRequest.Term, v.asks())
	round := m.ballot
	open := func() bool { return m.round.phase == voting && m.ballot == round }
	for i, a := range order {
		wasOpen := open()
		if !wasOpen && i >= len(v.seen()) {
			break
		}
		if out := v.answer(c, r, m, round, a); wasOpen && !open() {
			ended = out
		}
	}
	if open() {
		ended = v.stepIn(c, r, m, Input{Kind: Ring, Number: m.alarm})
	}
	return ended
}

// endsAsPredicted plays the round in every order that the vector leaves open.
func endsAsPredicted(c *trial, v *vector) {
	for _, order := range v.orders() {
		r, m := dledgerRules(v.Peers), machineIn(&v.State)
		out := v.playRound(c, r, m, order)
		v.predictOf(order).assertEnded(c, v, r, m, out)
	}
	assertSpentByRestart(c, v)
}

// agreeOnRound checks that the round ends as DLedger's in an order in which it can, and in every other
// order as D5 and D6 say.
func agreeOnRound(c *trial, v *vector) {
	if v.Waiting {
		m := machineIn(&v.State)
		out := v.stepIn(c, dledgerRules(v.Peers), m, Input{Kind: Ring, Number: 2})
		assert.Equal(c, machineIn(&v.State), m)
		assert.Equal(c, Output{Dropped: DropStaleAlarm}, *out)
		v.After.assertAfter(c, m)
		return
	}
	matching, _ := v.matching()
	if !assert.NotEmpty(c, matching, "no deviation excuses this") {
		return
	}
	p := matching[0]
	r, m := dledgerRules(v.Peers), machineIn(&v.State)
	out := v.playRound(c, r, m, p.order)
	assert.Equal(c, v.Outcome, out.Judged.String())
	v.After.assertAfter(c, m)
	if v.NextVote == "base" {
		assertArmed(c, m, out.Alarm, r.Timing.MinVoteWait, r.Timing.MaxVoteWait)
	}
	assert.Equal(c, v.Persisted != nil, v.After.CurrTerm != v.State.CurrTerm || v.After.CurrVoteFor != nil)
	endsAsPredicted(c, v)
}
