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

// counting is an edge that counts messages, and an engine that does nothing.
type counting struct{ sent map[string]int }

func (c *counting) Draw(_ *Group, a Alarm) time.Duration                 { return a.Min }
func (c *counting) Send(to string, batch []rpc.Message)                  { c.sent[to] += len(batch) }
func (c *counting) Save([]memberstate.Record)                            {}
func (c *counting) Drop(Drop, int)                                       {}
func (c *counting) Judge(*Group, rpc.Mark, Judgement)                    {}
func (c *counting) Voting(*Group, *Message)                              {}
func (c *counting) QuorumHeard(*Group, time.Duration)                    {}
func (c *counting) Rests(*Group, uint32)                                 {}
func (c *counting) CohortHeard(uint32, time.Duration)                    {}
func (c *counting) NotTransferred(*Group, *TransferError, bool)          {}
func (c *counting) TooFarApart(*Group, string, memberstate.Term, uint64) {}
func (c *counting) AskLedger(memberstate.Term)                           {}
func (c *counting) Show(View)                                            {}
func (c *counting) Hold(time.Duration)                                   {}
func (c *counting) Share(uint32)                                         {}
func (c *counting) Lead(memberstate.Term)                                {}
func (c *counting) EndLead(memberstate.Term)                             {}
func (c *counting) Pause(memberstate.Term, uint32)                       {}
func (c *counting) Resume()                                              {}
func (c *counting) Vouched() bool                                        { return false }
func (c *counting) AskHealth() bool                                      { return false }
func (c *counting) AskStalled(time.Duration) bool                        { return false }
func (c *counting) Progress(Progress)                                    {}

func (c *counting) Obey(*Rules)                                {}
func (c *counting) Ended(error)                                {}
func (c *counting) Groups() []*Group                           { return nil }
func (c *counting) Failed(*Group, error)                       {}
func (c *counting) LeadFailed(*Group, memberstate.Term, error) {}

// Any node may ask under any name, and is answered; no memory of that may stay.
func TestStrangersLeaveNothingBehind(t *testing.T) {
	members, err := memberstate.NewMembers(memberstate.Voters("n0", "n1", "n2"))
	require.NoError(t, err)
	c := &counting{sent: map[string]int{}}
	e := &Electorate{Members: members, Rules: Rules{
		Self: 1, Voters: members.Voters(), All: members.All(), Timing: DefaultTiming(), PreVote: true, Ranks: true,
	}}
	n, g := NewNode("n0", c), NewGroup(e, "g", c)
	require.NoError(t, g.Restore(memberstate.Record{}, false, memberstate.Position{}))
	n.At(time.Second)
	n.Start(&g)
	const strangers = 100
	for i := range strangers {
		n.Deliver(&g, &rpc.Message{
			Group: "g", From: fmt.Sprint("stranger", i), To: "n0", Voters: members.Digest(),
			Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 1, Round: 1},
		})
		n.EndTurn()
	}
	assert.Len(t, c.sent, strangers, "each was answered")
	assert.Empty(t, n.peers.strangers)
	assert.Len(t, n.peers.members, 2, "the other members")
}

// Many messages for one node go in batches, so that they do not need memory until the end of the turn. None
// is empty, and what a turn has sent is forgotten.
func TestBatchesAreOfTheUsualLength(t *testing.T) {
	for messages, want := range map[int][]int{1: {1}, usualBatch: {usualBatch}, 2*usualBatch + 1: {usualBatch, usualBatch, 1}} {
		d := newRecorders(t, 2)[0]
		for range messages {
			d.node.post(&d.group, 2, new(Message), nil)
		}
		d.node.flush()
		assert.Equal(t, want, d.batches, "%d messages", messages)
		for _, p := range d.node.peers.full[:cap(d.node.peers.full)] {
			assert.Nil(t, p)
		}
	}
}
