// A leader counts the answers to its beats, asks for larger terms, and loses its office.

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// elected is a machine that has just won term 1.
func elected(r *Rules) Machine {
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}}}
	m.takeOffice(r, new(Output))
	return m
}

func TestAnOfficeBeginsAnew(t *testing.T) {
	r := threeRules()
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1, Vote: 1}}}
	m.office = office{sticky: r.Voters, leaseBeat: 7, declined: 3, leaseVoid: true, inconsistent: true, resent: true}
	for i := range m.office.acks {
		m.office.acks[i] = r.Voters
	}
	m.handover.Phase, m.handover.Target, m.handover.Resigning = Taking, 2, true
	m.takeOffice(r, new(Output))
	assert.Equal(t, elected(r), m)
	assert.Zero(t, m.office.declined)
	assert.Equal(t, memberstate.SetOf(1), m.office.sticky, "no promise of an earlier term counts")
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

// An answer counts for one of the newest beats of the leader's own term. Any other changes nothing, whatever it says.
func TestOnlyAnswersToTheNewestBeatsOfTheTermCount(t *testing.T) {
	for _, result := range []rpc.Result{rpc.Success, rpc.TermNotReady, rpc.InconsistentLeader, rpc.ExpiredTerm} {
		for what, c := range map[string]struct {
			asked  memberstate.Term
			age    uint32
			counts bool
		}{
			"the newest beat":            {1, 0, true},
			"the oldest that is kept":    {1, recentBeats - 1, true},
			"an older one":               {1, recentBeats, false},
			"one that was not sent":      {1, ^uint32(0), false},
			"a beat of an earlier term":  {0, 0, false},
			"one of a term yet to come":  {2, 0, false},
			"an older one of that other": {0, recentBeats - 1, false},
		} {
			a := leadingAlone(t, false)
			for range recentBeats {
				a.acknowledges(3, a.machine.Beat())
				a.ring()
			}
			before := a.machine
			a.hears(2, memberstate.Nobody, rpc.Body{
				Kind: rpc.HeartbeatResponse, Result: result, Round: a.machine.Beat() - c.age, Term: 9, Asked: c.asked, Unable: memberstate.SetOf(2),
			})
			assert.Equal(t, c.counts, a.out.Dropped == 0, "%v to %s", result, what)
			if !c.counts {
				assert.Equal(t, DropStaleAnswer, a.out.Dropped)
				assert.Equal(t, before, a.machine, "%v to %s", result, what)
			}
		}
	}
}

// answersBeat answers one of its beats.
func (a *alone) answersBeat(by memberstate.Seat, result rpc.Result, beat uint32) {
	a.Helper()
	a.hears(by, memberstate.Nobody, rpc.Body{Kind: rpc.HeartbeatResponse, Result: result, Round: beat, Term: a.machine.Term, Asked: a.machine.Term})
}

// accuses is the answer of voter 2 to its newest beat that the voter is in term 7.
func (a *alone) accuses() {
	a.Helper()
	a.hears(2, memberstate.Nobody, rpc.Body{
		Kind: rpc.HeartbeatResponse, Result: rpc.ExpiredTerm, Round: a.machine.Beat(), Term: 7, Asked: a.machine.Term,
	})
}

// D8: the answer that completes an older beat takes back neither the newest beat that a quorum has answered, nor
// the lease from it.
func TestAnOlderBeatThatIsCompletedTakesNothingBack(t *testing.T) {
	a := leadingAlone(t, true)
	a.rules.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
	first := a.machine.Beat()
	a.acknowledges(2, first)
	a.ring()
	a.acknowledges(2, first+1)
	a.acknowledges(3, first+1)
	a.acknowledges(4, first)
	assert.Equal(t, first+1, a.machine.HeardBeat())
	assert.Equal(t, first+1, a.machine.LeaseBeat())
}

// A beat may be sent early again once the alarm has sent one.
func TestABeatIsSentEarlyOnceBetweenTwoAlarms(t *testing.T) {
	a := leadingAlone(t, false)
	for range 3 {
		for _, early := range []bool{true, false} {
			before := a.machine.Beat()
			a.answersBeat(2, rpc.TermNotReady, before)
			assert.Equal(t, early, a.machine.Beat() == before+1)
			assert.Equal(t, early, a.out.To != 0)
		}
		a.acknowledges(3, a.machine.Beat())
		a.ring()
	}
}

// A voter that was not ready for one beat may be ready for the next. So it calls for another beat only by its
// answer to the newest.
func TestAVoterIsNotReadyForOneBeat(t *testing.T) {
	for what, c := range map[string]struct {
		notReady func(a *alone)
		early    bool
	}{
		"the newest beat":               {func(a *alone) { a.answersBeat(2, rpc.TermNotReady, a.machine.Beat()) }, true},
		"a late answer to an older one": {func(a *alone) { a.answersBeat(2, rpc.TermNotReady, a.machine.Beat()-1) }, false},
		"the beat before":               {func(a *alone) { a.answersBeat(2, rpc.TermNotReady, a.machine.Beat()); a.ring() }, false},
		"the round that it was elected in": {func(a *alone) {
			a.machine.Role, a.machine.Leader, a.machine.notReady = memberstate.Candidate, memberstate.Nobody, memberstate.SetOf(2)
			a.machine.takeOffice(a.rules, &a.out)
		}, false},
	} {
		a := leadingAlone(t, false)
		a.rules.Voters = memberstate.SetOf(1, 2, 3, 4, 5)
		a.ring()
		c.notReady(a)
		a.answersBeat(3, rpc.Success, a.machine.Beat())
		assert.Equal(t, c.early, a.out.To != 0, what)
	}
}

// A voter that contradicts an older beat may have followed since. One that contradicts the newest beat is not
// refuted by a late answer to an older one.
func TestOnlyAContradictionOfTheNewestBeatCounts(t *testing.T) {
	for what, c := range map[string]struct {
		ages  []uint32
		leads bool
	}{
		"none":                        {nil, true},
		"an older one":                {[]uint32{1}, true},
		"the newest":                  {[]uint32{0}, false},
		"the newest, then an older":   {[]uint32{0, 1}, false},
		"an older one, then the last": {[]uint32{1, 0}, false},
	} {
		a := leadingAlone(t, false)
		a.acknowledges(3, a.machine.Beat())
		a.ring()
		for _, age := range c.ages {
			a.answersBeat(2, rpc.InconsistentLeader, a.machine.Beat()-age)
		}
		a.ring()
		assert.Equal(t, c.leads, a.machine.Role == memberstate.Leader, what)
	}
}

// A voter that has not answered either of the last two beats may be dead. The beats of an office are those since its
// election.
func TestOnlyTheNewestBeatsSayWhoIsAlive(t *testing.T) {
	a := leadingAlone(t, false)
	first := a.machine.Beat()
	assert.True(t, a.machine.OfOffice(first))
	assert.False(t, a.machine.OfOffice(first-1))
	for age, alive := range []bool{true, true, false, false} {
		a.machine.office.acks = [recentBeats]memberstate.Set{}
		a.machine.office.acks[(first-uint32(age))%recentBeats] = memberstate.SetOf(2)
		assert.Equal(t, alive, a.machine.Alive().Has(2), "%d beats ago", age)
	}
}

// D14: a term that can hold no lease any more is renewed, above the largest term that was heard of.
func TestALeaderWithoutALeaseAsksForAnotherTerm(t *testing.T) {
	for known, want := range map[memberstate.Term]memberstate.Term{0: 2, 1: 2, 2: 3, 7: 8} {
		a := leadingAlone(t, true)
		a.machine.office.leaseVoid, a.machine.known = true, known
		a.acknowledges(2, a.machine.Beat())
		_, asked, mark := a.machine.Open()
		assert.Equal(t, rpc.PreVote, mark)
		assert.Equal(t, want, asked, "it has heard of term %d", known)
	}
}

// A member does not stand while its engine may still run a Lead, from the moment when it was elected.
func TestAMemberThatHasLedDoesNotStandBeforeLeadHasReturned(t *testing.T) {
	a := leadingAlone(t, false)
	for a.machine.Role == memberstate.Leader {
		a.ring()
	}
	for range 3 {
		a.ring()
		assert.True(t, a.idle())
		assert.NotZero(t, a.out.Alarm)
	}
	a.give(Input{Kind: Served, Number: a.machine.Beat()})
	a.ring()
	assert.False(t, a.idle())
}

// A leader that a quorum heard has a detection time to be heard again, even if a voter answered an
// earlier beat that it follows another leader.
func TestAContradictionIsForgottenWithItsBeat(t *testing.T) {
	r := threeRules()
	m := elected(r)
	answer := func(from memberstate.Seat, result rpc.Result) {
		m.Step(r, &Input{Kind: Receive, Message: Message{From: from, Body: rpc.Body{
			Kind: rpc.HeartbeatResponse, Result: result, Round: m.office.beat, Term: 1, Asked: 1,
		}}}, new(Output))
	}
	answer(2, rpc.InconsistentLeader)
	answer(3, rpc.Success)
	for beat := range r.Timing.Leak {
		m.Step(r, &Input{Kind: Ring, Number: m.alarm}, new(Output))
		assert.Equal(t, memberstate.Leader, m.Role, "%d beats were not answered", beat)
	}
	m.Step(r, &Input{Kind: Ring, Number: m.alarm}, new(Output))
	assert.Equal(t, memberstate.Candidate, m.Role)
}

// D11: an answer without a promise, such as that of a member of another version, keeps a leader in
// office but gives it no lease. A promise that the newest answer does not renew is taken back.
func TestOnlyAPromiseGivesALease(t *testing.T) {
	r := threeRules()
	r.Lease = r.Timing.Detection()
	m := elected(r)
	answers := func(promised bool) {
		q := Message{From: 2, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Promised: promised, Round: m.office.beat, Term: 1, Asked: 1}}
		stepWithLedger(r, &m, Input{Kind: Receive, Message: q}, memberstate.Position{})
	}
	answers(false)
	assert.Equal(t, m.office.beat, m.office.heardBeat)
	assert.Zero(t, m.LeaseBeat())
	answers(true)
	assert.Equal(t, m.office.beat, m.LeaseBeat())
	promised := m.office.beat
	stepWithLedger(r, &m, Input{Kind: Ring, Number: m.alarm}, memberstate.Position{})
	answers(false)
	assert.Equal(t, promised, m.LeaseBeat())
}

// D7: a leader that hears of a larger term asks for one above it, once in a detection time and not with every beat.
func TestALeaderAsksForALargerTermOnceInADetectionTime(t *testing.T) {
	a := leadingAlone(t, false)
	var rounds []uint32
	for beat := range uint32(4 * a.rules.Timing.Leak) {
		if a.accuses(); a.out.Send.Kind == rpc.VoteRequest {
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

// D7: a leader that was refused a larger term does not ask again before a detection time is over, even if its
// round was lost at once.
func TestALeaderThatWasRefusedALargerTermWaitsBeforeItAsksAgain(t *testing.T) {
	a := leadingAlone(t, false)
	for range 2 * a.rules.Timing.Leak {
		a.acknowledges(3, a.machine.Beat())
		a.ring()
	}
	a.accuses()
	require.Equal(t, rpc.VoteRequest, a.out.Send.Kind)
	for _, voter := range []memberstate.Seat{2, 3} {
		a.answered(voter, rpc.RejectAlreadyHasLeader, 7)
	}
	require.Equal(t, idle, a.machine.round.phase)
	for range a.rules.Timing.Leak {
		a.accuses()
		assert.Zero(t, a.out.To)
		a.acknowledges(3, a.machine.Beat())
		a.ring()
	}
	a.accuses()
	assert.Equal(t, rpc.VoteRequest, a.out.Send.Kind)
}

// A leader makes way only if its term can hold no lease any more, and a voter with a better ledger has refused
// it another term. Then it rests, so that this voter can stand.
func TestWhichLeaderMakesWay(t *testing.T) {
	for what, c := range map[string]struct {
		leases, void bool
		refusal      rpc.Result
		makesWay     bool
	}{
		"it has leases":                    {true, true, rpc.RejectSmallLedgerEndIndex, true},
		"without leases":                   {false, true, rpc.RejectSmallLedgerEndIndex, false},
		"its term can hold a lease":        {true, false, rpc.RejectSmallLedgerEndIndex, false},
		"no voter's ledger is any better":  {true, true, rpc.RejectAlreadyHasLeader, false},
		"a voter's ledger has later terms": {true, true, rpc.RejectExpiredLedgerTerm, true},
	} {
		for _, othersAnswer := range []bool{true, false} {
			a := leadingAlone(t, c.leases)
			a.machine.office.leaseVoid = c.void
			a.accuses()
			require.False(t, a.idle())
			a.answered(2, c.refusal, 1)
			if othersAnswer {
				a.answered(3, rpc.RejectAlreadyVoted, 1)
			}
			for !a.idle() { // until the round is given up
				a.acknowledges(2, a.machine.Beat())
				a.ring()
			}
			assert.Equal(t, c.makesWay, a.machine.Role == memberstate.Candidate, what)
			if c.makesWay {
				assert.Zero(t, a.out.To, "it beats no more")
				assert.Equal(t, 2*a.rules.Timing.Detection(), a.out.Alarm.Min, what)
			}
		}
	}
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
		a := leadingAlone(t, true)
		a.give(Input{Kind: Resign})
		a.machine.handover.patience = 100
		lose(a)
		assert.Equal(t, memberstate.Candidate, a.machine.Role)
		assert.Equal(t, 2*a.rules.Timing.Detection(), a.out.Alarm.Min, "%s, when it was about to resign", name)
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
