// What a leader counts its followers by, when an answer or a beat says that a bond is made or over.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// offering is a node that leads a group in term 3, and has offered the others bonds. n1 is in a session with it.
func offering(t *testing.T) (f *flock, g *Group, o *officeBonds) {
	t.Helper()
	f = resting(t)
	g = f.groups[0]
	g.cohort, g.place = nil, 0
	f.node.beats.awake.add(g)
	o = g.offers()
	return f, g, o
}

// taken is n1's answer to a heartbeat of term 3, by which it takes a bond.
func taken(epoch uint32) *rpc.Message {
	return &rpc.Message{Body: rpc.Body{Kind: rpc.HeartbeatResponse, Asked: 3, Result: rpc.Success}, Bond: &rpc.Bond{Session: n1At5, Epoch: epoch, Taken: true}}
}

// The same node may have led the group before. An answer from then says nothing of a bond of today.
func TestAnAnswerBondsInItsOwnOfficeOnly(t *testing.T) {
	f, g, o := offering(t)
	late := taken(0)
	late.Asked = 1
	f.node.bondTaken(g, 2, late)
	assert.Zero(t, o.taken)
	f.node.bondTaken(g, 2, taken(0))
	assert.Equal(t, memberstate.SetOf(2), o.taken)
}

// A node that has given up all groups that follow this one says so in the next beat and in each answer to a heartbeat,
// whichever comes first.
func TestFollowersOfANodeThatGaveUpAreCountedNoMore(t *testing.T) {
	for name, tells := range map[string]func(*flock, *Group){
		"by an answer for another group": func(f *flock, _ *Group) {
			other := NewGroup(f.group.Electorate, "other", f.recorder)
			f.node.bondTaken(&other, 2, taken(1))
		},
		"by a beat": func(f *flock, _ *Group) { f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Epoch: 1}) },
	} {
		f, g, o := offering(t)
		f.node.bondTaken(g, 2, taken(0))
		o.taken = o.taken.With(3)
		tells(f, g)
		assert.Equal(t, memberstate.SetOf(3), o.taken, name)
	}
}

// A node that is no member may answer, too: by mistake, or because it lies.
func TestAnAnswerOfAStrangerBondsNobody(t *testing.T) {
	f, g, o := offering(t)
	msg := taken(0)
	msg.From, msg.To, msg.Group, msg.Voters = "stranger", "n0", g.name, g.Members.Digest()
	f.node.Deliver(g, msg)
	assert.Zero(t, o.taken)
}

// A leader may release its bonds and offer new ones in the same office, for example when its intervals change. Late answers to
// the earlier offers are about bonds that the follower gives up when it learns of the release.
func TestAnAnswerToAnEarlierOfferBondsNobody(t *testing.T) {
	for _, c := range []struct {
		first, round uint32
		bonds        bool
	}{{5, 4, false}, {5, 5, true}, {5, 6, true}, {1, 0xffffffff, false}, {0xffffffff, 1, true}} {
		f, g, o := offering(t)
		o.first = c.first
		msg := taken(0)
		msg.Round = c.round
		f.node.bondTaken(g, 2, msg)
		assert.Equal(t, c.bonds, o.taken.Has(2), c)
	}
}

func TestALeaderThatIsWokenOffersAnew(t *testing.T) {
	f := resting(t)
	g := f.groups[0]
	g.place = 0
	g.cohort.groups.add(g)
	f.node.wake(g)
	assert.Equal(t, g.Beat()+1, g.offers().first)
}

// It rests when all their nodes have answered a beat that was sent since then, or a departure that is told with the answer would
// come too late.
func TestTheLastBondIsWaitedFor(t *testing.T) {
	f, g, o := offering(t)
	for _, seat := range []memberstate.Seat{2, 3} {
		f.node.beats.number++
		f.node.bondTaken(g, seat, taken(0))
		assert.Equal(t, f.node.beats.number, o.since)
	}
}

// The same answer may come twice. The cohort counts who is bonded, and the group keeps nothing of it that would have to be kept.
func TestALeaderThatRestsCountsNoBonds(t *testing.T) {
	f := resting(t)
	g := f.groups[0]
	f.node.bondTaken(g, 2, taken(0))
	f.node.packOne(g)
	assert.NotNil(t, g.packed)
}

// A heartbeat is a sign of life for its own group. A node that sends some, and no beats, would otherwise keep all others from missing it.
func TestAGroupThatBondsDoesNotMakeOthersWaitForLonger(t *testing.T) {
	f := newFlock(t)
	n, late, other := f.node, f.groups[0], f.groups[1]
	silent := n.SilentAt(other)
	n.unbind(late, n.leaderPeer(late))
	n.At(n.now + late.Rules.Timing.Heartbeat)
	n.Deliver(late, f.heartbeat(late))
	n.EndTurn()
	assert.True(t, late.Bonded())
	assert.Equal(t, silent, n.SilentAt(other))
	assert.Equal(t, n.now+late.Rules.Timing.Detection(), n.SilentAt(late))
}

// A leader that does not rest sends heartbeats, too. When the bond ends its follower still knows when it has heard the last one.
func TestAHeartbeatCountsForAGroupThatIsBonded(t *testing.T) {
	f := newFlock(t)
	n, g := f.node, f.groups[0]
	n.At(n.now + g.Rules.Timing.Heartbeat)
	n.Deliver(g, f.heartbeat(g))
	n.EndTurn()
	require.True(t, g.Bonded())
	silent := n.now + g.Rules.Timing.Detection()
	assert.Equal(t, silent, n.SilentAt(g))
	n.unbind(g, n.leaderPeer(g))
	assert.Equal(t, silent, n.SilentAt(g))
}

// Nobody looks at a group that is quiet, so a Lead that hangs would not be noticed.
func TestAGroupWhoseAbilityIsWatchedDoesNotBond(t *testing.T) {
	f := newFlock(t)
	n, g := f.node, f.groups[0]
	require.True(t, n.mayBond(g))
	n.abilityOf(g).ending = n.now
	assert.False(t, n.mayBond(g))
}
