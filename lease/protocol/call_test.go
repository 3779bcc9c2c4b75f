// Calls that are given up.

package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A call that was given up may still be at work, on a connection of its own. It keeps its place until it is answered, so
// that calls do not pile up in a database that hangs; and no longer, so that the next call is made then.
func TestACallThatIsGivenUpKeepsItsPlaceUntilItIsAnswered(t *testing.T) {
	d, k, timing := newDesk(t)
	k.rules.Limits.Calls[Release] = 1
	k.rules.Timing.Timeout = timing.Poll
	k.Step(0, Enter{Name: "h"}, d)
	at := time.Duration(0)
	for range 2 {
		var claim Call
		at, claim = d.asks(t, k, at, Acquire)
		k.Step(at, &Answer{Number: claim.Number, Won: true}, d)
	}
	leave := func(name string) {
		k.Step(at, Resign{Name: name}, d)
		k.Step(at, Returned{Name: name}, d)
	}
	leave("g")
	hangs := d.last(t, Release)
	at += timing.Poll
	k.Step(at, Tick{}, d)
	require.Equal(t, errNoAnswer, d.told[0].Err)
	leave("h")
	require.Equal(t, 1, d.called(Release), "one may be under way")
	d.done = nil
	k.Step(at, &Answer{Number: hangs.Number}, d)
	require.Equal(t, 2, d.called(Release))
	assert.Equal(t, "h", d.last(t, Release).Held[0].Name)
	assert.Empty(t, d.done, "the answer itself comes too late")
}

// Listening lasts as long as there are leases. It is not given up like a call that is not answered.
func TestListeningIsNotGivenUp(t *testing.T) {
	d, k, _ := newDesk(t)
	k.Step(0, Enter{Name: "h", Observer: true}, d)
	k.Step(24*time.Hour, Tick{}, d)
	for _, n := range d.told {
		assert.NotEqual(t, Listen, n.Kind)
	}
	assert.Zero(t, d.called(Listen))
}
