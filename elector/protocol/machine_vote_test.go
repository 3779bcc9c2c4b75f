// A voter decides on a request, and what that means for its own next attempt.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestAPreVoteForAnOlderTermIsRefusedForThat(t *testing.T) {
	m, out := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 5}}}, Output{}
	ask := Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 3}}
	m.Step(threeRules(), &Input{Kind: Receive, Message: ask, HasLedger: true, LedgerTerm: 5}, &out)
	assert.Equal(t, rpc.RejectExpiredVoteTerm, out.Reply.Result)
}

// D19: a candidate that waits to stand adopts larger terms as it hears of them, and its wait goes on.
// It begins anew when the member votes, or when its own round was cut short.
func TestAWaitIsNotSetAnew(t *testing.T) {
	r := &Rules{Self: 1, Voters: memberstate.SetOf(1, 2, 3), All: memberstate.SetOf(1, 2, 3), Timing: DefaultTiming()}
	m := NewMachine(r, memberstate.HardState{Term: 1})
	asks := func(term memberstate.Term, ledger uint64) (rpc.Result, Alarm) {
		q := Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Term: term, Ledger: memberstate.Position{Index: ledger}}}
		out := stepWithLedger(r, &m, Input{Kind: Receive, Message: q}, memberstate.Position{Index: 5})
		return out.Reply.Result, out.Alarm
	}
	result, first := asks(2, 4)
	assert.Equal(t, rpc.RejectTermNotReady, result)
	assert.NotZero(t, first, "until now it waited for its leader")
	for term := memberstate.Term(3); term < 9; term++ {
		result, alarm := asks(term, 4)
		assert.Equal(t, rpc.RejectTermNotReady, result)
		assert.Zero(t, alarm)
		assert.Equal(t, term, m.Term)
	}
	result, alarm := asks(8, 5)
	assert.Equal(t, rpc.Accept, result)
	assert.NotZero(t, alarm, "whom it votes for has time to say that it leads")
	_, alarm = asks(9, 5)
	assert.NotZero(t, alarm, "and so has the next one to ask again")
	stepWithLedger(r, &m, Input{Kind: Ring, Number: m.alarm}, memberstate.Position{Index: 5})
	assert.Equal(t, voting, m.round.phase)
	_, alarm = asks(10, 4)
	assert.Equal(t, r.Timing.MinVoteWait, alarm.Min, "its own round was cut short")
}

// D20: a voter that refuses a candidate for its ledger stands in a larger term, because in this one the
// candidate and others like it have given their votes to the candidate.
func TestAVoterThatRefusesALedgerStandsInALargerTerm(t *testing.T) {
	for poor, want := range map[bool]memberstate.Term{true: 3, false: 2} {
		r := &Rules{Self: 1, Voters: memberstate.SetOf(1, 2, 3), All: memberstate.SetOf(1, 2, 3), Timing: DefaultTiming()}
		m := NewMachine(r, memberstate.HardState{Term: 1})
		ask := Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Term: 2}}}
		stepWithLedger(r, &m, ask, memberstate.Position{Index: 5})
		if poor {
			out := stepWithLedger(r, &m, ask, memberstate.Position{Index: 5})
			assert.Equal(t, rpc.RejectSmallLedgerEndIndex, out.Reply.Result)
		}
		out := stepWithLedger(r, &m, Input{Kind: Ring, Number: m.alarm}, memberstate.Position{Index: 5})
		assert.Equal(t, want, out.Send.Term, "it has refused: %t", poor)
	}
}
