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

// The other node goes on, and remembers what the two have counted.
func TestANodeThatIsKnownAgainGoesOnInItsSession(t *testing.T) {
	c := newCrossing(t, 1)
	c.passes(2 * time.Second)
	require.True(t, c.leads.groups[0].Rests())
	n := c.follows.node
	before := n.peers.members["n0"].link
	c.follows.leaves(c.follows.groups[0])
	require.Empty(t, n.peers.members)
	require.Empty(t, n.beats.peers)
	c.passes(20 * time.Millisecond)
	assert.False(t, c.leads.groups[0].Rests(), "it has been told, and not only found out by silence")
	c.follows.joins("g0", "n0", "n1")
	p := n.peers.members["n0"]
	require.NotNil(t, p)
	assert.Empty(t, n.beats.met)
	assert.Equal(t, before.session(), p.link.session())
	assert.Equal(t, before.departed.count()+1, p.link.departed.count())
	c.passes(2 * time.Second)
	for _, s := range []*shore{c.leads, c.follows} {
		assert.True(t, s.groups[0].quiet(), "the two are bonded again: %s", s.node.self)
	}
}

// Names that come and go leave nothing behind in the end. A node that is named again after that must not go on in its old session,
// of which this one knows nothing any more.
func TestOnlySoManyForgottenNodesAreRemembered(t *testing.T) {
	c := newCrossing(t, 1)
	c.passes(2 * time.Second)
	n := c.follows.node
	before := n.peers.members["n0"].link.own
	c.follows.leaves(c.follows.groups[0])
	for i := range mostMet - 1 {
		n.beats.keep(&peer{id: fmt.Sprint("other", i)})
	}
	require.Len(t, n.beats.met, mostMet)
	n.beats.keep(&peer{id: "one more"})
	require.Len(t, n.beats.met, 1)
	c.follows.joins("g0", "n0", "n1")
	p := n.peers.members["n0"]
	c.passes(2 * time.Second)
	assert.Greater(t, p.link.own, before)
	for _, s := range []*shore{c.leads, c.follows} {
		assert.True(t, s.groups[0].quiet(), "the two are bonded again: %s", s.node.self)
	}
	assert.Equal(t, p.link.own, c.leads.node.peers.members["n1"].link.peer)
}

// Otherwise a node would hand over to one that does not serve, and has said so before it was forgotten.
func TestWhatANodeHasSaidOfItselfCountsWhenItIsNamedAgain(t *testing.T) {
	for name, meanwhile := range map[string]func(n *Node){
		"it goes on draining": func(*Node) {},
		"it serves again":     (*Node).Serve,
	} {
		c := newCrossing(t, 1)
		c.passes(2 * time.Second)
		c.follows.node.Drain(0)
		c.passes(20 * time.Millisecond)
		c.leads.leaves(c.leads.groups[0])
		require.Empty(t, c.leads.node.peers.members)
		meanwhile(c.follows.node)
		c.passes(20 * time.Millisecond)
		c.leads.joins("g0", "n0", "n1")
		p := c.leads.node.peers.members["n1"]
		assert.True(t, p.leaves(), "%s: it has said so last", name)
		assert.Equal(t, memberstate.SetOf(2), c.leads.groups[0].maintenance.LastChoice, name)
		c.passes(2 * time.Second)
		assert.Equal(t, c.follows.node.Standing().State, p.standing.State, "%s: it was asked", name)
	}
}
