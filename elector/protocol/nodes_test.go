// What a node shows of the others, and of groups that cannot be handed over.

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

// reader is one who asks a node.
type reader struct{ now Shown }

func (r *reader) Shown(now Shown) { r.now = now }

func ask(n *Node, kind RequestKind) Shown {
	var r reader
	n.Do(&Request{Subject: Subject{Kind: kind}, For: &r})
	return r.now
}

func TestANodeShowsItsPeers(t *testing.T) {
	f := newFlock(t)
	n := f.node
	n.At(n.now + 20*time.Millisecond)
	all := ask(n, AskPeers).Peers
	assert.Equal(t, []Peer{
		{ID: "n1", Groups: 5, Incarnation: 5, Heard: true, Silence: 20 * time.Millisecond, Follow: 5},
		{ID: "n2", Groups: 5},
	}, all, "n1 leads, and has sent no beat yet")

	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1, Standing: rpc.Standing{State: rpc.Draining, Changes: 2}})
	n.At(n.now + time.Millisecond)
	n1 := n.Peers()[0]
	assert.True(t, n1.Known)
	assert.Equal(t, rpc.Standing{State: rpc.Draining, Changes: 2}, n1.Standing)
	assert.Equal(t, time.Millisecond, n1.Silence, "a beat is heard, too")

	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: rpc.Session{Incarnation: 6, Of: n1At5.Of - 1}, Number: 1})
	n1 = n.Peers()[0]
	assert.False(t, n1.Known, "its new process has not said anything that counts")
	assert.Zero(t, n1.Standing)
	assert.Equal(t, uint64(6), n1.Incarnation)
}

func TestANodeThatServesHasSaidSo(t *testing.T) {
	f := newFlock(t)
	f.node.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1})
	assert.True(t, f.node.Peers()[0].Known)
}

func TestALostNodeIsShownUntilItIsHeard(t *testing.T) {
	f := newFlock(t)
	n := f.node
	n.At(n.now + time.Millisecond)
	n.PeerLost("n1")
	n.PeerLost("n2")
	for i, id := range []string{"n1", "n2"} {
		assert.Equal(t, id, n.Peers()[i].ID)
		assert.True(t, n.Peers()[i].Lost, id)
	}
	n.At(n.now + time.Millisecond)
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1})
	n.Deliver(f.groups[0], &rpc.Message{
		From: "n2", To: "n0", Group: "g0", Voters: f.groups[0].Members.Digest(), Body: rpc.Body{Kind: rpc.HeartbeatResponse, Term: 1, Result: rpc.Success},
	})
	for _, p := range n.Peers() {
		assert.False(t, p.Lost, p.ID)
		assert.True(t, p.Heard, p.ID)
		assert.Zero(t, p.Silence, p.ID)
	}
	assert.Empty(t, n.lost, "so nobody is told that its connection broke, if it cannot take over")
}

// Its beats have shown in between that it was there.
func TestANodeThatIsLostAgainIsShownAsLost(t *testing.T) {
	f := newFlock(t)
	n := f.node
	for number := range uint64(3) {
		n.At(n.now + time.Millisecond)
		n.PeerLost("n1")
		assert.True(t, n.Peers()[0].Lost)
		n.At(n.now + time.Millisecond)
		n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: number + 1})
		assert.False(t, n.Peers()[0].Lost)
	}
}

func TestANodeThatWasNeverAPeerIsUnknown(t *testing.T) {
	r := newRecorders(t, 3)[0]
	n := NewNode("n0", &flock{recorder: r})
	assert.Empty(t, n.Peers(), "no group takes part")
	n.At(time.Second)
	n.enlist(r.group.Electorate)
	n.lost["n1"] = n.now
	assert.Equal(t, []Peer{{ID: "n1", Groups: 1, Lost: true}, {ID: "n2", Groups: 1}}, n.Peers())
	assert.Zero(t, n.Incarnation(), "it exchanges no beats")
	n.Exchange(3, 7, nil)
	assert.Equal(t, incarnationOf(3, 7), n.Incarnation())
}

// The followers that are counted are those of leaders that rest.
func TestANodeShowsWhoRestsOnAPeer(t *testing.T) {
	c := newCrossing(t, 3)
	c.passes(2*time.Second + 20*time.Millisecond)
	assert.Equal(t, 3, c.leads.node.Peers()[0].Lead)
	assert.Zero(t, c.leads.node.Peers()[0].Follow)
	assert.Equal(t, 3, c.follows.node.Peers()[0].Follow)
	assert.Zero(t, c.follows.node.Peers()[0].Lead)
	c.leads.node.wake(c.leads.groups[0])
	assert.Equal(t, 2, c.leads.node.Peers()[0].Lead)
	c.leads.node.beats.rest[0].peers = nil
	assert.Zero(t, c.leads.node.Peers()[0].Lead)
}

// They rest in several cohorts if their rules or followers differ.
func TestAllLeadersThatRestOnAPeerAreShown(t *testing.T) {
	f, c := leasing(t, 3)
	n, g := f.node, f.groups[0]
	n.wake(g)
	changed(g).Preferred = memberstate.SetOf(1)
	n.rest(g)
	require.NotSame(t, c, g.cohort)
	for _, id := range []string{"n1", "n2"} {
		assert.Equal(t, 3, n.show(id).Lead, id)
	}
}

// draining is a node that leads groups which it cannot hand over.
func draining(t *testing.T, groups int) (n *Node, all []*Group) {
	t.Helper()
	c := newCrossing(t, groups)
	n, all = c.leads.node, c.leads.groups
	for _, g := range all {
		n.countLed(g)
	}
	require.Equal(t, groups, n.stands.led)
	n.Drain(0)
	return n, all
}

// fails has a group fail to move so often.
func fails(n *Node, g *Group, why Stuck, times int) {
	for range times {
		n.At(n.now + time.Microsecond)
		m, tried := n.draining.moves[g]
		if tried {
			n.draining.forget(&m)
		}
		n.draining.waiting, n.draining.first = nil, 0
		g.notes.set(toMove, false)
		n.sticks(g, m, why)
	}
}

func TestGroupsThatAreStuckAreNamed(t *testing.T) {
	n, all := draining(t, 6)
	assert.Empty(t, ask(n, AskStuck).Stuck, "none has been tried")
	fails(n, all[0], StuckBehind, 1)
	fails(n, all[1], StuckNoVoter, 3)
	fails(n, all[2], StuckBehind, 2)
	fails(n, all[3], StuckBehind, 20)
	fails(n, all[4], StuckRefused, 1)
	n.draining.gone(all[4])
	assert.Equal(t, []StuckGroup{
		{"g3", StuckBehind, maxTries}, {"g1", StuckNoVoter, 3}, {"g2", StuckBehind, 2}, {"g0", StuckBehind, 1},
	}, ask(n, AskStuck).Stuck)

	n.draining.add(all[5]) // it waits to be tried for the first time
	n.draining.retryAll()  // now the others wait for their turn, too
	assert.Equal(t, []StuckGroup{
		{"g0", StuckBehind, 1}, {"g2", StuckBehind, 2}, {"g1", StuckNoVoter, 3}, {"g3", StuckBehind, maxTries},
	}, n.StuckGroups())
	m := n.draining.moves[all[2]]
	m.order = &Order{}
	n.draining.stuck[StuckBehind]--
	n.draining.moves[all[2]] = m
	assert.Equal(t, []StuckGroup{{"g0", StuckBehind, 1}, {"g1", StuckNoVoter, 3}, {"g3", StuckBehind, maxTries}}, n.StuckGroups(), "one is being handed over")
}

func TestAFewOfVeryManyStuckGroupsAreNamed(t *testing.T) {
	n, all := draining(t, 3*MostStuck)
	for i, g := range all {
		fails(n, g, StuckBehind, 2+i%2)
	}
	m := n.draining.moves[all[7]]
	n.draining.forget(&m)
	delete(n.draining.moves, all[7])
	fails(n, all[7], StuckNoVoter, 1)
	named := n.StuckGroups()
	require.Len(t, named, MostStuck+1)
	counts := map[string]int{}
	for _, g := range named {
		counts[fmt.Sprint(g.Why, g.Tries)]++
	}
	assert.Equal(t, map[string]int{"behind 3": MostStuck, "no voter 1": 1}, counts)

	n.draining.retryAll()
	assert.Len(t, n.StuckGroups(), MostStuck+1)
	n.Serve()
	assert.Empty(t, n.StuckGroups())
}

// A candidate or observer elsewhere says nothing that could be mistaken for a beat.
func TestAMessageOfAStrangerIsNotHeard(t *testing.T) {
	f := newFlock(t)
	f.node.Deliver(f.groups[0], &rpc.Message{From: "n2", To: "n1", Group: "g0", Voters: f.groups[0].Members.Digest()})
	f.node.Deliver(f.groups[0], &rpc.Message{
		From: "n2", To: "n0", Group: "g0", Voters: 1, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Term: memberstate.Term(1), Result: rpc.Success},
	})
	assert.False(t, f.node.Peers()[1].Heard)
}
