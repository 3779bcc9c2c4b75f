// The cost of one step of a machine.

package protocol

import (
	"testing"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// benchRules are those of a voter among three, with everything on except leases.
func benchRules() *Rules {
	voters := memberstate.SetOf(1, 2, 3)
	return &Rules{Self: 1, Voters: voters, All: voters, Timing: DefaultTiming(), PreVote: true, Ranks: true}
}

// benchStep steps a machine again and again from the same state.
func benchStep(b *testing.B, m Machine, in Input) {
	b.Helper()
	r, out := benchRules(), new(Output)
	b.ReportAllocs()
	for b.Loop() {
		copied := m
		copied.Step(r, &in, out)
	}
	if out.Err != nil || out.NeedLedger {
		b.Fatalf("not what was to be measured: %+v", out)
	}
}

// followerOf2 is a machine that follows seat 2 in term 5.
func followerOf2() Machine {
	m := NewMachine(benchRules(), memberstate.HardState{Term: 5, Vote: 2})
	m.Role, m.Leader = memberstate.Follower, 2
	return m
}

func BenchmarkMachineHeartbeat(b *testing.B) {
	benchStep(b, followerOf2(), Input{Kind: Receive, Message: Message{
		From: 2, Leader: 2, Body: rpc.Body{Kind: rpc.Heartbeat, Term: 5, Round: 7},
	}})
}

// voteRequest is a winner's request for term 6, with the voter's ledger at hand.
func voteRequest() Input {
	end := memberstate.Position{Term: 5, Index: 10}
	return Input{
		Kind: Receive, HasLedger: true, LedgerTerm: 6, Ledger: end,
		Message: Message{From: 3, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.Won, Term: 6, Round: 1, Ledger: end}},
	}
}

func BenchmarkMachineVoteGranted(b *testing.B) {
	m := followerOf2()
	m.Role, m.Leader = memberstate.Candidate, memberstate.Nobody
	benchStep(b, m, voteRequest())
}

func BenchmarkMachineVoteRefused(b *testing.B) {
	m := followerOf2()
	m.Role, m.Leader = memberstate.Candidate, memberstate.Nobody
	in := voteRequest()
	in.Message.Term = 5
	benchStep(b, m, in)
}

func BenchmarkMachinePreVote(b *testing.B) {
	m := followerOf2()
	m.Role, m.Leader = memberstate.Candidate, memberstate.Nobody
	in := voteRequest()
	in.Message.Mark = rpc.PreVote
	benchStep(b, m, in)
}

func BenchmarkMachineAlarmOfFollower(b *testing.B) {
	m := followerOf2()
	m.alarm = 9
	benchStep(b, m, Input{Kind: Ring, Number: 9})
}

func BenchmarkMachineAlarmOfLeader(b *testing.B) {
	m := followerOf2()
	m.Role, m.Leader, m.Vote, m.alarm = memberstate.Leader, 1, 1, 9
	benchStep(b, m, Input{Kind: Ring, Number: 9})
}

func BenchmarkMachineHeartbeatAnswer(b *testing.B) {
	m := followerOf2()
	m.Role, m.Leader, m.Vote, m.office.beat = memberstate.Leader, 1, 1, 9
	benchStep(b, m, Input{Kind: Receive, Message: Message{
		From: 2, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Term: 5, Asked: 5, Round: 9},
	}})
}
