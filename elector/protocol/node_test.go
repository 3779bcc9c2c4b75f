// The order in which a node asks for things. It asks in the turn in which the cause is reported, so no
// part of it waits for the next alarm.

package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

func TestALoneVoterAsksForItsNeedsInOrder(t *testing.T) {
	d := newRecorders(t, 1)[0]
	d.start()
	assert.Equal(t, []string{"show candidate in term 0", "arm"}, d.did())
	d.ring()
	d.answer()
	assert.Equal(t, []string{
		"ask ledger 0", "ask ledger 1", "save term 1", "show leader in term 1", "arm", "judge won", "hold", "lead 1",
	}, d.did())
}

func TestALeadThatReturnsGivesUpTheOfficeAtOnce(t *testing.T) {
	d := lone(t)
	d.node.LeadReturned(&d.group, 1, true, nil)
	assert.Equal(t, []string{"lead 1 failed: <nil>", "hold nothing", "show candidate in term 1", "show candidate in term 1", "arm"}, d.did())
}

func TestALeaseThatIsOverEndsTheOfficeAtOnce(t *testing.T) {
	d := lone(t)
	d.shown = nil
	d.node.Do(&Request{Subject: Subject{Kind: TellLeaseOver, Group: &d.group}})
	require.Empty(t, d.did(), "it was the lease of an earlier term")
	d.node.Do(&Request{Subject: Subject{Kind: TellLeaseOver, Group: &d.group, Term: 1}})
	assert.Equal(t, []string{"hold nothing", "end lead 1", "show candidate in term 1", "show candidate in term 1", "arm"}, d.did())
	for _, v := range d.shown {
		assert.Equal(t, View{Term: 1, Role: memberstate.Candidate, Vote: 1, Last: 1, Departure: DepartedLeaseLapsed}, v)
	}
}

func TestALeaderThatStopsEndsItsOfficeFirst(t *testing.T) {
	d := lone(t)
	d.node.Stop(&d.group)
	assert.Equal(t, []string{
		"hold nothing", "end lead 1", "show candidate in term 1", "show candidate in term 1", "arm", "show stopped in term 1",
	}, d.did())
	d.node.LeadReturned(&d.group, 1, false, nil)
	assert.Equal(t, []string{"ended: <nil>"}, d.did(), "not before Lead has returned")
}

// The last of an engine's functions to return may be its Pause, whose failure ends the office of a leader that
// is to stop.
func TestAGroupIsOverOnce(t *testing.T) {
	d, f := pair(t)
	d.node.Stop(&d.group)
	d.answer()
	deliver([]*recorder{d, f})
	require.Contains(t, d.did(), "pause")
	d.node.LeadReturned(&d.group, 1, true, nil)
	d.node.PauseEnded(&d.group, d.pause, errors.New("busy"))
	over := 0
	for _, entry := range d.did() {
		if entry == "ended: <nil>" {
			over++
		}
	}
	assert.Equal(t, 1, over)
}

// A leader that is ended at once has not resigned. Whatever is reported to it then, it takes no step.
func TestALeaderThatHasEndedBeginsNothing(t *testing.T) {
	d := lone(t)
	d.node.End(&d.group)
	assert.Equal(t, []string{"hold nothing", "end lead 1", "show stopped in term 1"}, d.did())
	assert.Equal(t, View{
		Term: 1, Role: memberstate.Candidate, Vote: 1, Last: 1, Departure: DepartedResigned, Stopped: true,
	}, d.shown[len(d.shown)-1])
	d.node.LeaseOver(&d.group, 1)
	assert.Empty(t, d.did())
	d.group.ledger.end.Index = 5
	assert.Equal(t, Figures{}, d.node.figures(&d.group))
	d.node.LeadReturned(&d.group, 1, false, nil)
	assert.Equal(t, []string{"ended: <nil>"}, d.did())
}

// A group may be ended at once while its engine has paused its writes.
func TestAGroupThatIsEndedLeavesNothingBehind(t *testing.T) {
	d, f := pair(t)
	d.order(f)
	d.node.End(&d.group)
	assert.Equal(t, []string{
		"hold nothing", "end lead 1", "resume", "show stopped in term 1", `settled: elector: group "g" has stopped`,
	}, d.did())
	for _, entry := range d.node.alarms.heap {
		assert.True(t, entry.stale())
	}
}

// The memory in which they waited may be another group's next.
func TestNoMessageWaitsForAGroupThatHasEnded(t *testing.T) {
	d := saving(t)
	d.node.Deliver(&d.group, d.asks("n0"))
	d.node.End(&d.group)
	all, messages := d.group.Queued()
	assert.Zero(t, all)
	assert.Zero(t, messages)
}

// A save may be under way when its group ends. The store must not be closed before it is done, and what
// it saves is not shown.
func TestAGroupThatEndsDuringASaveIsOverAfterIt(t *testing.T) {
	d := newRecorders(t, 1)[0]
	d.start()
	d.ring()
	for range 2 { // for the pre-vote, and for the vote
		d.node.LedgerEnd(&d.group, memberstate.Position{}, 0, nil)
		d.node.EndTurn()
	}
	require.Contains(t, d.did(), "save term 1")
	d.node.End(&d.group)
	assert.Equal(t, []string{"show stopped in term 0"}, d.did())
	d.node.Saved(nil)
	assert.Equal(t, []string{"ended: <nil>"}, d.did())
}

// A leader that is to stop may lose its office in a step that has to wait.
func TestALeaderThatIsToStopEndsWithTheStepThatEndsItsOffice(t *testing.T) {
	d, _ := pair(t)
	d.node.Stop(&d.group)
	d.answer()
	d.node.Give(&d.group, &Input{Kind: Heard, Term: 2, Seat: 2}, nil)
	d.node.EndTurn()
	d.did()
	d.node.Saved(nil)
	assert.Contains(t, d.did(), "show stopped in term 2")
}

// Only a leader has something to hand over. Any other member ends at once, even if a step of it waits.
func TestACandidateThatStopsDoesNotWait(t *testing.T) {
	d := newRecorders(t, 2)[1]
	d.start()
	m := d.asks("n0")
	m.Mark = rpc.Won
	d.node.Deliver(&d.group, m)
	require.True(t, d.group.Waits())
	d.did()
	d.node.Stop(&d.group)
	assert.Equal(t, []string{"show stopped in term 0"}, d.did())
}

func TestAGroupThatCannotSaveEnds(t *testing.T) {
	d := newRecorders(t, 1)[0]
	d.start()
	d.ring()
	for range 2 {
		d.node.LedgerEnd(&d.group, memberstate.Position{}, 0, nil)
		d.node.EndTurn()
	}
	d.did()
	d.node.Saved(errors.New("no room"))
	assert.Equal(t, []string{"show stopped in term 0", `ended: elector: group "g": saving term 1: no room`}, d.did())
}

func TestALedgerThatBreaksItsContractEndsItsGroup(t *testing.T) {
	d := newRecorders(t, 1)[0]
	d.start()
	d.ring()
	d.did()
	d.node.LedgerEnd(&d.group, memberstate.Position{Term: 7, Index: 1}, 0, nil)
	var broken *LedgerError
	require.ErrorAs(t, d.ended, &broken)
	assert.Equal(t, "g", broken.Group)
	assert.NotContains(t, d.ended.Error(), "defect", "of this library")
}

// The lease ends before the target is told to stand. The order is carried out when this member leads no
// more, which it learns when it is asked to vote for the target.
func TestAHandoverEndsTheLeaseBeforeTheTargetStands(t *testing.T) {
	d, f := pair(t)
	d.order(f)
	d.node.PauseEnded(&d.group, d.pause, nil)
	d.node.EndTurn()
	d.answer()
	assert.Equal(t, []string{"ask ledger 1", "hold nothing", "end lead 1", "send take leadership to n1"}, d.did())
	d.node.LeadReturned(&d.group, 1, false, nil)
	deliver([]*recorder{d, f})
	assert.Equal(t, []string{
		"ask ledger 1", "ask ledger 2", "save term 2", "show candidate in term 2", "arm", "send vote to n0",
		"show leader in term 2", "arm", "judge handed", "send heartbeat to n0", "hold", "lead 2",
	}, f.did())
	assert.Equal(t, []string{
		"show candidate in term 1", "ask ledger 2", "save term 2", "show candidate in term 2", "arm", "resume", "send vote answer to n1",
		"show follower in term 2", "settled: <nil>", "arm", "send heartbeat answer to n1",
	}, d.did())
	assert.Nil(t, d.group.duties, "a follower has none")
}

func TestAnEngineThatCannotPauseEndsTheHandoverAtOnce(t *testing.T) {
	d, f := pair(t)
	d.order(f)
	d.node.PauseEnded(&d.group, d.pause, errors.New("busy"))
	assert.Equal(t, []string{
		"resume", "settled: elector: leadership was not transferred: n1 could take over, but writes here could not be paused: busy",
	}, d.did())
}

// An office begins with the newest beat of the one before, which may have been sent long ago, and which no
// quorum may have answered.
func TestOnlyBeatsOfTheOfficeAreMeasured(t *testing.T) {
	for _, renewed := range []memberstate.Term{0, 1} {
		d, _ := pair(t)
		d.ring()
		require.NotEqual(t, d.group.Beat(), d.group.HeardBeat(), "its newest beat has no answer yet")
		d.heard = nil
		d.node.At(d.node.now + time.Second)
		d.node.enter(&d.group, d.node.step)
		d.group.Role, d.group.Leader = memberstate.Candidate, memberstate.Nobody
		d.group.Term += renewed
		d.group.takeOffice(d.group.Rules, new(Output))
		d.node.fx.Done()
		d.node.inside = false
		assert.Empty(t, d.heard)
	}
}

// A caller is told once that its input has been handled, whatever the group does next.
func TestAnInputIsHandledOnce(t *testing.T) {
	_, d := pair(t)
	told := 0
	d.node.Give(&d.group, &Input{Kind: Heard, Term: d.group.Term, Seat: 1}, func() { told++ })
	assert.Equal(t, purpose{}, d.node.step.purpose)
	d.node.End(&d.group)
	assert.Equal(t, 1, told)
	d = saving(t)
	d.node.Give(&d.group, &Input{Kind: Stand}, func() { told++ })
	d.node.End(&d.group)
	assert.Equal(t, 2, told, "it is told before the disk has answered")
	d.node.Saved(nil)
	assert.Equal(t, 2, told)
}

// A caller may wait for a step that waits itself. The step's place is used again, and knows nothing of the caller.
func TestAStepThatIsGivenUpHasNoPurpose(t *testing.T) {
	_, d := pair(t)
	told := 0
	d.node.Give(&d.group, &Input{Kind: Heard, Term: d.group.Term + 1, Seat: 1}, func() { told++ })
	require.True(t, d.group.Waits())
	d.node.EndTurn()
	d.node.End(&d.group)
	d.node.Saved(nil)
	assert.Equal(t, 1, told)
	require.Len(t, d.node.spare.steps, 1)
	assert.Equal(t, purpose{}, d.node.spare.steps[0].purpose)
}

// A long queue is not kept for another group.
func TestOnlyShortQueuesAreKept(t *testing.T) {
	for length, kept := range map[int]bool{mostSpare: true, mostSpare + 1: false} {
		d := newRecorders(t, 1)[0]
		d.node.transientOf(&d.group).queue = make([]waiting, 0, length)
		d.node.tidy(&d.group)
		assert.Nil(t, d.group.transient())
		assert.Equal(t, kept, len(d.node.spare.transients) == 1)
	}
}

// An append may be of a term that is too far away, as a message may.
func TestAnAppendThatIsTooFarApartIsReported(t *testing.T) {
	_, d := pair(t)
	far := 3 * memberstate.MaxTermStep
	d.hears(far)
	assert.Equal(t, []string{fmt.Sprintf("n0 is too far apart in term %d", far)}, d.did())
}

// untold writes down how many reports each one says were left out since the one before it.
type untold struct {
	*recorder
	counts []uint64
}

func (u *untold) TooFarApart(_ *Group, _ string, _ memberstate.Term, count uint64) {
	u.counts = append(u.counts, count)
}

func TestEachReportCountsThoseThatWereLeftOutSinceTheLast(t *testing.T) {
	_, d := pair(t)
	u := &untold{recorder: d}
	d.node.edge = u
	for _, reports := range []int{3, 2, 1, 1} {
		for range reports {
			d.hears(3 * memberstate.MaxTermStep)
		}
		d.node.At(d.node.now + tellEvery)
	}
	assert.Equal(t, []uint64{0, 2, 1, 0}, u.counts)
}

// Votes are counted, whether they were asked for or not, and requests for them without repetitions.
func TestVotingIsCounted(t *testing.T) {
	d := newRecorders(t, 2)[0]
	d.start()
	for _, repeated := range []bool{false, true} {
		d.group.round.repeated = repeated
		for _, kind := range []rpc.Kind{rpc.VoteRequest, rpc.VoteResponse, rpc.Heartbeat, rpc.HeartbeatResponse} {
			d.node.enter(&d.group, d.node.step)
			d.node.fx.Send(memberstate.SetOf(2), &Message{Body: rpc.Body{Kind: kind}})
			d.node.step.Input.Message.From = 2
			d.node.fx.Reply(&Message{Body: rpc.Body{Kind: kind}})
		}
	}
	assert.Equal(t, []rpc.Kind{
		rpc.VoteRequest, rpc.VoteResponse, rpc.VoteResponse, rpc.VoteResponse, rpc.VoteResponse,
	}, d.voting)
	d.voting = nil
	d.node.step.Input.Message.From = memberstate.Stranger
	d.node.fx.Reply(&Message{Body: rpc.Body{Kind: rpc.VoteResponse}})
	assert.Equal(t, []rpc.Kind{rpc.VoteResponse}, d.voting, "a stranger is answered, too")
}

// An engine may end its Lead because it has paused its writes. That is no failure.
func TestALeadThatEndsWithAPauseHasNotFailed(t *testing.T) {
	for _, returned := range []bool{false, true} {
		d, f := pair(t)
		d.order(f)
		if returned {
			d.node.PauseEnded(&d.group, d.pause, nil)
		}
		d.node.LeadReturned(&d.group, 1, true, errors.New("paused"))
		assert.NotContains(t, strings.Join(d.did(), "\n"), "failed: paused", "Pause has returned: %v", returned)
	}
}

// The handover has been given up, so the engine is to go on, although its Pause has not returned yet.
func TestALeadThatEndsBesideAPauseOfAnEarlierHandoverHasFailed(t *testing.T) {
	d, f := pair(t)
	d.node.Withdraw(&d.group, d.order(f), errors.New("enough"))
	d.node.LeadReturned(&d.group, 1, true, errors.New("broken"))
	assert.Contains(t, d.did(), "lead 1 failed: broken")
}

func TestAWithdrawnOrderEndsItsHandoverAtOnce(t *testing.T) {
	d, f := pair(t)
	o := d.order(f)
	d.node.Withdraw(&d.group, o, errors.New("enough"))
	assert.Equal(t, []string{"settled: enough", "resume"}, d.did())
}

// The engine's answer to a pause that was given up does not count: in the next handover its writes may
// still go on.
func TestThePauseOfAnEarlierHandoverIsNotThatOfThisOne(t *testing.T) {
	d, f := pair(t)
	o := d.order(f)
	first := d.pause
	d.node.Withdraw(&d.group, o, errors.New("enough"))
	d.did()
	d.order(f)
	d.node.PauseEnded(&d.group, first, nil)
	d.node.EndTurn()
	assert.Empty(t, d.did())
	d.node.PauseEnded(&d.group, d.pause, nil)
	d.node.EndTurn()
	assert.Equal(t, []string{"ask ledger 1"}, d.did())
}

// The engine may still be about to answer the earlier one, and then its number must not have been given again.
func TestAnEarlierPauseRunsBesideTheNewestOne(t *testing.T) {
	d, f := pair(t)
	d.node.Withdraw(&d.group, d.order(f), errors.New("enough"))
	first := d.pause
	d.did()
	d.order(f)
	require.NotEqual(t, first, d.pause)
	d.node.PauseEnded(&d.group, d.pause, nil)
	assert.EqualValues(t, 1, d.group.duty().pause.running)
	d.node.PauseEnded(&d.group, first, nil)
	assert.Zero(t, d.group.duty().pause.running)
}

// A transfer is done when its heir leads, and not before.
func TestATransferWaitsForTheNextLeader(t *testing.T) {
	again := `settled: elector: leadership was not transferred: "n0" leads term 4`
	for _, c := range []struct{ to, leader, outcome string }{
		{"n1", "n1", "settled: <nil>"},
		{"n1", "n0", again},
		{"", "n1", "settled: <nil>"},
		{"", "n0", again},
	} {
		t.Run(fmt.Sprintf("to %q, %s leads", c.to, c.leader), func(t *testing.T) {
			d, f := pair(t)
			d.handed(f).To = c.to
			d.node.succeed(&d.group, &View{Term: 1, Leader: 2})
			assert.Empty(t, d.did(), "of the term that it led")
			d.node.succeed(&d.group, &View{Term: 4})
			assert.Empty(t, d.did(), "no member leads")
			d.node.succeed(&d.group, &View{Term: 4, Leader: d.group.Members.Seat(c.leader)})
			assert.Equal(t, []string{c.outcome}, d.did())
			d.node.End(&d.group)
			assert.NotContains(t, strings.Join(d.did(), "\n"), "settled", "it is settled once")
		})
	}
}

func TestATransferThatWaitsForALeaderIsWithdrawnOrEnds(t *testing.T) {
	for outcome, end := range map[string]func(d *recorder, o *Order){
		"settled: enough":                         func(d *recorder, o *Order) { d.node.Withdraw(&d.group, o, errors.New("enough")) },
		`settled: elector: group "g" has stopped`: func(d *recorder, _ *Order) { d.node.End(&d.group) },
	} {
		d, f := pair(t)
		o := d.handed(f)
		end(d, o)
		assert.Contains(t, d.did(), outcome)
		d.node.succeed(&d.group, &View{Term: 4, Leader: 2})
		d.node.Withdraw(&d.group, o, errors.New("too late"))
		assert.Empty(t, d.did(), "it is settled once")
	}
}

// A leader may have won another term while an order waited. The order is then for that term.
func TestAnOrderIsForTheTermThatIsLedWhenItBegins(t *testing.T) {
	leader, follower := pair(t)
	const before = 7
	o := &Order{term: before}
	o.begun(&follower.group)
	assert.EqualValues(t, before, o.term)
	o.begun(&leader.group)
	assert.Equal(t, leader.group.Term, o.term)
	assert.True(t, o.began)
}

// A machine that tries an illegal transition ends its group, and the caller who waits for the step
// learns that the group is over.
func TestADefectLeavesNobodyWaiting(t *testing.T) {
	_, d := pair(t)
	d.group.Role, d.group.Leader = memberstate.Leader, memberstate.Nobody // no step makes it this
	told := false
	d.node.Give(&d.group, &Input{Kind: Heard, Term: d.group.Term, Seat: 1}, func() { told = true })
	require.ErrorContains(t, d.ended, "defect")
	assert.True(t, told)
}

// Messages that are ready go out before the disk begins to save for the others.
func TestReadyMessagesAreSentBeforeTheDiskBegins(t *testing.T) {
	leader, follower := pair(t)
	leader.ring() // a heartbeat
	leader.node.EndTurn()
	follower.node.Deliver(&follower.group, &leader.post[0])
	follower.node.Give(&follower.group, &Input{Kind: Heard, Term: follower.group.Term + 1, Seat: 1}, nil)
	follower.node.EndTurn()
	assert.Equal(t, []string{"arm", "send heartbeat answer to n0", "save term 2"}, follower.did())
}

// A lease that has run out ends the office before its handover goes on.
func TestAnOfficeEndsBeforeItsHandoverGoesOn(t *testing.T) {
	d, f := pair(t)
	d.order(f)
	duties := d.group.duties
	duties.pause.running, duties.pause.ready = 0, true
	assert.Equal(t, Paused, d.group.attend(d.group.Rules, d.node.now, &d.node.fx))
	duties.lease.over = true
	assert.Equal(t, Lapsed, d.group.attend(d.group.Rules, d.node.now, &d.node.fx))
}

// At the next beat another voter is asked, but not once one was told to stand or is about to be.
func TestTheTargetChangesOnlyWhileItIsAsked(t *testing.T) {
	for phase, want := range map[HandoverPhase]memberstate.Seat{Probing: 3, Pausing: 2, Taking: 2} {
		m := Machine{handover: Handover{Phase: phase, Target: 2, Reason: ToAnyone, patience: 2}}
		m.waitForHandover(threeRules(), new(Output))
		assert.Equal(t, want, m.handover.Target, "%v", phase)
	}
}

// Whoever says what already waits is told when that is done, also after others were taken out of
// the queue.
func TestWhatIsSaidTwiceIsDoneOnceForBoth(t *testing.T) {
	var x transient
	var done []string
	say := func(who string, term memberstate.Term) {
		x.add(&waiting{Input{Kind: Heard, Seat: 2, Term: term}, purpose{then: func() { done = append(done, who) }}})
	}
	say("a", 1)
	say("b", 2)
	say("c", 3)
	x.next(new(pending))
	say("d", 3)
	say("e", 2)
	for x.first < len(x.queue) {
		p := new(pending)
		x.next(p)
		p.then()
	}
	assert.Equal(t, []string{"b", "e", "c", "d"}, done)
}
