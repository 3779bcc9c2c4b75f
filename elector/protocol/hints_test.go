// A report that a node is gone, to a node with several groups that are bonded to it.

package protocol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// flock is n0, with five groups that follow n1 and are bonded to it. Two campaigns may be under way at a time.
type flock struct {
	*recorder
	groups []*Group
	sent   []rpc.Beat
	shared []sharedHold
	votes  bool // that n2 votes, if it is asked after a pre-vote
}

// sharedHold is what the node says of a shared lease.
type sharedHold struct {
	number uint32
	until  time.Duration
}

func (f *flock) Groups() []*Group { return f.groups }

func (f *flock) Group(name string) *Group {
	for _, g := range f.groups {
		if g.name == name {
			return g
		}
	}
	return nil
}

func (f *flock) SendBeat(_ string, b *rpc.Beat) { f.sent = append(f.sent, *b) }

func (f *flock) HoldShared(number uint32, until time.Duration) {
	f.shared = append(f.shared, sharedHold{number, until})
}

// n1At5 is the session in which n1 speaks to n0.
var n1At5 = rpc.Session{Incarnation: 5, Of: incarnationOf(1, 9)}

func newFlock(t testing.TB) *flock {
	t.Helper()
	f := &flock{recorder: newRecorders(t, 3)[0]}
	e := f.group.Electorate
	e.Rules.Lease = 0
	f.node = NewNode("n0", f)
	f.node.Exchange(1, 9, f)
	f.node.LimitCampaigns(2)
	f.node.At(time.Second)
	for i := range 5 {
		g := NewGroup(e, fmt.Sprint("g", i), f.recorder)
		require.NoError(t, g.Restore(memberstate.Record{}, false, memberstate.Position{}))
		f.groups = append(f.groups, &g)
		f.node.Start(&g)
		f.node.Deliver(&g, f.heartbeat(&g))
		f.node.EndTurn()
		f.node.Saved(nil)
		f.node.Deliver(&g, f.heartbeat(&g))
		f.node.EndTurn()
		require.True(t, g.Bonded())
	}
	f.sent = nil
	return f
}

func (f *flock) heartbeat(g *Group) *rpc.Message {
	return &rpc.Message{
		From: "n1", To: "n0", Group: g.name, Leader: "n1", Voters: g.Members.Digest(),
		Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1, Round: 1, Detection: g.Rules.Timing.Detection()}, Bond: &rpc.Bond{Session: n1At5},
	}
}

// told counts the groups that have taken their leader for gone.
func (f *flock) told() (told int) {
	for _, g := range f.groups {
		if g.State().Role == memberstate.Candidate {
			told++
		}
	}
	return told
}

// passes lets time pass, turn by turn.
func (f *flock) passes(d time.Duration) {
	for end := f.node.now + d; f.node.now < end; {
		f.node.At(min(f.node.now+hintEvery, end))
		f.node.EndTurn()
	}
}

// It may have died just after it has spoken.
func TestANodeThatHasJustSpokenIsAskedForASignOfLife(t *testing.T) {
	f := newFlock(t)
	f.node.beats.every = f.group.Rules.Timing.Heartbeat // as in any node that has led
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1})
	f.node.EndTurn()
	require.False(t, f.node.silent(f.node.peers.members["n1"]))
	f.sent = nil
	f.node.PeerLost("n1")
	f.node.EndTurn()
	require.Len(t, f.sent, 1)
	assert.Equal(t, "n1", f.sent[0].To)
	assert.NotZero(t, f.sent[0].Number)
}

// The process that has taken the place of one that was lost may be lost, too, before all groups were told of the first one.
func TestTheLossOfTheNextProcessIsTold(t *testing.T) {
	f := newFlock(t)
	f.node.PeerLost("n1")
	require.Equal(t, 2, f.told())
	for _, g := range f.groups {
		m := f.heartbeat(g)
		m.Bond.Incarnation++
		m.Term = 2
		f.node.Deliver(g, m)
		f.node.EndTurn()
		f.node.Saved(nil)
		f.node.Deliver(g, m)
		f.node.EndTurn()
		require.True(t, g.Bonded())
	}
	f.node.PeerLost("n1")
	assert.Equal(t, 2, f.told())
	f.passes(3 * hintEvery)
	assert.Equal(t, len(f.groups), f.told())
}

func TestGroupsAreToldOneAfterAnotherThatANodeIsGone(t *testing.T) {
	f := newFlock(t)
	f.node.PeerLost("n1")
	f.node.PeerLost("n1")
	f.node.EndTurn()
	assert.Equal(t, 2, f.told(), "as many as may campaign")
	require.Len(t, f.sent, 1, "and the node is asked for a sign of life, once")
	assert.NotZero(t, f.sent[0].Number, "which it answers, because the number is new")
	for told := 3; told <= 5; told++ {
		at, waits := f.node.Next()
		require.True(t, waits)
		require.Equal(t, f.node.now+hintEvery, at)
		f.node.At(at)
		f.node.EndTurn()
		assert.Equal(t, told, f.told())
	}
	assert.Nil(t, f.node.peers.members["n1"].hint)
	assert.Len(t, f.sent, 1)
}

// Otherwise most of ten thousand groups would miss their leader before they are told.
func TestGroupsAreToldSoonerThanTheyMissTheirLeader(t *testing.T) {
	f := newFlock(t)
	f.node.PeerLost("n1")
	f.node.At(f.node.now + 3*f.groups[0].Rules.Timing.Detection()/10_000)
	f.node.EndTurn()
	assert.Equal(t, 5, f.told(), "three of them beyond those that are told at once")
}

func TestANodeThatSpeaksIsNotGone(t *testing.T) {
	f := newFlock(t)
	f.node.PeerLost("n1")
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1})
	f.node.EndTurn()
	f.passes(100 * hintEvery)
	assert.Equal(t, 2, f.told())
}

// Its process is another one, and has lost the offices of the one before.
func TestANodeThatHasStartedAnewIsGoneAllTheSame(t *testing.T) {
	f := newFlock(t)
	f.node.PeerLost("n1")
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: 6, Of: n1At5.Of}, Number: 1})
	f.node.EndTurn()
	f.passes(100 * hintEvery)
	assert.Equal(t, 5, f.told())
}

// A group that has ended, or follows another leader by then, is not told.
func TestWhoHasLeftTheLeaderIsNotTold(t *testing.T) {
	f := newFlock(t)
	f.node.PeerLost("n1")
	f.node.End(f.groups[3])
	follows := f.groups[4]
	beat := f.heartbeat(follows)
	beat.From, beat.Leader, beat.Term, beat.Bond = "n2", "n2", 2, nil
	f.node.Deliver(follows, beat)
	f.node.EndTurn()
	f.node.Saved(nil)
	f.node.Deliver(follows, beat)
	f.passes(100 * hintEvery)
	assert.Equal(t, 3, f.told())
	assert.Equal(t, memberstate.Follower, follows.Role)
}

// A node under load has room for fewer campaigns than it might have.
func TestAsManyAreToldAtOnceAsThereIsRoomFor(t *testing.T) {
	f := newFlock(t)
	f.node.LimitCampaigns(100)
	f.node.muster.most = 2
	f.node.PeerLost("n1")
	assert.Equal(t, 2, f.node.peers.members["n1"].hint.most)
}
