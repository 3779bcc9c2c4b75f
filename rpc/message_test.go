// Names and validity of kinds, marks, results and bodies.

package rpc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/rpc"
)

func TestNamesAreDistinct(t *testing.T) {
	assertNamed(t, rpc.VoteRequest, rpc.TakeLeadershipResponse)
	assertNamed(t, rpc.Plain, rpc.Vouched)
	assertNamed(t, rpc.Accept, rpc.NotAble)
	assertNamed(t, rpc.Serving, rpc.Drained)
	assert.Equal(t, "kind(0)", rpc.Kind(0).String())
	assert.Equal(t, "result(255)", rpc.Result(255).String())
}

// Operators read the names, and stop a node that is drained.
func TestEveryNodeStateHasItsName(t *testing.T) {
	for state, name := range map[rpc.NodeState]string{
		rpc.Serving: "serving", rpc.Starting: "starting", rpc.Draining: "draining", rpc.Drained: "drained",
	} {
		assert.Equal(t, name, state.String())
	}
}

// assertNamed checks the names of all values from first to last.
func assertNamed[T interface {
	~uint8
	fmt.Stringer
}](t *testing.T, first, last T) {
	t.Helper()
	seen := map[string]T{}
	for v := first; v <= last; v++ {
		name := v.String()
		assert.NotContains(t, name, "(", "%d has no name", v)
		assert.NotContains(t, seen, name)
		seen[name] = v
	}
}

func TestResultsAnswerRequestsOfTheirKind(t *testing.T) {
	answers := map[rpc.Kind][]rpc.Result{
		rpc.VoteResponse:           {rpc.Accept, rpc.RejectUnknownLeader, rpc.RejectTakingLeadership},
		rpc.HeartbeatResponse:      {rpc.Success, rpc.UnknownMember, rpc.TermNotReady, rpc.NotAble},
		rpc.TakeLeadershipResponse: {rpc.Accept, rpc.NotFollowing, rpc.LedgerBehind, rpc.NotAble},
		rpc.VoteRequest:            {0},
		rpc.Heartbeat:              {0},
		rpc.TakeLeadership:         {0},
	}
	for kind, good := range answers {
		for _, r := range good {
			assert.True(t, r.Answers(kind), "%v answers %v", r, kind)
		}
	}
	assert.False(t, rpc.Success.Answers(rpc.VoteResponse))
	assert.False(t, rpc.Accept.Answers(rpc.HeartbeatResponse))
	assert.False(t, rpc.RejectTakingLeadership.Answers(rpc.HeartbeatResponse))
	assert.False(t, rpc.NotFollowing.Answers(rpc.HeartbeatResponse))
	assert.False(t, rpc.NotAble.Answers(rpc.VoteResponse))
	assert.False(t, rpc.RejectAlreadyVoted.Answers(rpc.TakeLeadershipResponse))
	assert.False(t, rpc.Result(0).Answers(rpc.VoteResponse))
	assert.False(t, rpc.Accept.Answers(rpc.VoteRequest))
	assert.False(t, rpc.Accept.Answers(rpc.Kind(99)))
}

func TestOnlyKnownKindsMarksAndStatesAreValid(t *testing.T) {
	assert.True(t, rpc.VoteRequest.Valid())
	assert.False(t, rpc.Kind(0).Valid())
	assert.False(t, (rpc.TakeLeadershipResponse + 1).Valid())
	assert.True(t, rpc.Vouched.Valid())
	assert.False(t, (rpc.Vouched + 1).Valid())
	assert.True(t, rpc.Drained.Valid())
	assert.False(t, (rpc.Drained + 1).Valid())
}

// What is repeated soon may be dropped; an order to take over, or the answer to one, is sent once.
func TestOnlyHeartbeatsAndTheirAnswersArePeriodic(t *testing.T) {
	for kind := rpc.VoteRequest; kind.Valid(); kind++ {
		assert.Equal(t, kind == rpc.Heartbeat || kind == rpc.HeartbeatResponse, kind.Periodic(), kind)
	}
}

// A machine would otherwise take an unknown mark for one that it knows, or an answer for that to another request.
func TestABodyHasAKnownMarkAndTheResultOfItsKind(t *testing.T) {
	good := rpc.Body{Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: rpc.Handed}
	assert.True(t, good.WellFormed())
	for _, spoil := range []func(*rpc.Body){
		func(b *rpc.Body) { b.Mark = rpc.Vouched + 1 },
		func(b *rpc.Body) { b.Result = rpc.Success },
		func(b *rpc.Body) { b.Result = 0 },
		func(b *rpc.Body) { b.Kind = 0 },
	} {
		b := good
		spoil(&b)
		assert.False(t, b.WellFormed(), "%+v", b)
	}
}

// The sender of a request leads its term or stands in it, which is impossible in term 0.
func TestNoRequestHasTermZero(t *testing.T) {
	for kind := rpc.VoteRequest; kind.Valid(); kind++ {
		b := rpc.Body{Kind: kind, Term: 1}
		if !b.WellFormed() { // an answer needs a result
			b.Result = rpc.Accept
		}
		if !b.WellFormed() {
			b.Result = rpc.Success
		}
		assert.True(t, b.WellFormed(), kind)
		b.Term = 0
		assert.Equal(t, b.Result != 0, b.WellFormed(), kind)
	}
}

func TestNoDurationIsNegative(t *testing.T) {
	for _, b := range []rpc.Body{
		{Kind: rpc.Heartbeat, Term: 1, Lease: -1},
		{Kind: rpc.Heartbeat, Term: 1, RoundTrip: -1},
		{Kind: rpc.Heartbeat, Term: 1, Detection: -1},
	} {
		assert.False(t, b.WellFormed())
		b.Lease, b.Detection, b.RoundTrip = 0, 0, 0
		assert.True(t, b.WellFormed())
	}
}

func TestOnlyAVoteThatIsGivenCanBeVouchedFor(t *testing.T) {
	for _, b := range []rpc.Body{
		{Kind: rpc.VoteRequest, Term: 1},
		{Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyVoted},
		{Kind: rpc.TakeLeadership, Term: 1},
		{Kind: rpc.TakeLeadershipResponse, Result: rpc.Accept},
	} {
		assert.True(t, b.WellFormed(), b.Kind)
		b.Mark = rpc.Vouched
		assert.False(t, b.WellFormed(), b.Kind)
	}
	assert.True(t, (&rpc.Body{Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: rpc.Vouched}).WellFormed())
}
