// What arrives while a step of the group waits, and how a message becomes an input.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// saving is the follower of a pair that saves a new term, so all other input waits.
func saving(t *testing.T) *recorder {
	t.Helper()
	_, d := pair(t)
	d.hears(d.group.Term + 1)
	d.node.EndTurn()
	require.True(t, d.group.Waits())
	d.did()
	return d
}

// hears tells the node of an append by n0.
func (d *recorder) hears(term memberstate.Term) {
	d.node.Give(&d.group, &Input{Kind: Heard, Term: term, Seat: 1}, nil)
}

// asks is a node's request for a pre-vote.
func (d *recorder) asks(from string) *rpc.Message {
	return &rpc.Message{
		Group: "g", From: from, To: d.node.self, Voters: d.group.Members.Digest(),
		Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 9, Round: 1},
	}
}

// Callers of Heard wait for their terms, of which there may be many. They take no room from messages.
func TestOnlyMessagesAreCountedAsMessages(t *testing.T) {
	d := saving(t)
	for term := range memberstate.Term(maxQueued) {
		d.hears(100 + term)
	}
	d.node.Deliver(&d.group, d.asks("n0"))
	all, messages := d.group.Queued()
	assert.Equal(t, maxQueued+1, all)
	assert.Equal(t, 1, messages)
}

func TestMessagesBeyondTheBoundAreDropped(t *testing.T) {
	d := saving(t)
	d.node.LimitQueues(2)
	for range 3 {
		d.node.Deliver(&d.group, d.asks("n0"))
	}
	assert.Equal(t, []Drop{DropQueueFull}, d.dropped)
	_, messages := d.group.Queued()
	assert.Equal(t, 2, messages)
}

func TestAnInputThatIsTakenOutIsForgotten(t *testing.T) {
	x := new(transient)
	g := &Group{desk: &desk{rare: &rare{transient: x}}}
	for round := range uint32(3) {
		x.add(&waiting{Input{Kind: Receive, Message: Message{Body: rpc.Body{Round: round + 1}}}, purpose{from: "n1"}})
	}
	x.add(&waiting{Input: Input{Kind: Stand}})
	room := cap(x.queue)
	for taken, left := range []struct{ all, messages int }{{3, 2}, {2, 1}, {1, 0}, {0, 0}} {
		x.next(new(pending))
		all, messages := g.Queued()
		assert.Equal(t, left.all, all, "after %d", taken+1)
		assert.Equal(t, left.messages, messages, "after %d", taken+1)
		assert.Equal(t, waiting{}, x.queue[:room][taken])
	}
	assert.Equal(t, room, cap(x.queue), "the room is used again")
}

// The machine knows a stranger by its seat only, which all strangers share.
func TestAStrangerThatHadToWaitIsAnswered(t *testing.T) {
	d := saving(t)
	d.node.Deliver(&d.group, d.asks("nx"))
	d.node.Deliver(&d.group, d.asks("ny"))
	d.node.Saved(nil)
	d.node.EndTurn()
	wrote := d.did()
	assert.Contains(t, wrote, "send vote answer to nx")
	assert.Contains(t, wrote, "send vote answer to ny")
}

// The leader that a message names is mostly its sender or its receiver, and may be any member or none.
func TestTheLeaderOfAMessageIsKnownByItsSeat(t *testing.T) {
	members, err := memberstate.NewMembers(memberstate.Voters("n0", "n1", "n2"))
	require.NoError(t, err)
	g := NewGroup(&Electorate{Members: members, Rules: *threeRules()}, "g", nil)
	g.desk = new(desk)
	for leader, want := range map[string]memberstate.Seat{
		"": memberstate.Nobody, "n0": 1, "n1": 2, "n2": 3, "nx": memberstate.Stranger,
	} {
		var in Input
		g.read(2, &rpc.Message{From: "n1", To: "n0", Leader: leader}, &in, time.Second)
		assert.Equal(t, want, in.Message.Leader, leader)
		assert.EqualValues(t, 2, in.Message.From)
	}
}
