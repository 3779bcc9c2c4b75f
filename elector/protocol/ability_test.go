// When a node takes a member for not able, and for how long.

package protocol

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// watched is a node with one group, whose engine vouches for it or does not.
type watched struct {
	counting
	node    *Node
	group   Group
	vouches bool
	asks    bool // whether the engine has a Healthy
	asked   int
	shown   []Inability

	judges bool          // whether the node has a function that judges all engines
	judged int           // how often it was called
	within time.Duration // and how soon its answer was expected
}

// newWatched is a group of three voters that has started.
func newWatched(t *testing.T, vouch time.Duration) *watched {
	t.Helper()
	members, err := memberstate.NewMembers(memberstate.Voters("n0", "n1", "n2"))
	require.NoError(t, err)
	w := &watched{vouches: true}
	w.node = NewNode("n0", w)
	w.group = NewGroup(&Electorate{Members: members, Rules: Rules{
		Self: 1, Voters: members.Voters(), All: members.All(), Timing: DefaultTiming(), PreVote: true, Ranks: true, Vouch: vouch,
	}}, "g", w)
	require.NoError(t, w.group.Restore(memberstate.Record{}, false, memberstate.Position{}))
	w.node.At(time.Second)
	w.node.Start(&w.group)
	return w
}

func (w *watched) Vouched() bool { return w.vouches }

func (w *watched) Obey(*Rules) {}

func (w *watched) AskHealth() bool {
	if w.asks {
		w.asked++
	}
	return w.asks
}

func (w *watched) AskStalled(within time.Duration) bool {
	w.judged++
	w.within = within
	return w.judges
}

func (w *watched) Show(v View) { w.shown = append(w.shown, v.Inability) }

// after looks at the group for some time, once a heartbeat and at the end.
func (w *watched) after(d time.Duration) Inability {
	until, beat := w.node.now+d, w.group.Rules.Timing.Heartbeat
	for w.node.now+beat < until {
		w.node.At(w.node.now + beat)
		w.node.lookAtAbility(&w.group)
	}
	w.node.At(until)
	w.node.lookAtAbility(&w.group)
	return w.group.Inability()
}

func TestAnEngineThatDoesNotVouchIsNotAble(t *testing.T) {
	const vouch = time.Second
	w := newWatched(t, vouch)
	w.vouches = false
	assert.Equal(t, Able, w.after(vouch), "it has that long to say its first word")
	assert.Equal(t, NotAbleSilent, w.after(1))
	assert.Equal(t, NotAbleSilent, w.shown[len(w.shown)-1])
	w.vouches = true
	assert.Equal(t, NotAbleHold, w.after(1))
	assert.Equal(t, Able, w.after(w.group.Rules.Timing.Detection()))
	w.vouches = false
	assert.Equal(t, Able, w.after(vouch), "its last word counts for that long")
	assert.Equal(t, NotAbleSilent, w.after(1))
}

// A driver's time may begin at zero.
func TestAnEngineHasToVouchFromTheFirstMomentOn(t *testing.T) {
	const vouch = time.Second
	w := newWatched(t, vouch)
	w.vouches, w.node.now, *w.group.ability() = false, 0, ability{}
	assert.Equal(t, Able, w.after(0))
	assert.Equal(t, Able, w.after(vouch))
	assert.Equal(t, NotAbleSilent, w.after(1))
}

// If the process has not run for a while, the engine could not vouch either.
func TestAProcessThatWasStoppedWaitsForAWord(t *testing.T) {
	const vouch = time.Second
	w := newWatched(t, vouch)
	w.vouches = false
	w.node.At(w.node.now + time.Hour)
	assert.Equal(t, Able, w.after(0))
	assert.Equal(t, Able, w.after(vouch/2))
	assert.Equal(t, NotAbleSilent, w.after(1))
}

// A node looks at an engine when a message arrives or an alarm rings, which may be rarely.
func TestASilentEngineIsFoundHoweverRarelyTheNodeLooks(t *testing.T) {
	const vouch = time.Second
	for _, every := range []time.Duration{vouch / 4, vouch/2 + 1, vouch - 1, vouch + 1, 10 * vouch} {
		for _, asked := range []bool{false, true} {
			w := newWatched(t, vouch)
			look := func() Inability {
				w.node.At(w.node.now + every)
				w.node.lookAtAbility(&w.group)
				return w.group.Inability()
			}
			w.asks = asked
			look()
			if w.vouches = false; asked {
				w.node.Health(&w.group, nil)
			}
			assert.Equal(t, Able, look(), "it may be the process that has not run")
			for range vouch/every + 1 {
				look()
			}
			for range 4 {
				assert.Equal(t, NotAbleSilent, look(), "every %v, asked: %v", every, asked)
			}
		}
	}
}

// A process may be stopped more than once. Each time its engine has given its word before.
func TestEachStopOfAProcessIsForgiven(t *testing.T) {
	for _, asked := range []bool{false, true} {
		w := newWatched(t, time.Second)
		w.asks, w.vouches = asked, !asked
		for range 3 {
			w.after(0)
			if asked {
				w.node.Health(&w.group, nil)
			}
			w.node.At(w.node.now + time.Hour)
			w.vouches = false
			assert.Equal(t, Able, w.after(0), "asked: %v", asked)
			w.vouches = !asked
		}
	}
}

func TestAnEngineThatNeedNotVouchIsAble(t *testing.T) {
	w := newWatched(t, 0)
	w.vouches = false
	assert.Equal(t, Able, w.after(time.Hour))
	assert.Nil(t, w.group.ability(), "and costs no memory")
}

func TestAnEngineIsAskedOnceAHeartbeat(t *testing.T) {
	w := newWatched(t, time.Second)
	w.vouches, w.asks = false, true
	beat := w.group.Rules.Timing.Heartbeat
	w.after(0)
	assert.Equal(t, 1, w.asked)
	w.after(10*beat + 1)
	assert.Equal(t, 1, w.asked, "it has not answered yet")
	assert.Equal(t, NotAbleSilent, w.group.Inability())
	w.node.Health(&w.group, nil)
	assert.Equal(t, NotAbleSilent, w.group.Inability(), "an answer counts from when it was asked for")
	assert.Equal(t, 2, w.asked)
	w.node.Health(&w.group, nil)
	assert.Equal(t, NotAbleHold, w.group.Inability())
	w.after(beat*3/4 - 1)
	assert.Equal(t, 2, w.asked)
	w.after(1)
	assert.Equal(t, 3, w.asked, "a heartbeat may have travelled faster than the one before")
	w.node.Health(&w.group, errors.New("the disk is full"))
	assert.Equal(t, NotAbleUnhealthy, w.group.Inability())
	assert.Zero(t, w.group.working, "nothing of the engine runs")
}

// Then nothing must be asked of it any more.
func TestAnEngineThatIsNotWellMayHangBesides(t *testing.T) {
	const vouch = time.Second
	w := newWatched(t, vouch)
	w.asks = true
	w.after(0)
	w.vouches = false
	w.node.Health(&w.group, errors.New("the disk is full"))
	assert.Equal(t, NotAbleUnhealthy, w.after(vouch))
	assert.Equal(t, NotAbleSilent, w.after(1))
}

func TestAGroupIsNotOverBeforeItsEngineHasAnswered(t *testing.T) {
	w := newWatched(t, time.Second)
	w.asks = true
	w.after(0)
	assert.EqualValues(t, 1, w.group.working)
}

func TestASlowDiskMakesItsNodeUnable(t *testing.T) {
	w := newWatched(t, 0)
	detection := w.group.Rules.Timing.Detection()
	w.node.saves.saving, w.node.saves.began = []*Group{{}}, w.node.now // of any group
	assert.Equal(t, Able, w.after(detection))
	assert.Equal(t, NotAbleDisk, w.after(1))
	w.node.saves.saving = nil
	assert.Equal(t, NotAbleHold, w.after(1))
	assert.Equal(t, Able, w.after(detection))
}

func TestAFunctionThatDoesNotReturnMakesItsGroupUnable(t *testing.T) {
	for why, run := range map[Inability]func(*ability, time.Duration){
		NotAblePause: func(a *ability, since time.Duration) { a.pausing = since },
		NotAbleLead:  func(a *ability, since time.Duration) { a.ending = since },
	} {
		w := newWatched(t, 0)
		run(w.node.abilityOf(&w.group), w.node.now)
		assert.Equal(t, Able, w.after(w.group.Rules.Timing.Detection()))
		assert.Equal(t, why, w.after(1))
		run(w.node.abilityOf(&w.group), 0)
		assert.Equal(t, NotAbleHold, w.after(1))
	}
}

func TestOnlyTheFunctionsThatRunAreRemembered(t *testing.T) {
	w := newWatched(t, 0)
	fx := &effects{node: w.node, group: &w.group}
	w.group.working = 4
	w.group.duty().pause = pause{number: 2, running: 2}
	fx.Pause(1, 2)
	assert.Equal(t, w.node.now, w.group.ability().pausing)
	w.node.PauseEnded(&w.group, 1, nil)
	assert.Equal(t, w.node.now, w.group.ability().pausing, "it was an earlier one, which had been given up")
	w.node.PauseEnded(&w.group, 2, nil)
	assert.Nil(t, w.group.ability())
	fx.EndLead(1)
	assert.Equal(t, w.node.now, w.group.ability().ending)
	w.group.duty().pause = pause{number: 3, running: 1}
	fx.Pause(1, 3)
	w.node.LeadReturned(&w.group, 1, false, nil)
	assert.Equal(t, &ability{pausing: w.node.now}, w.group.ability())
	w.node.PauseEnded(&w.group, 3, nil)
	assert.Nil(t, w.group.ability())
}

// A member whose ability comes and goes must be able for longer each time, until it has been able for
// long.
func TestTheHoldGrows(t *testing.T) {
	w := newWatched(t, 0)
	detection := w.group.Rules.Timing.Detection()
	fail := func() {
		a := w.node.abilityOf(&w.group) // it is forgotten in the end
		a.ending = w.node.now - detection - 1
		for range 2 { // it does not matter how often the node looks
			assert.Equal(t, NotAbleLead, w.after(0))
		}
		a.ending = 0
	}
	hold := func() (held time.Duration) {
		assert.Equal(t, NotAbleHold, w.after(0))
		for began := w.node.now; w.after(detection/2) != Able; held = w.node.now - began {
			require.Less(t, held, 1000*detection)
		}
		return held + detection/2
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 128} {
		fail()
		assert.Equal(t, want*detection, hold())
	}
	fail()
	w.after(detection)
	fail()
	assert.Equal(t, 128*detection, hold(), "what fails while it is held begins anew")
	w.after(maxHold * detection)
	assert.Nil(t, w.group.ability(), "nothing need be remembered")
	fail()
	assert.Equal(t, detection, hold(), "it had been able for long")
}

func TestAnOrderNotToLeadNeedsNoHold(t *testing.T) {
	w := newWatched(t, 0)
	w.node.abilityOf(&w.group).ordered = true
	assert.Equal(t, NotAbleOrdered, w.after(0))
	w.group.ability().ordered = false
	assert.Equal(t, Able, w.after(0))
	assert.Zero(t, w.group.ability().hold)
}

// A group about which something has to be remembered beats for itself.
func TestAnOrderNotToLeadIsForgottenWhenItIsOver(t *testing.T) {
	w := newWatched(t, 0)
	w.node.Electable(&w.group, false)
	assert.Equal(t, NotAbleOrdered, w.group.Inability())
	w.node.Electable(&w.group, true)
	assert.Equal(t, Able, w.group.Inability())
	assert.Nil(t, w.group.ability())
}

// Otherwise nobody would remember the order before the member is well, and does not lead all the same.
func TestWhatAnOperatorWantsIsReportedWhateverElseIsWrong(t *testing.T) {
	w, _ := newJudged(t)
	changed(&w.group).Preferred = memberstate.SetOf(1)
	w.node.Electable(&w.group, false)
	w.hears(&w.group, 1)
	w.names(&w.group)
	assert.Equal(t, NotAbleUnhealthy, w.group.Inability())
	is := w.node.figures(&w.group)
	assert.True(t, is.LastChoice)
	assert.True(t, is.Preferred, "since it has joined")
}

// A group whose step waits is looked at later. What is over by then is forgotten all the same.
func TestWhatIsOverWhileAStepWaitsIsForgotten(t *testing.T) {
	ordered := func(w *watched, is bool) { w.node.Electable(&w.group, !is) }
	named := func(w *watched, is bool) {
		w.hears(&w.group, w.group.Rules.Timing.Heartbeat)
		if is {
			w.names(&w.group)
		} else {
			w.names()
		}
	}
	for what, says := range map[string]func(w *watched, is bool){"an order not to lead": ordered, "the judge's word": named} {
		for _, known := range []bool{true, false} {
			w, _ := newJudged(t)
			wait := func() { w.node.transientOf(&w.group).busy, w.group.transient().waits = new(pending), w.node.now }
			if known {
				says(w, true)
				require.NotEqual(t, Able, w.group.Inability(), what)
				wait()
			} else {
				wait()
				says(w, true)
			}
			says(w, false)
			w.group.transient().busy = nil
			w.after(2 * maxHold * w.group.Rules.Timing.Detection())
			assert.Equal(t, Able, w.group.Inability(), what)
			assert.Nil(t, w.group.ability(), "%s, known before the step: %t", what, known)
		}
	}
}

func TestAHoldGoesOnWhileThereIsAnOrder(t *testing.T) {
	w := newWatched(t, 0)
	detection := w.group.Rules.Timing.Detection()
	a := w.node.abilityOf(&w.group)
	a.ending, a.ordered = w.node.now-detection-1, true
	assert.Equal(t, NotAbleLead, w.after(0), "what hangs is said rather than the order")
	a.ending = 0
	assert.Equal(t, NotAbleOrdered, w.after(0))
	a.ordered = false
	assert.Equal(t, NotAbleHold, w.after(0))
	a.ordered = true
	assert.Equal(t, NotAbleOrdered, w.after(detection-1))
	a.ordered = false
	assert.Equal(t, NotAbleHold, w.after(0))
	assert.Equal(t, Able, w.after(1))
	a.ordered = true
	assert.Equal(t, NotAbleOrdered, w.after(0))
	a.ordered = false
	assert.Equal(t, Able, w.after(0), "it was over before the order")
	assert.Equal(t, detection, a.hold)
}

// Whatever comes and goes meanwhile.
func TestHowLongAMemberHasNotBeenAble(t *testing.T) {
	w := newWatched(t, 0)
	detection := w.group.Rules.Timing.Detection()
	began := w.node.now
	w.node.Electable(&w.group, false)
	for _, ending := range []time.Duration{began, 0} {
		w.group.ability().ending = ending
		w.after(2 * detection)
		assert.Equal(t, w.node.now-began, w.node.figures(&w.group).Unable)
	}
	w.group.ability().ending = w.node.now
	assert.Equal(t, NotAbleLead, w.after(2*detection))
	w.group.ability().ending = 0
	w.node.Electable(&w.group, true)
	assert.Equal(t, NotAbleHold, w.after(detection))
	assert.Equal(t, w.node.now-began, w.node.figures(&w.group).Unable)
	assert.Equal(t, Able, w.after(2*detection))
	assert.Zero(t, w.node.figures(&w.group).Unable)
}

// A process that was stopped for a while must not take what has returned meanwhile for hanging.
func TestAbilityIsLookedAtWhenATurnEnds(t *testing.T) {
	w := newWatched(t, 0)
	w.group.working, w.node.abilityOf(&w.group).ending = 1, w.node.now
	w.node.At(w.node.now + time.Hour)
	w.node.toLookAt(&w.group)
	w.node.toLookAt(&w.group)
	assert.Len(t, w.node.looks, 1)
	assert.Equal(t, Able, w.group.Inability())
	w.node.abilityOf(&w.group).well = 1 // so that there is something to remember
	w.node.LeadReturned(&w.group, 1, false, nil)
	w.node.EndTurn()
	assert.Equal(t, Able, w.group.Inability())
	assert.Empty(t, w.node.looks)

	w = newWatched(t, 0)
	w.node.abilityOf(&w.group).ending = w.node.now
	w.node.At(w.node.now + w.group.Rules.Timing.Detection() + 1)
	w.node.toLookAt(&w.group)
	w.node.EndTurn()
	assert.Equal(t, NotAbleLead, w.group.Inability())
}

// The intervals may have become shorter since it began.
func TestAHoldIsNotForgottenWhileItGoesOn(t *testing.T) {
	w := newWatched(t, 0)
	detection := w.group.Rules.Timing.Detection()
	a := w.node.abilityOf(&w.group)
	a.ending = w.node.now - detection - 1
	assert.Equal(t, NotAbleLead, w.after(0))
	a.ending, a.hold = 0, 2*maxHold*detection
	assert.Equal(t, NotAbleHold, w.after(0))
	assert.Equal(t, NotAbleHold, w.after(2*maxHold*detection-1))
	assert.Equal(t, Able, w.after(1))
}
