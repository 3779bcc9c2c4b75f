// The other end of a handover: the heir stands, and the other voters vote for it (D14).

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// tellsToTake is the leader's word that the heir is to take over.
func (a *alone) tellsToTake(heir memberstate.Seat, mark rpc.Mark, term memberstate.Term, goal memberstate.Position) {
	a.Helper()
	a.hears(theLeader, heir, rpc.Body{Kind: rpc.TakeLeadership, Mark: mark, Round: 1, Term: term, Ledger: goal})
}

// A member obeys the word of the leader that it follows, in its term. The heir does so if its engine runs no Lead of
// an earlier term.
func TestWhichWordToTakeOverIsObeyed(t *testing.T) {
	observing := func(a *alone) {
		a.rules.Voters, a.rules.All = memberstate.SetOf(2, 3), memberstate.SetOf(1, 2, 3)
		a.machine.Role = memberstate.Observer
	}
	for what, c := range map[string]struct {
		change      func(a *alone)
		term        memberstate.Term
		heir, voter bool
	}{
		"of its leader":            {func(*alone) {}, 1, true, true},
		"of a term to come":        {func(*alone) {}, 2, false, false},
		"of an earlier term":       {func(a *alone) { a.machine.Term = 5 }, 4, false, false},
		"of another leader's":      {func(a *alone) { a.machine.Leader = 2 }, 1, false, false},
		"of a leader that is lost": {func(a *alone) { a.ring() }, 1, false, false},
		"while its Lead runs":      {func(a *alone) { a.machine.serving = true }, 1, false, true},
		"by an observer":           {observing, 1, false, false},
	} {
		for heir, obeys := range map[memberstate.Seat]bool{1: c.heir, 2: c.voter} {
			a := followingAlone(t, false)
			c.change(a)
			before := a.machine
			a.tellsToTake(heir, rpc.Plain, c.term, memberstate.Position{})
			assert.Equal(t, obeys, a.out.Send.Kind != 0, "%s; the heir is %d", what, heir)
			if !obeys {
				assert.Equal(t, rpc.NotFollowing, a.out.Reply.Result, what)
				assert.Equal(t, before, a.machine, what)
			}
		}
	}
}

// The heir stands only with a ledger that has reached the goal. Otherwise it says where its own ends.
func TestAnHeirNeedsTheLedgerOfTheGoal(t *testing.T) {
	goal := memberstate.Position{Term: 1, Index: 5}
	for end, reaches := range map[memberstate.Position]bool{
		{Term: 1, Index: 4}: false, goal: true, {Term: 1, Index: 6}: true, {Index: 9}: false,
	} {
		for _, mark := range []rpc.Mark{rpc.PreVote, rpc.Plain} {
			a := followingAlone(t, false)
			a.ledger = end
			before := a.machine
			a.tellsToTake(1, mark, 1, goal)
			if reaches && mark == rpc.Plain {
				assert.Equal(t, a.rules.others(), a.out.To)
				assert.Equal(t, Message{Leader: theLeader, Body: rpc.Body{
					Kind: rpc.VoteRequest, Mark: rpc.Handed, Round: a.machine.Ballot(), Term: 2, Ledger: end,
				}}, a.out.Send)
				continue
			}
			assert.Equal(t, before, a.machine, "it was asked, or is behind")
			assert.Zero(t, a.out.To)
			if reaches {
				assert.Equal(t, rpc.Accept, a.out.Reply.Result)
			} else {
				assert.Equal(t, rpc.LedgerBehind, a.out.Reply.Result)
				assert.Equal(t, end, a.out.Reply.Ledger)
			}
		}
	}
}

// A voter that is told of the heir votes for it on the end that the leader named, and tells the heir. If its own ledger
// is better it votes for nobody, and waits for the heir's request.
func TestAVoterVotesForTheHeirItIsTold(t *testing.T) {
	goal := memberstate.Position{Term: 1, Index: 5}
	for end, votes := range map[memberstate.Position]bool{{Term: 1, Index: 4}: true, goal: true, {Term: 1, Index: 6}: false} {
		a := followingAlone(t, true)
		a.ledger = end
		a.tellsToTake(2, rpc.Plain, 1, goal)
		assert.EqualValues(t, 2, a.machine.Term)
		assert.True(t, a.out.Save)
		assert.False(t, a.out.Replied)
		if !votes {
			assert.Equal(t, memberstate.Nobody, a.machine.Vote)
			assert.Zero(t, a.out.To)
			continue
		}
		assert.EqualValues(t, 2, a.machine.Vote)
		assert.Equal(t, memberstate.SetOf(2), a.out.To)
		assert.Equal(t, Message{Body: rpc.Body{
			Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: rpc.Vouched, Term: 2, Asked: 2, Ledger: goal,
		}}, a.out.Send)
	}
}
