package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// An ignored input is counted, with the reason, and changes nothing.
func TestEveryIgnoredInputHasAReason(t *testing.T) {
	answer := func(kind rpc.Kind, from memberstate.Seat) Input {
		return Input{Kind: Receive, Message: Message{From: from, Body: rpc.Body{Kind: kind, Term: 1, Asked: 1}}}
	}
	tooFar := answer(rpc.VoteRequest, 2)
	tooFar.Message.Term = 2 + memberstate.MaxTermStep
	willing := func(from memberstate.Seat) Input {
		in := answer(rpc.TakeLeadershipResponse, from)
		in.Message.Result, in.Message.Mark = rpc.Accept, rpc.PreVote
		return in
	}
	leader := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}, Role: memberstate.Leader, Leader: 1}, handover: Handover{Phase: Probing, Target: 2}}
	observer := Machine{State: memberstate.State{Role: memberstate.Observer}}
	for name, c := range map[string]struct {
		machine Machine
		in      Input
		want    Drop
	}{
		"an alarm that was replaced":           {Machine{alarm: 2}, Input{Kind: Ring, Number: 1}, DropStaleAlarm},
		"a term that cannot be":                {Machine{}, tooFar, DropImpossibleTerm},
		"a kind that there is not":             {Machine{}, answer(0, 2), DropMalformed},
		"an observer is asked for its vote":    {observer, answer(rpc.VoteRequest, 2), DropNotForObservers},
		"an observer answers a vote request":   {Machine{}, answer(rpc.VoteResponse, 4), DropNotAVoter},
		"an answer to no round of votes":       {Machine{}, answer(rpc.VoteResponse, 2), DropStaleAnswer},
		"an answer to no heartbeat":            {Machine{}, answer(rpc.HeartbeatResponse, 2), DropStaleAnswer},
		"an observer says it could take over":  {leader, willing(4), DropNotAVoter},
		"a stranger says it could take over":   {leader, willing(memberstate.Stranger), DropNotAVoter},
		"an answer to no handover":             {Machine{}, answer(rpc.TakeLeadershipResponse, 2), DropStaleAnswer},
		"the engine heard from its own member": {Machine{}, Input{Kind: Heard, Seat: 1, Term: 1}, DropMalformed},
		"the engine heard from an observer":    {Machine{}, Input{Kind: Heard, Seat: 4, Term: 1}, DropMalformed},
		"the engine heard of such a term":      {Machine{}, Input{Kind: Heard, Seat: 2, Term: 2 + memberstate.MaxTermStep}, DropImpossibleTerm},
	} {
		voters := memberstate.SetOf(1, 2, 3)
		r := &Rules{Self: 1, Voters: voters, All: voters.With(4), Timing: DefaultTiming()}
		m, out := c.machine, Output{}
		m.Step(r, &c.in, &out)
		assert.Equal(t, Output{Dropped: c.want}, out, name)
		assert.Equal(t, c.machine, m, name)
	}
}

func TestOnlyAnIgnoredInputHasADropReason(t *testing.T) {
	a := startedAlone(t)
	a.give(Input{Kind: Served})
	assert.Zero(t, a.out.Dropped)
	a.give(Input{Kind: Ring, Number: a.machine.alarm - 1})
	assert.Equal(t, DropStaleAlarm, a.out.Dropped)
}

// Alerts leave some of these words out, and operators look them up.
func TestTheReasonsForADropKeepTheirNames(t *testing.T) {
	for why, name := range map[Drop]string{
		0:                   "",
		DropUnknownGroup:    "unknown group",
		DropMisaddressed:    "misaddressed",
		DropFromSelf:        "from self",
		DropOtherVoters:     "other voters",
		DropMalformed:       "malformed",
		DropImpossibleTerm:  "impossible term",
		DropNotAVoter:       "not a voter",
		DropNotForObservers: "not for observers",
		DropStaleAnswer:     "stale answer",
		DropStaleAlarm:      "stale alarm",
		DropQueueFull:       "queue full",
	} {
		assert.Equal(t, name, why.String())
	}
}
