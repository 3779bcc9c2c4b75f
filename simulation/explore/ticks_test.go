package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
)

// Where time passes, a crash does not wait until its node does something that others notice: a restarted member has
// waited while others have gone on.
func TestARestartedMemberWaitsWhileTimePasses(t *testing.T) {
	x := searched(t, Bounds{Members: 2, Terms: 1, Beats: 1, Leases: true, NoPreVote: true, NoTransfer: true, NoHints: true}, 0)
	waits := func(n node) bool { // it followed, so no round of its own was under way
		return n.session.Role == memberstate.Candidate && n.session.Vote != n.seat && n.time.wait > 0
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

// The holders of leases reported at the end of a path are those that can hold one there.
func TestTheLeasesOnAPathAreThoseThatCanBeHeld(t *testing.T) {
	x := searched(t, Bounds{Members: 2, Terms: 1, Beats: 1, Leases: true, Lag: 1, NoPreVote: true, NoTransfer: true, NoHints: true}, 0)
	held := 0
	for at := range int32(x.states.count) {
		way, name := x.pathTo(at)
		s, want, got := x.states.state(at), 0, 0
		for i := range 2 {
			key := x.key(&s, i)
			if slices.ContainsFunc(x.model.silentClosure(&key), func(b silentNode) bool { return x.model.nodes[b.node].holdsLease() }) {
				want |= 1 << (int(name.of(seatOf(i))) - 1)
			}
		}
		way = append(way, x.takeLeases(&s, name)...)
		if steps := x.model.describeSteps(way); len(steps) > 0 {
			got = steps[len(steps)-1].Leases
		}
		assert.Equal(t, want, got)
		for range leaseTicks {
			way = append(way, move{name: name, input: x.model.tickInput})
		}
		steps := x.model.describeSteps(way)
		assert.Zero(t, steps[len(steps)-1].Leases, "it is over when its ticks are")
		held += want
	}
	assert.Positive(t, held)
}
