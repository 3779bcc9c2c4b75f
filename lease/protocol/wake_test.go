package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/memberstate"
)

// roulette carries out no effects, and remembers the calls that it can answer.
type roulette struct {
	random *rand.Rand
	calls  []Call
	led    []string

	vouches bool // the service calls Alive all the time
	healthy bool // it has a Healthy
	asked   int  // how many of its calls have not returned
}

func (r *roulette) Call(c *Call)                         { r.calls = append(r.calls, *c) }
func (r *roulette) Lead(name string, _ memberstate.Term) { r.led = append(r.led, name) }
func (r *roulette) Draw(least, most time.Duration) time.Duration {
	return least + time.Duration(r.random.Int64N(int64(1+most-least)))
}

func (r *roulette) Vouched(string) bool           { return r.vouches }
func (r *roulette) AskStalled(time.Duration) bool { return false }

func (r *roulette) AskHealth(string) bool {
	if r.healthy {
		r.asked++
	}
	return r.healthy
}

func (r *roulette) Hold(string, memberstate.Term, time.Duration) {}
func (r *roulette) Withdraw(string, memberstate.Term)            {}
func (r *roulette) Publish(string, View)                         {}
func (r *roulette) Vacate(string, memberstate.Term, error)       {}
func (r *roulette) Tell(Note)                                    {}
func (r *roulette) End(string)                                   {}

// pull removes a random element.
func pull[T any](r *roulette, from *[]T) (one T) {
	i := r.random.IntN(len(*from))
	one = (*from)[i]
	*from = append((*from)[:i], (*from)[i+1:]...)
	return one
}

// input draws an event that can happen next.
func (r *roulette) input() Input {
	name := fmt.Sprint(r.random.IntN(5))
	switch n := r.random.IntN(12); {
	case n == 0:
		return Enter{Name: name}
	case n == 1:
		return Woken{Name: name}
	case n == 2:
		return Resign{Name: name}
	case n == 3 && r.random.IntN(4) == 0:
		return Retire{Name: name}
	case n == 4 && len(r.led) > 0:
		return Returned{Name: pull(r, &r.led)}
	case n > 4 && len(r.calls) > 0:
		return r.answer(pull(r, &r.calls))
	}
	return Tick{}
}

func (r *roulette) answer(c Call) (a *Answer) {
	a = &Answer{Number: c.Number, Won: true}
	if r.random.IntN(3) == 0 {
		a.Err = errors.New("it is down")
	}
	for _, h := range c.Held {
		if r.random.IntN(8) > 0 {
			a.Kept = append(a.Kept, h.Name)
		}
	}
	return a
}

// After any event, the next tick is no later than the next thing that is due, and after a tick
// it is not at once again.
func TestAKeeperIsWokenForAllThatIsDue(t *testing.T) {
	for seed := range uint64(200) {
		r := &roulette{random: rand.New(rand.NewPCG(seed, 1))}
		rules := Rules{ID: "a#1", Self: "a", Wakes: true, Timing: DefaultTiming(), Limits: DefaultLimits()}
		// Each of these may be the shortest, because otherwise it would never decide the next tick.
		for _, interval := range []*time.Duration{&rules.Timing.TTL, &rules.Timing.Poll, &rules.Timing.Renew, &rules.Timing.Timeout} {
			*interval = time.Duration(100+r.random.IntN(2000)) * time.Millisecond
		}
		rules.Limits.Batch = 2
		for kind := range rules.Limits.Calls {
			rules.Limits.Calls[kind] = 1 + r.random.IntN(2)
		}
		k, now := NewKeeper(rules), time.Duration(0)
		for range 500 {
			in := r.input()
			next := k.Step(now, in, r)
			if len(k.sessions) > 0 {
				require.LessOrEqual(t, next, k.earliest(), "after %T", in)
			}
			if _, tick := in.(Tick); tick {
				require.Greater(t, next, now)
			}
			now += time.Duration(r.random.Int64N(int64(200 * time.Millisecond)))
		}
	}
}

// A lease that was seen expired has ended, even if the keeper took it to be renewed in time.
func TestALapsedLeaseIsLeft(t *testing.T) {
	r := &roulette{random: rand.New(rand.NewPCG(1, 1))}
	k := NewKeeper(Rules{ID: "a#1", Self: "a", Timing: DefaultTiming(), Limits: DefaultLimits()})
	k.Step(0, Enter{Name: "g"}, r)
	for now := time.Duration(0); len(r.led) == 0; now += time.Millisecond {
		k.Step(now, Tick{}, r)
		for len(r.calls) > 0 {
			k.Step(now, &Answer{Number: pull(r, &r.calls).Number, Won: true}, r)
		}
	}
	k.Step(time.Second, Lapse{Name: "g", Term: 7}, r)
	assert.Equal(t, serving, k.sessions[0].phase, "that was another term")
	k.Step(time.Second, Lapse{Name: "g", Term: 1}, r)
	assert.Equal(t, leaving, k.sessions[0].phase)
	assert.Equal(t, memberstate.Candidate, k.sessions[0].view.Role)
}

// A lease that is released during a look may have been read before, so another look follows soon.
func TestALeaseThatIsWokenDuringALookIsReadAgainSoon(t *testing.T) {
	d, k, timing := newDesk(t)
	at, look := d.asks(t, k, 0, Read)
	k.Step(at, Woken{Name: "g"}, d)
	led := Record{Name: "g", Term: 1, Holder: "b#1", TTL: timing.TTL, Left: timing.TTL}
	k.Step(at, &Answer{Number: look.Number, Records: []Record{led}}, d)
	again, _ := d.asks(t, k, at, Read)
	assert.Less(t, again-at, timing.Poll/4, "that was the next poll")
}

// Whoever begins to take part looks at once, although its keeper is at work already, and looks again when it is woken. So
// does an observer: clients may depend on what it shows.
func TestOneThatEntersOrIsWokenLooksAtOnce(t *testing.T) {
	for _, observer := range []bool{false, true} {
		d, k, timing := newDesk(t)
		at, look := d.asks(t, k, 0, Read)
		for _, in := range []Input{Enter{Name: "h", Observer: observer}, Woken{Name: "h"}} {
			k.Step(at, &Answer{Number: look.Number, Records: []Record{
				{Name: "g", Term: 1, Holder: "b#1", TTL: timing.TTL, Left: time.Hour}, {Name: "h", Term: 1, Holder: "b#1", TTL: timing.TTL, Left: time.Hour},
			}}, d)
			at += timing.looksApart()
			k.Step(at, in, d)
			began := at
			at, look = d.asks(t, k, at, Read)
			assert.LessOrEqual(t, at-began, atOnce)
			assert.Equal(t, []string{"h"}, look.Names)
		}
	}
}

// A lease that is woken does not put off the look at those that were woken before, or a stream of wake-ups would put it
// off for ever.
func TestAWakePutsOffNoLookAtWokenLeases(t *testing.T) {
	d, k, _ := newDesk(t)
	k.Step(0, Enter{Name: "h"}, d)
	soon := k.look.soon
	require.LessOrEqual(t, soon, atOnce, "those that enter are looked at at once")
	for range 10 {
		k.Step(soon-1, Woken{Name: "g"}, d)
		k.Step(soon-1, Woken{Name: "h"}, d)
	}
	require.Zero(t, d.called(Read))
	k.Step(soon, Tick{}, d)
	assert.ElementsMatch(t, []string{"g", "h"}, d.last(t, Read).Names)
}

// Nor does it put off the next look at all leases: one that nobody wakes is looked at once a poll all the same.
func TestWakesPutOffNoPoll(t *testing.T) {
	d, k, timing := newDesk(t)
	k.Step(0, Enter{Name: "h"}, d)
	last := time.Duration(0)
	for now := time.Duration(0); now < 10*timing.Poll; now += time.Millisecond {
		k.Step(now, Woken{Name: "g"}, d)
		k.Step(now, Tick{}, d)
		for len(d.calls) > 0 {
			c, a := pull(&d.roulette, &d.calls), &Answer{}
			for _, name := range c.Names {
				if a.Records = append(a.Records, Record{Name: name, Term: 1, Holder: "b#1", TTL: timing.TTL, Left: time.Hour}); name == "h" {
					last = now
				}
			}
			a.Number = c.Number
			k.Step(now, a, d)
		}
		require.LessOrEqual(t, now-last, timing.Poll+time.Millisecond)
	}
}

// Only one look is under way at a time, even if a lease is woken that was to be looked at soon anyway. Otherwise the answer
// to the first look would be lost.
func TestAWakeBeginsNoSecondLook(t *testing.T) {
	d, k, _ := newDesk(t)
	soon := k.look.soon
	k.look.at = soon - 1
	k.Step(soon-1, Tick{}, d)
	require.Equal(t, 1, d.called(Read))
	k.Step(soon-1, Woken{Name: "g"}, d)
	k.Step(soon, Tick{}, d)
	assert.Equal(t, 1, d.called(Read))
	d, k, _ = newDesk(t)
	k.look.at = k.look.soon // both are due at once
	k.Step(k.look.at, Tick{}, d)
	assert.Equal(t, 1, d.called(Read))
}

// A lease that was to be looked at soon has been looked at when all were, and costs the database no second read.
func TestALookAtAllLeasesIsOneAtThoseThatWereWoken(t *testing.T) {
	d, k, timing := newDesk(t)
	soon := k.look.soon
	k.look.at = soon - 1
	at, look := d.asks(t, k, soon-1, Read)
	led := Record{Name: "g", Term: 1, Holder: "b#1", TTL: timing.TTL, Left: time.Hour}
	k.Step(at, &Answer{Number: look.Number, Records: []Record{led}}, d)
	again, _ := d.asks(t, k, at, Read)
	assert.GreaterOrEqual(t, again-at, timing.Poll/2, "that is the next poll")
}

// Unlike a tick at any other time, the one at the end of a lease must not be late: Lead would serve without a lease.
func TestAKeeperIsAwakeWhenALeaseEnds(t *testing.T) {
	d, k, _ := newDesk(t)
	at, claim := d.asks(t, k, 0, Acquire)
	now := at
	for next := k.Step(at, &Answer{Number: claim.Number, Won: true}, d); k.sessions[0].phase == serving; next = k.Step(now, Tick{}, d) {
		now = next
	}
	assert.Equal(t, d.held[0], now)
}

// A lease that is released again while a claim for it is under way is read soon after the claim is lost.
func TestALeaseThatIsWokenDuringAClaimIsReadSoon(t *testing.T) {
	d, k, timing := newDesk(t)
	at, claim := d.asks(t, k, 0, Acquire)
	k.Step(at, Woken{Name: "g"}, d)
	k.Step(at, &Answer{Number: claim.Number}, d)
	again, _ := d.asks(t, k, at, Read)
	assert.Less(t, again-at, timing.Poll/4, "that was the next poll")
}
