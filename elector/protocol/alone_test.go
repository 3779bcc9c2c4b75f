// A member alone: the test asks it, and looks at its answers. The simulator plays groups, and its
// scenarios tell the stories of most faults.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// alone is the member on seat 1 of a group of three.
type alone struct {
	*testing.T
	rules   *Rules
	machine Machine
	out     Output
	ledger  memberstate.Position
}

// startedAlone has just begun to take part.
func startedAlone(t *testing.T) *alone {
	t.Helper()
	a := &alone{T: t, rules: threeRules()}
	a.restart()
	return a
}

// restart begins an incarnation with its durable state.
func (a *alone) restart() {
	a.Helper()
	a.machine = NewMachine(a.rules, a.machine.HardState)
	a.give(Input{Kind: Start})
}

// give gives it an input, and the end of its ledger if it asks for that.
func (a *alone) give(in Input) {
	a.Helper()
	a.out = stepWithLedger(a.rules, &a.machine, in, a.ledger)
	require.NoError(a, a.out.Err)
}

// hears gives it a message from a member that takes this one for the leader, and returns its answer.
func (a *alone) hears(from, leader memberstate.Seat, body rpc.Body) rpc.Result {
	a.Helper()
	a.give(Input{Kind: Receive, Message: Message{From: from, Leader: leader, Body: body}})
	return a.out.Reply.Result
}

// asked gives it a request.
func (a *alone) asked(by memberstate.Seat, body rpc.Body) rpc.Result {
	a.Helper()
	return a.hears(by, by, body)
}

// ring rings its alarm.
func (a *alone) ring() {
	a.Helper()
	a.give(Input{Kind: Ring, Number: a.machine.alarm})
}

// answered answers its round of votes.
func (a *alone) answered(by memberstate.Seat, result rpc.Result, term memberstate.Term) {
	a.Helper()
	ballot, asked, mark := a.machine.Open()
	a.hears(by, memberstate.Nobody, rpc.Body{Kind: rpc.VoteResponse, Result: result, Mark: mark, Round: ballot, Asked: asked, Term: term})
}

// idle checks that it asks for no votes.
func (a *alone) idle() bool {
	ballot, _, _ := a.machine.Open()
	return ballot == 0
}

// theLeader is the leader's seat wherever the member follows.
const theLeader memberstate.Seat = 3

// followingAlone follows the leader in term 1.
func followingAlone(t *testing.T, leases bool) *alone {
	t.Helper()
	a := startedAlone(t)
	if leases {
		a.rules.Lease = a.rules.Timing.Detection()
		a.restart()
	}
	for a.asked(theLeader, a.beat(1, 1)) != rpc.Success {
		require.Equal(t, rpc.TermNotReady, a.out.Reply.Result)
	}
	return a
}

func (a *alone) beat(term memberstate.Term, number uint32) rpc.Body {
	return rpc.Body{Kind: rpc.Heartbeat, Term: term, Round: number, Lease: a.rules.Lease}
}

// leadingAlone leads term 1, and has sent its first beat.
func leadingAlone(t *testing.T, leases bool) *alone {
	t.Helper()
	a := startedAlone(t)
	if leases {
		a.rules.Lease = a.rules.Timing.Detection()
	}
	for a.machine.Role != memberstate.Leader {
		if a.idle() {
			a.ring()
		}
		a.answered(2, rpc.Accept, 0)
	}
	require.EqualValues(t, 1, a.machine.Term)
	return a
}

// acknowledges answers one of its beats.
func (a *alone) acknowledges(by memberstate.Seat, beat uint32) {
	a.Helper()
	a.hears(by, 1, rpc.Body{
		Kind: rpc.HeartbeatResponse, Result: rpc.Success, Promised: true, Round: beat, Term: a.machine.Term, Asked: a.machine.Term,
	})
}

// voteFor asks for a vote in a term, like a candidate that has just won a pre-vote.
func voteFor(term memberstate.Term) rpc.Body {
	return rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.Won, Term: term, Round: 1, Ledger: memberstate.Position{Term: term}}
}

// wouldVoteFor asks in a pre-vote.
func wouldVoteFor(term memberstate.Term) rpc.Body {
	body := voteFor(term)
	body.Mark = rpc.PreVote
	return body
}

// marked is a request with another mark.
func marked(body rpc.Body, mark rpc.Mark) rpc.Body {
	body.Mark = mark
	return body
}

// threeRules are those of the first of three voters.
func threeRules() *Rules {
	all := memberstate.SetOf(1, 2, 3)
	return &Rules{Self: 1, Voters: all, All: all, Timing: DefaultTiming(), PreVote: true, Ranks: true}
}

// stepWithLedger steps a machine whose engine answers where its ledger ends.
func stepWithLedger(r *Rules, m *Machine, in Input, end memberstate.Position) (out Output) {
	for m.Step(r, &in, &out); out.NeedLedger; m.Step(r, &in, &out) {
		in.HasLedger, in.LedgerTerm, in.Ledger = true, out.LedgerTerm, end
	}
	return out
}
