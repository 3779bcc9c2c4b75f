// A node that speaks, but does not hear this one, is not bothered.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestADeafNodeIsSentNoHeartbeats(t *testing.T) {
	f := resting(t)
	n, g, p := f.node, f.groups[0], f.node.peers.members["n2"]
	p.spokeAt, p.link.peer, n.beats.every = n.now, 7, g.Rules.Timing.Heartbeat
	g.duty().offers = &officeBonds{present: memberstate.SetOf(3)}
	assert.True(t, n.needsHeartbeats(g, 3))
	p.deaf = true
	assert.False(t, n.needsHeartbeats(g, 3), "they would not arrive")
	n.At(n.now + countsPresent*n.beats.every)
	assert.True(t, n.needsHeartbeats(g, 3), "its node says nothing any more, but the member does")
}

func TestADeafNodeIsNotCalled(t *testing.T) {
	f := resting(t)
	g, p := f.groups[0], f.node.peers.members["n2"]
	without := &cohort{electorate: g.Electorate, rules: g.Rules, seats: memberstate.SetOf(2)}
	f.node.beats.rest = []*cohort{without}
	p.deaf, p.spokeAt, f.node.beats.every = true, f.node.now, g.Rules.Timing.Heartbeat
	f.node.call(p)
	assert.Zero(t, without.called)
	p.deaf = false
	f.node.call(p)
	assert.Equal(t, f.node.now, without.called)
}

// The node's next process may send no beats, and so not say that it hears.
func TestANodeIsDeafNoMoreWhenItIsSilent(t *testing.T) {
	f := resting(t)
	n, g, p := f.node, f.groups[0], f.node.peers.members["n2"]
	without := &cohort{electorate: g.Electorate, rules: g.Rules, seats: memberstate.SetOf(2)}
	n.beats.rest = []*cohort{without}
	p.deaf, p.spokeAt, n.beats.every = true, n.now, g.Rules.Timing.Heartbeat
	n.At(n.now + countsPresent*n.beats.every)
	n.hearsMute(p)
	assert.Equal(t, n.now, without.called)
}

// A node is deaf to one that it has heard, and hears no more. A reply shows that it does.
func TestANodeSaysWhomItHearsNoMore(t *testing.T) {
	f := newFlock(t)
	n, p := f.node, f.node.peers.members["n2"]
	n.beats.know(p)
	n.beats.every, p.offers = f.group.Rules.Timing.Heartbeat, 1
	deaf := func() bool {
		f.sent, n.beats.due = nil, n.now
		n.sendBeats()
		require.Len(t, f.sent, 1)
		return f.sent[0].Deaf
	}
	assert.False(t, deaf(), "it has not heard it yet")
	p.link.peer, p.spokeAt = 7, n.now
	assert.False(t, deaf())
	n.At(n.now + countsPresent*n.beats.every)
	assert.True(t, deaf())
	p.reply = true
	assert.False(t, deaf())
}

// Then the leaders that rest without its member are called, and send that one heartbeats as any other.
func TestADeafNodeSaysWhenItHearsAgain(t *testing.T) {
	f := resting(t)
	n, g := f.node, f.groups[0]
	without := &cohort{electorate: g.Electorate, rules: g.Rules, seats: memberstate.SetOf(3)}
	n.beats.rest, n.beats.every = []*cohort{without}, g.Rules.Timing.Heartbeat
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1, Deaf: true})
	assert.Zero(t, without.called)
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 2})
	assert.Equal(t, n.now, without.called)
}
