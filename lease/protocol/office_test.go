// The way into office and out of it: in which order, and that one office has nothing to do with another.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// Lead may ask for its lease and its status at once, so both are there before it is called. Its end is shown before its
// context ends, so that nobody who hears of that finds a leader.
func TestAnOfficeBeginsAndEndsInOrder(t *testing.T) {
	d, k, _ := newDesk(t)
	at, claim := d.asks(t, k, 0, Acquire)
	for _, step := range []struct {
		in   func() Input
		want []string
	}{
		{func() Input { return &Answer{Number: claim.Number, Won: true} }, []string{"hold", "show leader", "lead"}},
		{func() Input { return Resign{Name: "g"} }, []string{"show candidate", "withdraw"}},
		{func() Input { return Returned{Name: "g"} }, nil},
		{func() Input { return &Answer{Number: d.last(t, Release).Number} }, []string{"vacate"}},
		{func() Input { return Retire{Name: "g"} }, []string{"show candidate"}},
		{func() Input { return Retire{Name: "g"} }, nil},
		{func() Input { return &Answer{Number: d.last(t, Wake).Number} }, []string{"end"}},
	} {
		d.done = nil
		k.Step(at, step.in(), d)
		assert.Equal(t, step.want, d.done)
	}
	assert.True(t, d.shown[len(d.shown)-1].Stopped)
}

// leadsAgain is a leader that has led before. The renewal of its first office has not been answered, nor that of the
// second, if it has been sent.
func leadsAgain(t *testing.T) (a *attended, first Call) {
	t.Helper()
	a = attend(0, func(r *Rules) { r.Timing.Timeout = time.Hour })
	a.after(time.Minute)
	require.True(t, a.leads())
	a.now, first = a.asks(t, a.k, a.now, Renew)
	a.step(Resign{Name: "g"})
	for end := a.now + time.Minute; !a.leads(); a.after(time.Millisecond) {
		require.Less(t, a.now, end)
	}
	return a, first
}

// An office begins without anything of the last one, whose renewal may still be under way. Otherwise its lease would never
// be renewed.
func TestAnOfficeInheritsNothing(t *testing.T) {
	a, _ := leadsAgain(t)
	s := a.k.sessions[0]
	assert.Equal(t, office{until: s.asked + timing.validity()}, s.office)
	_, renewal := a.asks(t, a.k, a.now, Renew)
	assert.Equal(t, []Held{{"g", 2}}, renewal.Held)
}

// A renewal may be answered when the lease is already held in a later term. Whatever it says is about the term that is
// over: it must neither end the new office, nor extend its lease, nor take its renewal for answered.
func TestALateAnswerSaysNothingOfTheNextOffice(t *testing.T) {
	for name, late := range map[string]*Answer{"lost": {}, "kept": {Kept: []string{"g"}}, "failed": {Err: assert.AnError}} {
		a, first := leadsAgain(t)
		a.now, _ = a.asks(t, a.k, a.now, Renew)
		before := a.k.sessions[0].office
		late.Number = first.Number
		a.step(late)
		assert.True(t, a.leads(), name)
		assert.Equal(t, before, a.k.sessions[0].office, name)
	}
}

// A lease that was given up while its renewal was under way is not used any more, although it was renewed.
func TestAnAnswerExtendsNoLeaseThatWasGivenUp(t *testing.T) {
	a := attend(0, nil)
	a.after(time.Minute)
	require.True(t, a.leads())
	at, renewal := a.asks(t, a.k, a.now, Renew)
	a.now, a.hangs = at+1, true
	a.step(Resign{Name: "g"})
	a.done = nil
	a.step(&Answer{Number: renewal.Number, Kept: []string{"g"}})
	assert.Empty(t, a.done)
}

// A lease that was won without an answer, and is left to others, has no leader: its holder does not lead.
func TestAHolderThatDoesNotLeadIsNotShownAsTheLeader(t *testing.T) {
	a := attend(0, nil)
	a.deaf = true
	a.firstLook(t)
	a.deaf = false
	a.step(Electable{Name: "g"})
	a.after(2 * timing.Poll)
	require.Equal(t, "a#1", a.record.Holder)
	assert.Empty(t, a.view().Leader)
	assert.Equal(t, memberstate.Candidate, a.view().Role)
}

// A look that was under way when a candidate retired is no longer about that candidate: after its end nothing may happen
// for it, because its name may be in use again.
func TestALookSaysNothingOfACandidateThatHasEnded(t *testing.T) {
	d, k, timing := newDesk(t)
	k.Step(0, Enter{Name: "other"}, d)
	led := Record{Name: "g", Term: 5, Holder: "b#1", TTL: timing.TTL, Left: time.Hour}
	at, look := d.asks(t, k, 0, Read)
	k.Step(at, &Answer{Number: look.Number, Records: []Record{led}}, d)
	at, look = d.asks(t, k, at+timing.Poll/2, Read)
	require.Contains(t, look.Names, "g")
	k.Step(at, Retire{Name: "g"}, d)
	require.Equal(t, "end", d.done[len(d.done)-1])
	d.done, d.told = nil, nil
	older := Record{Name: "g", Term: 3, Released: true}
	other := Record{Name: "other", Term: 5, Holder: "b#1", TTL: timing.TTL, Left: time.Hour}
	k.Step(at, &Answer{Number: look.Number, Records: []Record{older, other}}, d)
	assert.Equal(t, []string{"show follower"}, d.done, "of the other one")
	assert.Empty(t, d.told)
}

// A renewal that has waited for its turn may be about an office that is over. It is not sent then, although its lease is held
// again: the lease would seem to last from that moment.
func TestARenewalOfAnOldOfficeIsNotSent(t *testing.T) {
	d, k, timing := newDesk(t)
	k.rules.Limits.Batch, k.rules.Limits.Calls[Renew] = 1, 1
	k.Step(0, Enter{Name: "h"}, d)
	at, claim := time.Duration(0), Call{}
	for range 2 {
		at, claim = d.asks(t, k, at, Acquire)
		k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	}
	at, first := d.asks(t, k, at, Renew)
	require.Equal(t, "g", first.Held[0].Name)
	k.Step(at, Resign{Name: "h"}, d)
	k.Step(at, Returned{Name: "h"}, d)
	k.Step(at, &Answer{Number: d.last(t, Release).Number}, d)
	k.Step(at, &Answer{Number: d.last(t, Wake).Number}, d)
	d.calls = nil
	for end := at + 5*timing.Poll; at < end && d.called(Acquire) == 0; at += time.Millisecond {
		k.Step(at, Tick{}, d)
		if d.called(Read) > 0 {
			look := d.last(t, Read)
			d.calls = nil
			k.Step(at, &Answer{Number: look.Number, Records: []Record{{Name: "h", Term: 1, Released: true}}}, d)
		}
	}
	k.Step(at, &Answer{Number: d.last(t, Acquire).Number, Won: true}, d)
	require.Equal(t, Held{"h", 2}, k.sessions[1].held())
	asked := k.sessions[1].asked
	k.Step(at, &Answer{Number: first.Number, Kept: []string{"g"}}, d)
	assert.Zero(t, d.called(Renew))
	assert.Equal(t, asked, k.sessions[1].asked)
}
