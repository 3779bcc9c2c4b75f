// Answers that come late, or bring bad news: they have no effect, and the event is reported.

package protocol

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// desk is a roulette that remembers the ends of leases, and the notes.
type desk struct {
	roulette
	held    []time.Duration
	listens uint64 // the number of that call
	told    []Note
	shown   []View
	done    []string // what the service or a reader can notice, in its order
}

func (d *desk) did(what string) { d.done = append(d.done, what) }

func (d *desk) Hold(_ string, _ memberstate.Term, until time.Duration) {
	d.held = append(d.held, until)
	d.did("hold")
}

func (d *desk) Publish(_ string, v View) {
	d.shown = append(d.shown, v)
	d.did("show " + v.Role.String())
}

func (d *desk) Lead(name string, term memberstate.Term) {
	d.roulette.Lead(name, term)
	d.did("lead")
}

func (d *desk) Tell(n Note)                                  { d.told = append(d.told, n) }
func (d *desk) Withdraw(string, memberstate.Term)            { d.did("withdraw") }
func (d *desk) Vacate(_ string, _ memberstate.Term, _ error) { d.did("vacate") }
func (d *desk) End(string)                                   { d.did("end") }

// called is how many calls of a kind have not been answered.
func (d *desk) called(kind Kind) (n int) {
	for _, c := range d.calls {
		if c.Kind == kind {
			n++
		}
	}
	return n
}

// last is the latest call, which must be of a kind.
func (d *desk) last(t *testing.T, kind Kind) Call {
	t.Helper()
	c := d.calls[len(d.calls)-1]
	require.Equal(t, kind, c.Kind)
	return c
}

// asks lets time pass until a call of a kind is made, and answers all others as if the lease
// were free.
func (d *desk) asks(t *testing.T, k *Keeper, now time.Duration, kind Kind) (at time.Duration, c Call) {
	t.Helper()
	for end := now + time.Minute; now < end; now += time.Millisecond {
		k.Step(now, Tick{}, d)
		for len(d.calls) > 0 {
			if c = pull(&d.roulette, &d.calls); c.Kind == kind {
				return now, c
			}
			k.Step(now, &Answer{Number: c.Number}, d)
		}
	}
	require.FailNow(t, "the call is not made")
	return 0, Call{}
}

func newDesk(t *testing.T) (*desk, *Keeper, Timing) {
	t.Helper()
	timing := DefaultTiming()
	timing.Timeout = time.Hour // so that only the end of the lease counts
	d := &desk{roulette: roulette{random: rand.New(rand.NewPCG(1, 1))}}
	k := NewKeeper(Rules{ID: "a#1", Self: "a", Wakes: true, Timing: timing, Limits: DefaultLimits()})
	k.Step(0, Enter{Name: "g"}, d)
	require.Equal(t, Listen, d.calls[0].Kind)
	d.listens, d.calls = d.calls[0].Number, nil
	return d, k, timing
}

// A lease lasts from when its claim was sent: an answer at its end gives no office, and an answer
// a moment earlier does.
func TestALeaseThatIsWonAtItsEndIsNoOffice(t *testing.T) {
	for before, led := range map[time.Duration]int{0: 0, 1: 1} {
		d, k, timing := newDesk(t)
		asked, claim := d.asks(t, k, 0, Acquire)
		end := asked + timing.validity()
		k.Step(end-before, &Answer{Number: claim.Number, Won: true}, d)
		assert.Len(t, d.led, led)
		assert.Len(t, d.held, led)
	}
}

// An answer to a renewal extends a lease only before its end. At its end the lease is lost, even
// if the timer has not run yet.
func TestALeaseThatIsRenewedAtItsEndIsLost(t *testing.T) {
	for before, extended := range map[time.Duration]bool{0: false, 1: true} {
		d, k, _ := newDesk(t)
		asked, claim := d.asks(t, k, 0, Acquire)
		k.Step(asked, &Answer{Number: claim.Number, Won: true}, d)
		require.Len(t, d.held, 1)
		_, renewal := d.asks(t, k, asked, Renew)
		k.Step(d.held[0]-before, &Answer{Number: renewal.Number, Kept: []string{"g"}}, d)
		if extended {
			assert.Len(t, d.held, 2)
			assert.Greater(t, d.held[1], d.held[0])
			assert.Equal(t, serving, k.sessions[0].phase)
			continue
		}
		assert.Len(t, d.held, 1)
		assert.Equal(t, leaving, k.sessions[0].phase)
		assert.Equal(t, []Note{{Topic: RanOut, Name: "g", Term: 1}}, d.told)
	}
}

// A renewal that fails is repeated within a quarter of a Renew, and not at once, however long a call may take. So a lease is
// not lost for one failure, and a database that is down is not asked all the time.
func TestARenewalThatFailsIsRepeatedWithinAQuarterOfARenew(t *testing.T) {
	for _, timeout := range []time.Duration{time.Millisecond, time.Hour} {
		d, k, timing := newDesk(t)
		k.rules.Timing.Timeout = timeout
		at, claim := d.asks(t, k, 0, Acquire)
		k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
		failed, renewal := d.asks(t, k, at, Renew)
		k.Step(failed, &Answer{Number: renewal.Number, Err: assert.AnError}, d)
		at, _ = d.asks(t, k, failed, Renew)
		assert.LessOrEqual(t, at-failed, timing.Renew/4)
		assert.GreaterOrEqual(t, at-failed, timing.Renew/4*7/8)
	}
}

// Every note has the lease, the term and the reason.
func TestANoteSaysWhatItIsAbout(t *testing.T) {
	for want, happens := range map[Note]func(d *desk, k *Keeper, won time.Duration){
		{Topic: TakenAway, Name: "g", Term: 1}: func(d *desk, k *Keeper, won time.Duration) {
			at, renewal := d.asks(t, k, won, Renew)
			k.Step(at, &Answer{Number: renewal.Number}, d)
		},
		{Topic: RanOut, Name: "g", Term: 1}: func(d *desk, k *Keeper, _ time.Duration) {
			k.Step(d.held[0], Tick{}, d)
		},
		{Topic: ReturnedEarly, Name: "g", Term: 1, Err: assert.AnError}: func(d *desk, k *Keeper, won time.Duration) {
			k.Step(won, Returned{Name: "g", Err: assert.AnError}, d)
		},
		{Topic: Fails, Kind: Renew, Leases: 1, Count: 1, Err: assert.AnError}: func(d *desk, k *Keeper, won time.Duration) {
			at, renewal := d.asks(t, k, won, Renew)
			k.Step(at, &Answer{Number: renewal.Number, Err: assert.AnError}, d)
		},
		{Topic: Fails, Kind: Release, Name: "g", Term: 1, Count: 1, Err: assert.AnError}: func(d *desk, k *Keeper, won time.Duration) {
			k.Step(won, Resign{Name: "g"}, d)
			k.Step(won, Returned{Name: "g"}, d)
			at, release := d.asks(t, k, won, Release)
			k.Step(at, &Answer{Number: release.Number, Err: assert.AnError}, d)
		},
		{Topic: Fails, Kind: Wake, Name: "g", Term: 1, Count: 1, Err: assert.AnError}: func(d *desk, k *Keeper, won time.Duration) {
			k.Step(won, Resign{Name: "g"}, d)
			k.Step(won, Returned{Name: "g"}, d)
			at, wake := d.asks(t, k, won, Wake)
			k.Step(at, &Answer{Number: wake.Number, Err: assert.AnError}, d)
		},
		{Topic: Fails, Kind: Listen, Count: 1, Err: assert.AnError}: func(d *desk, k *Keeper, won time.Duration) {
			k.Step(won, &Answer{Number: d.listens, Err: assert.AnError}, d)
		},
		{Topic: Forgotten, Name: "g", Term: 0, Known: 1}: func(d *desk, k *Keeper, won time.Duration) {
			k.Step(won, Resign{Name: "g"}, d)
			k.Step(won, Returned{Name: "g"}, d)
			at, release := d.asks(t, k, won, Release)
			k.Step(at, &Answer{Number: release.Number}, d)
			at, look := d.asks(t, k, at, Read)
			k.Step(at, &Answer{Number: look.Number}, d)
		},
	} {
		d, k, _ := newDesk(t)
		asked, claim := d.asks(t, k, 0, Acquire)
		k.Step(asked, &Answer{Number: claim.Number, Won: true}, d)
		require.Empty(t, d.told)
		happens(d, k, asked)
		assert.Equal(t, []Note{want}, d.told)
	}
}

// The kind of calls that work again is reported once.
func TestThatCallsWorkAgainIsToldOnce(t *testing.T) {
	d, k, _ := newDesk(t)
	at, look := d.asks(t, k, 0, Read)
	k.Step(at, &Answer{Number: look.Number, Err: assert.AnError}, d)
	for range 2 {
		at, look = d.asks(t, k, at, Read)
		k.Step(at, &Answer{Number: look.Number}, d)
		at, look = d.asks(t, k, at, Acquire)
		k.Step(at, &Answer{Number: look.Number, Err: assert.AnError}, d)
	}
	at, look = d.asks(t, k, at, Acquire)
	k.Step(at, &Answer{Number: look.Number}, d)
	assert.Equal(t, []Note{
		{Topic: Fails, Kind: Read, Leases: 1, Count: 1, Err: assert.AnError},
		{Topic: Works, Kind: Read},
		{Topic: Fails, Kind: Acquire, Name: "g", Count: 1, Err: assert.AnError},
		{Topic: Works, Kind: Acquire},
	}, d.told)
}

// A candidate shows what it is as soon as it takes part, and not only when it has looked.
func TestACandidateShowsItsRoleWhenItEnters(t *testing.T) {
	d, k, _ := newDesk(t)
	assert.Equal(t, []View{{Role: memberstate.Candidate}}, d.shown)
	k.Step(0, Enter{Name: "other", Observer: true}, d)
	assert.Equal(t, View{Role: memberstate.Observer}, d.shown[len(d.shown)-1])
}

// A keeper may have no leases for a while, and have some again before all calls from before are
// answered. Their answers do not count, so one look is under way at a time, and the database is
// listened to once.
func TestAnswersFromBeforeARestDoNotCount(t *testing.T) {
	d, k, timing := newDesk(t)
	at, before := d.asks(t, k, 0, Read)
	k.Step(at, Retire{Name: "g"}, d)
	require.Empty(t, k.sessions)
	k.Step(at, Enter{Name: "g"}, d)
	at, _ = d.asks(t, k, at, Read)
	k.Step(at, &Answer{Number: before.Number}, d)
	k.Step(at, &Answer{Number: d.listens}, d)
	for end := at + timing.Poll; at < end; at += time.Millisecond {
		assert.Zero(t, d.called(Listen), "it listens again after a while")
		k.Step(at, Woken{Name: "g"}, d)
		k.Step(at, Tick{}, d)
	}
	assert.Zero(t, d.called(Read), "the look has not been answered")
	k.Step(at, Tick{}, d)
	assert.Equal(t, 1, d.called(Listen))
}

// A call that waits for its turn may not be wanted any more when its turn comes. Then it is the
// turn of the next one.
func TestATurnThatIsNotWantedIsPassedOn(t *testing.T) {
	d, k, _ := newDesk(t)
	k.rules.Limits.Batch, k.rules.Limits.Calls[Renew] = 1, 1
	at := time.Duration(0)
	for _, name := range []string{"h", "i"} {
		k.Step(at, Enter{Name: name}, d)
	}
	for range 3 {
		var claim Call
		at, claim = d.asks(t, k, at, Acquire)
		k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	}
	require.Len(t, d.held, 3)
	at, first := d.asks(t, k, at, Renew)
	require.Equal(t, "g", first.Held[0].Name)
	k.Step(at, Resign{Name: "h"}, d)
	require.Zero(t, d.called(Renew))
	k.Step(at, &Answer{Number: first.Number, Kept: []string{"g"}}, d)
	require.Equal(t, 1, d.called(Renew))
	for _, c := range d.calls {
		if c.Kind == Renew {
			assert.Equal(t, "i", c.Held[0].Name)
		}
	}
}

// threeReleased is a keeper that may make one Wake at a time, and has released three leases: two at once, and the third
// half a poll later. The Wake of the first one is under way.
func threeReleased(t *testing.T) (d *desk, k *Keeper, at time.Duration, first Call) {
	t.Helper()
	d, k, timing := newDesk(t)
	k.rules.Limits.Calls[Wake] = 1
	for _, name := range []string{"h", "i"} {
		k.Step(at, Enter{Name: name}, d)
	}
	for range 3 {
		var claim Call
		at, claim = d.asks(t, k, at, Acquire)
		k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	}
	for _, name := range []string{"g", "h", "i"} {
		if name == "i" {
			at += timing.Poll / 2
		}
		k.Step(at, Resign{Name: name}, d)
		k.Step(at, Returned{Name: name}, d)
		k.Step(at, &Answer{Number: d.last(t, Release).Number}, d)
		if name == "g" {
			first = d.last(t, Wake)
			require.Equal(t, []string{"g"}, first.Names)
		}
	}
	require.Equal(t, 1, d.called(Wake))
	return d, k, at, first
}

// Of calls that wait for the same place, each waits as long as it may itself: one that is given up takes no other with it.
func TestACallThatIsGivenUpTakesNoOtherWithIt(t *testing.T) {
	d, k, at, first := threeReleased(t)
	at += k.rules.Timing.Poll / 2
	k.Step(at, Tick{}, d)
	assert.Equal(t, []Note{{Topic: Fails, Kind: Wake, Name: "h", Term: 1, Count: 1, Err: errBusy}}, d.told)
	assert.Equal(t, []int{1, 0, 1}, []int{k.sessions[0].pending, k.sessions[1].pending, k.sessions[2].pending})
	k.Step(at, &Answer{Number: first.Number}, d)
	require.Equal(t, 2, d.called(Wake))
	assert.Equal(t, []string{"i"}, d.calls[len(d.calls)-1].Names)
}

// An answer makes room for as many calls as the limit says, in the order in which they wait.
func TestAnAnswerMakesRoomForOneCall(t *testing.T) {
	d, k, at, wake := threeReleased(t)
	for i, next := range []string{"h", "i"} {
		k.Step(at, &Answer{Number: wake.Number}, d)
		require.Equal(t, i+2, d.called(Wake))
		wake = d.calls[len(d.calls)-1]
		assert.Equal(t, []string{next}, wake.Names)
	}
}

// A lease that was taken away is left at once, even while the record of another one is locked. That one is not known to be
// lost, so it is held on.
func TestALockedLeaseHidesNoLossOfAnother(t *testing.T) {
	d, k, _ := newDesk(t)
	k.Step(0, Enter{Name: "h"}, d)
	at := time.Duration(0)
	for range 2 {
		var claim Call
		at, claim = d.asks(t, k, at, Acquire)
		k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	}
	at, renewal := d.asks(t, k, at, Renew)
	require.Len(t, renewal.Held, 2)
	k.Step(at, &Answer{Number: renewal.Number, Err: &LockedError{Names: []string{"h"}}}, d)
	assert.Equal(t, []phase{leaving, serving}, []phase{k.sessions[0].phase, k.sessions[1].phase})
	assert.Contains(t, d.told, Note{Topic: TakenAway, Name: "g", Term: 1})
}

// A call that had to wait for its turn has as long for its answer as any other.
func TestACallThatHasWaitedIsNotGivenUpSooner(t *testing.T) {
	d, k, at, first := threeReleased(t)
	k.Step(at, &Answer{Number: first.Number}, d)
	require.Equal(t, []string{"h"}, d.calls[len(d.calls)-1].Names)
	sent := at
	at += k.rules.Timing.Poll / 2 // no longer would it have waited for its turn
	k.Step(at, Tick{}, d)
	assert.Empty(t, d.told)
	for _, c := range k.calls.underWay {
		if c.Kind == Wake && c.Names[0] == "h" {
			assert.Equal(t, sent+k.rules.Timing.Timeout, c.deadline)
		}
	}
}

// A record that has vanished from the database is as bad as one with a smaller term: people are told.
func TestARecordThatHasVanishedIsTold(t *testing.T) {
	d, k, timing := newDesk(t)
	at, look := d.asks(t, k, 0, Read)
	led := Record{Name: "g", Term: 3, Holder: "b#1", TTL: timing.TTL, Left: timing.TTL}
	k.Step(at, &Answer{Number: look.Number, Records: []Record{led}}, d)
	at, look = d.asks(t, k, at, Read)
	require.Empty(t, d.told)
	k.Step(at, &Answer{Number: look.Number}, d)
	assert.Equal(t, []Note{{Topic: Forgotten, Name: "g", Known: 3}}, d.told)
	assert.Zero(t, d.called(Acquire), "it is left alone")
}
