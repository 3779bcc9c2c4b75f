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
		assert.Equal(t, want, m.whyGone(threeRules(), &Input{Kind: Ring}, &led))
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
