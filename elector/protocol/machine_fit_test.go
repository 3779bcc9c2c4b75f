// Who leads when nodes do not serve (D28): an order among the voters, as with ability, and no veto.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// leave says which members' nodes do not serve.
func (r *Rules) leave(some memberstate.Set) { r.Maintenance = &Maintenance{LastChoice: some} }

// An order to resign that has joined the offer outlives it. For this order any voter will do.
func TestAnOfferIsOverWhenTheNodeItIsForStopsServing(t *testing.T) {
	for resigns, left := range map[bool]Handover{
		false: {},
		true:  {Phase: Probing, Target: 3, Reason: ToAnyone, Resigning: true, patience: 3},
	} {
		a := leadingAlone(t, false)
		a.rules.Preferred, a.machine.office.nextOffer = memberstate.SetOf(2), a.machine.Beat()
		a.acknowledges(2, a.machine.Beat())
		require.Equal(t, ToPreferred, a.machine.Handover().Reason)
		if resigns {
			a.give(Input{Kind: Resign})
		}
		a.rules.leave(memberstate.SetOf(2))
		a.acknowledges(3, a.machine.Beat())
		assert.Equal(t, left, a.machine.Handover(), "it was ordered to resign: %t", resigns)
	}
}

// They come after all others, even after the last leader, so that nobody waits for them.
func TestMembersWhoseNodesDoNotServeHaveTheLastTurns(t *testing.T) {
	r := threeRules()
	r.Preferred = memberstate.SetOf(2)
	r.leave(memberstate.SetOf(2))
	var m Machine
	for _, other := range []memberstate.Seat{1, 3} {
		assert.Less(t, m.turn(r, other, other), m.turn(r, 2, memberstate.Nobody))
	}
}

// They let the others stand first, but do not wait for each other. This is so when connections break, too, although all stand
// sooner then.
func TestAMemberWhoseNodeDoesNotServeRestsBeforeItStands(t *testing.T) {
	for _, c := range []struct {
		leave memberstate.Set
		rests bool
	}{
		{0, false},
		{memberstate.SetOf(1), true},
		{memberstate.SetOf(1, 2), true},
		{memberstate.SetOf(1, 2, 3), false},
	} {
		for _, fromHint := range []bool{false, true} {
			r := threeRules()
			r.leave(c.leave)
			m, out := Machine{fromHint: fromHint}, Output{}
			m.armSlot(r, &out, memberstate.Nobody)
			assert.Equal(t, c.rests, out.Alarm.Min >= 2*r.Timing.Detection(), "the nodes of %v do not serve; a report: %t", c.leave, fromHint)
		}
	}
}

// A leader that knows of nobody better says so with all that it asks its heir, and then the heir need only be able.
func TestAMemberWhoseNodeDoesNotServeTakesOverIfNobodyIsBetter(t *testing.T) {
	for what, c := range map[string]struct {
		leave memberstate.Set // as the leader knows
		why   Inability
		takes bool
	}{
		"the leader has not heard of it yet":          {},
		"nobody is better":                            {leave: memberstate.SetOf(2, 3), takes: true},
		"nobody is better, but its engine hangs":      {leave: memberstate.SetOf(2, 3), why: NotAbleSilent},
		"nobody is better, but it has just recovered": {leave: memberstate.SetOf(2, 3), why: NotAbleHold},
	} {
		leader, heir := leadingAlone(t, false), followingAlone(t, false)
		heir.machine.inability = c.why
		heir.rules.leave(memberstate.SetOf(1)) // it has another seat here
		leader.rules.leave(c.leave)
		asks := func() rpc.Result {
			require.Equal(t, rpc.TakeLeadership, leader.out.Send.Kind, what)
			word := leader.out.Send.Body
			if word.Unable.Has(2) {
				word.Unable = memberstate.SetOf(1)
			}
			return heir.hears(theLeader, 1, word)
		}
		leader.acknowledges(2, leader.machine.Beat())
		leader.give(Input{Kind: Transfer})
		require.EqualValues(t, 2, leader.machine.Handover().Target)
		answer := asks()
		leader.accepts(2)
		leader.give(Input{Kind: Paused})
		asks()
		if !c.takes {
			assert.Equal(t, rpc.NotAble, answer, what)
			assert.Equal(t, rpc.NotAble, heir.out.Reply.Result, what)
			continue
		}
		assert.Equal(t, rpc.Accept, answer, what)
		assert.Equal(t, rpc.VoteRequest, heir.out.Send.Kind, what)
	}
}

// A leader that is not able gives way to members that are able and whose nodes serve.
func TestALeaderDoesNotGiveWayToANodeThatDoesNotServe(t *testing.T) {
	for _, c := range []struct{ unable, leave memberstate.Set }{
		{0, memberstate.SetOf(2, 3)},
		{memberstate.SetOf(2), memberstate.SetOf(3)},
	} {
		r := threeRules()
		m := leading(r)
		r.leave(c.leave)
		m.unable = c.unable
		told(&m, r, NotAbleSilent)
		nextBeat(&m, r)
		assert.Equal(t, NoHandover, m.handover.Phase)
		assert.Equal(t, memberstate.Leader, m.Role)
	}
}
