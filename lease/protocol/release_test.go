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
