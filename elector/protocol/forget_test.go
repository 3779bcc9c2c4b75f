// Nodes that no group names any more are forgotten.

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

// joins has a group with these members take part at n0, which follows nobody yet.
func (s *shore) joins(name string, ids ...string) *Group {
	members, err := memberstate.NewMembers(memberstate.Voters(ids...))
	require.NoError(s.t, err)
	e := &Electorate{Members: members, Rules: Rules{
		Self: members.Seat(s.node.self), Voters: members.Voters(), All: members.All(), Timing: DefaultTiming(), PreVote: true, Ranks: true,
	}}
	g := NewGroup(e, name, s)
	require.NoError(s.t, g.Restore(memberstate.Record{}, false, memberstate.Position{}))
	s.groups, s.byName[name] = append(s.groups, &g), &g
	s.node.Start(&g)
	return &g
}

// leaves ends a group.
func (s *shore) leaves(g *Group) {
	s.node.End(g)
	delete(s.byName, g.name)
	s.groups = s.groups[:len(s.groups)-1] // it was the last that has joined
}

// A node whose peers are replaced again and again, under new names, knows in the end what it knew at first.
func TestNodesThatComeAndGoUnderNewNamesLeaveNothingBehind(t *testing.T) {
	c := newCrossing(t, 2)
	c.passes(2 * time.Second)
	n := c.follows.node
	for i := range uint64(100) {
		name := fmt.Sprint("x", i)
		g := c.follows.joins("comes and goes", "n1", "n0", name)
		n.Beat(&rpc.Beat{From: name, To: "n1", Session: rpc.Session{Incarnation: 1 + i}, Number: 1})
		n.PeerLost(name)
		c.passes(time.Second) // it stands, and asks
		require.Contains(t, n.peers.members, name)
		require.Len(t, n.beats.peers, 2)
		c.follows.leaves(g)
		c.passes(10 * time.Millisecond)
		assert.Len(t, n.peers.members, 1, "n0 is in other groups")
		assert.Len(t, n.beats.peers, 1)
		assert.Empty(t, n.lost)
		n.Beat(&rpc.Beat{From: name, To: "n1", Session: rpc.Session{Incarnation: 1 + i}, Number: 2})
		assert.NotContains(t, n.peers.members, name, "a late beat")
	}
	assert.True(t, c.leads.groups[0].Rests(), "the other groups notice nothing")
}

// ends ends the only group at the follower's node, and returns the newest beats of both nodes.
func (c *crossing) ends() (late []*rpc.Beat) {
	c.passes(2 * time.Second)
	for len(c.leads.beats) == 0 {
		c.passes(time.Millisecond)
	}
	late = append(late, c.leads.beats...)
	c.passes(time.Millisecond)
	c.follows.leaves(c.follows.groups[0])
	return late
}

// The other node goes on, and remembers what the two have counted. Nothing of that counts for a group that joins later.
func TestANodeThatIsKnownAgainBeginsANewSession(t *testing.T) {
	c := newCrossing(t, 1)
	late := c.ends()
	require.Empty(t, c.follows.node.peers.members)
	c.passes(20 * time.Millisecond)
	assert.False(t, c.leads.groups[0].Rests(), "it has been told, and not only found out by silence")
	c.follows.joins("g0", "n0", "n1")
	p := c.follows.node.peers.members["n0"]
	require.NotNil(t, p)
	for _, b := range late {
		c.follows.node.Beat(b)
	}
	assert.Zero(t, p.spokeAt, "beats of the session before count for nothing")
	assert.Zero(t, p.link.heard)
	c.passes(2 * time.Second)
	for _, s := range []*shore{c.leads, c.follows} {
		assert.True(t, s.groups[0].quiet(), "the two are bonded again: %s", s.node.self)
	}
	assert.Equal(t, p.link.own, c.leads.node.peers.members["n1"].link.peer)
	assert.Greater(t, p.link.own, c.follows.node.Incarnation())
}

// The incarnation of the next process of this node is larger than all that this one may use up.
func TestAnIncarnationIsNotThatOfTheNextProcess(t *testing.T) {
	c := newCrossing(t, 1)
	c.passes(2 * time.Second)
	n := c.follows.node
	n.beats.anew = mostSessions // none is left
	n.peers.members["n0"].link.own = n.beats.own
	c.follows.leaves(c.follows.groups[0])
	assert.Contains(t, n.peers.members, "n0", "it is not forgotten")
	c.follows.joins("g0", "n0", "n1")
	assert.Equal(t, 1, n.peers.members["n0"].named)
}
