package check

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/internal/ledger"
	"github.com/hustings/hustings/simulation/invariant"
)

// facts are those of a group of three voters, in which nothing has happened.
func facts(t *testing.T) (*Checker, []*Member) {
	t.Helper()
	now := int64(time.Second)
	c := New(Measure{Voters: 3, Timing: protocol.DefaultTiming()}, []string{"g0"}, &now, nil, func(*invariant.Violation) {})
	members := make([]*Member, 3)
	list, err := memberstate.NewMembers([]memberstate.Member{{ID: "n1"}, {ID: "n2"}, {ID: "n3"}})
	require.NoError(t, err)
	electorate := protocol.Electorate{Members: list, Rules: protocol.Rules{Timing: protocol.DefaultTiming()}}
	for i := range members {
		members[i] = &Member{
			Node: &Node{Index: i, Seat: memberstate.Seat(i + 1), Alive: true, Incarnation: 1}, Rules: &protocol.Rules{Timing: protocol.DefaultTiming()},
			Group: groupOf(t, &electorate), Durable: new(memberstate.HardState), Engine: new(Engine),
		}
		c.Add(members[i])
	}
	return &c, members
}

// groupOf is a group that knows nothing yet.
func groupOf(t *testing.T, e *protocol.Electorate) *protocol.Group {
	t.Helper()
	g := protocol.NewGroup(e, "g0", nil)
	require.NoError(t, g.Restore(memberstate.Record{}, false, memberstate.Position{}))
	return &g
}

// elect has members vote for the first one in a term, which then leads.
func elect(c *Checker, term memberstate.Term, leader *Member, voters ...*Member) {
	for _, n := range voters {
		*n.Durable = memberstate.HardState{Term: term, Vote: leader.Node.Seat}
		c.Kept(n, *n.Durable)
	}
	leader.Group.Term, leader.Group.Role = term, memberstate.Leader
	c.Published(leader, &protocol.View{Role: memberstate.Leader, Term: term, Leader: leader.Node.Seat}, 0)
}

// A leader needs the durable votes of a majority, and leads a term alone.
func TestALeaderHasAQuorumAndIsAlone(t *testing.T) {
	c, n := facts(t)
	elect(c, 4, n[0], n[0], n[1])
	require.Nil(t, c.Violation)
	elect(c, 4, n[2])
	require.NotNil(t, c.Violation)
	assert.Equal(t, invariant.OneLeader, c.Violation.Invariant)

	c, n = facts(t)
	elect(c, 4, n[0], n[0])
	require.NotNil(t, c.Violation)
	assert.Equal(t, invariant.WonByQuorum, c.Violation.Invariant)
}

// An entry that a majority has accepted from its leader is committed, and a later leader without it
// is named with those that have it.
func TestALaterLeaderHasWhatWasCommitted(t *testing.T) {
	c, n := facts(t)
	elect(c, 4, n[0], n[0], n[1])
	before := ledger.Ledger{}
	for _, follower := range n[:2] {
		follower.Engine.Ledger.Write(4)
		c.Accepts(follower, &before, 4)
	}
	require.Nil(t, c.Violation)
	elect(c, 5, n[2], n[2], n[1])
	require.NotNil(t, c.Violation)
	assert.Equal(t, invariant.LeaderComplete, c.Violation.Invariant)
	assert.Equal(t, &invariant.LostEntry{
		Entry: memberstate.Position{Term: 4, Index: 1}, Committed: 4, Acknowledged: []int{0, 1}, Missing: []int{2},
	}, c.Violation.Lost)
}

// What is excused is counted, and not demanded.
func TestAnExcusedInvariantIsCounted(t *testing.T) {
	c, n := facts(t)
	c.Excuse(invariant.WonByQuorum)
	elect(c, 4, n[0], n[0])
	assert.Nil(t, c.Violation)
	assert.False(t, c.Over)
	assert.EqualValues(t, 1, c.Broken[invariant.WonByQuorum])
	c.ExcuseAll()
	c.Violated(invariant.OneVote, n[1], "anything")
	assert.Nil(t, c.Violation)
	assert.True(t, c.Over, "what follows means nothing")
}
