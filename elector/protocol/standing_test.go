// A peer that does not serve is asked whether it serves again.

package protocol

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// No leader here offers a bond, so nothing else would be sent to the peer; and the beat that says that it serves
// again may have been lost.
func TestAPeerThatDoesNotServeIsAskedAgain(t *testing.T) {
	f := newFlock(t)
	n := f.node
	asked := func(says rpc.Standing) (times int) {
		n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Standing: says})
		n.sendBeats()
		f.sent = nil
		heartbeat := f.groups[0].Rules.Timing.Heartbeat
		for range 4 * countsPresent {
			n.At(n.now + heartbeat)
			n.sendBeats()
		}
		assert.False(t, slices.ContainsFunc(f.sent, func(b rpc.Beat) bool { return b.To != "n1" }), "others serve")
		return len(f.sent)
	}
	assert.Equal(t, 4, asked(rpc.Standing{State: rpc.Starting}), "this is the first that is heard of it")
	assert.Zero(t, asked(rpc.Standing{Changes: 1}), "it serves")
	assert.Equal(t, 4, asked(rpc.Standing{State: rpc.Draining, Changes: 2}))
	assert.Zero(t, asked(rpc.Standing{Changes: 3}), "it serves again")
	assert.Zero(t, n.beats.due, "no beat is due any more")
}

// Those that follow this node, and those that it follows: neither waits for the answer to a beat.
func TestAllNodesAreToldAtOnceHowANodeStands(t *testing.T) {
	f := newFlock(t)
	n := f.node
	for _, id := range []string{"n1", "n2"} {
		n.Beat(&rpc.Beat{From: id, To: "n0", Session: n1At5, Number: 1})
	}
	n.sendBeats()
	require.Zero(t, n.peers.members["n1"].offers, "it is followed")
	n.peers.members["n2"].offers = 1
	for _, change := range []func(){func() { n.Drain(0) }, n.Serve} {
		change()
		f.sent = nil
		n.sendBeats()
		told := map[string]rpc.Standing{}
		for _, b := range f.sent {
			told[b.To] = b.Standing
		}
		assert.Equal(t, map[string]rpc.Standing{"n1": n.Standing(), "n2": n.Standing()}, told)
	}
}

// An operator may have made the member preferred since the group joined.
func TestALeaderThatRestsIsCalledWhenAPreferredMemberServesAgain(t *testing.T) {
	f, c := leasing(t, 1)
	n := f.node
	n.peerOf(f.groups[0], 2).standing = rpc.Standing{State: rpc.Draining, Changes: 1}
	c.rules.Preferred = memberstate.SetOf(2)
	n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Number: 1, Standing: rpc.Standing{Changes: 2}})
	assert.Equal(t, n.now, c.called)
}

// They have rested while they might offer nothing.
func TestLeadersThatRestAreCalledWhenProtectionEnds(t *testing.T) {
	f, c := leasing(t, 1)
	n := f.node
	c.rules.Preferred, c.rules.Maintenance = memberstate.SetOf(2), &f.groups[0].maintenance
	n.Protect(true)
	assert.Zero(t, c.called)
	n.Protect(false)
	assert.Equal(t, n.now, c.called)
}

// A process that exchanges no beats takes the place of one that has said that it drains.
func TestAnAnswerSaysThatAProcessWithoutBeatsServes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *flock, g *Group, msg *rpc.Message)
		over   bool
	}{
		"it serves":                   {func(*flock, *Group, *rpc.Message) {}, true},
		"it does not serve":           {func(_ *flock, _ *Group, msg *rpc.Message) { msg.Unable = memberstate.SetOf(2) }, false},
		"it exchanges beats":          {func(_ *flock, _ *Group, msg *rpc.Message) { msg.Bond = &rpc.Bond{Session: n1At5} }, false},
		"its node has beaten since":   {func(f *flock, g *Group, _ *rpc.Message) { f.node.peerOf(g, 2).spokeAt = f.node.now }, false},
		"an earlier heartbeat":        {func(_ *flock, _ *Group, msg *rpc.Message) { msg.Round-- }, false},
		"a heartbeat of another term": {func(_ *flock, _ *Group, msg *rpc.Message) { msg.Asked-- }, false},
		"no bond is offered to it":    {func(_ *flock, g *Group, _ *rpc.Message) { g.duty().offers = nil }, true},
		"it answers no leader":        {func(_ *flock, g *Group, _ *rpc.Message) { g.duty().offers, g.Role = nil, memberstate.Follower }, false},
		"it served anyway":            {func(f *flock, g *Group, _ *rpc.Message) { f.node.peerOf(g, 2).standing.State = rpc.Serving }, false},
		"it is no answer of a member": {func(_ *flock, _ *Group, msg *rpc.Message) { msg.From = "stranger" }, false},
		"it answers no heartbeat":     {func(_ *flock, _ *Group, msg *rpc.Message) { msg.Kind = rpc.VoteResponse }, false},
	} {
		f, g, _ := offering(t)
		n := f.node
		n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Standing: rpc.Standing{State: rpc.Draining, Changes: 7}})
		n.At(n.now + 1)
		g.duty().sent.Sends(&g.Machine, &Message{Body: rpc.Body{Kind: rpc.Heartbeat, Round: g.Beat()}}, n.now)
		msg := taken(0)
		msg.From, msg.To, msg.Group, msg.Voters, msg.Bond, msg.Round = "n1", "n0", g.name, g.Members.Digest(), nil, g.Beat()
		c.change(f, g, msg)
		n.Deliver(g, msg)
		p := n.peerOf(g, 2)
		assert.Equal(t, !c.over, p.told, name)
		if p.told {
			assert.EqualValues(t, 7, p.standing.Changes, name)
		}
		assert.Equal(t, !c.over && p.standing.State != rpc.Serving, p.leaves(), name)
		assert.Equal(t, !c.over, g.maintenance.LastChoice.Has(2), name)
	}
}

// The network may deliver a beat twice, or late.
func TestWhatAnAnswerHasEndedIsNotBelievedAgain(t *testing.T) {
	f, g, _ := offering(t)
	n, p := f.node, f.node.peerOf(g, 2)
	says := func(s rpc.Standing) {
		n.Beat(&rpc.Beat{From: "n1", To: "n0", Session: n1At5, Standing: s})
	}
	says(rpc.Standing{State: rpc.Draining, Changes: 7})
	n.At(n.now + 1)
	g.duty().sent.Sends(&g.Machine, &Message{Body: rpc.Body{Kind: rpc.Heartbeat, Round: g.Beat()}}, n.now)
	msg := taken(0)
	msg.Bond, msg.Round = nil, g.Beat()
	n.answersWithoutBond(g, 2, msg)
	require.False(t, p.leaves())
	assert.Zero(t, n.show("n1").Standing, "it has said nothing of this itself")
	says(rpc.Standing{State: rpc.Draining, Changes: 7})
	assert.False(t, p.leaves())
	says(rpc.Standing{Changes: 8})
	assert.True(t, p.told, "that is the beat that was late")
	says(rpc.Standing{State: rpc.Draining, Changes: 9})
	assert.True(t, p.leaves(), "it drains again")
}

// An order may have the node show its progress before its turn ends.
func TestANodeThatIsElectedIsDrainedNoMoreAtOnce(t *testing.T) {
	c := newCrossing(t, 1)
	n, g := c.leads.node, c.leads.groups[0]
	require.Equal(t, memberstate.Leader, g.Role)
	n.Drain(0)
	n.At(n.now + g.Rules.Timing.Heartbeat)
	n.moveSome()
	require.Equal(t, rpc.Drained, n.Standing().State, "it has not counted the group yet")
	n.countLed(g)
	n.Protect(true)
	assert.Equal(t, rpc.Draining, n.draining.shown.Standing.State)
	assert.Equal(t, 1, n.draining.shown.Led)
}

// listener is an inspector that keeps the last message.
type listener struct{ last Message }

func (*listener) Before(*Group, *Input)                          {}
func (*listener) After(*Group, *Step)                            {}
func (l *listener) Says(_ *Group, _ memberstate.Set, m *Message) { l.last = *m }

// A node says in its beats that it does not serve, and it says so when that is over. Of a member that is not able only the member's
// answers tell.
func TestAnAnswerToAnOfferSaysWhatBeatsDoNot(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(n *Node, g *Group)
		unable  memberstate.Set
	}{
		"it is able":                                {func(*Node, *Group) {}, 0},
		"its node drains":                           {func(n *Node, _ *Group) { n.Drain(0) }, 0},
		"it is ordered not to lead":                 {func(n *Node, g *Group) { n.Electable(g, false) }, memberstate.SetOf(1)},
		"it is ordered so, and its node drains too": {func(n *Node, g *Group) { n.Drain(0); n.Electable(g, false) }, memberstate.SetOf(1)},
	} {
		f := newFlock(t)
		n, g := f.node, f.groups[0]
		c.happens(n, g)
		said := new(listener)
		n.Inspect(said)
		n.Deliver(g, f.heartbeat(g))
		n.EndTurn()
		answer := f.post[len(f.post)-1]
		assert.Equal(t, rpc.Success, answer.Result, name)
		assert.NotNil(t, answer.Bond, name)
		assert.Equal(t, c.unable, answer.Unable, name)
		assert.Equal(t, said.last.Body, answer.Body, "%s: the inspector sees what is sent", name)
	}
}
