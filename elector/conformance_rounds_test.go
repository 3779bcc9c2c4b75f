// Conformance of rounds: a candidate asks for votes, a leader beats, and answers
// come in.

package elector

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

const (
	byD2 verdict = "D2: a term whose vote is another's is not campaigned in"
	byD3 verdict = "D3: the term was raised when it was seen"
	byD5 verdict = "D5: an existing leader never raises the term"
	byD6 verdict = "D6: passed is passed, lost is lost"
	byD7 verdict = "D7: a larger term is asked for before it deposes"
	byD8 verdict = "D8: beats count from the election"
)

// replayVoteRound: a candidate's alarm rings, and the answers to its round come.
func replayVoteRound(t *testing.T, v *vector) verdict {
	t.Helper()
	r, m := dledgerRules(v.Peers), machineIn(&v.State)
	switch {
	case v.Outcome == "TERM_INCREASED_NO_VOTE":
		return v.raisedBefore(t, r, m)
	case v.Waiting:
		before := *m
		v.stepIn(r, m, Input{Kind: Ring, Number: 2})
		assert.Equal(t, before, *m)
		v.assertAfter(t, m)
		return agrees
	}
	if v.State.CurrVoteFor != nil && *v.State.CurrVoteFor != "n0" && m.judged != WaitToVoteNext {
		out := v.stepIn(r, m, Input{Kind: Ring, Number: 1})
		assert.Equal(t, max(termOf(v.State.CurrTerm)+1, m.known), m.Term)
		assert.Equal(t, memberstate.Seat(1), m.Vote)
		assert.True(t, out.Save)
		return byD2
	}
	var judged verdict
	for _, order := range v.orders() {
		again := *m
		if judged = v.playRound(r, &again, order); judged != "" {
			v.assertVerdict(t, r, &again, judged)
			return judged
		}
	}
	assert.Fail(t, "no deviation excuses this")
	return ""
}

// raisedBefore shows what D3 makes of a raise that is pending in DLedger.
func (v *vector) raisedBefore(t *testing.T, r *Rules, m *Machine) verdict {
	t.Helper()
	out := new(Output)
	m.adopt(r, out, termOf(v.After.CurrTerm))
	v.assertAfter(t, m)
	assert.True(t, out.Save)
	assert.Zero(t, out.To, "it asks for votes before its alarm rings")
	return byD3
}

// orders are the orders in which the answers may have come. Where the vector
// leaves it open, those that further the round may come last or first.
func (v *vector) orders() [][]dledgerAnswer {
	if v.Arrival == "ordered" {
		return [][]dledgerAnswer{v.Responses}
	}
	var accepts, notReady, refusals []dledgerAnswer
	for _, a := range v.Responses {
		switch a.Result {
		case "ACCEPT", "SUCCESS":
			accepts = append(accepts, a)
		case "REJECT_TERM_NOT_READY", "TERM_NOT_READY":
			notReady = append(notReady, a)
		case "REJECT_ALREADY_HAS_LEADER":
			refusals = slices.Insert(refusals, 0, a)
		default:
			refusals = append(refusals, a)
		}
	}
	return [][]dledgerAnswer{slices.Concat(refusals, notReady, accepts), slices.Concat(accepts, notReady, refusals)}
}

// playRound plays one round and says how it compares, or nothing if it does not.
func (v *vector) playRound(r *Rules, m *Machine, answers []dledgerAnswer) verdict {
	out := v.stepIn(r, m, Input{Kind: Ring, Number: 1})
	saved := out.Save == (v.Persisted != nil && v.changesHardState())
	ballot, alarm := m.ballot, out.Alarm
	for _, a := range answers {
		result := resultOf(a.Result)
		if result == 0 {
			continue
		}
		// D9: who has a leader names it. DLedger does not; say it is the one that answers.
		o := v.stepIn(r, m, Input{Kind: Receive, Message: Message{From: seatOf(&a.From), Leader: seatOf(&a.From), Body: rpc.Body{
			Kind: rpc.VoteResponse, Result: result, Round: ballot, Term: termOf(a.Term), Asked: termOf(v.State.asks()),
		}}})
		if o.Alarm.Number != 0 {
			alarm = o.Alarm
		}
	}
	if m.phase == voting && m.ballot == ballot {
		alarm = v.stepIn(r, m, Input{Kind: Ring, Number: m.alarm}).Alarm
	}
	return v.compareRound(r, m, alarm, saved)
}

// asks is the term in which DLedger asks for votes.
func (s *dledgerState) asks() int {
	if s.LastParseResult == "WAIT_TO_VOTE_NEXT" {
		return max(s.CurrTerm+1, s.KnownMaxTermInGroup)
	}
	return s.CurrTerm
}

func (v *vector) compareRound(r *Rules, m *Machine, alarm Alarm, saved bool) verdict {
	same := m.judged.String() == v.Outcome && saved && m.nextTerm() == v.nextTerm()
	if v.NextVote == "base" {
		same = same && alarm.Min == r.Timing.MinVoteWait && alarm.Max == r.Timing.MaxVoteWait
	}
	hasLeader := slices.ContainsFunc(v.Responses, func(a dledgerAnswer) bool { return a.Result == "REJECT_ALREADY_HAS_LEADER" })
	switch {
	case same && v.NextVote != "base+leak*heartbeat":
		return agrees
	case m.Role == memberstate.Leader:
		return byD6
	case v.NextVote == "base+leak*heartbeat" && hasLeader && m.judged == WaitToRevote && alarm.Min == r.Timing.Heartbeat:
		return byD5
	case m.judged != Passed && v.Outcome != "PASSED" && m.phase != voting:
		return byD6
	}
	return ""
}

// nextTerm is the term of the campaign after this one.
func (m *Machine) nextTerm() memberstate.Term {
	if m.judged == WaitToVoteNext {
		return max(m.Term+1, m.known)
	}
	return m.Term
}

// nextTerm is the same in DLedger.
func (v *vector) nextTerm() memberstate.Term {
	if v.Outcome == "WAIT_TO_VOTE_NEXT" {
		return termOf(max(v.After.CurrTerm+1, v.After.KnownMaxTermInGroup))
	}
	return termOf(v.After.CurrTerm)
}

// assertVerdict checks that the machine does what the verdict says.
func (v *vector) assertVerdict(t *testing.T, r *Rules, m *Machine, judged verdict) {
	t.Helper()
	accepts := 1 // its own
	for _, a := range v.Responses {
		if a.Result == "ACCEPT" {
			accepts++
		}
	}
	switch {
	case judged == agrees:
		v.assertAfter(t, m)
	case judged == byD5:
		assert.Equal(t, termOf(v.After.CurrTerm), m.Term)
	case m.Role == memberstate.Leader:
		assert.GreaterOrEqual(t, accepts, r.quorum(), "it leads without a quorum")
	default:
		assert.Less(t, accepts, r.quorum(), "the round could still have passed")
	}
}

// replayBeat: a leader beats once, and the answers come.
func replayBeat(t *testing.T, v *vector) verdict {
	t.Helper()
	r, m := dledgerRules(v.Peers), machineIn(&v.State)
	m.serving = true
	m.beat, m.heardBeat = 10, 10 // fresh; or, for a new leader, counted from its election
	if v.LastQuorumSuccess == "expired" {
		m.heardBeat = 11 - uint32(r.Timing.Leak)
	}
	m.challenge = m.beat - uint32(r.Timing.Leak)
	v.stepIn(r, m, Input{Kind: Ring, Number: 1})
	orders := v.orders()
	preVote := false
	for _, a := range orders[len(orders)-1] {
		result := resultOf(a.Result)
		if result == 0 {
			continue
		}
		out := v.stepIn(r, m, Input{Kind: Receive, Message: Message{From: seatOf(&a.From), Body: rpc.Body{
			Kind: rpc.HeartbeatResponse, Result: result, Round: 11, Term: termOf(a.Term), Asked: termOf(v.State.CurrTerm),
		}}})
		preVote = preVote || out.To != 0 && out.Send.Mark == rpc.PreVote
	}
	if preVote {
		assert.Equal(t, memberstate.Leader, m.Role, "it stepped down before it was elected anew")
		assert.Greater(t, m.asked, termOf(v.State.CurrTerm)+1)
		assert.GreaterOrEqual(t, m.known, v.largestAnswered())
		return byD7
	}
	outcome := v.beatOutcome(r, m)
	if v.LastQuorumSuccess == "never" && v.Outcome == "STEP_DOWN_SAME_TERM" && outcome != v.Outcome {
		assert.Equal(t, memberstate.Leader, m.Role)
		return byD8
	}
	assert.Equal(t, v.Outcome, outcome)
	v.assertAfter(t, m)
	return agrees
}

// beatOutcome names what became of a beat as DLedger does.
func (v *vector) beatOutcome(r *Rules, m *Machine) string {
	switch {
	case m.beat == 12:
		return "RESEND_NOW"
	case m.heardBeat == 11:
		return "QUORUM_OK"
	}
	v.stepIn(r, m, Input{Kind: Ring, Number: m.alarm})
	if m.Role == memberstate.Leader {
		return "WAIT_NEXT_INTERVAL"
	}
	return "STEP_DOWN_SAME_TERM"
}

// largestAnswered is the largest term that an answer has taught.
func (v *vector) largestAnswered() memberstate.Term {
	largest := 0
	for _, a := range v.Responses {
		if a.Result == "EXPIRED_TERM" {
			largest = max(largest, a.Term)
		}
	}
	return termOf(largest)
}
