// Processes that do not know all that their node has said.

package protocol

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// Outdated and OlderProcess are what the node reports.
func (f *flock) Outdated(err error) { f.write("outdated: %v", err) }

func (f *flock) OlderProcess(peer string, start, known uint64) {
	f.write("%s speaks as of start %d, known is %d", peer, start, known)
}

// later is the session of n1 with a later process of n0.
var later = rpc.Session{Incarnation: n1At5.Incarnation, Of: 3 << startBits}

func TestAProcessThatIsOutdatedVotesNoMore(t *testing.T) {
	for name, hear := range map[string]func(f *flock){
		"a beat": func(f *flock) { f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: later, Number: 1}) },
		"a heartbeat": func(f *flock) {
			m := f.heartbeat(f.groups[0])
			m.Bond.Session = later
			f.node.Deliver(f.groups[0], m)
		},
		"an answer": func(f *flock) {
			m := f.heartbeat(f.groups[0])
			m.Body, m.Bond.Session = rpc.Body{Kind: rpc.HeartbeatResponse, Term: 1, Asked: 1, Round: 1, Result: rpc.Success}, later
			f.node.Deliver(f.groups[0], m)
		},
	} {
		f := newFlock(t)
		f.did()
		f.saving = nil
		hear(f)
		for _, g := range f.groups { // in the same turn
			f.node.Deliver(g, &rpc.Message{
				From: "n2", To: "n0", Group: g.name, Voters: g.Members.Digest(), Body: rpc.Body{Kind: rpc.VoteRequest, Term: 7, Round: 1},
			})
		}
		f.node.EndTurn()
		require.ErrorIs(t, f.node.outdated, memberstate.ErrOutdated, name)
		require.ErrorContains(t, f.node.outdated, `peer "n1" has seen start 3 of node "n0", and this is start 1`, name)
		assert.Equal(t, []memberstate.Record{memberstate.OutdatedRecord(1)}, f.saving, name)
		for _, g := range f.groups {
			assert.False(t, g.running, name)
			assert.EqualValues(t, 1, g.State().Term, name)
		}
		did := f.did()
		assert.Contains(t, did, "outdated: "+f.node.outdated.Error(), name)
		assert.NotContains(t, did, "ended: "+f.node.outdated.Error(), "%s: the store is not marked yet", name)
		f.node.Saved(nil)
		assert.Equal(t, []string{"ended: " + f.node.outdated.Error()}, f.did()[:1], name)
		assert.Equal(t, f.node.outdated, f.ended, name)
	}
}

// What was asked of the disk before comes first.
func TestAStoreIsMarkedAfterTheSaveUnderWay(t *testing.T) {
	f := newFlock(t)
	g := f.groups[0]
	m := f.heartbeat(g)
	m.Term = 2
	f.node.Deliver(g, m)
	f.node.EndTurn()
	require.EqualValues(t, 2, f.saving[0].Term)
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: later, Number: 1})
	f.node.EndTurn()
	require.NotEqual(t, memberstate.OutdatedRecord(1), f.saving[0])
	f.node.Saved(nil)
	f.node.EndTurn()
	require.Equal(t, memberstate.OutdatedRecord(1), f.saving[0])
	f.did()
	f.node.Saved(errors.New("full"))
	did := f.did()
	assert.Equal(t, "outdated: elector: marking the store as outdated: full", did[0])
	assert.Len(t, did, 1+len(f.groups), "the groups are over all the same")
}

func TestAGroupThatIsStartedInAnOutdatedProcessEnds(t *testing.T) {
	f := newFlock(t)
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: later, Number: 1})
	f.node.EndTurn()
	f.node.Saved(nil)
	g := NewGroup(f.group.Electorate, "late", f.recorder)
	require.NoError(t, g.Restore(memberstate.Record{}, false, memberstate.Position{}))
	f.groups = append(f.groups, &g)
	f.did()
	f.node.Start(&g)
	f.node.EndTurn()
	assert.Contains(t, f.did(), "ended: "+f.node.outdated.Error())
}

// Otherwise one message that somebody has forged would make all later processes of a node seem to be earlier ones, or end one.
func TestAnIncarnationOnlyGrowsAsFarAsStartsCanBring(t *testing.T) {
	f := newFlock(t)
	n1 := f.node.peers.members["n1"]
	most := (startOf(n1At5.Incarnation) + mostStarts) << startBits
	for _, s := range []rpc.Session{
		{Incarnation: math.MaxUint64, Of: n1At5.Of}, {Incarnation: most + 1<<startBits, Of: n1At5.Of}, {Incarnation: n1At5.Incarnation, Of: math.MaxUint64},
	} {
		f.dropped = nil
		f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: s, Number: 1, Standing: rpc.Standing{State: rpc.Drained, Changes: 1}})
		f.node.EndTurn()
		assert.Equal(t, []Drop{DropMalformed}, f.dropped)
		assert.Equal(t, n1At5.Incarnation, n1.link.peer)
		assert.Equal(t, rpc.Serving, n1.standing.State)
		require.NoError(t, f.node.outdated)
	}
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: most, Of: n1At5.Of}, Number: 1})
	assert.Equal(t, most, n1.link.peer)
}

func TestAnEarlierProcessIsToldOfTheLaterOne(t *testing.T) {
	f := newFlock(t)
	now := rpc.Session{Incarnation: 9 << startBits, Of: n1At5.Of}
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: now, Number: 1})
	f.node.EndTurn()
	f.did()
	f.sent, f.dropped = nil, nil
	earlier := rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: 8 << startBits, Of: n1At5.Of}, Number: 7}
	f.node.Beat(&earlier)
	f.node.EndTurn()
	require.Len(t, f.sent, 1)
	assert.Equal(t, rpc.Session{Incarnation: n1At5.Of, Of: now.Incarnation}, f.sent[0].Session)
	assert.Equal(t, []Drop{DropOlderProcess}, f.dropped)
	assert.Empty(t, f.did(), "it may have been on its way when its process ended")

	f.node.At(f.node.now + time.Minute)
	f.node.Beat(&earlier)
	f.node.Beat(&earlier)
	assert.Equal(t, []string{"n1 speaks as of start 8, known is 9"}, f.did(), "once")
	earlier.Incarnation = 7 << startBits
	f.node.Beat(&earlier)
	assert.Equal(t, []string{"n1 speaks as of start 7, known is 9"}, f.did())
	assert.Equal(t, now.Incarnation, f.node.peers.members["n1"].link.peer)
}

// A session that is begun anew has a larger incarnation than those before it, at any peer, and the next start of the
// process a larger one still. Otherwise this process, or the next one, would seem to be outdated.
func TestTheNextStartHasALargerIncarnationThanAllSessions(t *testing.T) {
	f := newFlock(t)
	f.node.Exchange(1, math.MaxUint16, f)
	n1 := f.node.peers.members["n1"]
	before := n1.link.own
	for range 1000 {
		n1.link.departed.kept = make([]rpc.Leaving, mostLeavings+1)
		f.node.bound(n1)
		require.Greater(t, n1.link.own, before)
		before = n1.link.own
	}
	n2 := &peer{id: "n2"}
	f.node.beats.know(n2)
	assert.Equal(t, before, n2.link.own)
	next := NewNode("n0", f)
	next.Exchange(2, 0, f)
	assert.Greater(t, next.Incarnation(), before)
}
