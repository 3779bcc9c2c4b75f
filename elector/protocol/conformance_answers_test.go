// Conformance of answers: a vote request or a heartbeat arrives.

package protocol

import (
	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

var votes = decisions{
	kind:  "handlevote",
	agree: agreeOnVote,
	excuses: []excuse{
		{byD3, (*vector).overtakes, adoptsByVote},
	},
	expected: map[verdict]int{agrees: 1235, byD3: 37, skipped: 228},
}

var heartbeats = decisions{
	kind:  "heartbeat",
	agree: agreeOnHeartbeat,
	excuses: []excuse{
		{byD3, (*vector).overtakes, adoptsByHeartbeat},
	},
	expected: map[verdict]int{agrees: 759, byD3: 20, skipped: 721},
}

// raises says whether the call made DLedger raise the term, which it does one tick later. A raise
// that was pending before is no part of the machine's state.
func (v *vector) raises() bool {
	return v.After.NeedIncreaseTermImmediately && len(v.RoleEvents) > 0 && v.RoleEvents[0][1] == "CANDIDATE"
}

// settled is DLedger's state after the call, and after that tick if it was due.
func (v *vector) settled() *dledgerState {
	s := v.After
	if v.raises() {
		s.CurrTerm, s.CurrVoteFor = max(s.KnownMaxTermInGroup, s.CurrTerm+1), nil
	}
	return &s
}

// overtakes says whether that tick goes past the term of the message, because a still larger one
// was heard before.
func (v *vector) overtakes() bool { return v.raises() && v.State.KnownMaxTermInGroup > v.Request.Term }

// assertAdopted checks that the machine is in the sender's term, where it can vote for it and
// follow it. Its next campaign begins where DLedger is.
func (v *vector) assertAdopted(c *trial, m *Machine) {
	want := v.After
	want.CurrTerm, want.CurrVoteFor = v.Request.Term, nil
	want.assertAfter(c, m)
	assert.Equal(c, v.settled().CurrTerm, v.State.KnownMaxTermInGroup)
	assert.Equal(c, termOf(v.State.KnownMaxTermInGroup), m.nextTerm())
}

// assertSettled compares the machine with DLedger: its state, and the changes that the call
// announced.
func (v *vector) assertSettled(c *trial, m *Machine) {
	v.settled().assertAfter(c, m)
	if n := len(v.RoleEvents); n > 0 {
		assert.Equal(c, v.RoleEvents[n-1][1], v.After.Role)
	} else {
		assert.Equal(c, v.State.Role, v.After.Role)
	}
	// DLedger writes a vote again that is given again; the machine does not,
	// and stepIn checks that it saves whenever there is a difference.
	if v.Persisted == nil && !v.raises() {
		assert.Equal(c, v.State.CurrTerm, v.After.CurrTerm)
	}
}

// assertReply checks the fields that every answer has.
func (v *vector) assertReply(c *trial, m *Machine, in *Input, out *Output, result string) {
	q, reply := &in.Message, &out.Reply
	assert.True(c, out.Replied)
	assert.Equal(c, result, reply.Result.String())
	assert.Equal(c, q.Kind+1, reply.Kind)
	assert.Equal(c, q.Round, reply.Round)
	assert.Equal(c, q.Term, reply.Asked)
	assert.Equal(c, m.Leader, reply.Leader)                 // D9
	if v.Response.Term != -1 || q.Kind == rpc.VoteRequest { // -1: not filled in
		assert.Equal(c, termOf(v.Response.Term), reply.Term)
	}
	assert.Zero(c, out.To, "an answer is all that is sent")
}

func (v *vector) voteRequest() Input {
	return Input{Kind: Receive, Message: Message{From: seatOf(v.Request.LeaderID), Body: rpc.Body{
		Kind: rpc.VoteRequest, Round: 7, Term: termOf(v.Request.Term),
		Ledger: positionOf(v.Request.LedgerEndTerm, v.Request.LedgerEndIndex),
	}}}
}

// replayVote: a vote request arrives, or the member asks itself.
func replayVote(c *trial, v *vector) *Machine {
	r, m, in := dledgerRules(3), machineIn(&v.State), v.voteRequest()
	before := *m
	if v.Self {
		var out Output
		in.HasLedger, in.LedgerTerm, in.Ledger = true, in.Message.Term, v.State.ledger()
		assert.Equal(c, v.Response.VoteResult, m.arbitrate(r, &in, &out, true).String())
		assert.Equal(c, before.HardState != m.HardState, out.Save, "saved")
		assert.Equal(c, before.State != m.State, out.Changed, "changed")
		return m
	}
	out := v.stepIn(c, r, m, in)
	v.assertReply(c, m, &in, out, v.Response.VoteResult)
	adopted, voted := m.Term > before.Term, m.Vote != before.Vote && m.Vote != memberstate.Nobody
	switch {
	case voted && m.Role == memberstate.Candidate, adopted && !before.waitsToStand(r):
		assertArmed(c, m, out.Alarm, r.Timing.MinVoteWait, r.Timing.MaxVoteWait)
	default: // D19, of those who adopt: the wait that they have goes on
		assert.Zero(c, out.Alarm)
	}
	return m
}

func agreeOnVote(c *trial, v *vector) { v.assertSettled(c, replayVote(c, v)) }

func adoptsByVote(c *trial, v *vector) { v.assertAdopted(c, replayVote(c, v)) }

// replayHeartbeat: a heartbeat arrives.
func replayHeartbeat(c *trial, v *vector) *Machine {
	r, m := dledgerRules(3), machineIn(&v.State)
	before := *m
	in := Input{Kind: Receive, Message: Message{From: seatOf(v.Request.LeaderID), Body: rpc.Body{
		Kind: rpc.Heartbeat, Round: 7, Term: termOf(v.Request.Term),
	}}}
	out := v.stepIn(c, r, m, in)
	v.assertReply(c, m, &in, out, v.Response.CodeName)
	// Who adopts a term waits for its leader as well; DLedger's timer runs on.
	if adopted := m.Term > before.Term; adopted || v.LeaderTimerReset {
		assertArmed(c, m, out.Alarm, r.Timing.Detection(), r.Timing.Detection())
	} else {
		assert.Zero(c, out.Alarm)
	}
	return m
}

func agreeOnHeartbeat(c *trial, v *vector) { v.assertSettled(c, replayHeartbeat(c, v)) }

func adoptsByHeartbeat(c *trial, v *vector) { v.assertAdopted(c, replayHeartbeat(c, v)) }
