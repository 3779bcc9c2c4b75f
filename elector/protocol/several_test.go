// A node with several groups: their alarms, messages and saves go together, and no group is affected by
// the steps of another.

package protocol

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// beside is another group at a node, of which the node is the only voter. It has an engine of its own.
func (d *recorder) beside(name string) *recorder {
	other := newRecorders(d.t, 1)[0]
	other.node, other.group.name = d.node, name
	other.start()
	other.did()
	return other
}

// standAndVote makes groups that have asked for their ledger vote for themselves, and begins to save that.
func standAndVote(groups ...*recorder) {
	for range 2 { // for the pre-vote, and for the vote
		for _, g := range groups {
			g.node.LedgerEnd(&g.group, memberstate.Position{}, 0, nil)
		}
	}
	groups[0].node.EndTurn()
}

// Otherwise the groups would take turns of their own, and their messages and saves would not go together.
func TestAllAlarmsThatAreDueRingInOneTurn(t *testing.T) {
	a := newRecorders(t, 1)[0]
	a.start()
	b, c := a.beside("b"), a.beside("c")
	a.did()
	a.ring()
	for _, g := range []*recorder{a, b, c} {
		assert.Equal(t, []string{"ask ledger 0"}, g.did(), g.group.name)
	}
}

func TestEachGroupOfABatchIsSavedAndGoesOn(t *testing.T) {
	a := newRecorders(t, 1)[0]
	a.start()
	b, c := a.beside("b"), a.beside("c")
	a.ring()
	standAndVote(a, b)
	require.Equal(t, []memberstate.Record{a.group.Record(), b.group.Record()}, a.saving)
	standAndVote(c)
	assert.Len(t, a.saving, 2, "the next batch waits")
	a.node.Saved(nil)
	a.node.EndTurn()
	assert.Equal(t, []memberstate.Record{c.group.Record()}, a.saving)
	a.node.Saved(nil)
	for _, g := range []*recorder{a, b, c} {
		assert.Equal(t, memberstate.Leader, g.group.Role, g.group.name)
	}
}

func TestEachGroupOfABatchThatIsNotSavedEnds(t *testing.T) {
	a := newRecorders(t, 1)[0]
	a.start()
	b := a.beside("b")
	a.ring()
	standAndVote(a, b)
	a.node.Saved(errors.New("no room"))
	require.EqualError(t, a.ended, `elector: group "g": saving term 1: no room`)
	require.EqualError(t, b.ended, `elector: group "b": saving term 1: no room`)
}

// Steps that wait lie in memory that is used again. An order may be withdrawn while its step waits, and the
// group may end before the step goes on. The next step in that place has not been withdrawn.
func TestAStepIsNotWithdrawnWithTheOneBeforeIt(t *testing.T) {
	a, _ := pair(t)
	b, c := a.beside("b"), a.beside("c")
	o := &Order{Resign: true, Settled: func(error) {}}
	a.node.Obey(&a.group, o)
	require.True(t, a.group.Waits())
	a.node.Withdraw(&a.group, o, errors.New("enough"))
	a.node.End(&a.group)
	a.node.LedgerEnd(&a.group, memberstate.Position{}, 0, nil)
	for _, g := range []*recorder{b, c} {
		g.node.Give(&g.group, &Input{Kind: Stand}, nil)
	}
	for _, g := range []*recorder{b, c} {
		require.True(t, g.group.Waits(), g.group.name)
		g.node.LedgerEnd(&g.group, memberstate.Position{}, 0, nil)
		assert.True(t, g.group.Waits(), "%s has not gone on to the vote", g.group.name)
	}
}

// The last step of the node was another group's.
func TestAGroupThatEndsEndsItsOwnOffice(t *testing.T) {
	a := lone(t)
	b := a.beside("b")
	b.node.Give(&b.group, &Input{Kind: Stand}, nil)
	a.did()
	b.did()
	a.node.End(&a.group)
	assert.Equal(t, []string{"hold nothing", "end lead 1", "show stopped in term 1"}, a.did())
	assert.Empty(t, b.did())
}
