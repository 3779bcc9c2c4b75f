// What begins anew when its like begins again, and what stays as it was.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Otherwise a disk that works would be taken for one that hangs.
func TestEachSaveHasItsOwnBeginning(t *testing.T) {
	r := newRecorders(t, 1)[0]
	n := r.node
	for range 2 {
		n.At(n.now + time.Hour)
		n.saves.waiting = []*Group{&r.group}
		n.save()
		assert.Equal(t, n.now, n.saves.began)
		n.saves.saving = nil
	}
}

// The same memory may have served another step before, and another group.
func TestEachStepThatWaitsForTheLedgerHasItsOwnBeginning(t *testing.T) {
	r := newRecorders(t, 1)[0]
	n, g := r.node, &r.group
	n.transientOf(g).waits = 1
	n.At(n.now + time.Hour)
	n.proceed(g, take(&n.spare.steps), NeedLedger)
	assert.Equal(t, n.now, g.transient().waits)
}

// A node that has stood still for an hour would give one part after another, and not look in between.
func TestABalanceIsNotMadeUpFor(t *testing.T) {
	f := newFlock(t)
	n := f.node
	n.Balance(time.Second)
	n.At(n.now + time.Hour)
	n.balance()
	assert.Equal(t, n.now+time.Second, n.balancing.due)
}

// A beat may be on its way for long.
func TestABeatOfAnEarlierProcessSaysNothing(t *testing.T) {
	f := newFlock(t)
	n, p := f.node, f.node.peers.members["n1"]
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1, Leads: 3})
	spoke := p.spokeAt
	n.At(n.now + time.Second)
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: n1At5.Incarnation - 1, Of: n1At5.Of}, Number: 9, Leads: 7, Deaf: true})
	assert.EqualValues(t, 3, p.leads)
	assert.Equal(t, spoke, p.spokeAt)
	assert.False(t, p.deaf)
}

// A process counts its changes from the first one on.
func TestTheNextProcessIsBelievedFromItsFirstChangeOn(t *testing.T) {
	f := newFlock(t)
	n, p := f.node, f.node.peers.members["n1"]
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1, Standing: rpc.Standing{State: rpc.Draining, Changes: 7}})
	require.True(t, p.leaves())
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: 6, Of: n1At5.Of}, Number: 1, Standing: rpc.Standing{State: rpc.Draining, Changes: 1}})
	assert.Equal(t, rpc.Standing{State: rpc.Draining, Changes: 1}, p.standing)
}

// It tells the leader's node which bond it was, and that was of the term before.
func TestADepartureIsOfTheTermOfItsBond(t *testing.T) {
	f := newFlock(t)
	n, g := f.node, f.groups[0]
	require.True(t, g.Bonded())
	p, leader, bonded := n.leaderPeer(g), g.Leader, g.Term
	g.Leader, g.Term = memberstate.Nobody, bonded+1
	n.leave(g, leader, bonded, n.now)
	require.NotEmpty(t, p.link.departed.kept)
	assert.Equal(t, bonded, p.link.departed.kept[len(p.link.departed.kept)-1].Term)
}

// All groups count that have members at both, of whatever other members.
func TestAllGroupsOfAPeerAreCounted(t *testing.T) {
	f := newFlock(t)
	before := f.node.Peers()[0].Groups
	f.joins("of two", among(t, time.Second, "n1"))
	assert.Equal(t, before+1, f.node.Peers()[0].Groups)
}

func TestWhenNobodyIsThereToTakeOverWhatIsLeft(t *testing.T) {
	for why := range Stuck(Stucks) {
		p := Progress{Led: 2}
		p.Stuck[why] = 2
		assert.Equal(t, why <= StuckNotAble, p.Deserted(), why)
		p.Led = 3
		assert.False(t, p.Deserted(), "one is not stuck")
	}
	p := Progress{Led: 3, Stuck: [Stucks]int{StuckNoVoter: 1, StuckLeaving: 1, StuckNotAble: 1}}
	assert.True(t, p.Deserted())
	assert.False(t, new(Progress).Deserted(), "nothing is left")
}

// No beat is older than any, whatever its number.
func TestAnyBeatIsNewerThanNone(t *testing.T) {
	for _, beat := range []uint32{1, 1 << 31, 1<<31 + 1, 1<<32 - 1} {
		assert.Equal(t, beat, newer(0, beat))
	}
}

// A node that always has something to do would use a whole processor.
func TestANodeThatIsProtectedHasNothingToMove(t *testing.T) {
	f, g := awake(t)
	n := f.node
	n.stands.led, n.draining.waiting = 1, []*Group{g}
	at, waits := n.nextMove()
	assert.True(t, waits)
	assert.Zero(t, at)
	n.stands.protected = true
	_, waits = n.nextMove()
	assert.False(t, waits)
}
