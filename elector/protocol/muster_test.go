// A node begins only so many campaigns at a time.

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

// crowd is a node with three groups, whose alarms have just rung. It has one campaign under way at a time.
func crowd(t *testing.T) (a, b, c *recorder) {
	t.Helper()
	a = newRecorders(t, 1)[0]
	a.node.LimitCampaigns(1)
	a.start()
	b, c = a.beside("b"), a.beside("c")
	a.did()
	a.ring()
	return a, b, c
}

var asked = []string{"ask ledger 0"}

// stands are the one of these two groups that has asked for its ledger, and the one that waits.
func stands(t *testing.T, one, other *recorder) (campaigns, waits *recorder) {
	t.Helper()
	did := one.did()
	if len(did) == 0 {
		one, other, did = other, one, other.did()
	}
	require.Equal(t, asked, did)
	require.Empty(t, other.did())
	return one, other
}

func TestTheNextCampaignBeginsWhenOneIsOver(t *testing.T) {
	a, b, c := crowd(t)
	assert.Equal(t, asked, a.did())
	standAndVote(a)
	assert.Empty(t, append(b.did(), c.did()...), "the first one's vote is not on the disk yet")
	a.node.Saved(nil)
	require.Equal(t, memberstate.Leader, a.group.Role)
	a.node.EndTurn()
	second, third := stands(t, b, c)
	a.node.End(&second.group)
	a.node.EndTurn()
	assert.Equal(t, asked, third.did(), "one that ends is over, too")
	assert.Equal(t, 1, a.node.muster.open)
}

// Otherwise each of many groups that are stopped would keep a place for a detection time.
func TestAGroupThatEndsWhileItsCampaignWaitsTakesNoPlace(t *testing.T) {
	a, b, c := crowd(t)
	require.Equal(t, 2, len(a.node.muster.waiting.all)-a.node.muster.waiting.first)
	for _, d := range []*recorder{b, c, a} {
		a.node.End(&d.group)
	}
	a.node.EndTurn()
	assert.Zero(t, a.node.muster.open)
	assert.False(t, a.node.muster.waiting.waits())
}

// Otherwise engines that hang would keep all other groups of the node without leaders.
func TestACampaignThatHangsDoesNotKeepOthersWaitingForEver(t *testing.T) {
	a, b, c := crowd(t)
	assert.Equal(t, asked, a.did())
	at, waits := a.node.Next()
	require.True(t, waits)
	assert.Equal(t, a.node.now+a.group.Rules.Timing.Detection(), at)
	a.node.At(at)
	a.node.EndTurn()
	_, third := stands(t, b, c)
	standAndVote(a)
	assert.Empty(t, third.did(), "its place is taken")
}

// A group may find a leader and lose it again within a detection time. What is left of its first campaign is behind another one that is
// under way.
func TestACampaignThatIsOverDoesNotEndTheNextOneOfItsGroup(t *testing.T) {
	a, b, c := crowd(t)
	at, waits := a.node.Next()
	require.True(t, waits)
	again := at + a.group.Rules.Timing.Detection()/2
	a.group.transient().place = again
	a.node.muster.begun.add(campaign{group: &a.group, until: again})
	a.node.At(at)
	a.node.EndTurn()
	assert.Empty(t, append(b.did(), c.did()...))
	a.node.At(again)
	a.node.EndTurn()
	stands(t, b, c)
}

// heldUp is a node that may have one campaign under way, and waits for the engine because of another's pre-vote. Its alarm rings at a time.
func heldUp(t *testing.T) (a *recorder, at time.Duration) {
	t.Helper()
	a = newRecorders(t, 3)[0]
	a.node.LimitCampaigns(1)
	a.start()
	at, waits := a.node.Next()
	require.True(t, waits)
	a.node.Deliver(&a.group, &rpc.Message{
		Group: a.group.name, From: "n1", To: "n0", Voters: a.group.Members.Digest(), Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 1, Round: 1},
	})
	require.NotNil(t, a.group.busy())
	return a, at
}

// Its alarm rings while the engine is asked about another's pre-vote. It cannot begin before that is answered.
func TestACampaignThatCannotBeginYetKeepsItsPlace(t *testing.T) {
	a, at := heldUp(t)
	a.node.At(at + a.group.Rules.Timing.Detection()) // n1 may be gone by now
	a.node.EndTurn()
	require.Equal(t, 1, a.node.muster.open)
	a.answer()
	require.Equal(t, preVoting, a.group.round.phase)
	assert.Equal(t, 1, a.node.muster.open)
}

// Otherwise all groups that a disk or an engine has held up would stand at once when it goes on.
func TestACampaignThatIsHeldUpForLongQueuesAgain(t *testing.T) {
	a, at := heldUp(t)
	a.node.At(at) // its alarm rings and waits, with a place
	a.node.EndTurn()
	require.Equal(t, 1, a.node.muster.open)
	b := a.beside("b")
	b.did()
	detects := a.group.Rules.Timing.Detection()
	a.node.At(at + detects)
	a.node.EndTurn()
	require.Equal(t, asked, b.did(), "it has b's place")
	a.answer() // to what has held it up
	require.Nil(t, a.group.busy())
	assert.False(t, a.group.Cluttered())
	assert.Equal(t, idle, a.group.round.phase)
	assert.Equal(t, 1, a.node.muster.open)
	a.node.At(at + 2*detects)
	a.node.EndTurn()
	a.answer()
	assert.Equal(t, preVoting, a.group.round.phase, "b's place is free by now")
}

// In the same queues at two nodes the same candidates would meet again and again. So one that is not elected waits for a
// random time only before it asks again, for about as long as it takes to ask twice.
func TestACandidateAsksAgainWithoutTheQueue(t *testing.T) {
	a := newRecorders(t, 3)[0]
	a.node.LimitCampaigns(1)
	a.start()
	became := func(phase phase) bool {
		at, waits := a.node.Next()
		require.True(t, waits)
		a.node.At(at)
		a.node.EndTurn()
		a.answer()
		a.node.Saved(nil)
		return a.group.round.phase == phase
	}
	for !became(preVoting) {
	}
	lasts := a.node.now + a.group.Rules.Timing.Detection() + a.group.Rules.Timing.MaxVoteWait
	b, c := a.beside("b"), a.beside("c")
	b.ring()
	assert.Empty(t, append(b.did(), c.did()...), "its first round is under way")
	for !became(idle) {
	}
	stands(t, b, c)
	for !became(preVoting) {
	}
	assert.Less(t, a.node.now, lasts, "it asks again, although another one has the place")
	for !became(idle) {
	}
	a.node.At(lasts - 1)
	assert.False(t, a.node.queues(&a.group))
	a.node.At(lasts)
	assert.True(t, a.node.queues(&a.group), "then others get their chance")
	a.group.Role = memberstate.Follower
	a.node.tidy(&a.group)
	assert.Nil(t, a.group.transient(), "nothing is left of the campaign")
}

// Most of those that wait need not stand in the end, because another member does.
func TestWhoFollowsALeaderMeanwhileDoesNotStand(t *testing.T) {
	a := newRecorders(t, 1)[0]
	a.node.LimitCampaigns(1)
	a.start()
	d := newRecorders(t, 3)[0]
	d.node, d.group.name = a.node, "d"
	d.start()
	for !a.node.muster.waiting.waits() {
		a.ring()
	}
	require.Equal(t, idle, d.group.round.phase, "it is the one that waits")
	for range 2 { // it adopts the term, and then follows
		a.node.Deliver(&d.group, &rpc.Message{
			Group: "d", From: "n1", To: "n0", Leader: "n1", Voters: d.group.Members.Digest(), Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1, Round: 1},
		})
		d.answer()
		a.node.Saved(nil)
		a.node.EndTurn()
	}
	require.Equal(t, memberstate.Follower, d.group.Role)
	d.did()
	a.node.End(&a.group)
	a.node.EndTurn()
	assert.NotContains(t, d.did(), asked[0])
	assert.Zero(t, a.node.muster.open)
	assert.False(t, a.node.muster.waiting.waits())
	assert.NotContains(t, a.dropped, DropStaleAlarm, "its alarm does not ring any more")
}

func TestACampaignIsUnderWayWhileItsAnswersAreAwaited(t *testing.T) {
	all := newRecorders(t, 3)
	for _, d := range all {
		d.start()
	}
	a := all[0]
	a.node.LimitCampaigns(1)
	for !a.group.begins() || a.node.muster.open == 0 {
		a.ring()
	}
	b := a.beside("b")
	at, _ := a.node.Next()
	a.node.At(at)
	a.answer()
	require.NotEmpty(t, a.post, "it has asked for pre-votes")
	assert.Empty(t, b.did())
	assert.Equal(t, 1, a.node.muster.open)
	deliver(all)
	require.Equal(t, memberstate.Leader, a.group.Role)
	assert.Equal(t, asked, b.did())
	b.node.End(&b.group)
	a.node.EndTurn()
	assert.False(t, a.node.muster.begun.waits(), "nothing is left of either")
}

func TestAQueueOfCampaignsIsBounded(t *testing.T) {
	var q campaigns
	taken := time.Duration(0)
	for i := range time.Duration(1000) {
		q.add(campaign{due: 2 * i})
		q.add(campaign{due: 2*i + 1})
		q.drop(func(c *campaign) bool { // it never becomes empty
			if c.due >= 2*i {
				return false
			}
			assert.Equal(t, taken, c.due)
			taken++
			return true
		})
	}
	assert.True(t, q.waits())
	assert.EqualValues(t, 1998, taken)
	assert.Less(t, cap(q.all), 20)
}

// A group may be stopped and join again in the same memory. Its alarms are numbered anew.
func TestAGroupThatJoinsAgainHasNoCampaignOfBefore(t *testing.T) {
	a, b, c := crowd(t)
	require.Equal(t, asked, a.did())
	for _, d := range []*recorder{b, c} {
		before := d.group.alarm
		a.node.End(&d.group)
		d.group = NewGroup(d.group.Electorate, d.group.name, d)
		require.NoError(t, d.group.Restore(memberstate.Record{}, false, memberstate.Position{}))
		d.start()
		require.Equal(t, before, d.group.alarm)
		d.did()
	}
	a.node.End(&a.group)
	a.node.EndTurn()
	assert.Empty(t, append(b.did(), c.did()...), "their alarms have not rung")
}

// Not all alarms of very many groups ring in one turn, because a turn must not take long: the next one is due at once.
func TestATurnHasOnlySoManyAlarms(t *testing.T) {
	d := newRecorders(t, 3)[0]
	n := d.node
	var all []*recorder
	for i := range usualTurn + 1 {
		one := newRecorders(t, 3)[0]
		one.node, one.group.name = n, fmt.Sprint("g", i)
		one.start()
		all = append(all, one)
	}
	rung := func() (rung int) {
		for _, one := range all {
			if look := one.group.look; look == 0 || look > n.now {
				rung++
			}
		}
		return rung
	}
	n.At(n.now + time.Hour)
	n.EndTurn()
	assert.Equal(t, usualTurn, rung())
	due, waits := n.Next()
	assert.True(t, waits)
	assert.LessOrEqual(t, due, n.now)
	n.EndTurn()
	assert.Equal(t, usualTurn+1, rung())
}
