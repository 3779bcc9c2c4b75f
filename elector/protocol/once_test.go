// What begins anew, and what is done once: small rules whose breach would cost only time.

package protocol

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// threeRules are those of the first of three voters.
func threeRules() *Rules {
	all := memberstate.SetOf(1, 2, 3)
	return &Rules{Self: 1, Voters: all, All: all, Timing: DefaultTiming(), PreVote: true, Ranks: true}
}

// elected is a machine that has just won term 1.
func elected(r *Rules) Machine {
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}}}
	m.takeOffice(r, new(Output))
	return m
}

func TestAnOfficeBeginsAnew(t *testing.T) {
	r := threeRules()
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}}}
	for i := range m.office.acks {
		m.office.acks[i] = r.Voters
	}
	m.handover.Phase, m.handover.Target, m.handover.Resigning, m.office.declined = Taking, 2, true, 3
	m.takeOffice(r, new(Output))
	assert.Equal(t, elected(r), m)
	assert.Zero(t, m.office.declined)
}

func TestAFollowerForgetsItsCampaign(t *testing.T) {
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}, round: round{instantRevotes: 2}, fromHint: true, restartHold: true}
	m.follow(new(Output), 2)
	assert.Zero(t, m.round.instantRevotes)
	assert.False(t, m.fromHint)
	assert.False(t, m.restartHold)
}

// A quorum has elected the leader of a larger term since, so any promise to another one is over.
func TestALargerTermEndsTheRestartHold(t *testing.T) {
	m, out := Machine{restartHold: true}, Output{}
	m.Step(threeRules(), &Input{Kind: Receive, Message: Message{From: 2, Leader: 2, Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1}}}, &out)
	assert.Equal(t, rpc.TermNotReady, out.Reply.Result)
	assert.False(t, m.restartHold)
}

func TestALeaderWithoutLeasesIsPromisedNone(t *testing.T) {
	r := threeRules()
	r.Lease = time.Second
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}}
	assert.False(t, m.promise(r, new(Output), 0))
	assert.Zero(t, m.Promise)
}

// A voter that cannot stand by a leader for as long as the leader counts on says so.
func TestALeaseBeyondAllTimingsIsNotPromised(t *testing.T) {
	r := threeRules()
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}}
	assert.False(t, m.promise(r, new(Output), maxDetection+1))
	assert.Zero(t, m.Promise)
	assert.True(t, m.promise(r, new(Output), maxDetection))
	assert.Equal(t, maxDetection, m.Promise)
}

func TestOneHandoverAtATime(t *testing.T) {
	r := threeRules()
	m := elected(r)
	m.handover.Phase, m.handover.Target = Probing, 2
	before, out := m, Output{}
	m.Step(r, &Input{Kind: Transfer, Seat: 3, HasLedger: true, LedgerTerm: 1}, &out)
	assert.Equal(t, before, m)
	assert.Equal(t, Output{}, out)
}

// A leader that hands over does not ask for another term meanwhile.
func TestAHandoverEndsTheLeadersRound(t *testing.T) {
	r := threeRules()
	m, out := elected(r), Output{}
	m.round.phase = preVoting
	m.Step(r, &Input{Kind: Transfer, Seat: 3, HasLedger: true, LedgerTerm: 1}, &out)
	assert.Equal(t, Probing, m.handover.Phase)
	assert.Equal(t, idle, m.round.phase)
}

func TestAnEarlyBeatIsSentOnce(t *testing.T) {
	r := threeRules()
	m := elected(r)
	assert.False(t, m.beatAgain(r, new(Output)), "no voter waits for it")
	m.notReady = memberstate.SetOf(2)
	assert.True(t, m.beatAgain(r, new(Output)))
	m.notReady = memberstate.SetOf(2)
	assert.False(t, m.beatAgain(r, new(Output)))
	m.office.resent, m.office.acks[m.office.beat%recentBeats] = false, r.Voters
	assert.False(t, m.beatAgain(r, new(Output)), "a quorum has answered")
}

func TestAPreVoteForAnOlderTermIsRefusedForThat(t *testing.T) {
	m, out := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 5}}}, Output{}
	ask := Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.PreVote, Term: 3}}
	m.Step(threeRules(), &Input{Kind: Receive, Message: ask, HasLedger: true, LedgerTerm: 5}, &out)
	assert.Equal(t, rpc.RejectExpiredVoteTerm, out.Reply.Result)
}

// Voters that have answered one of the last two beats come in the order of their turns. One that
// declines is followed by the next, and the last one by the first.
func TestSuccessorsComeInTurn(t *testing.T) {
	r := threeRules()
	m := elected(r)
	r.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
	inTurn := []memberstate.Seat{2, 3, 4, 5}
	slices.SortFunc(inTurn, func(a, b memberstate.Seat) int { return m.turn(r, a, r.Self) - m.turn(r, b, r.Self) })
	assert.Equal(t, inTurn[0], m.successor(r, memberstate.Nobody))
	for i, seat := range inTurn {
		assert.Equal(t, inTurn[(i+1)%len(inTurn)], m.successor(r, seat))
	}
	for _, answered := range inTurn {
		m.office.acks = [recentBeats]memberstate.Set{}
		m.office.acks[(m.office.beat-1)%recentBeats] = memberstate.SetOf(1, answered)
		assert.Equal(t, answered, m.successor(r, memberstate.Nobody))
	}
}

func TestALeaderWithoutLeasesNeedNotMakeWay(t *testing.T) {
	r := threeRules()
	m := elected(r)
	m.office.leaseVoid, m.round.bigger = true, memberstate.SetOf(2)
	assert.False(t, m.makeWay(r, new(Output)))
	assert.Equal(t, memberstate.Leader, m.Role)
}

// The first offer to a preferred voter is due with the beat that nextOffer names.
func TestAnOfferIsMadeWhenItIsDue(t *testing.T) {
	r := threeRules()
	r.Preferred = memberstate.SetOf(2)
	for early, want := range map[uint32]HandoverPhase{0: Probing, 1: NoHandover} {
		m := elected(r)
		m.office.beat = m.office.nextOffer - early
		m.onVoterAlive(r, &Input{Message: Message{From: 2}, HasLedger: true, LedgerTerm: 1}, new(Output))
		assert.Equal(t, want, m.handover.Phase)
	}
}

// A process that stood still may hear that its Lead has returned when it has already won another
// office, whose Lead runs.
func TestALeadThatReturnedEarlierDoesNotEndThisOffice(t *testing.T) {
	m, out := Machine{serving: true, office: office{beat: 3}}, Output{}
	m.Step(threeRules(), &Input{Kind: Served, Number: 2}, &out)
	assert.True(t, m.Serving())
	m.Step(threeRules(), &Input{Kind: Served, Number: 3}, &out)
	assert.False(t, m.Serving())
}

func TestOnlyAnIgnoredInputHasADropReason(t *testing.T) {
	a := startedAlone(t)
	a.give(Input{Kind: Served})
	assert.Zero(t, a.out.Dropped)
	a.give(Input{Kind: Ring, Number: a.machine.alarm - 1})
	assert.Equal(t, DropStaleAlarm, a.out.Dropped)
}

// A report that a leader is lost is about that leader. The next one may be lost, too.
func TestTheNextLeaderMayBeLostToo(t *testing.T) {
	a := followingAlone(t, false)
	for term := memberstate.Term(2); term < 5; term++ {
		a.give(Input{Kind: PeerLost, Seat: theLeader})
		require.Equal(t, memberstate.Candidate, a.machine.Role, "in term %d", term-1)
		for a.asked(theLeader, a.beat(term, 1)) != rpc.Success {
			require.Equal(t, rpc.TermNotReady, a.out.Reply.Result)
		}
		require.Equal(t, memberstate.Follower, a.machine.Role)
	}
}

// In a new term there is no lost leader whose veto could be on its way, so a quorum is enough.
func TestADoubtEndsWithItsTerm(t *testing.T) {
	a := followingAlone(t, false)
	a.ledger = memberstate.Position{Term: 1, Index: 9}
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	poor := voteFor(2)
	poor.Ledger = memberstate.Position{}
	require.Equal(t, rpc.RejectExpiredLedgerTerm, a.asked(2, poor))
	require.EqualValues(t, 2, a.machine.Term)
	for a.idle() {
		a.ring()
	}
	_, _, mark := a.machine.Open()
	require.Equal(t, rpc.PreVote, mark)
	a.answered(2, rpc.Accept, 2)
	_, _, mark = a.machine.Open()
	assert.Equal(t, rpc.Won, mark, "it has won the pre-vote")
}

// The result of the last round of votes says nothing about a term that was not known then.
func TestANewTermIsAskedForFirst(t *testing.T) {
	a := startedAlone(t)
	a.ring()
	a.answered(2, rpc.RejectExpiredVoteTerm, 4)
	a.answered(3, rpc.RejectExpiredVoteTerm, 4)
	require.Equal(t, WaitToVoteNext, a.out.Judged)
	a.ledger = memberstate.Position{Term: 4, Index: 9}
	require.Equal(t, rpc.RejectTermNotReady, a.hears(2, memberstate.Nobody, marked(voteFor(6), rpc.Plain)))
	a.rules.PreVote = false
	a.ring()
	assert.Equal(t, rpc.VoteRequest, a.out.Send.Kind)
	assert.EqualValues(t, 6, a.out.Send.Term)
}

// Voters that were restarted together have waited for the same time, so then they take turns, as after any silence.
func TestAfterTheRestartHoldMembersTakeTurns(t *testing.T) {
	first := map[memberstate.Seat]time.Duration{}
	for seat := range memberstate.Seat(3) {
		a := followingAlone(t, true)
		a.rules.Self = seat + 1
		a.restart()
		require.GreaterOrEqual(t, a.out.Alarm.Min, a.rules.Lease)
		a.ring()
		assert.True(t, a.idle())
		first[seat] = a.out.Alarm.Min
		a.ring()
		assert.False(t, a.idle())
	}
	assert.NotEqual(t, first[0], first[1])
	assert.NotEqual(t, first[1], first[2])
	assert.NotEqual(t, first[2], first[0])
}

// Without a pre-vote the first campaign would depose any leader that there is, so a member that starts listens for a
// detection time.
func TestWithoutPreVoteAMemberListensFirst(t *testing.T) {
	a := startedAlone(t)
	assert.Less(t, a.out.Alarm.Max, a.rules.Timing.Detection(), "a pre-vote deposes no leader")
	a.rules.PreVote = false
	a.restart()
	assert.GreaterOrEqual(t, a.out.Alarm.Min, a.rules.Timing.Detection())
}

func TestAnObserverPromisesNothing(t *testing.T) {
	a := startedAlone(t)
	a.rules.Voters, a.rules.Lease = memberstate.SetOf(2, 3, 4), a.rules.Timing.Detection()
	a.restart()
	require.Equal(t, memberstate.Observer, a.machine.Role)
	require.Equal(t, rpc.Success, a.asked(theLeader, a.beat(1, 1)))
	assert.False(t, a.out.Reply.Promised)
	assert.Zero(t, a.machine.Promise)
}

// D7: a leader that hears of a larger term asks for one above it, once in a detection time and not with every beat.
func TestALeaderAsksForALargerTermOnceInADetectionTime(t *testing.T) {
	a := leadingAlone(t, false)
	accuse := func() {
		a.hears(2, memberstate.Nobody, rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.ExpiredTerm, Round: a.machine.Beat(), Term: 7, Asked: 1})
	}
	var rounds []uint32
	for beat := range uint32(4 * a.rules.Timing.Leak) {
		if accuse(); a.out.Send.Kind == rpc.VoteRequest {
			rounds = append(rounds, beat)
			assert.EqualValues(t, 8, a.out.Send.Term)
		}
		a.acknowledges(3, a.machine.Beat())
		a.ring()
		require.Equal(t, memberstate.Leader, a.machine.Role)
		if beat == 0 {
			assert.False(t, a.idle(), "the next beat does not end the round")
		}
	}
	leak := uint32(a.rules.Timing.Leak)
	assert.Equal(t, []uint32{0, leak + 1, 2 * (leak + 1)}, rounds, "the round is over with the beat after that time")
}

// D13: when all others have accepted no veto can be on its way, so none is waited for.
func TestNoVetoIsAwaitedWhenAllHaveAccepted(t *testing.T) {
	a := followingAlone(t, false)
	a.give(Input{Kind: PeerLost, Seat: theLeader})
	a.ring()
	a.answered(2, rpc.Accept, 1)
	_, _, mark := a.machine.Open()
	assert.Equal(t, rpc.PreVote, mark, "the leader may say that it is well")
	a.answered(theLeader, rpc.Accept, 1)
	_, _, mark = a.machine.Open()
	assert.Equal(t, rpc.Won, mark)
}

// A refusal names a term that is taken. A voter that would give its vote names none, even if it is in that term already,
// because the term can still be won.
func TestATermThatAVoterWouldVoteInIsAskedForAgain(t *testing.T) {
	for result, want := range map[rpc.Result]memberstate.Term{rpc.Accept: 1, rpc.RejectAlreadyVoted: 2} {
		a := startedAlone(t)
		a.rules.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
		a.ring()
		_, asked, _ := a.machine.Open()
		require.EqualValues(t, 1, asked)
		a.answered(2, result, 1)
		a.machine.round.phase = idle // all other answers are lost
		for a.idle() {
			a.ring()
		}
		_, asked, _ = a.machine.Open()
		assert.Equal(t, want, asked, "%v", result)
	}
}

// An answer measures the round trip only if its request is known and was sent once.
func TestWhichAnswersAreMeasured(t *testing.T) {
	const long = 12 * time.Millisecond
	for what, c := range map[string]struct {
		change func(m *Machine, q *Message)
		counts bool
	}{
		"the first answer":                       {func(*Machine, *Message) {}, true},
		"a late one":                             {func(_ *Machine, q *Message) { q.Round-- }, true},
		"a second one":                           {func(m *Machine, q *Message) { m.round.answered = m.round.answered.With(q.From) }, false},
		"one that was not asked for":             {func(_ *Machine, q *Message) { q.Mark = rpc.Vouched }, false},
		"a late one, after a round that was won": {func(m *Machine, q *Message) { q.Round--; m.round.mark = rpc.Won }, false},
		"one to a leader":                        {func(m *Machine, _ *Message) { m.Role = memberstate.Leader }, false},
	} {
		a := startedAlone(t)
		a.ring()
		ballot, asked, mark := a.machine.Open()
		q := Message{From: 2, Body: rpc.Body{Kind: rpc.VoteResponse, Result: rpc.RejectAlreadyVoted, Mark: mark, Round: ballot, Asked: asked}}
		c.change(&a.machine, &q)
		a.give(Input{Kind: Receive, Message: q, RoundTrip: long})
		assert.Equal(t, c.counts, a.machine.measured() > 0, what)
	}
}

// An order to resign is not weakened by another order, to hand over.
func TestATransferDoesNotWithdrawAResignation(t *testing.T) {
	a := leadingAlone(t, false)
	a.give(Input{Kind: Resign})
	require.True(t, a.machine.Handover().Resigning)
	a.give(Input{Kind: Transfer, Seat: 3})
	assert.True(t, a.machine.Handover().Resigning)
}

// A leader that has resigned leaves the others two detection times to elect, whether there was a voter to hand over to
// or not.
func TestWhoeverResignsRests(t *testing.T) {
	for _, voters := range []memberstate.Set{memberstate.SetOf(1), memberstate.SetOf(1, 2, 3)} {
		a := leadingAlone(t, false)
		a.rules.Voters = voters
		a.give(Input{Kind: Resign})
		for a.machine.Role == memberstate.Leader { // no voter takes over
			a.acknowledges(2, a.machine.Beat())
			a.ring()
		}
		assert.Equal(t, 2*a.rules.Timing.Detection(), a.out.Alarm.Min)
	}
}

// accepts says that a voter could take over.
func (a *alone) accepts(voter memberstate.Seat) {
	a.Helper()
	a.hears(voter, 1, rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: rpc.Accept, Mark: rpc.PreVote, Asked: a.machine.Term})
}

// D14: each phase of a handover has a detection time, whatever the one before has left of its own.
func TestEachPhaseOfAHandoverHasItsTime(t *testing.T) {
	a := leadingAlone(t, false)
	lasts := func(phase HandoverPhase) {
		t.Helper()
		for range a.rules.Timing.Leak - 1 {
			a.acknowledges(3, a.machine.Beat())
			a.ring()
			require.Equal(t, phase, a.machine.Handover().Phase)
		}
	}
	a.give(Input{Kind: Transfer, Seat: 2})
	lasts(Probing)
	a.accepts(2)
	lasts(Pausing)
	a.give(Input{Kind: Paused})
	lasts(Taking)
	a.acknowledges(3, a.machine.Beat())
	a.ring()
	assert.Equal(t, NoHandover, a.machine.Handover().Phase)
	assert.Equal(t, memberstate.Leader, a.machine.Role)
}

// What may have been lost is said again with the target's next sign of life, and to nobody else's.
// While the engine pauses its writes there is nothing to say.
func TestAHandoversWordsAreRepeated(t *testing.T) {
	a := leadingAlone(t, false)
	for _, c := range []struct {
		goOn  func()
		says  bool
		marks rpc.Mark
	}{
		{func() { a.give(Input{Kind: Transfer, Seat: 2}) }, true, rpc.PreVote},
		{func() { a.accepts(2) }, false, 0},
		{func() { a.give(Input{Kind: Paused}) }, true, rpc.Plain},
	} {
		c.goOn()
		phase := a.machine.Handover().Phase
		for _, alive := range []memberstate.Seat{2, 3} {
			a.acknowledges(alive, a.machine.Beat())
			says := a.out.To != 0
			assert.Equal(t, c.says && alive == 2, says, "%v, after a sign of life of %d", phase, alive)
			if says {
				assert.Equal(t, rpc.TakeLeadership, a.out.Send.Kind)
				assert.Equal(t, c.marks, a.out.Send.Mark)
			}
		}
	}
}

// Once a target has been found, the answer of another one changes nothing: it may be that the
// first has been told to stand.
func TestATargetThatWasFoundStays(t *testing.T) {
	for phase, goOn := range map[HandoverPhase]bool{Pausing: false, Taking: true} {
		a := leadingAlone(t, false)
		a.give(Input{Kind: Transfer})
		a.accepts(2)
		if goOn {
			a.give(Input{Kind: Paused})
		}
		a.accepts(3)
		assert.Equal(t, DropStaleAnswer, a.out.Dropped)
		assert.Equal(t, phase, a.machine.Handover().Phase)
		assert.EqualValues(t, 2, a.machine.Handover().Target)
	}
}

// Offers become rare by what preferred voters decline, and by no other handover.
func TestATransferThatFailsDelaysNoOffer(t *testing.T) {
	for target, delays := range map[memberstate.Seat]bool{2: true, 3: false} {
		r := threeRules()
		r.Preferred = memberstate.SetOf(2)
		m := elected(r)
		before := m.office
		m.handover = Handover{Phase: Probing, Target: target}
		m.endHandover(r, new(Output))
		assert.Equal(t, delays, before != m.office, "to %d", target)
	}
}

// An observer answers every beat, but cannot take over.
func TestAnObserverIsNoSuccessor(t *testing.T) {
	r := threeRules()
	r.All = r.Voters.With(4)
	m := elected(r)
	m.office.acks[m.office.beat%recentBeats] = memberstate.SetOf(1, 4)
	assert.NotEqualValues(t, 4, m.successor(r, memberstate.Nobody))
	assert.NotEqualValues(t, 4, m.successor(r, 2))
}

// A leader that loses its quorum, or its lease, stands again after all others had their turn.
func TestALeaderThatLosesItsOfficeStandsLast(t *testing.T) {
	for name, lose := range map[string]func(a *alone){
		"its quorum": func(a *alone) {
			for a.machine.Role == memberstate.Leader {
				a.ring()
			}
		},
		"its lease": func(a *alone) { a.give(Input{Kind: Lapsed}) },
	} {
		for self := range memberstate.Seat(3) {
			a := leadingAlone(t, true)
			a.rules.Self = self + 1
			lose(a)
			assert.Equal(t, 2*a.machine.slot(a.rules)+a.rules.lead(), a.out.Alarm.Min, name)
		}
	}
}

// A leader beats for observers, too, and measures how long its voters' answers take.
func TestALeaderMeasuresTheAnswersToItsBeats(t *testing.T) {
	a := leadingAlone(t, false)
	a.rules.All = a.rules.Voters.With(4)
	a.ring()
	assert.Equal(t, memberstate.SetOf(2, 3, 4), a.out.To)
	a.give(Input{Kind: Receive, RoundTrip: 5 * time.Millisecond, Message: Message{From: 2, Body: rpc.Body{
		Kind: rpc.HeartbeatResponse, Result: rpc.Success, Round: a.machine.Beat(), Term: 1, Asked: 1,
	}}})
	assert.Equal(t, 5*time.Millisecond, a.machine.measured())
}

// D7: a leader that was refused a larger term does not ask again before a detection time is over, even if its
// round was lost at once.
func TestALeaderThatWasRefusedALargerTermWaitsBeforeItAsksAgain(t *testing.T) {
	a := leadingAlone(t, false)
	accuse := func() {
		a.hears(2, memberstate.Nobody, rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.ExpiredTerm, Round: a.machine.Beat(), Term: 7, Asked: 1})
	}
	for range 2 * a.rules.Timing.Leak {
		a.acknowledges(3, a.machine.Beat())
		a.ring()
	}
	accuse()
	require.Equal(t, rpc.VoteRequest, a.out.Send.Kind)
	for _, voter := range []memberstate.Seat{2, 3} {
		a.answered(voter, rpc.RejectAlreadyHasLeader, 7)
	}
	require.Equal(t, idle, a.machine.round.phase)
	accuse()
	assert.Zero(t, a.out.To)
}
