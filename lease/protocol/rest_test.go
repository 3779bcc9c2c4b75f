// A keeper whose leases come and go.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A keeper without leases has nothing to do, whatever it is still told. Otherwise a process that runs no candidate any more
// would be woken for ever, and use the database.
func TestAKeeperWithoutLeasesRests(t *testing.T) {
	for _, deaf := range []bool{false, true} { // whether listening has failed before, and was to be tried again
		d, k, timing := newDesk(t)
		at, look := d.asks(t, k, 0, Read)
		if deaf {
			k.Step(at, &Answer{Number: d.listens, Err: assert.AnError}, d)
		}
		assert.Equal(t, Never, k.Step(at, Retire{Name: "g"}, d))
		d.calls = nil
		for _, in := range []Input{&Answer{Number: look.Number}, &Answer{Number: d.listens}, Tick{}, Woken{Name: "g"}, Stalled{Names: []string{"g"}}} {
			assert.Equal(t, Never, k.Step(at, in, d), "%T", in)
			at += 2 * timing.Renew
		}
		assert.Empty(t, d.calls)
	}
}

// A lease that enters puts off neither the renewals nor the looks of the others, and leaves the look under way alone. If many
// enter one after the other, leases would be lost.
func TestALeaseThatEntersPutsOffNothing(t *testing.T) {
	d, k, timing := newDesk(t)
	at, look := d.asks(t, k, 0, Read)
	renewal := k.renewal
	k.Step(at, Enter{Name: "h"}, d)
	assert.Equal(t, renewal, k.renewal)
	assert.Empty(t, d.calls)
	led := Record{Name: "g", Term: 5, Holder: "b#1", TTL: timing.TTL, Left: time.Hour}
	k.Step(at, &Answer{Number: look.Number, Records: []Record{led}}, d)
	assert.Equal(t, "b#1", k.sessions[0].view.Leader, "the look is still under way")
	next := k.look.at
	k.Step(at, Enter{Name: "i"}, d)
	assert.Equal(t, next, k.look.at)
}

// aLookWaits is a keeper whose first look was given up and has not been answered yet, so that the second one waits for its turn.
func aLookWaits(t *testing.T) (d *desk, k *Keeper, at time.Duration, hangs Call) {
	t.Helper()
	d, k, timing := newDesk(t)
	k.rules.Limits.Calls[Read], k.rules.Timing.Timeout = 1, timing.Poll
	at, hangs = d.asks(t, k, 0, Read)
	for range 3 {
		at += timing.Poll
		k.Step(at, Tick{}, d)
	}
	require.NotEmpty(t, k.calls.lanes[Read].waiting)
	return d, k, at, hangs
}

// Looks that wait for their turn are forgotten when the keeper rests. Otherwise one of them would pass for a part of the
// next look, and end that.
func TestALookFromBeforeARestEndsNoOther(t *testing.T) {
	d, k, at, hangs := aLookWaits(t)
	k.Step(at, Retire{Name: "g"}, d)
	k.Step(at, Enter{Name: "g"}, d)
	at = k.look.soon
	k.Step(at, Tick{}, d)
	k.Step(at, &Answer{Number: hangs.Number}, d)
	led := Record{Name: "g", Term: 5, Holder: "b#1", TTL: timing.TTL, Left: time.Hour}
	k.Step(at, &Answer{Number: d.last(t, Read).Number, Records: []Record{led}}, d)
	assert.Equal(t, "b#1", k.sessions[0].view.Leader)
}

// A look that waits for its turn may have nothing to read any more, because its leases have ended. Then it is over, and others
// follow.
func TestALookWithNothingToReadIsOver(t *testing.T) {
	d, k, at, hangs := aLookWaits(t)
	k.Step(at, Enter{Name: "h"}, d)
	k.Step(at, Retire{Name: "g"}, d)
	k.Step(at, &Answer{Number: hangs.Number}, d)
	again, look := d.asks(t, k, at, Read)
	assert.Equal(t, []string{"h"}, look.Names)
	assert.Less(t, again-at, timing.Poll)
}
