// The library's use by storage engines, through its exported API only.

package hustings_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hustings/hustings/elector"
	"github.com/hustings/hustings/memberstate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Three engines start. One of them leads, all know it, and its entry is committed once
// two engines have it.
func TestThreeEnginesElectALeaderThatWrites(t *testing.T) {
	inCluster(t, func(c *cluster) {
		leader := c.leader()
		term := leader.el.Status().Term
		assert.True(t, leader.write(term))
		for _, e := range c.engines {
			assert.Equal(t, []memberstate.Term{term}, e.ledger)
		}
	})
}

// The leader is cut off. The others detect its silence and elect one of them in a later
// term. The old leader believes for a while that it leads, but the others refuse its
// writes, because its term is stale.
func TestASilentLeaderIsReplacedAndFenced(t *testing.T) {
	inCluster(t, func(c *cluster) {
		old := c.leader()
		oldTerm := old.el.Status().Term
		require.True(t, old.write(oldTerm))
		c.cutOff(old, true)
		leader := c.leader()
		require.NotEqual(t, old, leader)
		c.cutOff(old, false)
		assert.False(t, old.write(oldTerm), "a stale write was committed")
		assert.Equal(t, leader, c.leader())
		assert.True(t, leader.write(leader.el.Status().Term))
		assert.Equal(t, leader.ledger, old.ledger, "the entry that only the old leader had is overwritten")
	})
}

// A member that lacks a committed entry is not elected.
func TestAMemberThatIsBehindIsNotElected(t *testing.T) {
	inCluster(t, func(c *cluster) {
		leader := c.leader()
		behind, complete := c.others(leader)[0], c.others(leader)[1]
		c.cutOff(behind, true)
		require.True(t, leader.write(leader.el.Status().Term))
		c.cutOff(behind, false)
		c.cutOff(leader, true)
		assert.Equal(t, complete, c.leader())
	})
}

// The leader hands over. Writes stop for a moment, the successor has every entry, and no
// member waits for the leader's silence.
func TestLeadershipIsTransferred(t *testing.T) {
	inCluster(t, func(c *cluster) {
		leader := c.leader()
		heir := c.others(leader)[0]
		require.True(t, leader.write(leader.el.Status().Term))
		begin := time.Now()
		require.NoError(t, leader.el.TransferLeadership(context.Background(), heir.id))
		assert.Equal(t, heir, c.leader())
		assert.Less(t, time.Since(begin), elector.DefaultTiming().Detection())
		assert.Equal(t, leader.ledger, heir.ledger)
	})
}

// A slow watcher sees the latest status.
func TestLeadershipIsWatched(t *testing.T) {
	inCluster(t, func(c *cluster) {
		leader := c.leader()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			<-time.After(time.Second)
			_ = leader.el.Resign(ctx)
		}()
		for s := range leader.el.Watch(ctx) {
			if s.Role == memberstate.Follower {
				assert.NotEmpty(t, s.Leader)
				break
			}
		}
	})
}

// The promise of LedgerEnd. A follower has heard of an append and is about to write it.
// Before it does, it votes for a new leader that does not have the entry. An engine that
// keeps its promise then refuses the append.
func TestTheLedgerAndTheVoteAreOnePromise(t *testing.T) {
	inCluster(t, func(c *cluster) {
		committed, kept := voteBetweenHeardAndAppend(c, keepsAll)
		assert.False(t, committed)
		assert.False(t, kept)
	})
}

// An engine that breaks the promise commits an entry and loses it. When its elector asks again, it notices and stops.
func TestWithoutThePromiseACommittedEntryIsLost(t *testing.T) {
	inCluster(t, func(c *cluster) {
		committed, kept := voteBetweenHeardAndAppend(c, keepsNothing)
		assert.True(t, committed)
		assert.False(t, kept, "if the entry is kept, this test shows nothing")
		c.cutOff(c.leader(), true)
		c.pass(time.Minute)
		assert.True(t, slices.ContainsFunc(c.engines, func(e *engine) bool { return e.el.Status().Stopped }))
	})
}

// voteBetweenHeardAndAppend lets a leader write one entry, which only one follower
// hears of. Before that follower writes it, the other one is elected with its vote. It
// returns whether the entry was committed, and whether the new leader has it.
func voteBetweenHeardAndAppend(c *cluster, keeps keeping) (committed, kept bool) {
	old := c.leader()
	voter, heir := c.others(old)[0], c.others(old)[1]
	for _, e := range c.engines {
		e.keeps = keeps
	}
	term := old.el.Status().Term
	voter.between = func() {
		// The old leader's elector is cut off and silent long enough, but its append
		// is still on its way.
		c.cutOff(old, true)
		for voter.el.Status().Vote != heir.id {
			heir.el.Campaign()
			c.pass(10 * time.Millisecond)
		}
		c.cutOff(old, false)
	}
	c.cut[heir] = true // for the append only, not for the election
	committed = old.write(term)
	c.cut[heir] = false
	return committed, len(heir.ledger) > 0
}

// The other half of the promise. A follower has heard of an append and is about to write
// it. Before it does, the leader of a later term, which this follower did not vote for,
// appends and commits another entry. The first append must not overwrite that entry.
func TestAnAppendThatWasOvertakenOverwritesNothing(t *testing.T) {
	inCluster(t, func(c *cluster) {
		committed, kept := appendBetweenHeardAndAppend(c, keepsAll)
		assert.True(t, committed)
		assert.True(t, kept)
	})
}

func TestAnEngineThatRemembersOnlyVotesLosesACommittedEntry(t *testing.T) {
	inCluster(t, func(c *cluster) {
		committed, kept := appendBetweenHeardAndAppend(c, keepsVotes)
		assert.True(t, committed)
		assert.False(t, kept, "if the entry is kept, this test shows nothing")
	})
}

// appendBetweenHeardAndAppend lets a leader write one entry, which both followers hear of.
// Before the second follower writes it, the other two members elect the first, which
// commits another entry with the second's help. It returns whether that entry was
// committed, and whether the second follower still has it after it wrote the first one, too.
func appendBetweenHeardAndAppend(c *cluster, keeps keeping) (committed, kept bool) {
	old := c.leader()
	heir, follower := c.others(old)[0], c.others(old)[1]
	for _, e := range c.engines {
		e.keeps = keeps
	}
	follower.between = func() {
		asked := follower.asked
		c.cutOff(follower, true) // its elector, so that it gives no vote
		require.NoError(c.t, old.el.TransferLeadership(c.t.Context(), heir.id))
		c.cutOff(follower, false)
		for follower.el.Status().Leader != heir.id {
			c.pass(10 * time.Millisecond)
		}
		c.cut[old] = true
		committed = heir.write(heir.el.Status().Term)
		c.cut[old] = false
		require.Equal(c.t, asked, follower.asked, "LedgerEnd was called, so remembering votes would be enough")
	}
	old.write(old.el.Status().Term)
	return committed, len(follower.ledger) == 2
}
