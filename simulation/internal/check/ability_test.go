package check

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/simulation/invariant"
)

// flapping is a member, and what it shows in turn.
type flapping struct {
	*Checker
	*Member
	now  time.Duration
	view protocol.View
}

func newFlapping(t *testing.T) *flapping {
	t.Helper()
	c, n := facts(t)
	f := &flapping{Checker: c, Member: n[0], now: time.Hour, view: protocol.View{Role: memberstate.Follower, Leader: 2, Term: 1}}
	n[0].Engine.Barred = true // so that an order is a reason
	return f
}

// after has the member show its ability so many detection times later.
func (f *flapping) after(detections float64, says protocol.Inability) *flapping {
	f.now += time.Duration(detections * float64(f.Detection()))
	f.view.Inability = says
	f.Engine.Unwell = says == protocol.NotAbleUnhealthy
	f.showsAbility(f.Member, &f.view, f.now)
	return f
}

// flaps has the member be not able, and able again after a hold.
func (f *flapping) flaps(after, hold float64) *flapping {
	return f.after(after, protocol.NotAbleUnhealthy).after(5, protocol.NotAbleHold).after(hold, protocol.Able)
}

func TestAMemberSaysThatItIsAbleAfterAHoldThatGrows(t *testing.T) {
	for name, show := range map[string]func(*flapping){
		"the first hold": func(f *flapping) { f.flaps(1, 0.99) },
		"the second":     func(f *flapping) { f.flaps(1, 1).flaps(1, 1.99) },
		"the third, in a hold": func(f *flapping) {
			f.flaps(1, 1).after(1, protocol.NotAbleUnhealthy).after(1, protocol.NotAbleHold).flaps(0.5, 3.99)
		},
		"the first after long":  func(f *flapping) { f.flaps(1, 1).flaps(128, 0.99) },
		"not after long enough": func(f *flapping) { f.flaps(1, 1).flaps(126, 1.99) },
		"no hold":               func(f *flapping) { f.after(1, protocol.NotAbleUnhealthy).after(100, protocol.Able) },
		"an order instead of a hold": func(f *flapping) {
			f.flaps(1, 1).after(1, protocol.NotAbleUnhealthy).after(1, protocol.NotAbleOrdered).after(1.99, protocol.Able)
		},
		"a reason that is not there": func(f *flapping) { f.after(1, protocol.NotAbleSilent) },
	} {
		f := newFlapping(t)
		show(f)
		require.NotNil(t, f.Violation, name)
		assert.Equal(t, invariant.NoFlapping, f.Violation.Invariant, name)
	}
	f := newFlapping(t).flaps(1, 1).flaps(1, 2).flaps(100, 4).flaps(125, 1)
	f.after(1, protocol.NotAbleOrdered).after(0, protocol.Able).after(1, protocol.NotAbleUnhealthy).after(1, protocol.NotAbleOrdered).after(2, protocol.Able)
	for _, hold := range []float64{4, 8, 16, 32, 64, 128, 128} {
		f.flaps(0.5, hold)
	}
	assert.Nil(t, f.Violation)
	f = newFlapping(t).flaps(1, 1)
	f.shortest = f.Detection() / 2 // its intervals were shorter when it forgot
	f.flaps(65, 1)
	assert.Nil(t, f.Violation)
}

// leads has the member lead the next term for so many beats, and give it up.
func (f *flapping) leads(beats uint32, why protocol.Departure) *flapping {
	f.view.Term++
	f.view.Role, f.view.Leader = memberstate.Leader, f.Node.Seat
	f.after(1, f.view.Inability)
	b := &f.asking.beats
	b.first, b.number = b.number+1, b.number+beats
	f.handing.asked = max(f.handing.asked, *f.Checker.now) // others take over now
	f.view.Role, f.view.Leader, f.view.Last, f.view.Departure = memberstate.Candidate, memberstate.Nobody, f.Node.Seat, why
	return f.after(1, f.view.Inability)
}

func TestAMemberGivesUpOfficesEverMoreRarely(t *testing.T) {
	const notAble = protocol.DepartedNotAble
	leak := uint32(protocol.DefaultTiming().Leak)
	for name, lead := range map[string]func(*flapping){
		"the second office": func(f *flapping) { f.leads(1, notAble).leads(2*leak-2, notAble) },
		"the third":         func(f *flapping) { f.leads(1, notAble).leads(2*leak, notAble).leads(4*leak-2, notAble) },
		"it works":          func(f *flapping) { f.after(1, protocol.NotAbleHold).leads(1, notAble) },
		"it is able":        func(f *flapping) { f.after(1, protocol.NotAbleHold).after(9, protocol.Able).leads(1, notAble) },
		"too many": func(f *flapping) {
			f.ability.inAll = mostAtOnce
			f.leads(1, notAble)
		},
	} {
		f := newFlapping(t).after(1, protocol.NotAbleUnhealthy)
		lead(f)
		require.NotNil(t, f.Violation, name)
		assert.Equal(t, invariant.NoFlapping, f.Violation.Invariant, name)
	}
	f := newFlapping(t).after(1, protocol.NotAbleUnhealthy)
	f.leads(1, notAble).leads(2*leak, notAble).leads(1, protocol.DepartedSilent).leads(4*leak, notAble)
	f.after(1, protocol.NotAbleHold).after(1, protocol.Able).after(1, protocol.NotAbleUnhealthy).leads(1, notAble)
	f.handing.orderedIn = f.view.Term + 1
	f.leads(1, notAble)
	f.ability.ableAt = *f.Checker.now + 1 // it was able again after others were told to take over
	f.leads(1, notAble)
	assert.Nil(t, f.Violation)
	assert.Equal(t, 4, f.ability.inAll, "neither counts: an order, and a handover of an earlier spell")
}
