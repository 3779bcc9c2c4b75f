package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// A leader does not give up because one member contradicts it, if a quorum has answered the same
// beat.
func TestALeaderThatAQuorumAnsweredHasNotLostIt(t *testing.T) {
	led := View{Term: 1, Role: memberstate.Leader, Leader: 1}
	for heard, want := range map[uint32]Departure{9: DepartedResigned, 8: DepartedNoQuorum} {
		m := Machine{
			State:  memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}},
			office: office{beat: 9, heardBeat: heard, inconsistent: true},
		}
		for _, kind := range []InputKind{Ring, Retimed} {
			assert.Equal(t, want, m.whyGone(threeRules(), &Input{Kind: kind}, &led))
		}
	}
}

// A candidate that was handed the leadership names the leader that handed over.
func TestOnlyTheLeadersOwnHandoverCountsAsOne(t *testing.T) {
	followed := View{Term: 1, Role: memberstate.Follower, Leader: 1}
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 2}}}
	for by, want := range map[memberstate.Seat]Departure{1: DepartedHandedOver, 3: DepartedOutvoted} {
		in := Input{Kind: Receive, Message: Message{From: 2, Leader: by, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.Handed, Term: 2}}}
		assert.Equal(t, want, m.whyGone(threeRules(), &in, &followed))
	}
}

// A leader asks for a larger term if a member's answer shows one. When it has won the question it is a candidate for a moment.
func TestALeaderThatAsksForALargerTermIsNotOutvoted(t *testing.T) {
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 2, Vote: 1}, Role: memberstate.Candidate}}
	for leader, want := range map[memberstate.Seat]Departure{1: DepartedRenewed, 2: DepartedOutvoted} {
		before := View{Term: 1, Leader: leader}
		for _, kind := range []rpc.Kind{rpc.VoteResponse, rpc.HeartbeatResponse} {
			in := Input{Kind: Receive, Message: Message{From: 3, Body: rpc.Body{Kind: kind, Term: 2}}}
			assert.Equal(t, want, m.whyGone(threeRules(), &in, &before), "%v, led by %d", kind, leader)
		}
	}
}

// Another leader may have led in between, or this one gave up its office and won it back.
func TestALeaderOfALaterTermHasBeenGone(t *testing.T) {
	for _, role := range []memberstate.Role{memberstate.Follower, memberstate.Observer} {
		before := View{Term: 1, Role: role, Leader: 2}
		m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}, Role: role, Leader: 2}}
		beat := Input{Kind: Receive, Message: Message{From: 2, Leader: 2, Body: rpc.Body{Kind: rpc.Heartbeat}}}
		for _, in := range []*Input{&beat, {Kind: Heard, Seat: 2}} {
			for term, want := range map[memberstate.Term]Departure{1: 0, 2: DepartedOutvoted} {
				m.Term = term
				assert.Equal(t, want, m.whyGone(threeRules(), in, &before), "%v, term %d", role, term)
			}
		}
	}
}

// Operators look these words up in the manual, and scripts compare them.
func TestTheReasonsForADepartureKeepTheirNames(t *testing.T) {
	for why, name := range map[Departure]string{
		0:                    "",
		DepartedSilent:       "silent",
		DepartedDisconnected: "disconnected",
		DepartedOutvoted:     "outvoted",
		DepartedHandedOver:   "handed over",
		DepartedNoQuorum:     "no quorum",
		DepartedLeaseLapsed:  "lease lapsed",
		DepartedResigned:     "resigned",
		DepartedRenewed:      "renewed",
		DepartedNotAble:      "not able",
	} {
		assert.Equal(t, name, why.String())
	}
}
