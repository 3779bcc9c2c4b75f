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
	for i := range m.office.acks {
		m.office.acks[i] = r.Voters
	}
	m.handover.Phase, m.handover.Target, m.handover.Resigning, m.office.declined = Taking, 2, true, 3
	m.takeOffice(r, new(Output))
	assert.Equal(t, elected(r), m)
	assert.Zero(t, m.office.declined)
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

// An answer to a beat counts for the leader of that term.
func TestAnAnswerToAnotherTermsBeatDoesNotCount(t *testing.T) {
	r := threeRules()
	for asked, counts := range map[memberstate.Term]bool{0: false, 1: true, 2: false} {
		m := elected(r)
		var out Output
		m.Step(r, &Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{
			Kind: rpc.HeartbeatResponse, Result: rpc.Success, Round: m.office.beat, Term: asked, Asked: asked,
		}}}, &out)
		assert.Equal(t, counts, m.office.heardBeat == m.office.beat, "it leads term 1, and %d was answered", asked)
		assert.Equal(t, !counts, out.Dropped == DropStaleAnswer)
	}
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

func TestALeaderWithoutLeasesNeedNotMakeWay(t *testing.T) {
	r := threeRules()
	m := elected(r)
	m.office.leaseVoid, m.round.bigger = true, memberstate.SetOf(2)
	assert.False(t, m.makeWay(r, new(Output)))
	assert.Equal(t, memberstate.Leader, m.Role)
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

// A process that stood still may hear that its Lead has returned when it has already won another
// office, whose Lead runs.
func TestALeadThatReturnedEarlierDoesNotEndThisOffice(t *testing.T) {
	m, out := Machine{serving: true, office: office{beat: 3}}, Output{}
	m.Step(threeRules(), &Input{Kind: Served, Number: 2}, &out)
	assert.True(t, m.Serving())
	m.Step(threeRules(), &Input{Kind: Served, Number: 3}, &out)
	assert.False(t, m.Serving())
}
