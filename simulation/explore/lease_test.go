package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// Where time passes a crash does not wait until its node does something that others notice: a
// member that was started again has waited when others have gone on.
func TestWhoeverWasStartedAgainWaitsWhileTimePasses(t *testing.T) {
	x := searched(t, Bounds{Members: 2, Terms: 1, Beats: 1, Leases: true, NoPreVote: true, NoTransfer: true, NoHints: true}, 0)
	waits := func(n node) bool { // it followed, so no round of its own was under way
		return n.machine.Role == memberstate.Candidate && n.machine.Vote != n.seat && n.time.wait > 0
	}
	assert.True(t, slices.ContainsFunc(x.model.nodes, waits))
	waited := 0
	for at := range x.states.count {
		s := x.states.state(int32(at))
		for _, id := range s.nodes[:2] {
			if n := x.model.nodes[id]; waits(n) && n.time.wait < promiseTicks {
				waited++
			}
		}
	}
	assert.Positive(t, waited)
}
