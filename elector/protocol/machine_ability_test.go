// Who leads when members are not able to (D26): an order among the voters, and no veto.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// leading is a leader whose other voters have answered its newest beat.
func leading(r *Rules) Machine {
	m := elected(r)
	m.office.beat += 2 * uint32(r.Timing.Leak)
	m.office.heardBeat = m.office.beat
	m.office.acks[m.office.beat%recentBeats] = r.Voters
	return m
}

// told gives a machine its driver's word, with the end of the ledger if it wants that.
func told(m *Machine, r *Rules, why Inability) (out Output) {
	in := Input{Kind: Ability, Inability: why}
	if m.Step(r, &in, &out); out.NeedLedger {
		in.HasLedger, in.LedgerTerm, in.Ledger = true, out.LedgerTerm, memberstate.Position{Term: 1, Index: 7}
		m.Step(r, &in, &out)
	}
	return out
}

// nextBeat passes a beat that all have answered, and rings.
func nextBeat(m *Machine, r *Rules) (out Output) {
	for range 2 {
		in := Input{Kind: Ring, Number: m.alarm}
		if m.Step(r, &in, &out); out.NeedLedger {
			in.HasLedger, in.LedgerTerm, in.Ledger = true, out.LedgerTerm, memberstate.Position{Term: 1, Index: 7}
			m.Step(r, &in, &out)
		}
		m.office.acks[m.office.beat%recentBeats], m.office.heardBeat = r.Voters, m.office.beat
	}
	return out
}

// Others may lose their ability at the same moment, for example because they share a disk.
func TestALeaderThatIsNotAbleWaitsForABeat(t *testing.T) {
	r := threeRules()
	for _, others := range []memberstate.Set{0, memberstate.SetOf(2), memberstate.SetOf(2, 3)} {
		m, out := leading(r), Output{}
		told(&m, r, NotAbleSilent)
		m.Step(r, &Input{Kind: Ring, Number: m.alarm}, &out)
		assert.Equal(t, NoHandover, m.handover.Phase)
		m.office.acks[m.office.beat%recentBeats] = r.Voters
		for other := range others.Seats() {
			report := Message{From: other, Leader: 1, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.NotAble, Term: 1, Asked: 1, Unable: memberstate.SetOf(other)}}
			m.Step(r, &Input{Kind: Receive, Message: report}, &out)
			assert.Equal(t, Output{}, out)
		}
		m.Step(r, &Input{Kind: Ring, Number: m.alarm}, &out)
		assert.Equal(t, others != memberstate.SetOf(2, 3), m.handover.Phase == Taking)
	}
}

func TestAFollowerReportsAtOnceThatItIsNotAble(t *testing.T) {
	r := threeRules()
	m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 4}, Role: memberstate.Follower, Leader: 2}}
	want := Message{Leader: 2, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.NotAble, Term: 4, Asked: 4, Unable: memberstate.SetOf(1)}}
	out := told(&m, r, NotAbleDisk)
	assert.Equal(t, memberstate.SetOf(2), out.To)
	assert.Equal(t, want, out.Send)
	assert.True(t, want.WellFormed())
	assert.Zero(t, told(&m, r, NotAbleHold).To, "the next answer says the same")
	assert.Zero(t, told(&m, r, Able).To)
}

// It answers no heartbeat, so the leader counts nothing for it.
func TestAReportOfInabilityIsNoAnswer(t *testing.T) {
	r := threeRules()
	m, out := leading(r), Output{}
	m.office.acks[m.office.beat%recentBeats] = memberstate.SetOf(1)
	before := m
	before.unable = memberstate.SetOf(2)
	report := Message{From: 2, Leader: 1, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.NotAble, Round: m.office.beat, Term: 1, Asked: 1, Unable: memberstate.SetOf(2)}}
	m.Step(r, &Input{Kind: Receive, Message: report, RoundTrip: time.Second}, &out)
	assert.Equal(t, before, m)
	report.Asked = 0
	m.Step(r, &Input{Kind: Receive, Message: report}, &out)
	assert.Equal(t, DropStaleAnswer, out.Dropped)
}

func TestALeaderThatIsNotWellAsksAnAbleVoterWhetherItIsCaughtUp(t *testing.T) {
	r := threeRules()
	m := leading(r)
	m.unable = memberstate.SetOf(2)
	assert.True(t, told(&m, r, NotAbleUnhealthy).Changed, "its view shows why")
	out := nextBeat(&m, r)
	assert.Equal(t, Handover{Phase: Probing, Target: 3, Reason: ToAble, Goal: memberstate.Position{Term: 1, Index: 7}, patience: 3}, m.handover)
	assert.Equal(t, rpc.Heartbeat, out.Send.Kind, "the heir is asked with its next answer")
	m.sendTake(r, &out)
	assert.Equal(t, memberstate.SetOf(3), out.To)
	assert.Equal(t, rpc.PreVote, out.Send.Mark)
}

// What hangs must not be asked: neither for the ledger's end nor for a pause.
func TestALeaderWhoseEngineHangsHasAVoterStandAtOnce(t *testing.T) {
	r := threeRules()
	r.Lease = r.Timing.Detection()
	for _, why := range []Inability{NotAbleSilent, NotAbleDisk, NotAbleLedger, NotAblePause, NotAbleLead} {
		m, out := leading(r), Output{}
		m.unable = memberstate.SetOf(2)
		told(&m, r, why)
		nextBeat(&m, r)
		m.sendTake(r, &out)
		assert.Equal(t, Handover{Phase: Taking, Target: 3, Reason: ToAble, patience: 3}, m.handover, why)
		assert.Equal(t, memberstate.SetOf(3), out.To, "no other voter can vouch for a ledger that nobody knows")
		assert.Equal(t, Message{Leader: 3, Body: rpc.Body{Kind: rpc.TakeLeadership, Round: m.office.beat, Term: 1}}, out.Send)
		assert.Zero(t, m.LeaseBeat(), "the heir may win from now on")

		m.handover, m.round.phase, m.office.nextOffer = Handover{}, preVoting, m.office.beat
		m.giveWay(r, new(Input), &out)
		assert.Equal(t, idle, m.round.phase, "no round of its own goes on beside it")
	}
}

// A handover that was begun with care is hastened when something turns out to hang.
func TestAHandoverDoesNotWaitForWhatHangs(t *testing.T) {
	r := threeRules()
	for _, phase := range []HandoverPhase{Probing, Pausing} {
		m, out := leading(r), Output{}
		m.inability = NotAbleUnhealthy
		m.handover = Handover{Phase: phase, Target: 2, Reason: ToAble, Goal: memberstate.Position{Term: 1, Index: 7}, Resigning: true, patience: 1}
		m.office.nextOffer = m.office.beat + 5
		m.Step(r, &Input{Kind: Ability, Inability: NotAblePause}, &out)
		assert.Equal(t, Taking, m.handover.Phase)
		assert.True(t, m.handover.Resigning, "an order to resign has joined it")
		assert.Equal(t, rpc.TakeLeadership, out.Send.Kind)

		m.handover = Handover{Phase: phase, Target: 2, Reason: ToNamed, patience: 1}
		m.Step(r, &Input{Kind: Ability, Inability: NotAbleSilent}, &out)
		assert.Equal(t, phase, m.handover.Phase, "an operator's handover is none of this")
	}
}

// Moving the leadership between members that are equally slow would not help anyone.
func TestALeaderLeadsOnIfNoOtherVoterIsAble(t *testing.T) {
	r := threeRules()
	for _, alive := range []memberstate.Set{r.Voters, memberstate.SetOf(1, 2)} {
		m := leading(r)
		m.unable = alive.Without(r.Self)
		m.office.acks = [recentBeats]memberstate.Set{}
		m.office.acks[m.office.beat%recentBeats] = alive
		assert.Equal(t, Output{Changed: true}, told(&m, r, NotAbleDisk))
		m.office.beat++
		m.office.acks[m.office.beat%recentBeats] = alive
		m.giveWay(r, new(Input), new(Output))
		assert.Equal(t, memberstate.Leader, m.Role)
		assert.Equal(t, NoHandover, m.handover.Phase)
	}
}

// Where round trips are longer than two beats nobody has answered the last two when the next one is due.
func TestALeaderGivesWayAlsoWhereRoundTripsAreLong(t *testing.T) {
	r := threeRules()
	for _, ago := range []uint32{1, 2, 3} {
		for _, unable := range []memberstate.Set{0, memberstate.SetOf(3)} {
			m := leading(r)
			m.office.acks = [recentBeats]memberstate.Set{}
			m.office.acks[(m.office.beat-ago)%recentBeats] = memberstate.SetOf(1, 3)
			m.inability, m.unable = NotAbleSilent, unable
			m.giveWay(r, new(Input), new(Output))
			assert.Equal(t, unable == 0, m.handover.Phase == Taking, "%d beats ago", ago)
		}
	}
	m := leading(r)
	m.office.acks = [recentBeats]memberstate.Set{}
	m.office.acks[m.office.beat%recentBeats] = memberstate.SetOf(1, 2)
	m.office.acks[(m.office.beat-3)%recentBeats] = memberstate.SetOf(1, 3)
	m.inability, m.unable = NotAbleSilent, memberstate.SetOf(2)
	m.giveWay(r, new(Input), new(Output))
	assert.Equal(t, NoHandover, m.handover.Phase, "the third member may be gone, because the second has answered since")
}

// It looks again with every beat.
func TestALeaderGivesWayWhenAnotherVoterIsAble(t *testing.T) {
	r := threeRules()
	m, out := leading(r), Output{}
	m.inability, m.unable = NotAbleSilent, memberstate.SetOf(2, 3)
	answer := Message{From: 3, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Round: m.office.beat, Term: 1, Asked: 1}}
	m.Step(r, &Input{Kind: Receive, Message: answer}, &out)
	assert.Equal(t, memberstate.SetOf(2), m.unable)
	m.Step(r, &Input{Kind: Ring, Number: m.alarm}, &out)
	assert.Equal(t, Taking, m.handover.Phase)
	assert.Equal(t, rpc.Heartbeat, out.Send.Kind)
	assert.Equal(t, memberstate.SetOf(1, 2), out.Send.Unable, "it passes on what it knows")
}

func TestALeaderThatNobodyReplacesStepsDownAndRests(t *testing.T) {
	r := threeRules()
	m, out := leading(r), Output{}
	m.inability, m.handover = NotAbleSilent, Handover{Phase: Taking, Target: 2, Reason: ToAble, patience: 1}
	m.Step(r, &Input{Kind: Ring, Number: m.alarm}, &out)
	assert.True(t, out.Lost)
	assert.GreaterOrEqual(t, out.Alarm.Min, 2*r.Timing.Detection())

	for name, change := range map[string]func(*Machine){
		"it has recovered":   func(m *Machine) { m.inability = NotAbleHold },
		"it is able":         func(m *Machine) { m.inability = Able },
		"no other is":        func(m *Machine) { m.unable = memberstate.SetOf(2, 3) },
		"an order was given": func(m *Machine) { m.handover.Reason = ToNamed },
	} {
		m = leading(r)
		m.inability, m.handover = NotAbleSilent, Handover{Phase: Taking, Target: 2, Reason: ToAble, patience: 1}
		change(&m)
		m.waitForHandover(r, new(Output))
		assert.Equal(t, memberstate.Leader, m.Role, name)
	}
}

func TestALeaderThatRecoversLeadsOn(t *testing.T) {
	r := threeRules()
	for _, phase := range []HandoverPhase{Probing, Pausing, Taking} {
		for _, why := range []Inability{NotAbleHold, Able} {
			m := leading(r)
			m.inability, m.handover = NotAbleUnhealthy, Handover{Phase: phase, Target: 2, Reason: ToAble, patience: 2}
			told(&m, r, why)
			assert.Equal(t, phase == Taking, m.handover.Phase != NoHandover, "it cannot take back that the heir may win")

			m.inability, m.handover = NotAbleUnhealthy, Handover{Phase: phase, Target: 2, Reason: ToAble, Resigning: true, patience: 2}
			told(&m, r, why)
			assert.NotEqual(t, NoHandover, m.handover.Phase, "it was ordered to resign besides")

			for _, reason := range []HandoverReason{ToAnyone, ToNamed, ToPreferred} {
				m.inability, m.handover = NotAbleUnhealthy, Handover{Phase: phase, Target: 2, Reason: reason, patience: 2}
				told(&m, r, why)
				assert.Equal(t, phase, m.handover.Phase, "it hands over for another reason")
			}
		}
	}
}

// An able voter may be behind, and unable to win. Then the old leader is elected again, and gives up
// ever more rarely.
func TestTheSameLeaderGivesWayEverMoreRarely(t *testing.T) {
	r := threeRules()
	leak := uint32(r.Timing.Leak)
	m := leading(r)
	for _, waits := range []uint32{2, 4, 8, 16, 32, 64, 128, 128} {
		if m.inability == Able {
			told(&m, r, NotAbleDisk)
			m.office.beat++
			m.office.acks[m.office.beat%recentBeats] = r.Voters
		}
		m.giveWay(r, new(Input), new(Output))
		assert.Equal(t, Taking, m.handover.Phase)
		m.State = memberstate.State{HardState: memberstate.HardState{Term: m.Term + 1, Vote: 1}}
		m.takeOffice(r, new(Output))
		elected := m.office.beat - 1
		assert.Equal(t, elected+waits*leak, m.office.nextOffer)
		m.office.acks[m.office.beat%recentBeats] = r.Voters
		m.giveWay(r, new(Input), new(Output))
		assert.Equal(t, NoHandover, m.handover.Phase, "it is too early")
		m.office.beat = m.office.nextOffer
		m.office.acks[m.office.beat%recentBeats] = r.Voters
	}
	told(&m, r, Able)
	assert.Equal(t, m.office.beat+leak, m.office.nextOffer, "as after an election")
	assert.Zero(t, m.office.declined)
	m.office.heardBeat = m.office.beat
	told(&m, r, NotAbleDisk)
	nextBeat(&m, r)
	assert.Equal(t, Taking, m.handover.Phase, "it was able in between, so it gives way soon")
}

// One whose ability comes and goes is held in between. So what it has given up before counts, be it in this office or in the next.
func TestAHoldDoesNotMakeALeaderGiveWaySooner(t *testing.T) {
	r := threeRules()
	m := leading(r)
	told(&m, r, NotAbleDisk)
	nextBeat(&m, r)
	due := m.office.nextOffer
	assert.EqualValues(t, 1, m.office.declined)
	told(&m, r, NotAbleHold)
	told(&m, r, NotAbleDisk)
	assert.EqualValues(t, 1, m.office.declined)
	assert.Equal(t, due, m.office.nextOffer)

	told(&m, r, NotAbleHold)
	m.State = memberstate.State{HardState: memberstate.HardState{Term: 2, Vote: 1}}
	elected := m.office.beat
	m.takeOffice(r, new(Output))
	assert.EqualValues(t, 1, m.office.declined)
	assert.Equal(t, elected+2*uint32(r.Timing.Leak), m.office.nextOffer)
}

func TestACandidateThatIsNotAbleRestsBeforeItStands(t *testing.T) {
	r := threeRules()
	rest := 2 * r.Timing.Detection()
	for _, ranks := range []bool{true, false} {
		r.Ranks = ranks
		m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}, inability: NotAbleDisk}
		out := Output{}
		m.armSlot(r, &out, memberstate.Nobody)
		assert.GreaterOrEqual(t, out.Alarm.Min, rest)
		m.unable = memberstate.SetOf(2)
		m.armSlot(r, &out, 3)
		assert.Less(t, out.Alarm.Min, rest, "the only able one is the leader that has just fallen silent")
		m.armSlot(r, &out, 2)
		assert.GreaterOrEqual(t, out.Alarm.Min, rest)
		m.inability = Able
		m.armSlot(r, &out, memberstate.Nobody)
		assert.Less(t, out.Alarm.Min, rest)
	}
}

// An heir may fail, because another voter is ahead of it. Then that voter has to stand before the leader that
// is not able, which may be ahead of both.
func TestAMemberThatIsNotAbleRestsWhenItLosesItsLeader(t *testing.T) {
	for _, c := range []struct {
		name   string
		led    memberstate.Seat
		why    Inability
		unable memberstate.Set
		rests  bool
	}{
		{led: 1, why: NotAbleSilent, rests: true, name: "it led"},
		{led: 1, why: NotAbleHold, rests: true, name: "it led, and has just recovered"},
		{led: 1, why: NotAbleSilent, unable: memberstate.SetOf(2, 3), name: "nobody is able"},
		{led: 1, why: Able, name: "it led, and is able"},
		{led: 3, why: NotAbleDisk, rests: true, name: "it followed"},
		{led: 3, why: NotAbleDisk, unable: memberstate.SetOf(2), name: "it followed the only member that is able"},
		{led: 3, why: Able, name: "it followed, and is able"},
		{why: NotAbleDisk, name: "it had no leader"},
	} {
		r := threeRules()
		m, out := leading(r), Output{}
		switch c.led {
		case 1:
			m.handover = Handover{Phase: Taking, Target: 2, Reason: ToAble}
		case 3:
			m.Role, m.Leader, m.Vote = memberstate.Follower, 3, 3
		default:
			m.Role, m.Leader = memberstate.Candidate, memberstate.Nobody
			m.round.phase = preVoting
		}
		m.inability, m.unable = c.why, c.unable
		behind := Input{Kind: Receive, HasLedger: true, LedgerTerm: 2, Ledger: memberstate.Position{Term: 1, Index: 9}, Message: Message{
			From: 2, Leader: c.led, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.Handed, Term: 2, Round: 1, Ledger: memberstate.Position{Term: 1, Index: 8}},
		}}
		m.Step(r, &behind, &out)
		assert.Equal(t, memberstate.Term(2), m.Term, c.name)
		assert.NotEqual(t, rpc.Accept, out.Reply.Result, c.name)
		assert.Equal(t, c.rests, out.Alarm.Min >= 2*r.Timing.Detection(), c.name)
		assert.NotZero(t, out.Alarm, c.name)
	}
}

func TestACandidateThatLosesItsAbilityLetsOthersStandFirst(t *testing.T) {
	r := threeRules()
	fresh := func() Machine { return Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}} }
	m := fresh()
	assert.GreaterOrEqual(t, told(&m, r, NotAbleDisk).Alarm.Min, 2*r.Timing.Detection())
	assert.Zero(t, told(&m, r, NotAbleSilent).Alarm, "it rests already")
	for name, change := range map[string]func(*Machine){
		"no other is able":   func(m *Machine) { m.unable = memberstate.SetOf(2, 3) },
		"its round goes on":  func(m *Machine) { m.round.phase = preVoting },
		"it may not vote":    func(m *Machine) { m.restartHold = true },
		"it has a leader":    func(m *Machine) { m.Role, m.Leader = memberstate.Follower, 2 },
		"it is only told so": func(m *Machine) { m.inability = NotAbleDisk },
	} {
		m := fresh()
		change(&m)
		assert.Zero(t, told(&m, r, NotAbleDisk).Alarm, name)
	}
	m = fresh()
	m.Role = memberstate.Observer
	told(&m, r, NotAbleDisk)
	assert.Equal(t, Able, m.Inability(), "an observer never leads anyway")
}

// Members that are not able come after all others, even after the last leader.
func TestMembersThatAreNotAbleHaveTheLastTurns(t *testing.T) {
	r := threeRules()
	r.Preferred = memberstate.SetOf(2)
	m := Machine{unable: memberstate.SetOf(2)}
	for _, other := range []memberstate.Seat{1, 3} {
		assert.Less(t, m.turn(r, other, other), m.turn(r, 2, memberstate.Nobody))
	}
	m.inability = NotAbleOrdered
	assert.Greater(t, m.turn(r, 1, memberstate.Nobody), m.turn(r, 3, 3))
}

func TestAMemberThatIsNotAbleTakesNothingOver(t *testing.T) {
	r := threeRules()
	for _, mark := range []rpc.Mark{rpc.PreVote, rpc.Plain} {
		m := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}, Role: memberstate.Follower, Leader: 2}, inability: NotAbleHold}
		out := Output{}
		m.Step(r, &Input{Kind: Receive, Message: Message{From: 2, Leader: 1, Body: rpc.Body{Kind: rpc.TakeLeadership, Mark: mark, Term: 1}}}, &out)
		assert.Equal(t, rpc.NotAble, out.Reply.Result)
		assert.Equal(t, memberstate.SetOf(1), out.Reply.Unable)
		assert.Equal(t, memberstate.Follower, m.Role)
	}
}

// The next one in turn is asked instead, unless the operator wants this one.
func TestAVoterThatIsNotAbleIsPassedOver(t *testing.T) {
	r := threeRules()
	for reason, want := range map[HandoverReason]memberstate.Seat{ToAble: 3, ToAnyone: 3, ToNamed: 2, ToPreferred: 2} {
		m := leading(r)
		m.inability, m.handover = NotAbleUnhealthy, Handover{Phase: Probing, Target: 2, Reason: reason, patience: 3}
		answer := Message{From: 2, Body: rpc.Body{Kind: rpc.TakeLeadershipResponse, Result: rpc.NotAble, Mark: rpc.PreVote, Asked: 1, Term: 1, Unable: memberstate.SetOf(2)}}
		m.Step(r, &Input{Kind: Receive, Message: answer}, new(Output))
		assert.Equal(t, want, m.handover.Target, reason)
	}
	m := leading(r)
	m.unable = memberstate.SetOf(2)
	assert.Equal(t, memberstate.Seat(3), m.successor(r, memberstate.Nobody))
	assert.Equal(t, memberstate.Seat(3), m.successor(r, 3), "there is no other able one")
}

func TestFault25APreferredVoterThatIsNotAbleIsNotOfferedTheOffice(t *testing.T) {
	r := threeRules()
	r.Preferred = memberstate.SetOf(2)
	for _, able := range []bool{true, false} {
		m := leading(r)
		answer := Message{From: 2, Body: rpc.Body{Kind: rpc.HeartbeatResponse, Result: rpc.Success, Round: m.office.beat, Term: 1, Asked: 1}}
		if !able {
			answer.Unable = memberstate.SetOf(2)
		}
		m.Step(r, &Input{Kind: Receive, Message: answer, HasLedger: true, LedgerTerm: 1}, new(Output))
		assert.Equal(t, able, m.handover.Phase == Probing)
	}
}

// A follower learns from its leader who is not able, so that nobody waits for the turn of such a member.
func TestFollowersKnowWhoIsNotAble(t *testing.T) {
	r := threeRules()
	m, out := Machine{State: memberstate.State{HardState: memberstate.HardState{Term: 1}}, unable: memberstate.SetOf(3)}, Output{}
	beat := Message{From: 2, Leader: 2, Body: rpc.Body{Kind: rpc.Heartbeat, Term: 1, Unable: memberstate.SetOf(1, 2, 40)}}
	m.Step(r, &Input{Kind: Receive, Message: beat}, &out)
	assert.Equal(t, memberstate.SetOf(2), m.unable, "of itself it knows better, and the third is able again")
	assert.Zero(t, out.Reply.Unable)
	told(&m, r, NotAbleOrdered)
	m.Step(r, &Input{Kind: Receive, Message: beat}, &out)
	assert.Equal(t, memberstate.SetOf(1), out.Reply.Unable)
}

func TestALossForWantOfAbilityIsNamed(t *testing.T) {
	r := threeRules()
	led := View{Term: 1, Role: memberstate.Leader, Leader: 1}
	handed := Input{Kind: Receive, Message: Message{From: 2, Body: rpc.Body{Kind: rpc.VoteRequest, Mark: rpc.Handed}, Leader: 1}}
	for _, in := range []Input{{Kind: Ring}, {Kind: Abort}, handed} {
		for why, want := range map[Inability]bool{NotAbleDisk: true, NotAbleUnhealthy: true, NotAbleHold: false, Able: false} {
			m := Machine{inability: why}
			assert.Equal(t, want, m.whyGone(r, &in, &led) == DepartedNotAble, "%v %v", in.Kind, why)
		}
	}
	m := Machine{inability: NotAbleDisk}
	followed := View{Term: 1, Role: memberstate.Follower, Leader: 1}
	assert.Equal(t, DepartedHandedOver, m.whyGone(&Rules{Self: 2, Voters: r.Voters}, &handed, &followed), "its leader was able")
	assert.Equal(t, DepartedResigned, m.whyGone(r, &Input{Kind: Resign}, &led))
	m.office.beat = uint32(r.Timing.Leak)
	assert.Equal(t, DepartedNoQuorum, m.whyGone(r, &Input{Kind: Ring}, &led))
}
