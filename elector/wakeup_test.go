// Input wakes the loop, and the loop then finds it.

package elector

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hustings/hustings/elector/protocol"
	"github.com/hustings/hustings/memberstate"
	"github.com/hustings/hustings/rpc"
)

// The wake-up must come after the input is in the queue. A loop that wakes earlier finds nothing, and
// sleeps until its next alarm.
func TestInputWakesTheLoopOnceItIsQueued(t *testing.T) {
	for name, add := range map[string]func(el *Elector){
		"a message":   func(el *Elector) { el.Host().Receive(make([]rpc.Message, 1)) },
		"a lost peer": func(el *Elector) { el.Host().PeerLost("n1") },
		"a campaign":  (*Elector).Campaign,
		"a request":   func(el *Elector) { el.Host().request(el.newRequest(protocol.AskEnd)) },
		"a stop":      func(el *Elector) { el.beginStop() },
		"a start":     func(el *Elector) { _ = el.Host().enter(el, nil) }, // beside the group that runs
	} {
		t.Run(name, func(t *testing.T) {
			h, el := withoutLoop(t)
			h.mu.Lock() // no input can be queued now
			over := make(chan struct{})
			go func() {
				defer close(over)
				add(el)
			}()
			for range 1000 { // it has time to
				runtime.Gosched()
			}
			assert.Empty(t, h.wake, "it was woken too early")
			h.mu.Unlock()
			<-over
			assert.Len(t, h.wake, 1, "it was not woken")
		})
	}
}

// withoutLoop is a host in the state of a running one, but without a loop, and a group that is
// about to enter.
func withoutLoop(t *testing.T) (*Host, *Elector) {
	t.Helper()
	h := IsolatedHost(t, new(memberstate.MemStore))
	start := func(group string) *Elector {
		el := MustJoin(t, h, GroupOf(group, "n0", "n1"))
		require.NoError(t, h.intake.Start(&el.group))
		return el
	}
	h.intake.Enter(&start("runs").group, 0, nil)
	return h, start("g")
}
