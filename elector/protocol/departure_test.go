package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// One member that contradicts a leader is not why the leader gives up, if a quorum has
// answered the same beat.
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
