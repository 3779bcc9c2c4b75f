// Releases that are not answered, or fail.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No candidate waits longer for a release than its lease lasts, even if the database hangs: neither one whose release has
// failed, nor one whose release waits for its turn. Each of them ends, once.
func TestNobodyWaitsForAReleaseForLongerThanTheLeaseLasts(t *testing.T) {
	d, k, timing := newDesk(t)
	k.rules.Limits.Calls[Release] = 1
	for _, name := range []string{"h", "i", "j"} {
		k.Step(0, Enter{Name: name}, d)
	}
	at, claim := time.Duration(0), Call{}
	for range 4 {
		at, claim = d.asks(t, k, at, Acquire)
		k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	}
	end := func(name string) {
		k.Step(at, Retire{Name: name}, d)
		k.Step(at, Returned{Name: name}, d)
	}
	for _, name := range []string{"g", "h"} {
		end(name)
		k.Step(at, &Answer{Number: d.last(t, Release).Number, Err: assert.AnError}, d)
	}
	end("i") // is not answered
	hangs := d.last(t, Release)
	end("j")
	d.done = nil
	at += timing.TTL
	k.Step(at, Tick{}, d)
	assert.ElementsMatch(t, []string{"vacate", "end", "vacate", "end", "vacate", "end"}, d.done)
	require.Len(t, k.sessions, 1)
	assert.Equal(t, "i", k.sessions[0].name)
	d.done = nil
	k.Step(at, &Answer{Number: hangs.Number, Err: assert.AnError}, d)
	assert.Equal(t, []string{"vacate", "end"}, d.done)
}

// A release that fails is repeated after waits that grow up to a quarter of a Renew, however rarely the candidate polls:
// others wait for it, and the database must not be asked all the time.
func TestAReleaseThatFailsIsRepeatedWithinAQuarterOfARenew(t *testing.T) {
	for _, poll := range []time.Duration{time.Millisecond, time.Hour} {
		d, k, timing := newDesk(t)
		at, claim := d.asks(t, k, 0, Acquire)
		k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
		k.rules.Timing.Poll = poll
		k.Step(at, Resign{Name: "g"}, d)
		k.Step(at, Returned{Name: "g"}, d)
		for _, most := range []time.Duration{timing.Renew / 32, timing.Renew / 16, timing.Renew / 8, timing.Renew / 4, timing.Renew / 4} {
			k.Step(at, &Answer{Number: d.last(t, Release).Number, Err: assert.AnError}, d)
			wait := k.sessions[0].giving.at - at
			assert.LessOrEqual(t, wait, most)
			assert.GreaterOrEqual(t, wait, most*7/8)
			at += wait
			k.Step(at, Tick{}, d)
		}
	}
}

// If the process stood still, leases may have expired unnoticed. They are left before anything else is done: their renewal
// would be for nothing.
func TestALeaseThatHasExpiredIsLeftAndNotRenewed(t *testing.T) {
	d, k, _ := newDesk(t)
	at, claim := d.asks(t, k, 0, Acquire)
	k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	k.Step(d.held[0], Tick{}, d)
	assert.Equal(t, leaving, k.sessions[0].phase)
	assert.Zero(t, d.called(Renew))
}

// A release that fails is repeated as long as the lease may last: a renewal that was not answered may have prolonged it.
func TestAReleaseIsRepeatedAfterARenewalThatWasNotAnswered(t *testing.T) {
	d, k, timing := newDesk(t)
	at, claim := d.asks(t, k, 0, Acquire)
	k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	at, _ = d.asks(t, k, at, Renew)
	end := at + timing.validity()
	require.Greater(t, end, d.held[0]+timing.Renew/4)
	k.Step(at, Resign{Name: "g"}, d)
	k.Step(at, Returned{Name: "g"}, d)
	last := at
	for ; d.called(Release) > 0; k.Step(at, Tick{}, d) {
		last = at
		k.Step(at, &Answer{Number: pull(&d.roulette, &d.calls).Number, Err: assert.AnError}, d)
		if at = k.sessions[0].giving.at; at == Never {
			break
		}
	}
	assert.Greater(t, last, d.held[0], "others would wait until then")
	assert.Less(t, last, end)
	assert.Equal(t, watching, k.sessions[0].phase)
}

// A lease that was won while its candidate was leaving is given back like any other: a release that fails is repeated.
func TestAReleaseOfALeaseThatWasWonTooLateIsRepeated(t *testing.T) {
	d, k, _ := newDesk(t)
	at, claim := d.asks(t, k, 0, Acquire)
	k.Step(at, Retire{Name: "g"}, d)
	k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	k.Step(at, &Answer{Number: d.last(t, Release).Number, Err: assert.AnError}, d)
	require.Len(t, k.sessions, 1, "it has not ended")
	d.calls = nil
	_, again := d.asks(t, k, at, Release)
	assert.Equal(t, []Held{{"g", 1}}, again.Held)
}

// The keeper is awake when a release is to be repeated, whatever else it does meanwhile: others wait for it.
func TestAKeeperIsAwakeWhenAReleaseIsDueAgain(t *testing.T) {
	d, k, _ := newDesk(t)
	at, claim := d.asks(t, k, 0, Acquire)
	k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	k.Step(at, Resign{Name: "g"}, d)
	k.Step(at, Returned{Name: "g"}, d)
	k.Step(at, &Answer{Number: d.last(t, Release).Number, Err: assert.AnError}, d)
	d.calls = nil
	due := k.sessions[0].giving.at
	for at++; d.called(Release) == 0; { // the first tick comes too early
		require.LessOrEqual(t, at, due)
		at = k.Step(at, Tick{}, d)
	}
}
