// What is shown and told of a candidate that is not able to lead, and of a leader that leads no more.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	voting "github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
)

// A lease that has expired is left before anything is shown, although the keeper has not ticked.
func TestNoLeaderIsShownWithoutALease(t *testing.T) {
	for _, in := range []Input{Electable{Name: "g"}, Health{Name: "g", Err: assert.AnError}} {
		a := attend(0, nil)
		a.after(time.Minute)
		require.True(t, a.leads())
		a.k.sessions[0].pending++ // for an answer
		a.now, a.shown = a.k.sessions[0].office.until, nil
		a.step(in)
		for _, v := range a.shown {
			assert.NotEqual(t, memberstate.Leader, v.Role)
		}
		assert.Equal(t, voting.DepartedLeaseLapsed, a.view().Departure)
	}
}

// A failure is reported with its cause, once until the candidate is able again.
func TestAFailureIsToldOnce(t *testing.T) {
	a := following()
	a.vouches = true
	for range 3 {
		a.k.sessions[0].pending++ // for the answer
		a.step(Health{Name: "g", Err: assert.AnError})
		a.k.sessions[0].pending++
		a.step(Health{Name: "g"})
	}
	assert.Equal(t, []Note{{Topic: NotAble, Name: "g", Term: 1, Why: voting.NotAbleUnhealthy, Err: assert.AnError}}, a.told)
	a.after(time.Hour)
	a.vouches = false
	a.after(vouch + 1)
	assert.Equal(t, Note{Topic: NotAble, Name: "g", Term: 1, Why: voting.NotAbleSilent}, a.told[1])
}

// A candidate says why it takes a leader for gone.
func TestADepartureSaysWhy(t *testing.T) {
	led := func(a *attended) {
		a.freed()
		a.after(10 * timing.Poll)
	}
	for name, c := range map[string]struct {
		want    Departure
		last    string
		happens func(a *attended)
	}{
		"its lease has expired": {voting.DepartedSilent, "b#1", func(a *attended) {
			a.record.Heir, a.until = "c", a.now // an heir, so that nobody takes it at once
		}},
		"it has released the lease": {voting.DepartedHandedOver, "b#1", func(a *attended) {
			a.record.Heir = "c"
			a.freed()
		}},
		"another leads": {voting.DepartedOutvoted, "b#1", func(a *attended) { a.taken() }},
		"another has led, and released it": {voting.DepartedOutvoted, "b#1", func(a *attended) {
			a.taken()
			a.record.Heir = "c"
			a.freed()
		}},
		"it was forced":     {voting.DepartedOutvoted, "b#1", func(a *attended) { a.record.Term, a.record.Holder, a.record.Heir = 2, "", "c" }},
		"it leads a second": {voting.DepartedOutvoted, "b#1", func(a *attended) { a.record.Term++ }},
		"it has resigned": {voting.DepartedResigned, "a#1", func(a *attended) {
			led(a)
			a.step(Resign{Name: "g"})
		}},
		"its own lease has run out": {voting.DepartedLeaseLapsed, "a#1", func(a *attended) {
			led(a)
			a.now += timing.TTL
			a.step(Tick{})
		}},
		"its own lease was taken away": {voting.DepartedOutvoted, "a#1", func(a *attended) {
			led(a)
			at, renewal := a.asks(t, a.k, a.now, Renew)
			a.now = at
			a.step(&Answer{Number: renewal.Number})
		}},
	} {
		a := attend(0, nil)
		a.taken()
		a.after(time.Minute)
		require.Equal(t, "b#1", a.view().Leader)
		require.Empty(t, a.view().Last)
		c.happens(a)
		a.after(timing.Poll)
		assert.Equal(t, c.want, a.view().Departure, name)
		assert.Equal(t, c.last, a.view().Last, name)
	}
}
