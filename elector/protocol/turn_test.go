// A candidate stands by its turn (D12): it asks again where messages are lost, and goes before a
// candidate with a later turn.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// turn is a machine in a group. All ledgers are empty, unless the test gives this member one.
type turn struct {
	*testing.T
	rules   *Rules
	machine Machine
	out     Output
	ledger  memberstate.Position
}

func (t *turn) give(in Input) {
	t.Helper()
	for t.machine.Step(t.rules, &in, &t.out); t.out.NeedLedger; t.machine.Step(t.rules, &in, &t.out) {
		in.HasLedger, in.LedgerTerm, in.Ledger = true, t.out.LedgerTerm, t.ledger
	}
	require.NoError(t, t.out.Err)
}

func (t *turn) ring() {
	t.Helper()
	t.give(Input{Kind: Ring, Number: t.machine.alarm})
}

func (t *turn) answer(from memberstate.Seat, result rpc.Result, term memberstate.Term) {
	t.Helper()
	m := &t.machine
	t.give(Input{Kind: Receive, Message: Message{From: from, Body: rpc.Body{
		Kind: rpc.VoteResponse, Result: result, Mark: m.round.mark, Round: m.ballot, Asked: m.round.asked, Term: term,
	}}})
}

// preVoteAsked is a member of five that has just asked for pre-votes in term 1.
func preVoteAsked(t *testing.T) *turn {
	t.Helper()
	all := memberstate.SetOf(1, 2, 3, 4, 5)
	c := &turn{T: t, rules: &Rules{Self: 1, Voters: all, All: all, Timing: DefaultTiming(), PreVote: true, Ranks: true}}
	c.machine = NewMachine(c.rules, memberstate.HardState{})
	c.give(Input{Kind: Start})
	c.ring()
	require.Equal(t, preVoting, c.machine.round.phase)
	require.Equal(t, c.rules.others(), c.out.To)
	return c
}

// A voter that has not answered is asked again after a slot, and then after twice as long; at the
// time-out the round is over. One that has answered is not asked again.
func TestASilentVoterIsAskedAgain(t *testing.T) {
	c := preVoteAsked(t)
	slot := c.rules.Timing.Detection() / 30
	assert.Equal(t, slot, c.out.Alarm.Min)
	assert.False(t, c.machine.Repeats())
	asked := c.out.Send
	c.answer(2, rpc.Accept, 0)
	c.machine.known = 1 // the very term that it asks for
	for _, wait := range []time.Duration{slot, 2 * slot, 4 * slot, c.rules.Timing.RoundTimeout - 8*slot} {
		c.ring()
		assert.Equal(t, memberstate.SetOf(3, 4, 5), c.out.To)
		assert.Equal(t, asked, c.out.Send, "the very same is asked")
		assert.Equal(t, wait, c.out.Alarm.Min)
		assert.Equal(t, wait, c.out.Alarm.Max)
		assert.True(t, c.machine.Repeats())
	}
	c.ring()
	assert.True(t, c.out.Ended)
	assert.Equal(t, WaitToRevote, c.out.Judged)
}

// slowPreVoteAsked is a candidate whose answers take that long.
func slowPreVoteAsked(t *testing.T, roundTrip time.Duration) *turn {
	t.Helper()
	c := preVoteAsked(t)
	c.machine.roundTrip = uint32(roundTrip.Microseconds())
	c.machine.openRound(c.rules, &c.out, preVoting, rpc.PreVote, 1)
	return c
}

// Where round trips are long, requests are repeated before an answer can have come, but not if the
// answer to the repetition would be too late.
func TestLongRoundTripsAreNotWaitedFor(t *testing.T) {
	for _, c := range []struct{ roundTrip, first, slot, end time.Duration }{
		{7 * time.Millisecond, 10 * time.Millisecond, 10500 * time.Microsecond, 100 * time.Millisecond},
		{30 * time.Millisecond, 11250 * time.Microsecond, 45 * time.Millisecond, 100 * time.Millisecond},
		{100 * time.Millisecond, 18750 * time.Microsecond, 150 * time.Millisecond, 300 * time.Millisecond},
	} {
		s := slowPreVoteAsked(t, c.roundTrip)
		at := s.out.Alarm.Min
		if c.first < c.slot/2 {
			assert.Equal(t, c.first, at)
		}
		var asked []time.Duration
		for s.ring(); !s.out.Ended; s.ring() {
			assert.Equal(t, s.rules.others(), s.out.To)
			asked = append(asked, at)
			at += s.out.Alarm.Min
		}
		assert.Contains(t, asked, c.slot)
		assert.LessOrEqual(t, asked[len(asked)-1]+c.slot, c.end)
		assert.Equal(t, c.end, at)
	}
}

// The shortest wait before a repetition is a slot where delays are negligible, and that one included.
func TestTheShortestWaitBeforeARepetition(t *testing.T) {
	for roundTrip, first := range map[time.Duration]time.Duration{
		12 * time.Millisecond: 9 * time.Millisecond, 12*time.Millisecond - 2*time.Microsecond: 18*time.Millisecond - 3*time.Microsecond,
	} {
		c := preVoteAsked(t)
		c.rules.Timing.Heartbeat = 90 * time.Millisecond
		c.machine.roundTrip = uint32(roundTrip.Microseconds())
		c.machine.openRound(c.rules, &c.out, preVoting, rpc.PreVote, 1)
		assert.Equal(t, first, c.out.Alarm.Min, "round trips of %v", roundTrip)
	}
}

// If a near voter answers first that it has a leader, the round does not end before the others could
// have answered; but then it does.
func TestLongRoundTripsAreNotCutShort(t *testing.T) {
	for _, roundTrip := range []time.Duration{3 * time.Millisecond, 21 * time.Millisecond, 48 * time.Millisecond, 100 * time.Millisecond} {
		c := slowPreVoteAsked(t, roundTrip)
		at := c.out.Alarm.Min
		c.answer(2, rpc.RejectAlreadyHasLeader, 0)
		for c.ring(); !c.out.Ended; c.ring() {
			assert.Equal(t, memberstate.SetOf(3, 4, 5), c.out.To)
			at += c.out.Alarm.Min
		}
		assert.Equal(t, max(roundTrip*3/2, c.rules.shortestSlot()), at)
		assert.Equal(t, WaitToRevote, c.out.Judged)
	}
}

// A round that turns out to be too short goes on.
func TestARoundGrowsWithTheRoundTrip(t *testing.T) {
	c := slowPreVoteAsked(t, 30*time.Millisecond)
	for c.machine.round.elapsed < c.rules.Timing.RoundTimeout {
		c.ring()
	}
	c.machine.roundTrip = 60_000
	c.ring()
	assert.False(t, c.out.Ended)
	c.ring()
	assert.True(t, c.out.Ended)
	assert.Equal(t, 180*time.Millisecond, c.machine.round.elapsed)
}

// Even with the shortest timing a member pauses between requests.
func TestTheShortestTimingPauses(t *testing.T) {
	c := preVoteAsked(t)
	c.rules.Timing.Heartbeat = 1
	c.machine.openRound(c.rules, &c.out, preVoting, rpc.PreVote, 1)
	assert.Positive(t, c.out.Alarm.Min)
}

// Only the first request's answer measures a round trip.
func TestCopiesMeasureNothing(t *testing.T) {
	c := slowPreVoteAsked(t, 100*time.Millisecond)
	answered := func(from memberstate.Seat, mark rpc.Mark, ballot uint32, took time.Duration) time.Duration {
		c.give(Input{Kind: Receive, RoundTrip: took, Message: Message{From: from, Body: rpc.Body{
			Kind: rpc.VoteResponse, Result: rpc.Accept, Mark: mark, Round: ballot, Asked: 1,
		}}})
		return c.machine.measured()
	}
	long := 120 * time.Millisecond
	first := c.machine.ballot
	assert.Equal(t, 110*time.Millisecond, answered(2, rpc.PreVote, first, 110*time.Millisecond))
	assert.Equal(t, 110*time.Millisecond, answered(2, rpc.PreVote, first, long), "a copy of the same round")
	answered(3, rpc.PreVote, first, 110*time.Millisecond)
	require.Equal(t, voting, c.machine.round.phase)
	assert.Equal(t, 110*time.Millisecond, answered(4, rpc.PreVote, first, long), "a round that was won")
	assert.Equal(t, 110*time.Millisecond, answered(4, rpc.Vouched, 0, long), "a vote that was not asked for")
	for c.machine.round.phase == voting {
		c.ring()
	}
	assert.Equal(t, long, answered(2, rpc.Won, c.machine.ballot, long), "a round that was too short")
	c.machine.Role = memberstate.Leader
	assert.Equal(t, long, answered(3, rpc.Won, c.machine.ballot, 2*long), "a leader's are its beats")
}

// The next round begins anew.
func TestARoundThatWasRepeatedIsForgotten(t *testing.T) {
	c := preVoteAsked(t)
	c.ring()
	require.True(t, c.machine.Repeats())
	c.machine.openRound(c.rules, &c.out, voting, rpc.Won, 1)
	assert.False(t, c.machine.Repeats())
	c.machine.round.phase, c.machine.round.repeated = idle, true
	assert.False(t, func() bool { m := c.machine.Canonical(c.rules); return m.Repeats() }())
}

// Some rounds are for one request, and end with their time-out.
func TestSomeRoundsAreNotRepeated(t *testing.T) {
	for name, change := range map[string]func(c *turn){
		"without ranks":               func(c *turn) { c.rules.Ranks = false },
		"for a handover":              func(c *turn) { c.machine.round.mark = rpc.Handed },
		"while it serves":             func(c *turn) { c.machine.serving = true },
		"when the veto is waited for": func(c *turn) { c.machine.fromHint, c.machine.roundTrip = true, 1000 },
		"when the veto takes longer":  func(c *turn) { c.machine.fromHint, c.machine.roundTrip = true, 1_000_000 },
		"when somebody has a leader":  func(c *turn) { c.answer(2, rpc.RejectAlreadyHasLeader, 0) },
		"in a term that is over":      func(c *turn) { c.answer(2, rpc.RejectExpiredVoteTerm, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			c := preVoteAsked(t)
			change(c)
			c.ring()
			assert.True(t, c.out.Ended)
		})
	}
	c := preVoteAsked(t)
	c.machine.serving = true
	c.machine.openRound(c.rules, &c.out, preVoting, rpc.PreVote, 1)
	assert.Equal(t, c.rules.Timing.RoundTimeout, c.out.Alarm.Min)
	c.machine.roundTrip = 100_000
	c.machine.openRound(c.rules, &c.out, preVoting, rpc.PreVote, 1)
	assert.Equal(t, 200*time.Millisecond, c.out.Alarm.Min, "or twice the round trip")
}

// Of two candidates for the same term, the one with the earlier turn refuses the other, unless it has
// been refused itself.
func TestTheEarlierTurnGoesFirst(t *testing.T) {
	for name, is := range map[string]struct {
		change func(c *turn)
		want   rpc.Result
	}{
		"it asks":                  {func(*turn) {}, rpc.RejectTakingLeadership},
		"it was accepted":          {func(c *turn) { c.answer(3, rpc.Accept, 0) }, rpc.RejectTakingLeadership},
		"it was refused":           {func(c *turn) { c.answer(3, rpc.RejectSmallLedgerEndIndex, 0) }, rpc.Accept},
		"it asks for another term": {func(c *turn) { c.machine.round.asked = 2 }, rpc.Accept},
		"it asks for nothing":      {func(c *turn) { c.machine.round.phase = idle }, rpc.Accept},
		"its turn is later":        {func(c *turn) { c.rules.Preferred = memberstate.SetOf(2) }, rpc.Accept},
		"it is not able":           {func(c *turn) { c.machine.inability = NotAbleUnhealthy }, rpc.Accept},
		"neither is able": {func(c *turn) {
			c.machine.inability, c.machine.unable = NotAbleUnhealthy, memberstate.SetOf(2)
		}, rpc.RejectTakingLeadership},
		"there are no turns":          {func(c *turn) { c.rules.Ranks = false }, rpc.Accept},
		"it leads, and asks for more": {func(c *turn) { c.machine.Role = memberstate.Leader }, rpc.Accept},
	} {
		t.Run(name, func(t *testing.T) {
			c := preVoteAsked(t)
			c.rules.Preferred = memberstate.SetOf(1)
			is.change(c)
			before := c.machine
			c.give(Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 1, Round: 1}}})
			assert.Equal(t, is.want, c.out.Reply.Result)
			assert.Equal(t, before, c.machine, "to be asked for a pre-vote changes nothing")
		})
	}
}

// What two members know of each other's ability may be old. If each takes the other for not able, one of them yields
// all the same.
func TestTwoCandidatesDoNotInsistBoth(t *testing.T) {
	insist := 0
	for _, self := range []memberstate.Seat{1, 2} {
		other := 3 - self
		c := preVoteAsked(t)
		c.rules.Self, c.machine.unable = self, memberstate.SetOf(other)
		c.machine.round.accepted, c.machine.round.answered = memberstate.SetOf(self), memberstate.SetOf(self)
		c.give(Input{Kind: Receive, Message: Message{From: other, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 1, Round: 1}}})
		if c.out.Reply.Result == rpc.RejectTakingLeadership {
			insist++
		}
	}
	assert.Equal(t, 1, insist)
}

// A candidate that asked too early asks again in its own slot.
func TestACandidateThatAskedTooEarlyWaitsForAHeartbeat(t *testing.T) {
	timing := DefaultTiming()
	lead := timing.Detection() / 120
	for name, is := range map[string]struct {
		ranks     bool
		roundTrip time.Duration
		low, high time.Duration
	}{
		"without ranks":    {false, time.Millisecond, timing.Heartbeat, timing.Heartbeat * 5 / 4},
		"short round trip": {true, time.Millisecond, timing.Heartbeat - time.Millisecond, timing.Heartbeat - time.Millisecond + lead},
		"long round trip":  {true, time.Second, lead, 2 * lead},
	} {
		m, out := Machine{roundTrip: uint32(is.roundTrip.Microseconds())}, Output{}
		m.armHeartbeat(&Rules{Timing: timing, Ranks: is.ranks}, &out)
		assert.Equal(t, Alarm{Number: 1, Min: is.low, Max: is.high}, out.Alarm, name)
	}
}

// The wait before the first slot does not grow with the round trip, and there is none when all members
// have lost their connections at once.
func TestTheFirstSlotComesSoon(t *testing.T) {
	r := threeRules()
	r.Preferred = memberstate.SetOf(1)
	lead := r.Timing.Detection() / 120
	for name, is := range map[string]struct {
		roundTrip time.Duration
		fromHint  bool
		want      time.Duration
	}{
		"silence":  {time.Second, false, lead},
		"a report": {time.Second, true, 0},
	} {
		m, out := Machine{roundTrip: uint32(is.roundTrip.Microseconds()), fromHint: is.fromHint}, Output{}
		m.armSlot(r, &out, memberstate.Nobody)
		assert.Equal(t, Alarm{Number: 1, Min: is.want, Max: 2 * is.want}, out.Alarm, name)
	}
}

// D13: a voter that has not heard of the lost connection yet, and so still has a leader, is asked again
// soon, a few times. The leader's own answer is a veto, and then there is no hurry any more.
func TestAVoterThatStillHasTheLostLeaderIsAskedSoon(t *testing.T) {
	refused := func(leader memberstate.Seat) (c *turn, soon int) {
		c = preVoteAsked(t)
		c.machine.roundTrip, c.machine.fromHint = 2000, true
		for range maxInstantRevotes + 1 {
			c.machine.openRound(c.rules, &c.out, preVoting, rpc.PreVote, 1)
			c.machine.round.hasLeader, c.machine.round.vetoed = true, leader == 5
			c.machine.conclude(c.rules, &Input{}, &c.out, WaitToRevote)
			if c.machine.round.instantRevotes == 0 {
				break
			}
			soon++
			assert.Equal(t, 2*time.Millisecond, c.out.Alarm.Min)
			assert.Equal(t, 4*time.Millisecond, c.out.Alarm.Max)
			assert.True(t, c.machine.fromHint, "the leader may live, so its veto is waited for again")
		}
		return c, soon
	}
	heartbeat := DefaultTiming().Heartbeat - 2*time.Millisecond
	for leader, times := range map[memberstate.Seat]int{4: maxInstantRevotes, 5: 0} {
		c, soon := refused(leader)
		assert.Equal(t, times, soon, "%d has answered, and 5 leads", leader)
		assert.Equal(t, heartbeat, c.out.Alarm.Min, "then it waits for a heartbeat")
	}
	c := preVoteAsked(t)
	c.machine.round.hasLeader = true
	c.machine.conclude(c.rules, &Input{}, &c.out, WaitToRevote)
	assert.Equal(t, DefaultTiming().Heartbeat, c.out.Alarm.Min, "without a report")
}

// waitsToAskAgain is a member of five that was refused by a follower which still has the lost leader, and waits
// about a round trip.
func waitsToAskAgain(t *testing.T) *turn {
	t.Helper()
	c := preVoteAsked(t)
	c.machine.roundTrip, c.machine.fromHint = 2000, true
	c.machine.round.hasLeader = true
	c.machine.conclude(c.rules, &Input{}, &c.out, WaitToRevote)
	require.Equal(t, 2*time.Millisecond, c.out.Alarm.Min)
	return c
}

func (t *turn) isAskedForAPreVote(from memberstate.Seat, term memberstate.Term) rpc.Result {
	t.Helper()
	t.give(Input{Kind: Receive, Message: Message{From: from, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: term, Round: 1}}})
	return t.out.Reply.Result
}

// D13: a member that waits to ask again lets the candidate finish whose pre-vote it accepts, because two that have
// won a pre-vote split the vote, and wait for the lost leader's. It does so once.
func TestAMemberThatWaitsToAskAgainYields(t *testing.T) {
	c := waitsToAskAgain(t)
	first := c.out.Alarm.Number
	require.Equal(t, rpc.Accept, c.isAskedForAPreVote(2, 1))
	slot := c.machine.slot(c.rules)
	assert.Equal(t, Alarm{Number: first + 1, Min: 2 * slot, Max: 2*slot + c.rules.lead()}, c.out.Alarm)

	require.Equal(t, rpc.Accept, c.isAskedForAPreVote(3, 1))
	assert.Equal(t, first+1, c.machine.alarm, "others do not keep it waiting")
	c.ring()
	assert.Equal(t, preVoting, c.machine.round.phase, "it stands")

	c.answer(4, rpc.RejectAlreadyHasLeader, 0)
	c.ring()
	assert.True(t, c.out.Ended)
	assert.Equal(t, c.rules.Timing.Heartbeat-2*time.Millisecond, c.out.Alarm.Min, "it has no more turns out of order")
}

// Any other member that is asked for a pre-vote stands when it would have stood.
func TestOnlyAMemberThatWaitsToAskAgainYields(t *testing.T) {
	for name, is := range map[string]struct {
		change func(c *turn)
		term   memberstate.Term
		want   rpc.Result
	}{
		"nothing was reported": {func(c *turn) { c.machine.fromHint = false }, 1, rpc.Accept},
		"it asks already":      {func(c *turn) { c.ring() }, 2, rpc.Accept},
		"it asks in its turn":  {func(c *turn) { c.machine.round.instantRevotes = 0 }, 1, rpc.Accept},
		"the last time":        {func(c *turn) { c.machine.round.instantRevotes = maxInstantRevotes }, 1, rpc.Accept},
		"it refuses":           {func(c *turn) { c.machine.Term = 2 }, 1, rpc.RejectExpiredVoteTerm},
		"its ledger is better": {func(c *turn) { c.ledger.Index = 1 }, 1, rpc.RejectSmallLedgerEndIndex},
	} {
		t.Run(name, func(t *testing.T) {
			c := waitsToAskAgain(t)
			is.change(c)
			before := c.machine
			assert.Equal(t, is.want, c.isAskedForAPreVote(2, is.term))
			assert.Equal(t, before, c.machine)
		})
	}
}
